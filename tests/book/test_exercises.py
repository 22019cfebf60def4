"""Exercises: every notebook sets some, and every hidden solution proves what it says."""

import ast
import linecache

from notebooks import PROJECT, SOLUTIONS, code


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
