"""Pages of figures and tables: their parts in order, one point that is the figure's, and answers that were computed."""

import ast
import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import ldpkit.attacks
import ldpkit.auditors
import ldpkit.mechanisms
from ldpbook import reading
from ldpkit import stats

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
HEADING = "## Does it agree with the paper?"
ORDER = [
    "How to read it",
    "One (?:point of this figure|cell of this table)",
    "Run it yourself",
    "Does it agree with the paper\\?",
    "Remember",
    "Exercises",
]
SEEN = re.compile(r"```\{dropdown\} What you should see\n(.*?)```", flags=re.S)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[,\d]*\d)?(?:\.\d+)?(?:e-?\d+)?")


@functools.cache
def cells(name):
    return json.loads((BOOK / f"{name}.ipynb").read_text())["cells"]


def text(name):
    return "\n".join("".join(c["source"]) for c in cells(name) if c["cell_type"] == "markdown")


PAGES = sorted(
    str(path.relative_to(BOOK).with_suffix(""))
    for path in BOOK.glob("*/*.ipynb")
    if HEADING in path.read_text()
)


def tags(cell):
    return cell["metadata"].get("tags", [])


def test_parts_stand_in_the_order_of_the_readers():
    wrong = []
    for name in PAGES:
        found = re.findall(r"^## (.*)$", text(name), flags=re.M)
        places = [
            next((i for i, h in enumerate(found) if re.fullmatch(part, h)), -1) for part in ORDER
        ]
        head = "".join(cells(name)[0]["source"])
        ready = head.startswith("# ") and ":::{div} subtitle" in head and ":::{div} answer" in head
        first = [i for i, cell in enumerate(cells(name)) if "first-figure" in tags(cell)]
        folded = all({"hide-input", "setup"} <= {*tags(cell)} or "remove-cell" in tags(cell) or cell["cell_type"] == "markdown"
                     for cell in cells(name)[1 : first[0]]) if len(first) == 1 else False  # fmt: skip
        if not ready or not folded or -1 in places or places != sorted(places):
            wrong.append((name, ready, folded, places))
    assert wrong == []


def test_one_point_is_short_visible_code_that_a_hidden_cell_compares():
    wrong = []
    for name in PAGES:
        starts = [
            i
            for i, c in enumerate(cells(name))
            if re.search(f"^## {ORDER[1]}", "".join(c["source"]), flags=re.M)
        ]
        shown, hidden = cells(name)[starts[0] + 1 : starts[0] + 3]
        lines = [
            line
            for line in "".join(shown["source"]).splitlines()
            if line.strip() and not line.startswith(("import ", "from "))
        ]
        good = (
            not tags(shown)
            and 4 <= len(lines) <= 14
            and "remove-cell" in tags(hidden)
            and "assert" in "".join(hidden["source"])
        )
        wrong += [] if good else [(name, len(lines), tags(shown), tags(hidden))]
    assert wrong == []


def numbers(value):
    """All numbers of a result, however it is nested."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [x for part in value for x in numbers(part)]
    return [float(value)]


def seen(name):
    """The lines below `What you should see`, each as code with the numbers that the text shows."""
    for body in SEEN.findall(text(name)):
        lines = re.findall(r"^\s*% (.*) -> (.*)$", body, flags=re.M)
        yield re.sub(r"^\s*%.*$", "", body, flags=re.M), lines


@pytest.mark.parametrize("name", PAGES)
def test_what_you_should_see_is_what_comes_out(name):
    """A dropdown has lines ``% code -> numbers``; the code gives the numbers as they are rounded, and the text has them."""
    wrong, names = [], {"np": np, "stats": stats}
    for module in (ldpkit.attacks, ldpkit.auditors, ldpkit.mechanisms):
        names |= {key: getattr(module, key) for key in module.__all__}
    dropdowns = list(seen(name))
    assert dropdowns, "no Try it with What you should see"
    for body, lines in dropdowns:
        assert (
            lines
            or "% no number" in body
            or not NUMBER.search(re.sub(r"`[^`]*`|\$[^$]*\$", "", body))
        ), body
        for code, shown in lines:
            given = numbers(eval(compile(ast.parse(code, mode="eval"), name, "eval"), dict(names)))
            stated = NUMBER.findall(shown)
            for value, number in zip(given, stated, strict=True):
                unit = 10.0 ** -len(number.partition(".")[2])
                if abs(value - float(number.replace(",", ""))) > 0.51 * unit or number not in body:
                    wrong.append((code, value, number))
    assert wrong == []


def test_pages_that_differ_say_why():
    cards = yaml.safe_load((BOOK / "cards.yml").read_text())
    items = [line.split(",") for line in (ROOT / "data" / "items.csv").read_text().splitlines()[1:]]
    pages = {line[0]: line[-1] for line in items}
    board = [
        line.split(",")
        for line in (ROOT / "data" / "expected_scoreboard.csv").read_text().splitlines()[1:]
    ]
    differs = {pages[row[0]] for row in board if "differs-explained" in row}
    assert {
        page for page in differs & set(PAGES) if not cards.get(page, {}).get("differs")
    } == set()


ROWS = """item,series,x,published,published_error,reproduced,reproduced_se,exact,verdict,note,relation,how,kind
p/fig1,a,1,1,0,1,0.1,1.25,reproduced,,=,real reports,printed number
p/fig1,a,2,1,0,1,0.1,1,differs-explained,why,=,real reports,digitised curve
p/fig1,a,3,,,1,0.1,1,agrees with the authors' code,,=,released code,own stand-in
p/fig1,a,4,,,1,0,1,no-published-value,,=,closed form,own stand-in
"""


def test_the_line_of_status_counts_what_was_compared(tmp_path):
    import pandas as pd

    path = tmp_path / "board.csv"
    path.write_text(ROWS)
    rows = pd.read_csv(path)
    line = reading.status(rows, "a & b")
    assert "<strong>2 of 3 compared numbers agree</strong>" in line
    assert "1 of 2 with what the paper" in line and "1 of 1 with the authors' code" in line
    assert "1 differs, because a &amp; b." in line
    unprinted = rows.assign(verdict="no-published-value")
    assert "3 values lie within 2.5 standard errors" in reading.status(unprinted, "")


def test_the_line_on_the_fold_is_there_for_a_page_without_statements(tmp_path):
    import pandas as pd

    from ldpbook.execute import Project

    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / "claims.csv").write_text(
        "page,verdict\np/fig1,holds\np/fig1,differs: a\n"
    )
    (tmp_path / "board.csv").write_text(ROWS)
    rows, project = pd.read_csv(tmp_path / "board.csv"), Project(tmp_path)
    assert reading.summary(project, "book/p/fig1", rows).endswith("1 of 2 tested statements hold")
    assert reading.summary(project, "book/p/fig2", rows) == "2 of 3 compared numbers agree"
