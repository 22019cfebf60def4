"""A wheel in an environment of its own: what `pip install ldpkit` gives, without a checkout and
without the extras."""

import gzip
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import ldpkit

ROOT = Path(ldpkit.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def required():
    """What a plain installation brings: the releases that `dependencies` names, and theirs."""
    todo, found = list(PROJECT["dependencies"]), {}
    while todo:
        wanted = Requirement(todo.pop())
        plain = not wanted.marker or wanted.marker.evaluate({"extra": ""})
        if plain and wanted.name not in found:
            found[wanted.name] = importlib.metadata.distribution(wanted.name)
            todo += found[wanted.name].requires or []
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Run the installed command, or Python, with what a plain installation brings."""
    folder = tmp_path_factory.mktemp("installed")
    uv, home = [sys.executable, "-m", "uv"], folder / "home"
    home.mkdir()
    subprocess.run([*uv, "venv", "-q", "-p", sys.executable, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    source = folder / "source"  # a build leaves files beside what it builds
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("ldpkit", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=leave)
    for name in ("pyproject.toml", "LICENSE", "NOTICE", "README.md"):
        shutil.copy(ROOT / name, source)
    # the wheel and the archive of the sources, made with the locked tools alone
    build = [*uv, "build", "-q", "--no-build-isolation", "-p", sys.executable]
    subprocess.run([*build, "-o", folder / "built", source], check=True)
    (wheel,) = (folder / "built").glob("*.whl")
    subprocess.run([*uv, "pip", "install", "-q", "--no-deps", "-p", python, wheel], check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.check_output([python, "-c", where], text=True).strip())
    for release in required().values():
        for top in {file.parts[0] for file in release.files} - {"..", "__pycache__"}:
            (site / top).symlink_to(release.locate_file(top))
    environment = {"HOME": str(home), "PATH": f"{home}:{os.environ['PATH']}"}

    def run(*arguments):
        command = [python.parent / "ldpkit" if arguments[0] == "ldpkit" else python, *arguments[1:]]
        return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)

    return run, home, site


def test_wheel_and_archive_hold_the_module_and_what_it_has_to_say(installed):
    folder = installed[1].parent
    wheel, archive = next((folder / "built").glob("*.whl")), next((folder / "built").glob("*.gz"))
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ldpkit").rglob("*.py")}
    sources |= {"ldpkit/py.typed", "ldpkit/auditors/result.schema.json"}
    name = f"ldpkit-{ldpkit.__version__}"
    with zipfile.ZipFile(wheel) as found:
        said = "METADATA RECORD WHEEL entry_points.txt top_level.txt".split()
        said += ["licenses/LICENSE", "licenses/NOTICE"]
        assert set(found.namelist()) == sources | {f"{name}.dist-info/{part}" for part in said}
    with tarfile.open(archive) as found:
        held = {m.name.removeprefix(f"{name}/") for m in found if m.isfile()}
    said = {"LICENSE", "NOTICE", "README.md", "PKG-INFO", "pyproject.toml", "setup.cfg"}
    other = held - sources - said
    assert sources | said <= held
    assert all(path.startswith(("ldpkit.egg-info/", "tests/")) for path in other)


HEAVY = {"IPython", "jupyterlab", "matplotlib", "pandas", "pyarrow", "seaborn", "tornado"}


def test_it_is_light(installed):
    assert {"click", "numba", "numpy", "scipy"} <= set(required()) and len(required()) < 15
    code = f"import importlib.util as u; print([n for n in {sorted(HEAVY)} if u.find_spec(n)])"
    assert installed[0]("python", "-c", code).stdout == "[]\n"


@pytest.mark.parametrize("command, extra", [
    ("sweep grid.yml", "tables"),
    ("sweep grid.yml --scheduler tcp://127.0.0.1:8786", "cluster"),
    ("audit --recordings a.parquet b.parquet --report any --epsilon 1 --attack learned --until-sure", "parquet"),
])  # fmt: skip
def test_a_missing_extra_is_named_in_one_line_with_status_four(installed, command, extra):
    run, home, _ = installed
    for name in ("a.parquet", "b.parquet"):
        (home / name).touch()
    grid = "audit: rad\nseed: 1\ngrid: {mechanism: GRR, k: 5, epsilon: 1}\n"
    (home / "grid.yml").write_text(grid)
    found = run("ldpkit", *command.split())
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (4, "", 1)
    assert f"missing: pip install 'ldpkit[{extra}]'" in found.stderr
    assert extra in PROJECT["optional-dependencies"]


CLIENT = """
import numpy as np

def client(values, rng):
    return np.eye(10, dtype=np.uint8)[np.asarray(values).astype(int) % 10]
"""
NODE = """#!{python}
import sys
for line in sys.stdin:
    print(line.strip(), flush=True)
"""

PAGES = [(ROOT / name).read_text() for name in ("book/command_line.md", "README.md")]


def shown():
    """The commands that the README and the page of the command line show and that need no extra;
    what is asked for afterwards, made smaller."""
    found = re.findall(r"^\$ ldpkit (.*)", "\n".join(PAGES), flags=re.M)
    lines = [line.partition("  #")[0].replace("5e6", "5e4") for line in found]
    return [line for line in lines if not line.startswith("sweep")]


def test_what_readme_and_command_line_show_runs(installed):
    """A client in Python, a program that stands for one in JavaScript, two recordings: all of them
    send what they hold. So audits end soon."""
    run, home, _ = installed
    (home / "mine.py").write_text(CLIENT)
    (home / "node").write_text(NODE.format(python=sys.executable))
    (home / "node").chmod(0o755)
    for name, report in (("first", 1), ("second", 2)):
        rows = f'{{"answer": {report}, "time": 0, "device": "a"}}\n' * 500
        (home / f"{name}.jsonl").write_text(rows)
        (home / f"{name}.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    np.savez(home / "gradients.npz", first=np.eye(4), second=-np.eye(4))
    assert len(shown()) > 15
    for line in shown():
        found = run("ldpkit", *shlex.split(line))
        assert found.returncode in (0, 1), (line, found.stderr)
    blocks = [page.partition("```python\n")[2].partition("```")[0] for page in PAGES]
    for block, said in zip(blocks, ("No violation found", "VIOLATION")):
        found = run("python", "-c", block.replace("result.warnings", "print(result.verdict)  "))
        assert found.returncode == 0 and found.stdout.startswith(said), (block, found.stderr)


def test_it_audits_and_writes_nothing_into_itself(installed):
    run, home, site = installed
    before = {path for path in site.rglob("*") if "__pycache__" not in path.parts}
    line = "audit --mechanism GRR --k 5 --epsilon 1 --trials 1000 --faithful"
    assert run("ldpkit", *line.split()).returncode == 0
    assert {path for path in site.rglob("*") if "__pycache__" not in path.parts} == before
    run("ldpkit", *line.replace("GRR", "OUE").split())
    assert (home / ".cache" / "ldpkit" / "numba").is_dir()
