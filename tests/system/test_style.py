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
], ids=["types", "bugs", "form"])  # fmt: skip
def test_the_checkers_find_nothing(check):
    # what they know of unchanged files, and of the libraries
    kept = ROOT / "_build" / "checkers" / check[0]
    found = subprocess.run(
        [sys.executable, "-m", *check, kept], cwd=ROOT, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_imports_point_downwards():
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout
