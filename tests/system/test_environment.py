"""The environment that make installs into: nothing of one that it did not make is removed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = """#!/bin/sh
echo "uv $*" >>"$LOG"
case "$*" in *--dry-run*) echo "Would uninstall"; echo "$GONE" ;; esac
"""


@pytest.fixture
def other(tmp_path):
    """A checkout, and a throwaway environment that somebody else made; its uv installs nothing."""
    root, mine = tmp_path / "root", tmp_path / "mine"
    root.mkdir()
    (root / "book").mkdir()
    for name in ("Makefile", "pyproject.toml", "book/pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, root / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", mine], check=True)
    (mine / "bin" / "uv").write_text(UV)
    (mine / "bin" / "uv").chmod(0o755)
    (mine / "precious").write_text("mine")
    log = tmp_path / "log"

    def make(venv=mine, gone=""):
        log.write_text("")
        given = {"env": {"PATH": os.environ["PATH"], "LOG": str(log), "GONE": gone}, "cwd": root}
        command = ["make", f"VENV={venv}", "--", f"{venv}/ready"]
        done = subprocess.run(command, capture_output=True, text=True, **given)
        return done.returncode, done.stderr, log.read_text().splitlines()

    return root, mine, make


def files(folder):
    return {path for path in folder.rglob("*") if "ready" not in path.name}


def test_make_adds_to_an_environment_of_others_and_removes_nothing(other):
    root, mine, make = other
    before = files(mine)
    status, _, asked = make()
    assert status == 0 and before <= files(mine) and len(asked) == 3
    assert "--dry-run" in asked[0] and asked[1].endswith("-r requirements.lock")
    assert asked[2].endswith("-e . -e book")
    assert make() == (0, "", [])
    with (root / "requirements.lock").open("a") as lock:
        lock.write("\n# another\n")
    written = (mine / "ready").stat().st_mtime + 1
    os.utime(root / "requirements.lock", (written, written))
    assert make()[0] == 0 and before <= files(mine)
    assert [path.name for path in mine.parent.iterdir() if "unfinished" in path.name] == []


def test_make_refuses_an_environment_in_which_a_release_would_have_to_go(other):
    _, mine, make = other
    before = files(mine)
    status, said, asked = make(gone=" - numpy==1.26.4\n + numpy==2.4.6")
    assert status == 2 and len(asked) == 1 and files(mine) == before
    assert f"VENV={mine} holds other releases" in said and "to go: numpy==1.26.4. " in said
    assert not (mine / "ready").exists()


def test_an_environment_by_the_usual_name_is_kept_too_if_somebody_else_made_it(other):
    root, mine, make = other
    mine.rename(root / ".venv")
    assert make(".venv")[0] == 0
    assert (root / ".venv" / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    "venv",
    ["", "two words", "blank ", "empty", "-x", "x;touch${IFS}owned;", "$(touch${IFS}owned)", "a%b", "a:b",
     "a=b", "a'b", 'a"b', "a#b", "a\\b", "a*", "`touch${IFS}owned`"],
)  # fmt: skip
def test_what_is_no_environment_is_named(other, venv):
    root, _, make = other
    (root / "empty").mkdir()
    (root / "empty" / "precious").touch()
    status, said, asked = make(venv)
    assert status == 2 and not asked and (root / "empty" / "precious").exists()
    assert not (root / "owned").exists()
    assert f"got '{venv}'" in said or f"VENV={venv} is no environment of Python" in said
