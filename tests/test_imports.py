"""The shape of the package: imports point downwards, files stay small, public names exist and say what they are."""

import ast
import graphlib
import importlib
import inspect
import sys
from pathlib import Path

import pytest

import ldpkit
from ldpkit.depends import PACKAGE

ROOT = Path(ldpkit.__file__).parent
FILES = PACKAGE.modules
FLOORS = [
    {"ldpkit"},
    {"checks", "depends", "paths", "types"},
    {"streams", "pools"},
    {"stats", "nets"},
    {"kinds"},
    {"mechanisms", "nets_torch"},
    {"attacks"},
    {"datasets", "marks"},
    {"auditors", "optimize"},
    {"sweep", "published", "plots", "testing"},
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


@pytest.mark.parametrize("module", FILES)
def test_imports_point_downwards(module):
    room = module.split(".")[:2]
    for other in imported(module):
        assert other.split(".")[:2] == room or floor(other) < floor(module), f"{module} imports {other}"


def test_nothing_imports_in_a_circle():
    order = list(graphlib.TopologicalSorter({module: imported(module) for module in FILES}).static_order())
    assert set(order) == set(FILES)


def test_the_reader_of_imports_sees_them_all():
    assert {"ldpkit.kinds", "ldpkit.mechanisms.base"} <= imported("ldpkit.attacks.optimal")
    assert {"ldpkit.attacks", "ldpkit.auditors", "ldpkit.mechanisms.client"} <= imported("ldpkit.cli.audit")
    assert imported("ldpkit.checks") == imported("ldpkit.paths") == set()


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

    assert house.PICTURE.read_text() == house.draw(), "draw it again: .venv/bin/python book/_tools/house.py"
    assert {room for room, others in house.rooms().items() if not others} >= {"checks", "depends", "paths"}
