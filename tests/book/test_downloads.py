"""What readers take away: zips with the same bytes each time and every column explained, words for links,
a site without what no page needs."""

import base64
import csv
import io
import json
import shutil
import zipfile

import numpy as np
import pytest
from docutils.core import publish_doctree
from PIL import Image

from ldpbook import downloads, execute, release
from ldpbook.paper_values import COLUMNS
from ldpbook.paths import ROOT

COLOURS = np.random.default_rng(1).integers(0, 4, (30, 40, 3), dtype=np.uint8) * 85
"""A picture of at most 64 colours."""


@pytest.fixture
def project(tmp_path):
    """A checkout with one executed page of one paper."""
    for name in ("book/rad", "data", "_build/executed/book/rad"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("CITATION.cff", "pyproject.toml", "data/items.csv"):
        shutil.copy(ROOT / name, tmp_path / name)
    chapters = "[{file: book/rad/fig1}, {file: book/rad/fig2}]"
    (tmp_path / "_toc.yml").write_text(f"root: book/rad/index\nchapters: {chapters}\n")
    drawn, table = io.BytesIO(), "panel,series,source,x,y,error\n,a,exact,1,2,\n"
    Image.fromarray(COLOURS).save(drawn, "png")
    png = base64.b64encode(drawn.getvalue()).decode()
    image = {"image/svg+xml": "<svg/>", "image/png": png, "text/csv": table}
    said = [
        ({"tags": ["parameters"]}, "trials = 100  # reports, at least 1 (the paper: 1,000)", []),
        ({"tags": ["injected-parameters"]}, "# Parameters\ntrials = 5\n", []),
        ({"mystnb": {"figure": {"name": "fig-rad-1"}}}, "figure", [{"data": image}]),
    ]
    names = ("metadata", "source", "outputs")
    cells = [{"cell_type": "code"} | dict(zip(names, cell)) for cell in said]
    for name in ("book/rad/fig1", "_build/executed/book/rad/fig1"):
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
    rows = "rad/fig1,s,1,,,2,0,2,v,,=,h,k\nkv_auditor/fig6,t,1,,,2,0,2,v,,=,h,k\n"
    (tmp_path / "_build" / "scoreboard.csv").write_text(f"{','.join(downloads.BOARD)}\n{rows}")
    return execute.Project(tmp_path)


def test_a_zip_has_everything_of_its_paper_and_the_same_bytes_each_time(project):
    made = downloads.archive(project, "rad")
    assert made == downloads.archive(project, "rad") and list(downloads.BOARD) == COLUMNS
    with zipfile.ZipFile(io.BytesIO(made)) as zipped:
        found = {name.removeprefix("rad/"): zipped.read(name) for name in zipped.namelist()}
        assert {info.date_time for info in zipped.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert set(found) == {
        "README.txt", "CITATION.cff", "comparisons.csv", "parameters.csv", "dictionary.csv",
        "figures/fig-rad-1.svg", "figures/fig-rad-1.png", "figures/fig-rad-1.csv", "notebooks/fig1.ipynb",
    }  # fmt: skip
    tables = {n: list(csv.DictReader(found[n].decode().splitlines())) for n in found if ".csv" in n}
    kept = Image.open(io.BytesIO(found["figures/fig-rad-1.png"])).convert("RGB")
    assert np.array_equal(kept, COLOURS) and b"kv_auditor" not in found["comparisons.csv"]
    (row,) = tables["parameters.csv"]
    assert row["value"] == "5" and row["meaning"].startswith("reports")
    explained = {(r["table"], r["column"]) for r in tables["dictionary.csv"] if r["meaning"]}
    for name in ("figures/fig-rad-1.csv", "comparisons.csv"):
        assert {(name, column) for column in tables[name][0]} <= explained


def test_a_page_is_described_by_its_first_sentences_cut_at_a_word():
    short = "Title\n=====\n\nShort.\n\n"
    note = "\n\n.. note:: not this one, although it is long enough to be\n"
    said = downloads.described(publish_doctree(f"{short}{'word ' * 60}{note}"))
    assert said.startswith("word word") and said.endswith("word…") and len(said) <= 180
    assert downloads.described(publish_doctree(short)) == ""


def test_what_no_page_needs_goes_and_nothing_else(tmp_path):
    names = {
        "_static/scripts/fontawesome.js": False, "_static/scripts/fontawesome.js.map": False,
        "_static/styles/theme.css.map": False, "_static/vendor/fontawesome/webfonts/a.ttf": False,
        "_static/vendor/fontawesome/webfonts/a.woff2": True, "_static/scripts/bootstrap.js": True,
    }  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    gone = '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>\n'
    index = '<script src="../searchindex.js"></script>\n'
    kept = '<script defer src="../_static/scripts/bootstrap.js"></script>'
    left = {"a.html": kept, "search.html": index + kept}
    for name in left:
        (tmp_path / name).write_text(f"<head>{gone}{index}{kept}</head>")
    downloads.lighten(tmp_path)
    assert {name: (tmp_path / name).read_text()[6:-7] for name in left} == left
    assert {name: (tmp_path / name).exists() for name in names} == names


def test_the_site_offers_the_wheel_that_its_pages_name_and_it_holds_the_auditor_alone():
    name, content = release.wheel(ROOT)
    assert (name, content) == release.wheel(ROOT)
    held = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert "ldpkit/api.py" in held and not any(path.startswith("book") for path in held)
    for page in ("audit_your_client.ipynb", "released/maintainers.md"):
        assert f"/_wheel/{name}" in (ROOT / "book" / page).read_text()
