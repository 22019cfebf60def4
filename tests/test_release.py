"""What leaves this checkout: archives that stand alone, and nothing that waits for its maintainers."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_pytest_alone_collects_files_of_one_name_and_needs_none_of_its_private_modules():
    pair = ["tests/test_live.py", "tests/browser/test_live.py"]
    options = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    bare = Path(sys.executable).with_name("pytest")
    done = subprocess.run([bare, *options, *pair], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert all(f"\n{path}::" in f"\n{done.stdout}" for path in pair)
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests"]  # nothing of what was built or installed
    for path in (ROOT / "tests").rglob("*.py"):
        assert not re.search(r"^(from|import) _pytest", path.read_text(), flags=re.M), path
