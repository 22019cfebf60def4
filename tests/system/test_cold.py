"""A machine without any machine code: what an audit compiles, and an image that holds everything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).parent / "ldpkit"
IMAGE = Path(__file__).parents[2] / "book" / "ci" / "Dockerfile"
MIXED = """
def send(values, rng):
    lie = rng.random(len(values)) < 0.27
    return [
        [int(v != x), "a" * int(rng.integers(9)), rng.normal(), {"bits": rng.integers(0, 2, 5).tolist()}]
        for v, x in zip(values, lie)
    ]
"""


@pytest.mark.parametrize("compile", ["", "1"])
def test_a_cold_machine_refutes_a_client_in_the_clear_within_its_time(tmp_path, compile):
    """A refutation needs 21 reports of an input, which a machine makes in a second."""
    (tmp_path / "clear.py").write_text("def send(value):\n    return value\n")
    words = "audit --client clear:send --inputs [0,1] --epsilon 1 --max-time 8".split()
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cold"), "LDPKIT_COMPILE": compile}
    done = [
        subprocess.run([SCRIPT, *words], cwd=tmp_path, env=cold, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.returncode for run in done] == [1, 1], done
    if compile:  # what is interpreted until it would be compiled depends on the machine
        said = "compiling, once on this machine: --max-time does not count this\n"
        assert [run.stderr for run in done] == [said, ""]


def test_an_image_keeps_all_machine_code_of_an_audit(tmp_path):
    """The step of the recipe that compiles runs here. Nothing is compiled afterwards."""
    (tmp_path / "mixed.py").write_text(MIXED)
    (step,) = re.findall(r"^RUN (LDPKIT_COMPILE=1 .*)$", IMAGE.read_text(), flags=re.M)
    own = os.environ | {
        "NUMBA_CACHE_DIR": str(tmp_path / "code"),
        "PATH": f"{SCRIPT.parent}:/usr/bin:/bin",
    }
    audit = (
        "LDPKIT_COMPILE=1 ldpkit audit --client mixed:send --inputs [0,1] --epsilon 1 --trials 400"
    )
    kept = []
    for command in (step, audit):
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=own, capture_output=True, text=True
        )
        assert done.returncode == 0, done
        kept.append({path.name for path in (tmp_path / "code").rglob("*.nbc")})
    assert any("placed" in name for name in kept[0]) and kept[1] == kept[0]
