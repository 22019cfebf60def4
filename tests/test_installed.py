"""A wheel in an environment of its own: what `pip install ldpkit` gives, without a checkout and
without the extras."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import ldpkit

ROOT = Path(ldpkit.__file__).parents[1]


def built(source, folder):
    """The wheel and the archive of the sources, made with the locked tools alone."""
    command = [sys.executable, "-m", "uv", "build", "-q", "--no-build-isolation", "-p"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run([*command, sys.executable, "-o", folder, source], env=environment, check=True)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Run the installed command, or Python, far from the checkout; what no plain install brings is
    hidden."""
    folder = tmp_path_factory.mktemp("installed")
    uv, home = [sys.executable, "-m", "uv"], folder / "home"
    home.mkdir()
    subprocess.run([*uv, "venv", "-q", "-p", sys.executable, folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    source = folder / "source"  # a build leaves files beside what it builds
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, source], check=True)
    for path in (ROOT / "ldpkit").rglob("*.py"):
        (source / path.relative_to(ROOT)).write_bytes(path.read_bytes())
    for name in ("pyproject.toml", "LICENSE", "NOTICE", "README.md"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    wheel, _ = built(source, folder / "built")
    subprocess.run([*uv, "pip", "install", "-q", "--no-deps", "-p", python, wheel], check=True)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
    )
    (Path(site.stdout.strip()) / "others.pth").write_text(
        f"{sysconfig.get_path('purelib')}\nimport sys; sys.modules['pooch'] ="
        " sys.modules['sklearn'] = None\n"
    )
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}

    def run(*arguments):
        command = python.parent / "ldpkit" if arguments[0] == "ldpkit" else python
        return subprocess.run(
            [command, *arguments[1:]], cwd=home, env=environment, capture_output=True, text=True
        )

    return run, home, Path(site.stdout.strip())


def test_wheel_and_archive_hold_the_module_and_what_it_has_to_say_and_are_made_again(installed):
    folder = installed[1].parent
    wheel, archive = next((folder / "built").glob("*.whl")), next((folder / "built").glob("*.gz"))
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ldpkit").rglob("*.py")}
    sources |= {"ldpkit/py.typed"}
    name = f"ldpkit-{ldpkit.__version__}"
    with zipfile.ZipFile(wheel) as found:
        assert set(found.namelist()) == sources | {
            f"{name}.dist-info/{part}"
            for part in (
                "METADATA",
                "RECORD",
                "WHEEL",
                "entry_points.txt",
                "licenses/LICENSE",
                "licenses/NOTICE",
                "top_level.txt",
            )
        }
    with tarfile.open(archive) as found:
        held = {m.name.removeprefix(f"{name}/") for m in found if m.isfile()}
    said = {"LICENSE", "NOTICE", "README.md", "PKG-INFO", "pyproject.toml", "setup.cfg"}
    other = held - sources - said
    assert sources | said <= held
    assert all(path.startswith(("ldpkit.egg-info/", "tests/test_")) for path in other)
    again, _ = built(folder / "source", folder / "again")
    assert again.read_bytes() == wheel.read_bytes()


def test_stores_lie_in_the_users_cache_and_the_books_data_are_said_to_be_elsewhere(installed):
    run, home, site = installed
    code = """
import json, ldpkit
from ldpkit import datasets, paths, published
said = []
for read in (datasets.adult_ages, datasets.adult_hours, published.items, lambda: published.load("rad"), lambda: paths.data("x")):
    try:
        read()
    except FileNotFoundError as error:
        said.append(str(error))
print(json.dumps([ldpkit.__file__, str(paths.ROOT), [str(p) for p in (paths.BUILD, paths.STORE, paths.PACKAGES, datasets.folder())], said]))
"""
    found = run("python", "-c", code)
    assert found.stderr == ""
    where, root, folders, said = json.loads(found.stdout)
    assert Path(where) == site / "ldpkit" / "__init__.py" and root == "None"
    cache = home / ".cache" / "ldpkit"
    assert folders == [
        str(cache),
        str(cache / "sweeps"),
        str(cache / "packages"),
        str(cache / "data"),
    ]
    assert len(said) == 5 and all(
        "is part of the checkout of ldpkit, not of the installed package" in text for text in said
    )


@pytest.mark.parametrize("command", ["data mnist", "audit-gradient --adversary flip --epsilon 1"])
def test_a_missing_extra_is_named_in_one_line_with_status_four(installed, command):
    found = installed[0]("ldpkit", *command.split())
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (4, "", 1)
    assert "which is missing: pip install 'ldpkit[book]'" in found.stderr


def test_it_audits_and_writes_nothing_into_itself(installed):
    run, home, site = installed
    before = {path for path in site.rglob("*") if "__pycache__" not in path.parts}
    assert (
        run("ldpkit", *"audit --mechanism GRR --k 5 --epsilon 1 --trials 1000".split()).returncode
        == 0
    )
    assert {path for path in site.rglob("*") if "__pycache__" not in path.parts} == before
    assert (home / ".cache" / "ldpkit" / "numba").is_dir()
