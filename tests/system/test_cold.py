"""A machine without any machine code: an audit interprets at first, and its clock does not run while it compiles."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).parent / "ldpkit"


@pytest.mark.parametrize("patience", ["", "0"])
def test_a_cold_machine_refutes_a_client_in_the_clear_within_its_time(tmp_path, patience):
    """A refutation needs 21 reports of an input, which a machine makes in a second."""
    (tmp_path / "clear.py").write_text("def send(value):\n    return value\n")
    words = "audit --client clear:send --inputs [0,1] --epsilon 1 --max-time 8".split()
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cold"), "LDPKIT_PATIENCE": patience}
    done = [
        subprocess.run([SCRIPT, *words], cwd=tmp_path, env=cold, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.returncode for run in done] == [1, 1], done
    if patience:  # every kernel is compiled at its first use
        said = "compiling, once on this machine: --max-time stands still meanwhile\n"
        assert [run.stderr for run in done] == [said, ""]
