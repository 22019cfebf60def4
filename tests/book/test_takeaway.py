"""What readers take away: zips with the same bytes each time and every column explained, words for links,
a site without what no page needs, slides cut from the pages."""

import base64
import csv
import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from docutils.core import publish_doctree

from ldpbook import build, execute, slides, takeaway

ROOT = Path(__file__).parents[2]


PNG = b"\x89PNG of a figure"


@pytest.fixture
def project(tmp_path):
    """A checkout with one executed page of one paper."""
    for name in ("book/rad", "data", "_build/executed/book/rad"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("CITATION.cff", "pyproject.toml", "data/items.csv", "book/errata.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text(
        "root: book/rad/index\nchapters: [{file: book/rad/fig1}, {file: book/rad/fig2}]\n"
    )
    table = "panel,series,source,x,y,error\n,a,exact,1,2,\n"
    image = {
        "image/svg+xml": "<svg/>",
        "image/png": base64.b64encode(PNG).decode(),
        "text/csv": table,
    }
    figure = {"mystnb": {"figure": {"name": "fig-rad-1"}}}
    cells = [
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "outputs": [],
         "source": "trials = 100  # reports, at least 1 (the paper: 1,000)"},
        {"cell_type": "code", "metadata": {"tags": ["injected-parameters"]}, "outputs": [],
         "source": "# Parameters\ntrials = 5\n"},
        {"cell_type": "code", "metadata": figure, "outputs": [{"data": image}], "source": "figure"},
    ]  # fmt: skip
    for name in ("book/rad/fig1", "_build/executed/book/rad/fig1"):
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "_build" / "scoreboard.csv").write_text(
        ",".join(takeaway.BOARD)
        + "\nrad/fig1,s,1,,,2,0,2,v,,=,h,k\nkv_auditor/fig6,t,1,,,2,0,2,v,,=,h,k\n"
    )
    return execute.Project(tmp_path)


def test_a_zip_has_everything_of_its_paper_and_the_same_bytes_each_time(project):
    made = takeaway.archive(project, "rad")
    assert made == takeaway.archive(project, "rad")
    with zipfile.ZipFile(io.BytesIO(made)) as zipped:
        assert zipped.namelist() == sorted(zipped.namelist())
        found = {name.removeprefix("rad/"): zipped.read(name) for name in zipped.namelist()}
        assert {info.date_time for info in zipped.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert set(found) == {
        "README.txt", "CITATION.cff", "comparisons.csv", "parameters.csv", "dictionary.csv",
        "figures/fig-rad-1.svg", "figures/fig-rad-1.png", "figures/fig-rad-1.csv", "notebooks/fig1.ipynb",
    }  # fmt: skip
    assert found["figures/fig-rad-1.png"] == PNG and b"kv_auditor" not in found["comparisons.csv"]
    (row,) = csv.DictReader(found["parameters.csv"].decode().splitlines())
    assert row["value"] == "5" and row["meaning"].startswith("reports")
    explained = {
        (row["table"], row["column"])
        for row in csv.DictReader(found["dictionary.csv"].decode().splitlines())
        if row["meaning"]
    }
    for name in ("figures/fig-rad-1.csv", "comparisons.csv"):
        head = found[name].decode().partition("\n")[0].split(",")
        assert {(name, column) for column in head} <= explained


def test_the_dictionary_knows_the_columns_of_comparisons():
    from ldpbook.paper_values import COLUMNS

    assert list(takeaway.BOARD) == COLUMNS


def test_a_page_is_described_by_its_first_sentences_cut_at_a_word():
    text = (
        "Title\n=====\n\nShort.\n\n"
        + "word " * 60
        + "\n\n.. note:: not this one, although it is long enough to be\n"
    )
    said = takeaway.described(publish_doctree(text))
    assert said.startswith("word word") and said.endswith("word…") and len(said) <= 180
    assert takeaway.described(publish_doctree("Title\n=====\n\nShort.\n")) == ""


def test_what_no_page_needs_goes_and_nothing_else(tmp_path):
    names = {
        "_static/scripts/fontawesome.js": False, "_static/scripts/fontawesome.js.map": False,
        "_static/styles/theme.css.map": False, "_static/vendor/fontawesome/webfonts/a.ttf": False,
        "_static/vendor/fontawesome/webfonts/a.woff2": True, "_static/scripts/bootstrap.js": True,
        "_static/mathjax/b.ttf": True, "_static/mathjax/tex-chtml.js": True,
        "_static/mathjax/tex-svg.js": False, "_static/mathjax/core.js": True,
    }  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    kept = (
        '<script defer src="../_static/scripts/bootstrap.js"></script>'
        '<script async src="../_static/mathjax/tex-chtml.js?v=1"></script>'
    )
    gone = '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>\n'
    index = '<script src="../searchindex.js"></script>\n'
    for name in ("a.html", "search.html"):
        (tmp_path / name).write_text(f"<head>{gone}{index}{kept}</head>")
    takeaway.lighten(tmp_path)
    assert (tmp_path / "a.html").read_text() == f"<head>{kept}</head>"
    assert (tmp_path / "search.html").read_text() == f"<head>{index}{kept}</head>"
    assert {name: (tmp_path / name).exists() for name in names} == names


def test_the_sizes_of_a_site_are_those_of_its_parts(tmp_path):
    for name in ("index.html", "a/b.html", "a/c/d.html", "_static/x/y.js", "_static/z.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    assert build.sizes(tmp_path) == {
        "files beside them": 5, "a": 10, "_static/x": 5, "_static": 5}  # fmt: skip


def test_slides_are_cut_from_the_pages_and_lead_to_them(project):
    html = project.html("book/rad/fig1").parent
    html.mkdir(parents=True)
    (html / "index.html").write_text(
        "<article><h1>RAD<a class='headerlink'>#</a></h1><p>About it.</p></article>"
    )
    (html / "fig1.html").write_text(
        "<article><h1>One</h1><p class='page-needs'>easy</p><p>Why? <a href='../x.html#y'>x</a></p>"
        "<figure id='fig-rad-1'><img src='../../_images/1.svg' alt='a'><figcaption>Seen.</figcaption>"
        "</figure></article>"
    )
    (html / "fig2.html").write_text(
        "<article><h1>Two</h1><div class='in-short'><p class='question'>Is it?</p>"
        "<p class='answer'>No.</p><div class='glance'><p>Share</p></div>"
        "<dl><dt>We found</dt><dd><p>Nothing.</p></dd></dl></div></article>"
    )
    made = list(slides.slides(project, "rad"))
    assert "<h1>RAD</h1>" in made[0][0] and "About it." in made[0][0]
    first, figure = made[1]
    assert "Why?" in first and 'href="../html/book/x.html#y"' in first and "easy" not in first
    assert 'src="../html/_images/1.svg"' in figure and "Seen." in figure
    (asked,) = made[2]
    assert '<p class="question">Is it?</p>' in asked
    assert '<p class="fragment">No.</p>' in asked and '<div class="glance fragment">' in asked
    assert '<aside class="notes"><p>We found: <p>Nothing.</p></p></aside>' in asked
    assert "Errata" in made[3][0] and 'errata.html#rad-1"' in made[3][0]


def test_slides_need_a_built_book(tmp_path, monkeypatch):
    monkeypatch.setattr("ldpbook.paths.ROOT", tmp_path)
    with pytest.raises(SystemExit, match="run `make book` first"):
        slides.main()
