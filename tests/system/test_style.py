"""The code as its tools see it: types, likely bugs and form."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("check", [
    ["mypy", "--cache-dir"],
    ["ruff", "check", "--cache-dir"],
    ["ruff", "format", "--check", "--cache-dir"],
    ["lint-imports", "--cache-dir"],
], ids=["types", "bugs", "form", "layers"])  # fmt: skip
def test_the_checkers_find_nothing(check):
    # what they know of unchanged files, and of the libraries
    kept = ROOT / "_build" / "checkers" / check[0]
    command = [Path(sys.executable).with_name(check[0]), *check[1:], kept]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
