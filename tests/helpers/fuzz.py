"""Run the tests of all input from outside with new seeds until the time is over.

The command is ``python -m ldpbook fuzz``.

A round is one run of `test_fuzz.py`. If a round fails, its seed is printed. This command repeats
the round:
``FUZZ_EXAMPLES=... pytest --hypothesis-seed=... tests/ldpkit/test_fuzz.py``.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

FILE = Path(__file__).parents[1] / "ldpkit/test_fuzz.py"


def main() -> None:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m ldpbook fuzz", description=about)
    parser.add_argument("--seconds", type=float, default=600, help="no round begins later")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--examples", type=int, default=500, help="of every test in a round")
    options = parser.parse_args()
    begun, seed, passed, failed = time.monotonic(), options.seed, 0, 0
    while time.monotonic() - begun < options.seconds:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FILE)]
        command += [f"--hypothesis-seed={seed}", "--hypothesis-show-statistics"]
        environment = os.environ | {"FUZZ_EXAMPLES": str(options.examples)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        passed += sum(map(int, re.findall(r"- (\d+) passing", done.stdout)))
        failed += len(re.findall(r"^FAILED", done.stdout, flags=re.M)) or (done.returncode != 0)
        if done.returncode:
            print(f"FAILED    seed {seed}, {options.examples} examples of every test")
            print(done.stdout + done.stderr, flush=True)
        print(
            f"{time.monotonic() - begun:7.0f} s  seed {seed}: {passed:,} examples passed,", end=" "
        )
        print(f"{failed} tests failed so far", flush=True)
        seed += 1
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
