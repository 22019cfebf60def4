"""Files and functions that comments, docstrings and the pages for contributors name do exist."""

import ast
import io
import pkgutil
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOTS = ("book", "ldpkit", "tests", "benchmarks", "data")
FILE = re.compile(r"(?<![\w/.<*{-])([\w./-]+\.(?:py|md|ipynb|yml|csv|js|toml))(?![\w/*])")
NAME = re.compile(r"\b((?:ldpkit|ldpbook)(?:\.\w+)+)\b(?![\w/*(-])")
# what the build, the example of CONTRIBUTING.md and other packages write
MADE = ("_build/", "book/clock.ipynb", "static/_static/live/", "reveal/")


def named(path):
    """Comments and docstrings of a module, or the text of a page for contributors."""
    text = (ROOT / path).read_text()
    if not path.endswith(".py"):
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = [token.string for token in tokens if token.type == tokenize.COMMENT]
    alone = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    found += [v.value for v in alone if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    return "\n".join(found)


def listed():
    """All tracked files."""
    made = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return made.stdout.splitlines()


def there(name, files):
    """Whether a file is there, by its path or by the last parts of it."""
    name = name.lstrip("./")
    return name.startswith(MADE) or any(f"/{f}".endswith(f"/{name}") for f in files)


def resolved(name):
    """Whether a dotted name is a module, or an attribute of one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def missing(path, files):
    """The files and names that a file speaks of and that do not exist."""
    text = named(path)
    wrong = [one for one in FILE.findall(text) if "/" in one and not there(one, files)]
    own = [] if path.startswith("tests/browser/") else NAME.findall(text)  # or of JavaScript
    return wrong + [one for one in own if not resolved(one)]


def test_every_file_and_function_that_is_named_exists():
    if not (ROOT / ".git").exists():
        pytest.skip("an archive lists no files")
    files = listed()
    read = [f for f in files if f.endswith(".py") and f.startswith(ROOTS)]
    read += [f for f in files if f.startswith("book/developers/")] + ["CONTRIBUTING.md"]
    wrong = {path: found for path in read if (found := missing(path, files))}
    assert wrong == {}


def test_a_name_that_is_not_there_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("test_names.ROOT", tmp_path)
    (tmp_path / "one.py").write_text('"""See ldpkit.stats.nothing and tests/none.py."""\n')
    assert missing("one.py", ["one.py"]) == ["tests/none.py", "ldpkit.stats.nothing"]
