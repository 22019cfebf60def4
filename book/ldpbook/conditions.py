"""Judge the sentences of a page that hold at some parameters only.

A sentence that begins with the role ``{when}`` has a condition, which is an expression in the names of its page. A cell behind the
last one evaluates all conditions of the page, so that every run of the page judges its text: that of the book, of `make page`, and
of a browser. The cell shows the verdicts as data of the type `MIME`, and a page strikes the sentences whose condition is not true.

The role ``{always}`` begins a sentence that holds at all parameters. It has the reason as a text, ``{always}`"Theorem 4.3"```, or a
condition that the variants of the page test.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]
MIME = "application/vnd.ldpkit.conditions+json"
ROLE = re.compile(r"\{(when|always)\}(`+)\s*(.+?)\s*\2(?!`)", flags=re.S)


def reason(condition: str) -> str:
    """Return the reason that stands in the place of a condition, or an empty text."""
    tree = ast.parse(condition, mode="eval").body
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""


def texts(notebook: Json) -> Iterator[str]:
    """Yield the running texts and the captions of a notebook."""
    for cell in notebook["cells"]:
        caption = cell["metadata"].get("mystnb", {}).get("figure", {}).get("caption", "")
        yield "".join(cell["source"]) if cell["cell_type"] == "markdown" else caption


def of(notebook: Json, role: str = "") -> list[str]:
    """Return the conditions of a notebook, each once and in order; of one role, if it is given."""
    found = [(name, " ".join(text.split())) for name, _, text in ROLE.findall("\n".join(texts(notebook)))]
    return list(dict.fromkeys(text for name, text in found if role in ("", name) and not reason(text)))


def judged(notebook: Json) -> Json:
    """Return a notebook with a last cell that judges its conditions, or the same notebook if it has none."""
    if not (found := of(notebook)):
        return notebook
    source = f"from ldpbook import conditions\n\nconditions.show({found!r}, globals())"
    cell: Json = {"cell_type": "code", "id": "conditions", "metadata": {"tags": ["remove-cell"]}, "source": source, "outputs": [],
            "execution_count": None}  # fmt: skip
    return notebook | {"cells": [*notebook["cells"], cell]}


def verdicts(conditions: Iterable[str], names: dict[str, Any]) -> dict[str, bool | None]:
    """Return for each condition whether it is true, or None where these names cannot decide it, for example in an empty table."""
    found: dict[str, bool | None] = {}
    for condition in conditions:
        try:
            found[condition] = bool(eval(condition, dict(names)))  # the book's own source, not a reader's input
        except Exception:
            found[condition] = None
    return found


def show(conditions: Iterable[str], names: dict[str, Any]) -> None:
    """Show the verdicts on the conditions of a page as an output of its last cell."""
    from IPython.display import display

    display({MIME: verdicts(conditions, names)}, raw=True)  # type: ignore[no-untyped-call]  # it has no types


def shown(notebook: Json) -> dict[str, bool | None]:
    """Return the verdicts that an executed notebook shows."""
    outputs = (output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", []))
    return next((data[MIME] for data in outputs if MIME in data), {})
