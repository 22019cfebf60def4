"""Pages of figures and tables: their parts in order, one point that is the figure's, and answers that were computed."""

import ast
import io
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from notebooks import ROOT, cells_of

import ldpkit.attacks
import ldpkit.auditors
import ldpkit.mechanisms
from ldpbook import claims, errata, figures, lessons, page_layout, scoreboard, states
from ldpbook.execute import Project
from ldpkit import stats

BOOK = ROOT / "book"
SEEN = re.compile(r"```\{dropdown\} What you should see\n(.*?)```", flags=re.S)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[,\d]*\d)?(?:\.\d+)?(?:e-?\d+)?")


def text(name):
    cells = [cell for cell in cells_of(f"book/{name}") if cell["cell_type"] == "markdown"]
    return "\n".join("".join(cell["source"]) for cell in cells)


FOUND = [p for p in BOOK.glob("*/*.ipynb") if "## Does it agree with the paper?" in p.read_text()]
PAGES = sorted(str(path.relative_to(BOOK).with_suffix("")) for path in FOUND)


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
        if not lines and "% no number" not in body:
            assert not NUMBER.search(re.sub(r"`[^`]*`|\$[^$]*\$", "", body)), body
        for code, shown in lines:
            given = numbers(eval(compile(ast.parse(code, mode="eval"), name, "eval"), dict(names)))
            for value, number in zip(given, NUMBER.findall(shown), strict=True):
                unit = 10.0 ** -len(number.partition(".")[2])
                if abs(value - float(number.replace(",", ""))) > 0.51 * unit or number not in body:
                    wrong.append((code, value, number))
    assert wrong == []


def test_pages_that_differ_say_why():
    notes = yaml.safe_load((BOOK / "figures.yml").read_text())
    pages = pd.read_csv(ROOT / "data" / "items.csv", index_col="item")["page"]
    board = pd.read_csv(ROOT / "data" / "expected_scoreboard.csv")
    differs = {*pages[board["item"][board["verdict"] == "differs-explained"]]} & {*PAGES}
    assert [page for page in differs if not notes.get(page, {}).get("differs")] == []


ROWS = pd.read_csv(io.StringIO("""\
item,series,x,published,published_error,reproduced,reproduced_se,exact,verdict,note,relation,how,kind
p/fig1,a,1,1,0,1,0.1,1.25,reproduced,,=,real reports,printed number
p/fig1,a,2,1,0,1,0.1,1,differs-explained,why,=,real reports,digitised curve
p/fig1,a,3,,,1,0.1,1,agrees with the authors' code,,=,released code,own stand-in
p/fig1,a,4,,,1,0,1,no-published-value,,=,closed form,own stand-in
"""))  # fmt: skip


def small(tmp_path, claims="", errata="", rows=ROWS, why=""):
    """A project with the figures 1 and 2 of a paper on one page."""
    for folder in ("data", "_build", "book/rad"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "book" / "errata").mkdir(exist_ok=True)
    (tmp_path / "book" / "errata" / "rad.md").write_text(errata)
    (tmp_path / "book" / "figures.yml").write_text(why or "{}")
    items = "rad/fig1,One & two,rad/fig1\nrad/fig2,Two,rad/fig1\nrad/table1,T,rad/t\n"
    (tmp_path / "data" / "items.csv").write_text(f"item,title,page\n{items}")
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# Which & why?"]}
    (tmp_path / "book" / "rad" / "fig1.ipynb").write_text(json.dumps({"cells": [cell]}))
    head = "id,page,place,claim,verdict,holding,of,differs\n"
    (tmp_path / "_build" / "claims.csv").write_text(head + claims)
    rows.to_csv(tmp_path / "_build" / "scoreboard.csv", index=False)
    return Project(tmp_path)


def test_numbers_are_counted_by_what_they_were_compared_with():
    told = (
        "2 of 3 numbers agree: 1 with the authors' code, 1 of 2 with what the paper prints or draws"
    )
    assert states.numbers(ROWS) == told
    parts = re.findall(r'<i class="(\w+)" style="flex-grow:(\d)">', page_layout.bar(ROWS))
    assert parts == [("agree", "1"), ("other", "2"), ("differ", "1")]
    papers = pd.concat([ROWS, ROWS.assign(item="q/fig1", kind="claim in words")])
    assert states.numbers(papers).endswith("2 of 4 with what the papers print, draw or state")
    assert states.numbers(ROWS[:1]) == "1 of 1 numbers agree with what the paper prints"
    signs = pd.concat([ROWS, *[ROWS[:1].assign(kind="sign or order")] * 9])
    assert states.numbers(signs) == told  # a sign is a statement
    neither = ROWS.assign(verdict=["reproduced", "undecided", "by definition", "other-data"])
    assert (
        states.numbers(neither) == "1 of 1 numbers agree with what the paper prints; 1 is undecided"
    )
    beside = ROWS[:2].assign(verdict=["by definition", "other-data"], exact=math.nan)
    assert states.numbers(beside).endswith(
        "; 1 number of other data than ours, and 1 follows from a definition"
    )
    nothing = ROWS.assign(verdict="no-published-value")
    assert (
        states.numbers(nothing)
        == "no printed number is compared; 3 values within 2.5 standard errors of the exact expectation"
    )
    assert states.numbers(nothing[3:]) == "no printed number is compared; 1 value computed exactly"


CLAIMS = """\
rad/a,rad/fig1,4,A < B,holds,8,8,
rad/b,rad/fig1,4,A is low,holds in part: 6 of 8 cells; elsewhere the conclusion differs,6,8,the conclusion
rad/c,rad/fig1,"4, Figure 2",B is high,does not hold: the conclusion differs,0,8,the conclusion
rad/d,rad/fig1,"4, Figure 2a",B is 2,does not hold: the number differs,0,1,the number
rad/e,rad/fig1,4,C,cannot be checked here: no data,0,0,
rad/f,rad/t,4,D,undecided: two readings,0,1,
rad/g,rad/bounds,4,E,does not hold: the conclusion differs,0,1,the conclusion
"""
ERRATA = """\
(rad-1)=
## 1. A lost sign
- **Effect**: conclusion; rad/fig1.
(rad-2)=
## 2. A lost digit
- **Effect**: conclusion; rad/fig1, rad/table1.
"""
WHY = "why: {rad/b: it is 3, rad/c: 'B & C are low [rad-1]', rad-2: it is not}\n"


def test_the_line_has_numbers_statements_and_which_one_differs_and_why(tmp_path):
    found = states.of_page(small(tmp_path, CLAIMS, ERRATA, why=WHY), "book/rad/fig1")
    assert found.statements == "1 of 4 statements hold" and found.mark == "conclusions differ"
    assert [each.anchor for each in found.differences] == [
        "claim-rad-c",
        "claim-rad-b",
        "rad-2",
        "claim-rad-d",
    ]
    line = page_layout.status(
        ROWS,
        found,
        {"differs": "a & b", "explore": "audit:k=2&x=1"},
        lambda page: f"../{page}.html",
    )
    seen, folded = re.sub(r"<(?!/?a|/?b|/?strong)[^>]*>", "", line).split("4 more")
    assert "<strong>1 of 4 statements hold</strong>; <b>conclusions differ</b>: “<a " in seen
    assert (
        'claims.html#claim-rad-c">B is high</a>” does not hold, because B &amp; C are low' in seen
    )
    assert '(<a href="../book/errata/rad.html#rad-1">erratum</a>).' in seen
    assert "A is low</a>” fails in 2 of 8 cells, because it is 3." in folded
    assert "A lost digit</a>: it is not." in folded
    assert "1 number differs, because a &amp; b." in folded
    assert states.of_items(tmp_path, ["rad/table1"]).parts == [
        "0 of 1 statements hold",
        "a conclusion differs",
    ]
    by_number = states.of_items(
        small(tmp_path / "n", CLAIMS.replace("conclusion", "number")).root, ["rad/fig1"]
    )
    assert by_number.mark == "no conclusion differs"


def test_page_tile_front_page_and_scoreboard_say_the_same(tmp_path):
    project = small(tmp_path, CLAIMS, ERRATA, ROWS.assign(item="rad/fig1"), WHY)
    overview, board = (
        page_layout.overview(project),
        scoreboard.page(tmp_path, tmp_path / "_build" / "scoreboard.csv"),
    )
    signs = re.findall(r"<b>(\w+)</b>(.*?)</a>", overview)
    assert [(name, re.sub("<.*?>", "", drawn)) for name, drawn in signs] == [
        ("1", "≠≠✗"),
        ("2", "–≠✗"),
        ("T1", "–≠✗"),
    ]
    assert overview.count('<a href="rad/fig1.html"') == 2 and "rad/t.html" not in overview
    unprinted = ROWS.assign(item="rad/fig2", verdict="no-published-value", exact=1.0)
    compared = page_layout.overview(small(tmp_path / "exact", CLAIMS, ERRATA, unprinted, WHY))
    assert '<b>2</b><i class="exact">=</i>' in compared
    shown = page_layout.gallery(project)
    assert shown.count("<li>") == 3 and shown.count('href="rad/fig1.html"') == 2
    assert shown.count("Which &amp; why?") == 1 and "<strong>Table 1</strong>" in shown
    assert "<span>Two</span>" in shown  # no section asks a question about it
    for item in ("rad/fig1", "rad/fig2", "rad/table1"):
        told = states.of_items(tmp_path, [item])
        assert f"<small>{told.html}</small>" in shown
        assert f": {told}\n" in board
    every = states.of_papers(tmp_path, ["rad"])  # with the statements of a page without a figure
    assert every.statements == "1 of 6 statements hold"
    assert f"{every.html}. <span>" in shown and f"{every.html}.</p>" in shown
    assert (
        states.of_items(tmp_path, ["rad/fig2"]).statements == "1 of 4 statements hold"
    )  # its own, and those of the whole page
    assert states.of_items(tmp_path, ["rad/fig1"]).statements == "1 of 2 statements hold"


def test_every_conclusion_of_the_release_that_differs_has_a_reason(tmp_path):
    """The verdicts of the release; those that another build has are told without a reason."""
    said = pd.read_csv(ROOT / "data" / "expected_claims.csv")
    told = said["verdict"].str.extract(r"(?:(\d+) of (\d+) .*)?(the conclusion|the number) differs")
    said[["holding", "of", "differs"]] = told.astype({0: float, 1: float})
    for folder in ("data", "book"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "_build").mkdir()
    said = said[~said["verdict"].str.startswith(claims.NEVER)]
    claims.merged(ROOT, [said]).to_csv(tmp_path / "_build" / "claims.csv", index=False)
    wrong, items = [], pd.read_csv(ROOT / "data" / "items.csv")
    for page, own in items.groupby("page"):
        found = states.of_page(Project(tmp_path), page)
        wrong += [(page, each.anchor) for each in found.differences if not each.why]
        tiles = [states.of_items(tmp_path, [item]) for item in own["item"]]
        assert {each for tile in tiles for each in tile.differences} == {*found.differences}, page
    assert wrong == []
    known = {*claims.ledger(ROOT)["id"], *(entry.name for entry in errata.entries(ROOT))}
    why = yaml.safe_load((BOOK / "figures.yml").read_text())["why"]
    assert [name for name in why if name not in known] == []
    cited = {name for text in why.values() for name in re.findall(r"\[([a-z-]+-\d+)\]", text)}
    assert cited <= known


def test_every_tile_asks_a_question():
    project = Project(ROOT)
    later = [row for _, rows in figures.items(ROOT).groupby("page") for row in rows.itertuples()][:]
    first = set(figures.items(ROOT).drop_duplicates("page")["item"])
    asked = {
        row.item: lessons.title(project, f"book/{row.page}")
        if row.item in first
        else page_layout.question(project, f"book/{row.page}", row.item)
        for row in later
    }
    assert [item for item, words in asked.items() if not words.endswith("?")] == []
    assert len(set(asked.values())) == len(asked)


def test_a_tile_shows_one_panel_of_a_figure():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(6, 3))
    axes[0].set_facecolor("red")
    axes[1].set_facecolor("blue")
    svg, png = io.StringIO(), io.BytesIO()
    figure.savefig(svg, format="svg")
    figure.savefig(png, format="png")
    plt.close(figure)
    for number, colour in ((1, (255, 0, 0)), (2, (0, 0, 255))):
        tile = page_layout.panel(svg.getvalue(), png.getvalue(), number)
        assert tile.size == page_layout.SIZE and tile.getpixel((160, 100)) == colour


@pytest.mark.parametrize("size, seen", [(10, True), (3, False)])
def test_a_tile_cuts_no_letter_and_shows_none_that_is_too_small(size, seen):
    """The label of a tick is red, and whole or gone; the legend is blue, the label of the axis is green, and both are gone."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    for axis in axes:
        axis.plot([1, 2], [1, 2], "w", label="a series")
        axis.set_yticks([1.5], ["WWW"], fontsize=size, color="red")
        axis.set_ylabel("an axis", color="lime", labelpad=30)
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", labelcolor="blue"
    )
    svg, png = io.StringIO(), io.BytesIO()
    with plt.rc_context({"svg.fonttype": "path"}):
        figure.savefig(svg, format="svg")
    figure.savefig(png, format="png", dpi=200)
    plt.close(figure)
    for number in (1, 2):
        tile = np.asarray(page_layout.panel(svg.getvalue(), png.getvalue(), number)).astype(int)
        red, green, blue = (
            2 * tile[:, :, i] - tile.sum(axis=2) + tile[:, :, i] > 150 for i in range(3)
        )
        assert not green.any() and not blue.any()
        assert red.any() == seen
        if seen:
            (top, left), (bottom, right) = (
                end(np.argwhere(red), axis=0) for end in (np.min, np.max)
            )
            assert (right - left) / (bottom - top) > 3.5  # three letters, each wider than high
