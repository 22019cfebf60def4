"""Every command that a reader is told to call exists."""

import pkgutil
import re

import pytest

from ldpbook.__main__ import FUNCTIONS, PROGRAMS, main
from ldpbook.paths import ROOT


def test_every_command_that_is_named_exists():
    texts = [*ROOT.glob("*.md"), ROOT / "codecheck.yml", ROOT / "Dockerfile", ROOT / ".ci" / "run"]
    texts += [p for p in (ROOT / "book").rglob("*") if p.suffix in (".md", ".ipynb", ".yml")]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    wrong = []
    for path in texts:
        text = path.read_text()
        if path.name == "CHANGELOG.md":  # which tells of commands that went
            text = ""
        named = re.findall(r"(?:`|^|\n)make ([a-z]+)(?=[` \n])", text)
        wrong += [f"{path.name}: make {name}" for name in named if name not in targets]
        named = re.findall(r"python -m ldpbook ([a-z_]+)", text)
        wrong += [f"{path.name}: {name}" for name in named if name not in FUNCTIONS | PROGRAMS]
    assert wrong == []


def test_every_command_has_its_program():
    for _, place in FUNCTIONS.values():
        assert callable(pkgutil.resolve_name(f"ldpbook.{place}"))
    words = [word for _, command in PROGRAMS.values() for word in command if "/" in word]
    assert words and [word for word in words if not (ROOT / word).exists()] == []


def test_a_command_that_does_not_exist_is_answered_by_those_that_do(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["ldpbook", "bulid"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2 and "build" in capsys.readouterr().err
