"""Run the tests and list the lines of ldpkit that they do not reach.

numba reports which lines it compiles only when it compiles them. Therefore its cache is not used.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "_build" / "coverage"
shutil.rmtree(PLACE, ignore_errors=True)
PLACE.mkdir(parents=True)
own = {"NUMBA_JIT_COVERAGE": "1", "NUMBA_CACHE_DIR": str(PLACE / "numba")}
own |= {"COVERAGE_FILE": str(PLACE / "data")}
for words in ("run -m pytest -q tests/ldpkit tests/book", "combine -q", "report"):
    command = [sys.executable, "-m", "coverage", *words.split()]
    if status := subprocess.run(command, cwd=ROOT, env=os.environ | own).returncode:
        sys.exit(status)
