"""Read the notebooks of the book from their sources."""

import json
import re

from ldpbook import execute, paths

ROOT = paths.ROOT
PROJECT = execute.Project(ROOT)

NOTEBOOKS = PROJECT.notebooks()


def notebook(*cells):
    """Return the text of a notebook whose first cell is the parameter cell."""
    same = {"cell_type": "code", "outputs": [], "execution_count": None}
    made = [same | {"id": f"c{i}", "metadata": {}, "source": s} for i, s in enumerate(cells)]
    made[0]["metadata"] = {"tags": ["parameters"]}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def cells_of(page):
    return json.loads(PROJECT.source(page).read_text())["cells"]


BLOCK = re.compile(r"^````\{(exercise|solution)\}([^\n]*)\n(.*?)^````$", flags=re.M | re.S)


def blocks(page, kind):
    """Return argument and body of every directive of one name among the exercises of a page."""
    found = BLOCK.findall("".join(cells_of(page)[-1]["source"]))
    return [(argument.strip(), body) for name, argument, body in found if name == kind]


def labels(page):
    bodies = [body for _, body in blocks(page, "exercise")]
    return [re.search(r"^:label: (\S+)$", body, flags=re.M)[1] for body in bodies]


def code(body):
    return "".join(re.findall(r"^```python\n(.*?)^```$", body, flags=re.M | re.S))


SOLUTIONS = [(page, label, body) for page in NOTEBOOKS for label, body in blocks(page, "solution")]
