"""The course: every exercise fails as it stands and its solution passes its checks; answers come from
the notebooks or the laws; every page is on the map; all solutions are in one file."""

import json
import re
from pathlib import Path

import pytest
from notebooks import SOLUTIONS, blocks, code, labels

from ldpbook import execute, lessons

ROOT = Path(__file__).parents[2]


PROJECT = execute.Project(ROOT)
LESSONS = lessons.lessons(ROOT)
MAP = lessons.needs(ROOT)
EXERCISES = [
    (page, label, body)
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


def test_there_are_eight_lessons_of_twenty_to_thirty_minutes_in_the_order_of_the_contents():
    assert len(LESSONS) == 8 and all(20 <= MAP[page]["minutes"] <= 30 for page in LESSONS)
    toc = [page for page in PROJECT.pages() if page in LESSONS]
    assert toc == LESSONS
    for number, page in enumerate(LESSONS, 1):
        assert lessons.title(PROJECT, page).startswith(f"Lesson {number}: ")


@pytest.mark.parametrize("page", LESSONS)
def test_a_lesson_has_all_its_parts(page):
    said = text(page)
    assert "**After this lesson** you can\n" in said and "**You need** " in said
    assert said.count('data-explorer="') == 1 and "Without" in said.partition("data-explorer")[2]
    assert "**Predict before you look.**" in said and "## What to remember" in said
    cells = json.loads(PROJECT.source(page).read_text())["cells"]
    tags = [tag for cell in cells for tag in cell["metadata"].get("tags", [])]
    assert "hide-cell" in tags  # what was to be predicted
    shown = [c for c in cells if c["cell_type"] == "code" and not c["metadata"].get("tags")]
    assert any("print(" in "".join(c["source"]) for c in shown)  # the worked example
    assert len(quizzes(page)) >= 2


def test_lessons_need_only_earlier_ones():
    for number, page in enumerate(LESSONS):
        assert set(MAP[page]["needs"]) <= set(LESSONS[:number])


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


@pytest.mark.parametrize("page", LESSONS)
def test_exercises_are_graded_and_have_a_hint_and_lines(page):
    titles = [title for title, _ in blocks(page, "exercise")]
    assert [title.split()[0] for title in titles] == ["●", "●●", "●●●"]
    for _, body in blocks(page, "exercise"):
        assert body.count("```{dropdown} Hint\n") == 1 and code(body)


def checks(lines):
    return [line.strip() for line in lines.splitlines() if line.lstrip().startswith("assert ")]


@pytest.mark.parametrize("page, label, body", EXERCISES, ids=[label for _, label, _ in EXERCISES])
def test_an_exercise_fails_as_it_stands_and_its_solution_meets_the_same_checks(page, label, body):
    lines = code(body)
    assert checks(lines) and set(checks(lines)) <= set(checks(code(SOLVED[label])))
    with pytest.raises(Exception):  # noqa: B017  # whatever the unfinished lines raise first
        exec(compile(lines, label, "exec"), {"__name__": label})


@pytest.mark.parametrize("page", LESSONS)
def test_no_answer_is_typed_into_a_page(page):
    glued = set(re.findall(r'glue\("(\w+)"', "".join(
        "".join(c["source"]) for c in json.loads(PROJECT.source(page).read_text())["cells"]
    )))  # fmt: skip
    for options in quizzes(page):
        assert float(options["tolerance"]) > 0
        if "glue" in options:
            assert options["glue"] in glued and set(options) == {"glue", "tolerance"}
        else:
            assert json.loads(options["with"]) and set(options) == {
                "law", "with", "take", "tolerance"}  # fmt: skip


def test_a_glued_number_is_found_and_text_is_none():
    def cell(name, said):
        return {"outputs": [{"data": {"x": said}, "metadata": {"scrapbook": {"name": name}}}]}

    notebook = {"cells": [{"source": ""}, cell("a", "0.25"), cell("b", ["'1.5'"]), cell("c", "no")]}
    assert [lessons.glued(notebook, name) for name in "abcd"] == [0.25, 1.5, None, None]


def test_the_file_of_solutions_has_all_of_them_and_no_unfinished_lines():
    found = lessons.solutions(PROJECT)
    assert found.count("**Solution.**") == len(EXERCISES) == 24
    assert all(code(SOLVED[label]) in found for _, label, _ in EXERCISES)
    assert "..." not in found.replace("...`", "") and ":label:" not in found


def test_the_map_links_every_page():
    shown = lessons.chart(PROJECT)
    assert all(f"](/{page})" in shown for page in MAP)
    assert lessons.cards(PROJECT).count("<li>") == 8
