"""The course: every exercise fails as it stands and its solution passes its checks; answers come from
the notebooks or the laws; every page is on the map; all solutions are in one file."""

from pathlib import Path

from notebooks import SOLUTIONS, blocks, code, labels

from ldpbook import execute, lessons

ROOT = Path(__file__).parents[2]

PROJECT = execute.Project(ROOT)
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


def test_lessons_are_in_the_order_of_the_contents_and_need_only_earlier_ones():
    assert [page for page in PROJECT.pages() if page in LESSONS] == LESSONS != []
    for number, page in enumerate(LESSONS, 1):
        assert lessons.title(PROJECT, page).startswith(f"Lesson {number}: ")
        assert set(MAP[page]["needs"]) <= set(LESSONS[: number - 1]), page


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
