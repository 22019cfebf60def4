"""Exercises: every notebook sets some, and every hidden solution proves what it says."""

import ast
import linecache

import pytest
from notebooks import NOTEBOOKS, PROJECT, SOLUTIONS, blocks, cells_of, code, labels

WIDTH, LINES = 100, 25  # what a page shows without a scroll bar, and a reader without patience


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_notebook_ends_with_exercises(page):
    assert "".join(cells_of(page)[-1]["source"]).startswith("## Exercises\n")
    assert len(labels(page)) >= 2
    assert all(title and len(body) > 80 for title, body in blocks(page, "exercise"))


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_exercise_has_one_solution(page):
    place = page.removeprefix("book/").replace("/", "-")
    assert labels(page) == [
        f"{place}-{number}" for number in range(1, len(labels(page)) + 1)
    ]  # unique in the book, too
    assert [label for label, _ in blocks(page, "solution")] == labels(page)


@pytest.mark.parametrize("page, label, body", SOLUTIONS, ids=[label for _, label, _ in SOLUTIONS])
def test_solution_is_hidden_and_its_lines_run(page, label, body, monkeypatch):
    assert body.startswith(":class: dropdown\n")
    lines, folder = code(body), PROJECT.source(page).parent
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(lines)))
    assert len(lines.splitlines()) <= LINES and max(map(len, lines.splitlines())) <= WIDTH
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    linecache.cache[label] = (
        len(lines),
        None,
        lines.splitlines(keepends=True),
        label,
    )  # a failure shows the line
    exec(compile(lines, label, "exec"), {"__name__": label})
