"""How many workers there are if nobody says so."""

import builtins
import io
import os

import pytest
from commands import python

from ldpkit import executors


def test_a_process_counts_the_cores_that_it_may_use():
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        " os.cpu_count = lambda: 64; from ldpkit import executors; print(executors.count(None))"
    )
    assert python(code)[0] == "1\n"


@pytest.mark.parametrize("quota, cores", [("300000 100000", 3), ("150000 100000", 2), ("max 1", 8)])
def test_the_quota_of_a_container_limits_workers(monkeypatch, quota, cores):
    exists, opened, name = os.path.exists, builtins.open, "/sys/fs/cgroup/cpu.max"
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setattr(os.path, "exists", lambda path: path == name or exists(path))

    def quoted(path, *rest, **named):
        return io.StringIO(quota) if path == name else opened(path, *rest, **named)

    monkeypatch.setattr(builtins, "open", quoted)
    assert executors.count(None) == cores


def test_who_shares_cores_says_how_many_are_left(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "3")
    assert executors.count(None) == 3 and executors.count(5) == 5
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "few")
    with pytest.raises(ValueError, match="LOKY_MAX_CPU_COUNT must be an integer >= 1, got 'few'"):
        executors.count(None)
