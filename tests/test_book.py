"""The book's runner and its sources: nothing stale, nothing hidden, nothing half done."""

import ast
import json
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_tools"))

import check_pages  # noqa: E402
import execute  # noqa: E402

PROJECT = execute.Project(ROOT)
NOTEBOOKS = PROJECT.notebooks()
DRAWS = r"^draw\(|^[^ \n].*(plots\.panels|plt\.subplots|plots\.delta_bars)\("  # at the left margin: not a definition


def notebook(*cells):
    """A notebook whose first cell is the parameter cell."""
    made = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {"tags": ["parameters"]} if i == 0 else {}, "source": source,
         "outputs": [], "execution_count": None}
        for i, source in enumerate(cells)
    ]  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def project(tmp_path):
    (tmp_path / "book" / "scales").mkdir(parents=True)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/one\nchapters:\n- file: book/two\n")
    (tmp_path / "book" / "one.ipynb").write_text(notebook("trials = 3", "print('ran with', trials)"))
    (tmp_path / "book" / "two.ipynb").write_text(notebook("seed = 1", "print(seed)"))
    (tmp_path / "book" / "scales" / "smoke.yml").write_text('"*": {trials: 1}\n')
    return execute.Project(tmp_path)


def text(project, page):
    cells = json.loads(project.executed(page).read_text())["cells"]
    return "".join("".join(output.get("text", "")) for cell in cells for output in cell["outputs"])


def test_runner_executes_once_and_again_only_what_changed(project, capsys):
    assert execute.run(project.root, jobs=2) == 0
    assert text(project, "book/one") == "ran with 3\n"
    before = project.executed("book/two").read_bytes()
    assert execute.run(project.root, scale="smoke", jobs=2) == 0
    assert text(project, "book/one") == "ran with 1\n"
    assert "current   book/two" in capsys.readouterr().out
    project.source("book/two").write_text(notebook("seed = 2", "print(seed)"))
    assert execute.run(project.root, scale="smoke", jobs=1) == 0
    out = capsys.readouterr().out
    assert "current   book/one" in out and "executed  book/two" in out
    assert project.executed("book/two").read_bytes() != before


def test_equal_runs_give_equal_bytes(project):
    execute.run(project.root, jobs=2)
    first = project.executed("book/one").read_bytes()
    execute.forget(project, "book/one")
    execute.run(project.root, jobs=2)
    assert project.executed("book/one").read_bytes() == first


def test_saved_outputs_do_not_make_a_notebook_stale(project):
    wanted = execute.key(project, "book/one", {}, "shared")
    saved = json.loads(project.source("book/one").read_text())
    saved["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "old"}]
    saved["cells"][1]["metadata"]["execution"] = {"iopub.execute_input": "2026"}
    project.source("book/one").write_text(json.dumps(saved))
    assert execute.key(project, "book/one", {}, "shared") == wanted


@pytest.mark.parametrize("name", ["ldpkit/x.py", "data/published/x.csv", "requirements.lock", "book/packages/p-1.txt"])
def test_results_depend_on_code_data_and_environment(project, name):
    before = project.digest(*execute.SHARED)
    (project.root / name).parent.mkdir(parents=True, exist_ok=True)
    (project.root / name).write_text("changed")
    assert project.digest(*execute.SHARED) != before


def test_failing_notebook_is_named_with_its_cell_and_leaves_no_page(project, capfd):
    execute.run(project.root, jobs=2)
    page = project.html("book/one")
    page.parent.mkdir(parents=True)
    page.write_text("old")
    project.source("book/one").write_text(notebook("trials = 3", "1 + 1", "raise ValueError('k must be an integer')"))
    assert execute.run(project.root, jobs=2) == 1
    error = capfd.readouterr().err
    assert "FAILED    book/one: cell 2: ValueError: k must be an integer" in error and "Traceback" not in error
    assert not page.exists() and not project.executed("book/one").exists()
    assert project.executed("book/two").exists()


def test_damaged_executed_copy_is_noticed_and_made_again(project, capsys):
    execute.run(project.root, jobs=2)
    whole = project.executed("book/one").read_bytes()
    project.executed("book/one").write_bytes(whole[:-40])
    assert execute.run(project.root, jobs=2) == 0
    assert "damaged   book/one" in capsys.readouterr().out
    assert project.executed("book/one").read_bytes() == whole


def test_unknown_scale_and_unknown_parameter_are_refused(project):
    with pytest.raises(SystemExit, match="SCALE must be one of paper, smoke, got 'huge'"):
        execute.run(project.root, scale="huge")
    (project.root / "book" / "scales" / "smoke.yml").write_text("book/one: {trails: 1}\n")
    with pytest.raises(SystemExit, match="book/one has no parameter trails; it has trials"):
        execute.run(project.root, scale="smoke")


def test_unexplained_difference_fails_and_boards_are_merged(project, capsys):
    execute.run(project.root, jobs=2)
    header = "item,series,x,published,published_error,reproduced,reproduced_se,exact,verdict,note\n"
    project.executed("book/one", ".csv").write_text(header + "p/fig1,s,1,2,0,2,0,2,reproduced,\n")
    assert execute.run(project.root, jobs=2) == 0
    project.executed("book/two", ".csv").write_text(header + "p/fig2,s,1,2,0,3,0,3,differs,\n")
    assert execute.run(project.root, jobs=2) == 1
    assert "DIFFERS   p/fig2" in capsys.readouterr().err
    assert list(pd.read_csv(project.build / "scoreboard.csv")["item"]) == ["p/fig1", "p/fig2"]


def test_missing_empty_and_unexecuted_pages_are_reported(project):
    assert check_pages.problems(project) == ["book/one was not built", "book/two was not built"]
    for page, body in (("book/one", "word " * 40), ("book/two", "two words")):
        project.html(page).parent.mkdir(parents=True, exist_ok=True)
        project.html(page).write_text(f"<article class='x'>{body}</article>")
    assert check_pages.problems(project) == ["book/one shows a notebook that was not executed", "book/two is empty"]


def cells_of(page):
    return json.loads(PROJECT.source(page).read_text())["cells"]


def code_of(page):
    return [cell for cell in cells_of(page) if cell["cell_type"] == "code"]


def test_every_page_of_the_contents_has_a_source():
    for page in PROJECT.pages():
        assert PROJECT.source(page).exists() or (ROOT / f"{page}.md").exists(), page


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_source_notebooks_carry_no_outputs(page):
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code_of(page))


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_parameter_says_what_it_means(page):
    tagged = [cell for cell in code_of(page) if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1
    for line in "".join(tagged[0]["source"]).splitlines():
        assert re.match(r"^\w+ = .+  # \w.{10,}$", line), line


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_notebooks_are_short_titled_and_end_with_something_to_try(page):
    trees = [ast.parse("".join(cell["source"])) for cell in code_of(page)]
    prose = ["".join(cell["source"]) for cell in cells_of(page) if cell["cell_type"] == "markdown"]
    assert sum(isinstance(node, ast.stmt) for tree in trees for node in ast.walk(tree)) <= 75
    assert sum(line.startswith("# ") for block in prose for line in block.splitlines()) == 1
    assert "## Try it" in prose[-1] and prose[-1].count("\n1. ") + prose[-1].count("\n2. ") == 2


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_figure_has_name_caption_and_alt_text(page):
    drawing = [c for c in code_of(page) if re.search(DRAWS, "".join(c["source"]), flags=re.M)]
    for cell in drawing:
        meta = cell["metadata"].get("mystnb", {})
        assert meta["figure"]["name"].startswith("fig-") and len(meta["figure"]["caption"]) > 30
        assert len(meta["image"]["alt"]) > 30


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_notebooks_fetch_nothing_and_install_nothing(page):
    source = "\n".join("".join(cell["source"]) for cell in code_of(page))
    assert not re.search(r"https?://|urlopen|requests\.|pip install|subprocess", source)


def test_numbers_of_papers_enter_through_the_data_folder_only():
    for page in NOTEBOOKS:
        for cell in code_of(page):
            assert not re.search(r"published=\s*\d", "".join(cell["source"])), page
