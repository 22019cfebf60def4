"""Pages of figures and tables: their parts in order, one point that is the figure's, and answers that were computed."""

import ast
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from notebooks import ROOT, cells_of

import ldpkit.attacks
import ldpkit.auditors
import ldpkit.mechanisms
from ldpbook import figures, lessons, reading
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


def test_the_line_of_status_counts_what_was_compared():
    line = reading.status(ROWS, "a & b")
    assert "<strong>2 of 3 compared numbers agree</strong>" in line
    assert "1 of 2 with what the paper" in line and "1 of 1 with the authors' code" in line
    assert "1 differs, because a &amp; b." in line
    unprinted = ROWS.assign(verdict="no-published-value")
    assert "3 values within 2.5 standard errors" in reading.status(unprinted, "")


def test_a_tile_says_agree_only_of_what_was_compared():
    parts = re.findall(r'<i class="(\w+)" style="flex-grow:(\d)">', reading.bar(ROWS))
    assert parts == [("agree", "1"), ("other", "2"), ("differ", "1")]
    told = reading.words(ROWS, False)
    assert "1 of 2 with what the paper prints" in told and "1 of 1 with the authors' code" in told
    assert "A conclusion differs" in reading.words(ROWS, True)
    words = ROWS.assign(kind="sign or order")
    assert "1 of 2 with what the paper states in words" in reading.words(words, False)
    only = ROWS[ROWS["verdict"] == "no-published-value"]
    assert reading.words(only, False) == "no printed value compared; 1 value computed exactly"
    assert reading.overall(ROWS).startswith("1 of 2 values") and "(50 %)" in reading.overall(ROWS)


def test_the_gallery_has_every_item_once(tmp_path):
    for folder in ("data", "_build", "book/rad"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "book" / "errata.md").write_text("")
    items = "rad/fig1,One & two,rad/fig1\nrad/fig2,Two,rad/fig1\nrad/table1,T,rad/t\n"
    (tmp_path / "data" / "items.csv").write_text(f"item,title,page\n{items}")
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["# Which & why?"]}
    (tmp_path / "book" / "rad" / "fig1.ipynb").write_text(json.dumps({"cells": [cell]}))
    shown = reading.gallery(Project(tmp_path))
    assert shown.count("<li>") == 3 and shown.count('href="rad/fig1.html"') == 2
    assert shown.count("Which &amp; why?") == 1 and "<strong>Table 1</strong>" in shown
    assert "<span>Two</span>" in shown  # no section asks a question about it
    parts = ("4 Figure 2,holds in part", 1), ("4,holds in part", 0), ("4,does not hold", 2)
    for said, tiles in parts:  # the place and the verdict of a claim
        row = f"page,place,verdict,differs\nrad/fig1,{said},the conclusion\n"
        (tmp_path / "_build" / "claims.csv").write_text(row)
        shown = reading.gallery(Project(tmp_path))
        assert shown.count("<b>A conclusion differs</b></small>") == tiles


def test_every_tile_asks_a_question():
    project = Project(ROOT)
    later = [row for _, rows in figures.items(ROOT).groupby("page") for row in rows.itertuples()][:]
    first = set(figures.items(ROOT).drop_duplicates("page")["item"])
    asked = {
        row.item: lessons.title(project, f"book/{row.page}")
        if row.item in first
        else reading.question(project, f"book/{row.page}", row.item)
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
        tile = reading.panel(svg.getvalue(), png.getvalue(), number)
        assert tile.size == reading.SIZE and tile.getpixel((160, 100)) == colour


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
        tile = np.asarray(reading.panel(svg.getvalue(), png.getvalue(), number)).astype(int)
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
