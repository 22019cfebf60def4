"""Laws that are broken on purpose: none is forgotten, the table in the book is about this list, and
a page does turn red."""

import ast
import csv
import importlib
import operator
import pkgutil
from pathlib import Path

import mutants
import pytest
import yaml

from ldpbook import execute, hooks

ROOT = Path(__file__).parents[2]
NAMES = {
    "success", "failure", "guess_rates", "score_rates", "pair_distribution", "slot_distribution", "distribution",
    "p", "q", "amplified", "_rates", "_record_distribution", "_ratio_distribution",
    "_difference_distribution",
}  # fmt: skip
"""What functions are called that say how likely reports, guesses or events are."""
MUTANTS = mutants.mutants()
LISTED = {one["law"]: one for one in MUTANTS}
ELSEWHERE = yaml.safe_load(mutants.LIST.read_text())["elsewhere"]


def returns(function):
    """Whether a function gives anything; those that others have to write do not."""
    found = [n.value for n in ast.walk(function) if isinstance(n, ast.Return)]
    return any(value is not None and ast.unparse(value) != "None" for value in found)


def laws():
    """Every exact distribution of a report type or a mechanism, by module and name."""
    yield from (
        f"ldpkit.guess_success:{name}"
        for name in importlib.import_module("ldpkit.guess_success").__all__
    )
    for folder in ("reports", "mechanisms", "beyond"):
        for path in (ROOT / "ldpkit" / folder).glob("*.py"):
            module = f"ldpkit.{folder}.{path.stem}"
            tree = ast.parse(path.read_text())
            classes = [(n, f"{n.name}.") for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
            for owner, prefix in [(tree, ""), *classes]:
                for one in owner.body:
                    if isinstance(one, ast.FunctionDef) and one.name in NAMES and returns(one):
                        yield f"{module}:{prefix}{one.name}"


def test_every_law_has_a_mutant_that_changes_what_it_returns_or_a_test_file():
    """What is inherited has the name, too, but nothing there can be changed."""
    elsewhere = {law for some in ELSEWHERE.values() for law in some}
    missing = {*laws()} - {*LISTED} - elsewhere
    assert not missing, (
        f"add a mutant of each, or its test file, to tests/helpers/mutants.yml: {missing}"
    )
    assert all((ROOT / path).exists() for path in ELSEWHERE) and not {*LISTED} & elsewhere
    assert all(pkgutil.resolve_name(law) for law in elsewhere)  # or an AttributeError
    wrong = []
    for one in MUTANTS:
        module, _, name = one["law"].partition(":")
        change = mutants.Change(name, one["change"])
        change.visit(ast.parse(Path(importlib.import_module(module).__file__).read_text()))
        wrong += [] if change.found else [one["law"]]
    assert wrong == []


def test_the_table_in_the_book_is_about_this_list_and_every_mutant_was_noticed_by_a_witness():
    with mutants.TABLE.open() as file:
        rows = list(csv.DictReader(file))
    key = operator.itemgetter("law", "change", "page")
    assert [key(row) for row in rows] == [key(one) for one in MUTANTS]
    words = {*mutants.WITNESSES, "printed number", "digitised curve", "claim in words"}
    assert {row["witness"] for row in rows} <= words
    assert all(int(row["red"]) > 0 and row["at"] for row in rows)


def test_the_page_about_this_table_speaks_of_exact_distributions():
    told = hooks.trust(execute.Project(mutants.ROOT)).partition("````")[0]
    assert f"{len(mutants.mutants())} exact distributions and rates" in told and " law" not in told


def test_a_page_turns_red_with_a_broken_law_and_is_green_without():
    law = "ldpkit.reports.base:ExactSupport.score_rates"
    one = LISTED[law]
    sound = mutants.apart(one["page"], one["parameters"])
    assert sound["problem"] is None and len(sound["rows"]) > 10
    assert not [row for row in sound["rows"] if row["verdict"] == "differs"]
    broken = mutants.apart(one["page"], one["parameters"], law, one["change"])
    assert mutants.judged(one, broken, 0.0)["witness"] == "real reports"


def test_what_no_law_has_made_is_no_witness():
    row = {
        "how": "sampled from exact rates",
        "published": None,
        "verdict": "differs",
        "x": 1,
        "kind": "",
    }
    one = LISTED["ldpkit.guess_success:count_wins"]
    line = mutants.judged(one, {"problem": None, "rows": [row]}, 0.0)
    assert line["red"] == 1 and "witness" not in line
    assert mutants.judged(one, {"problem": "stopped", "rows": []}, 0.0)["witness"] == "stopped"


def test_a_law_that_is_not_there_cannot_be_broken():
    finder = mutants.Finder("ldpkit.guess_success:nothing", "2 * x")
    loader = finder.find_spec("ldpkit.guess_success", importlib.import_module("ldpkit").__path__)
    with pytest.raises(ValueError, match="nothing"):
        loader.loader.get_code("ldpkit.guess_success")
