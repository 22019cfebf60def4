"""A machine without any machine code: an audit compiles before its clock starts."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(sys.executable).parent / "ldpkit"


def test_a_cold_machine_refutes_a_client_in_the_clear_within_its_time(tmp_path):
    """A refutation needs 21 reports of an input, which a machine makes in a second."""
    (tmp_path / "clear.py").write_text("def send(value):\n    return value\n")
    words = "audit --client clear:send --inputs [0,1] --epsilon 1 --max-time 8".split()
    cold = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cold")}
    done = [
        subprocess.run([SCRIPT, *words], cwd=tmp_path, env=cold, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.returncode for run in done] == [1, 1], done
    assert done[0].stderr == "compiling, once on this machine: --max-time begins afterwards\n"
    assert done[1].stderr == ""
