"""Exercises: every notebook sets some, and every hidden solution proves what it says."""

import ast
import linecache

from notebooks import NOTEBOOKS, PROJECT, SOLUTIONS, blocks, cells_of, code, labels


def test_every_notebook_ends_with_exercises_that_have_one_solution_each():
    wrong = []
    for page in NOTEBOOKS:
        found, place = labels(page), page.removeprefix("book/").replace("/", "-")
        good = "".join(cells_of(page)[-1]["source"]).startswith("## Exercises\n")
        good = good and all(title and body for title, body in blocks(page, "exercise"))
        # numbers and the name of the page are unique in the book
        good = good and found == [f"{place}-{i}" for i in range(1, len(found) + 1)]
        good = good and [label for label, _ in blocks(page, "solution")] == found != []
        wrong += [] if good else [page]
    assert wrong == []


def test_every_solution_is_hidden_and_its_lines_run(monkeypatch):
    wrong = []
    for page, label, body in SOLUTIONS:
        lines, folder = code(body), PROJECT.source(page).parent
        # a failure shows the line
        linecache.cache[label] = (len(lines), None, lines.splitlines(keepends=True), label)
        with monkeypatch.context() as there:
            there.chdir(folder)
            there.syspath_prepend(folder)
            try:
                assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(lines)))
                assert body.startswith(":class: dropdown\n")
                exec(compile(lines, label, "exec"), {"__name__": label})
            except Exception as error:
                wrong.append((label, repr(error)))
    assert wrong == []
