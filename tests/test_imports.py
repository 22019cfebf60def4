"""The shape of the package: imports point downwards, files stay small, public names exist and say
what they are."""

import ast
import graphlib
import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ldpkit
from ldpkit.depends import PACKAGE

ROOT = Path(ldpkit.__file__).parent
FILES = PACKAGE.modules
FLOORS = [
    {"ldpkit"},
    {"depends", "progress", "types"},
    {"checks"},
    {"compiled"},
    {"paths", "streams", "pools", "store"},
    {"stats", "nets", "fronts", "verdicts"},
    {"betting", "kinds", "sharper"},
    {"mechanisms"},
    {"attacks", "sequential"},
    {"datasets", "marks"},
    {"auditors", "optimize"},
    {"sweep", "published", "plots", "testing"},
    {"ledger"},
    {"cli"},
    {"__main__"},
]


def floor(module):
    """How high a module lies; modules of one room share a floor."""
    room = module.split(".")[1] if "." in module else "ldpkit"
    return next(height for height, rooms in enumerate(FLOORS) if room in rooms)


imported = PACKAGE.direct


def test_every_module_has_a_floor():
    assert {floor(module) for module in FILES} == set(range(len(FLOORS)))
    assert {module.split(".")[1] for module in FILES if "." in module} == set.union(*FLOORS[1:])


def test_the_package_offers_its_public_names_and_imports_nothing_before_they_are_used():
    code = "import json, sys, ldpkit; print(json.dumps([dir(ldpkit), sorted(sys.modules)]))"
    offered, loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    )
    assert {
        "audit",
        "audits",
        "AuditResult",
        "Client",
        "mechanisms",
        "attacks",
        "auditors",
        "sweep",
    } <= set(ldpkit.__all__)
    assert {name for name in offered if not (name.startswith("__") and name.endswith("__"))} == set(
        ldpkit.__all__
    )
    assert [
        name
        for name in loaded
        if name.partition(".")[0] in ("ldpkit", "matplotlib", "numba", "numpy", "pandas", "scipy")
    ] == ["ldpkit"]
    assert all(
        callable(getattr(ldpkit, name)) or inspect.ismodule(getattr(ldpkit, name))
        for name in ldpkit.__all__
    )
    assert ldpkit.audit is ldpkit.auditors.audit and ldpkit.Client is ldpkit.mechanisms.Client
    with pytest.raises(AttributeError, match="module 'ldpkit' has no attribute 'numba'"):
        ldpkit.numba  # noqa: B018


@pytest.mark.parametrize(
    "command",
    [
        "audit --mechanism OUE --k 100 --epsilon 1 --attack tight --json",
        "audit --mechanism SUE --k 100 --epsilon 0.5 --tau 50 --json",
        "rates --mechanism OUE --k 100 --epsilon 1 --attack tight --json",
        "audit-kv --mechanism pckv-ue --epsilon 1.6 --json",
        "audit-gradient --adversary dummy --epsilon 4 --json",
    ],
)
def test_an_audit_from_the_law_loads_no_compiler(command):
    code = (
        "import sys; from ldpkit.cli import main\ntry: main(sys.argv[1:])\n"
        "except SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command.split()], capture_output=True, check=True, text=True
    )
    heavy = {"numba", "pandas", "matplotlib", "sklearn", "scipy.stats", "loky", "cloudpickle"}
    assert json.loads(done.stdout) and heavy & set(done.stderr.split()) == set()


@pytest.mark.parametrize("given", [{}, {"NUMBA_CACHE_DIR": "own"}])
def test_kernels_are_kept_in_the_folder_of_their_source_and_nobody_elses_are(tmp_path, given):
    code = (
        "import os, numba\nfrom ldpkit import streams, depends\nprint(numba.config.CACHE_DIR,"
        " os.environ.get('NUMBA_CACHE_DIR', ''), depends.code_digest(),"
        " streams.step.stats.cache_path, sep='\\n')"
    )
    settings = {
        "XDG_CACHE_HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        **{k: str(tmp_path / v) for k, v in given.items()},
    }
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settings
    ).stdout
    config, environment, digest, kept = found.splitlines()
    assert config == environment == settings.get("NUMBA_CACHE_DIR", "")
    assert Path(kept).is_relative_to(config or tmp_path / "ldpkit" / "numba" / digest)


@pytest.mark.parametrize(
    "module", sorted(set(FILES) - {"ldpkit"})
)  # which imports nothing before it is used
def test_imports_point_downwards(module):
    room = module.split(".")[:2]
    for other in imported(module):
        assert other.split(".")[:2] == room or floor(other) < floor(module), (
            f"{module} imports {other}"
        )


def test_nothing_imports_in_a_circle():
    order = list(
        graphlib.TopologicalSorter({module: imported(module) for module in FILES}).static_order()
    )
    assert set(order) == set(FILES)


def test_the_reader_of_imports_sees_them_all():
    assert {"ldpkit.kinds", "ldpkit.mechanisms.base"} <= imported("ldpkit.attacks.optimal")
    assert {"ldpkit.attacks", "ldpkit.auditors", "ldpkit.cli.target"} <= imported(
        "ldpkit.cli.audit"
    )
    assert "ldpkit.mechanisms.client" in imported("ldpkit.cli.target")
    assert imported("ldpkit.types") == imported("ldpkit.depends") == set()


@pytest.mark.parametrize("module", FILES)
def test_files_stay_short_and_say_what_they_are(module):
    text = FILES[module].read_text()
    assert len(text.splitlines()) <= 400
    assert ast.get_docstring(ast.parse(text))


def public(module):
    return getattr(importlib.import_module(module), "__all__", [])


@pytest.mark.parametrize("module", sorted(set(FILES) - {"ldpkit", "ldpkit.__main__"}))
def test_exported_names_exist_once_and_public_code_is_documented(module):
    names, loaded = public(module), importlib.import_module(module)
    assert names and len(names) == len(set(names))
    for name in names:
        thing = getattr(loaded, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            assert inspect.cleandoc(thing.__doc__ or "").strip(), name


@pytest.mark.parametrize("module", sorted(set(FILES) - {"ldpkit", "ldpkit.__main__"}))
def test_public_methods_and_properties_are_documented(module):
    loaded = importlib.import_module(module)
    for name in public(module):
        thing = getattr(loaded, name)
        if inspect.isclass(thing):
            for member in vars(thing):
                if not member.startswith("_") and callable(getattr(thing, member)):
                    assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_the_picture_of_the_house_shows_this_code():
    sys.path.insert(0, str(ROOT.parent / "book" / "_tools"))
    import house

    assert house.PICTURE.read_text() == house.draw(), (
        "draw it again: .venv/bin/python book/_tools/house.py"
    )
    assert {room for room, others in house.rooms().items() if not others} >= {
        "depends",
        "progress",
        "types",
    }
