"""List the numbered things of each paper, line by line: what each one says, where the book has it, and its state."""

import importlib
from pathlib import Path

import pandas as pd

from . import figures
from .execute import Project

COLUMNS = ["kind", "number", "says", "where", "function", "test", "state", "why"]
"""Columns of a table ``data/papers/<paper>.csv``, in which `says` is one sentence of ours."""
STATES = {
    "reproduced": "its numbers or points are made again, and the scoreboard and the claims compare them",
    "computed": "a function computes it, and a test compares the function with another computation",
    "proved": "a test carries out every step of its proof in numbers",
    "checked by counterexample": "it does not hold as printed, and a test computes a case in which it fails",
    "corrected": "it has to be read differently than it is printed, and a test holds the reading that is right",
    "cannot be checked": "nothing in our reach decides it",
    "not here": "the book has no place for it",
    "real": "data set: the book uses its records",
    "stand-in": "data set: other records take its place",
    "size only": "data set: only its size matters for the result",
}
"""The states of a numbered thing, each with its meaning."""


def table(root: Path, paper: str) -> pd.DataFrame:
    """Return the numbered things of one paper in its order; all columns are text."""
    return pd.read_csv(root / "data" / "papers" / f"{paper}.csv", dtype=str).fillna("")


def _function(path: str) -> str:
    """Return the name of a function; one of ldpkit links to the reference, which has it under the module that defines it."""
    module, _, name = path.partition(":")
    if module.partition(".")[0] != "ldpkit":
        return f"`{name}`"
    return f"{{py:obj}}`~{getattr(importlib.import_module(module), name).__module__}.{name}`"


def _line(row: pd.Series) -> tuple[str, ...]:
    """Return the cells of one numbered thing; its place and its reason are links."""
    name = f"{row['kind']} {row['number']}"
    why = pd.Series(row["why"]).str.replace(r"\[([a-z-]+-\d+)\]", r"([erratum](\1))", regex=True)[0]
    place = [f"{{doc}}`/book/{row['where']}`"] if row["where"] else []
    place += [_function(row["function"])] if row["function"] else []
    test = row["test"].partition("::test_")[2].replace("_", " ")
    place += [f"test: *{test}*"] if test else []
    anchor = name.lower().replace(" ", "-").replace(".", "-")
    return f'<span id="{anchor}"></span>**{name}**', row["says"], "; ".join(place), f"**{row['state']}**{why and ': '}{why}"


def page(project: Project, paper: str) -> str:
    """Return the generated part of the page of one paper as MyST."""
    rows = table(project.root, paper)
    said = ", ".join(f"{n} {state}" for state, n in rows["state"].value_counts().items())
    head = f"{len(rows)} lines: {said}. The names of all tests: {{download}}`{paper}.csv </data/papers/{paper}.csv>`."
    lines = [_line(row) for _, row in rows.iterrows()]
    return f"{head}\n\n{figures.listed((3, 8, 8, 6), ('number', 'what it says', 'where', 'state'), lines)}"


def summary(project: Project) -> str:
    """Return what the states mean, how many things have each one, and links to the pages of the papers, as MyST."""
    tables = {paper: table(project.root, paper) for paper in figures.PAPERS}
    n = pd.concat([*tables.values()])["state"].value_counts()
    rows = [(f"**{state}**", meaning, n.get(state, 0)) for state, meaning in STATES.items()]
    links = [f"* [{figures.PAPERS[paper]}](/book/lines/{paper}.md): {len(found)} lines" for paper, found in tables.items()]
    return "\n".join([*links, "", figures.listed((4, 10, 2), ("state", "meaning", "lines"), rows)])
