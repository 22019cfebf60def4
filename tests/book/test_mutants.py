"""Laws that are broken on purpose: none is forgotten, the table in the book is about this list, and
a page does turn red."""

import ast
import csv
import importlib
from pathlib import Path

import mutants
import pytest
import yaml

ROOT = Path(__file__).parents[2]
NAMES = {
    "success", "guess_rates", "score_rates", "pair_law", "slot_law", "law", "p", "q", "amplified",
    "_law", "_rates", "_record_law", "_difference_law",
}  # fmt: skip
"""What functions are called that say how likely reports, guesses or events are."""
LISTED = {one["law"]: one for one in mutants.mutants()}
ELSEWHERE = yaml.safe_load(mutants.LIST.read_text())["elsewhere"]


def returns(function):
    """Whether a function gives anything; those that others have to write do not."""
    found = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    return any(value is not None and ast.unparse(value) != "None" for value in found)


def laws():
    """Every law of a kind or a mechanism, by module and name."""
    for path in [
        *(ROOT / "ldpkit" / "kinds").glob("*.py"),
        *(ROOT / "ldpkit" / "mechanisms").glob("*.py"),
    ]:
        module = f"ldpkit.{path.parent.name}.{path.stem}"
        if path.stem == "laws":
            yield from (f"{module}:{name}" for name in importlib.import_module(module).__all__)
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            inside = [(node, "")] if isinstance(node, ast.Module) else []
            inside += [(node, f"{node.name}.")] if isinstance(node, ast.ClassDef) else []
            for owner, prefix in inside:
                for one in owner.body:
                    if isinstance(one, ast.FunctionDef) and one.name in NAMES and returns(one):
                        yield f"{module}:{prefix}{one.name}"


def test_every_law_has_a_mutant_or_a_test_file():
    known = {*LISTED, *(law for some in ELSEWHERE.values() for law in some)}
    assert {*laws()} - known == set()
    assert all((ROOT / path).exists() for path in ELSEWHERE)
    assert not {*LISTED} & {law for some in ELSEWHERE.values() for law in some}


def test_every_mutant_names_a_function_that_is_there():
    for law in (law for some in ELSEWHERE.values() for law in some):
        module, _, name = law.partition(":")
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)


@pytest.mark.parametrize("law", LISTED)
def test_every_mutant_changes_what_a_function_of_this_name_returns(law):
    """What is inherited has the name, too, but nothing there can be changed."""
    module, _, name = law.partition(":")
    change = mutants.Change(name, LISTED[law]["change"])
    change.visit(ast.parse(Path(importlib.import_module(module).__file__).read_text()))
    assert change.found


def test_the_table_in_the_book_is_about_this_list_and_every_mutant_was_noticed_by_a_witness():
    with mutants.TABLE.open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["law"], r["change"], r["page"]) for r in rows] == [
        (one["law"], one["change"], one["page"]) for one in LISTED.values()
    ]
    words = {*mutants.WITNESSES, "printed number", "digitised curve", "claim in words"}
    assert {row["witness"] for row in rows} <= words
    assert all(int(row["red"]) > 0 and row["at"] for row in rows)


@pytest.mark.parametrize("law", ["ldpkit.kinds.base:SupportLaw.score_rates"])
def test_a_page_turns_red_with_a_broken_law_and_is_green_without(law):
    one = LISTED[law]
    sound = mutants.apart(one["page"], one["parameters"])
    assert sound["problem"] is None and len(sound["rows"]) > 10
    assert not [row for row in sound["rows"] if row["verdict"] == "differs"]
    broken = mutants.apart(one["page"], one["parameters"], law, one["change"])
    assert mutants.judged(one, broken, 0.0)["witness"] == "real reports"


def test_what_no_law_has_made_is_no_witness():
    row = {"how": "drawn from the law", "published": None, "verdict": "differs", "x": 1, "kind": ""}
    one = LISTED["ldpkit.kinds.laws:count_wins"]
    line = mutants.judged(one, {"problem": None, "rows": [row]}, 0.0)
    assert line["red"] == 1 and "witness" not in line
    assert mutants.judged(one, {"problem": "stopped", "rows": []}, 0.0)["witness"] == "stopped"


def test_a_law_that_is_not_there_cannot_be_broken():
    finder = mutants.Finder("ldpkit.kinds.laws:nothing", "2 * x")
    loader = finder.find_spec("ldpkit.kinds.laws", importlib.import_module("ldpkit.kinds").__path__)
    with pytest.raises(ValueError, match="ldpkit.kinds.laws has no nothing that returns anything"):
        loader.loader.get_code("ldpkit.kinds.laws")
