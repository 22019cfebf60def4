"""The course: every exercise fails as it stands and its solution passes its checks; answers come from
the notebooks or the laws; every page is on the map; all solutions are in one file."""

import ast
import json
import linecache
import re

from notebooks import PROJECT, ROOT, SOLUTIONS, blocks, cells_of, code, labels

from ldpbook import lessons

LESSONS = lessons.lessons(ROOT)
MAP = lessons.needs(ROOT)
EXERCISES = [
    (label, code(body))
    for page in LESSONS
    for label, (_, body) in zip(labels(page), blocks(page, "exercise"), strict=True)
]
SOLVED = {label: body for _, label, body in SOLUTIONS}


def text(page):
    return "\n".join(lessons._texts(PROJECT, page))


def quizzes(page):
    """Options of every answer box of a page."""
    found = re.findall(r"^```\{quiz\} [^\n]+\n((?::\w+: [^\n]+\n)+)\S", text(page), flags=re.M)
    assert len(found) == text(page).count("{quiz}")
    return [dict(re.findall(r"^:(\w+): (.*)$", options, flags=re.M)) for options in found]


def test_lessons_are_in_the_order_of_the_contents_and_need_only_earlier_ones():
    assert [page for page in PROJECT.pages() if page in LESSONS] == LESSONS != []
    for number, page in enumerate(LESSONS, 1):
        assert lessons.title(PROJECT, page).startswith(f"Lesson {number}: ")
        assert set(MAP[page]["needs"]) <= set(LESSONS[: number - 1]), page


def lacks(page):
    """What a lesson lacks; no answer is typed into a page."""
    said, code_cells = text(page), [c for c in cells_of(page) if c["cell_type"] == "code"]
    parts = ["**After this lesson** you can\n", "**You need** ", "**Predict before you look.**"]
    yield from [part for part in [*parts, "## What to remember"] if part not in said]
    if said.count('data-explorer="') != 1 or "Without" not in said.partition("data-explorer")[2]:
        yield "an explorer, and words for readers without it"
    if not any("hide-cell" in c["metadata"].get("tags", []) for c in code_cells):
        yield "what was to be predicted"
    shown = [c for c in code_cells if not c["metadata"].get("tags")]
    if not any("print(" in "".join(c["source"]) for c in shown):
        yield "a worked example"
    for title, body in blocks(page, "exercise"):
        graded = title.partition(": ")[0] in ("Easy", "Longer", "Open")
        if not (graded and "```{dropdown} Hint\n" in body and code(body)):
            yield f"a grade, a hint or lines of {title}"
    sources = "".join("".join(c["source"]) for c in cells_of(page))
    glued = set(re.findall(r'glue\("(\w+)"', sources))
    for options in quizzes(page):
        law = {"law", "with", "take", "tolerance"}
        known = options["glue"] in glued if "glue" in options else json.loads(options["with"])
        keys = {"glue", "tolerance"} if "glue" in options else law
        if not known or set(options) != keys or not float(options["tolerance"]) > 0:
            yield f"an answer from a notebook or a law for {options}"
    if not quizzes(page):
        yield "a question"


def test_a_lesson_has_all_its_parts():
    assert [(page, lack) for page in LESSONS for lack in lacks(page)] == []


def test_every_page_with_results_is_on_the_map_and_needs_nothing_harder_or_itself():
    explorers = [page for page in PROJECT.pages() if page.startswith("book/explore/")]
    assert set(MAP) == {*PROJECT.notebooks(), *explorers}
    for page in MAP:
        waiting, seen = [*MAP[page]["needs"]], set()
        while waiting:
            need = waiting.pop()
            seen.add(need)
            assert need in MAP and MAP[need]["level"] <= MAP[page]["level"], (page, need)
            waiting += MAP[need]["needs"]
        assert page not in seen


def checks(lines):
    return {line.strip() for line in lines.splitlines() if line.lstrip().startswith("assert ")}


def test_an_exercise_fails_as_it_stands_and_its_solution_meets_the_same_checks():
    wrong = []
    for label, lines in EXERCISES:
        if not checks(lines) or not checks(lines) <= checks(code(SOLVED[label])):
            wrong.append((label, "has other checks"))
        try:
            exec(compile(lines, label, "exec"), {"__name__": label})
        except Exception:  # whatever the unfinished lines raise first
            continue
        wrong.append((label, "passes"))
    assert wrong == [] and EXERCISES


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


def test_a_glued_number_is_found_and_text_is_none():
    def cell(name, said):
        return {"outputs": [{"data": {"x": said}, "metadata": {"scrapbook": {"name": name}}}]}

    notebook = {"cells": [{"source": ""}, cell("a", "0.25"), cell("b", ["'1.5'"]), cell("c", "no")]}
    assert [lessons.glued(notebook, name) for name in "abcd"] == [0.25, 1.5, None, None]


def test_the_file_of_solutions_has_all_of_them_and_the_map_links_every_page():
    found = lessons.solutions(PROJECT)
    assert found.count("**Solution.**") == len(EXERCISES)
    assert [label for label, _ in EXERCISES if code(SOLVED[label]) not in found] == []
    assert "..." not in found.replace("...`", "") and ":label:" not in found  # nothing unfinished
    shown = lessons.chart(PROJECT)
    assert [page for page in MAP if f"](/{page})" not in shown] == []
    assert lessons.cards(PROJECT).count("<li>") == len(LESSONS)
