"""Change one exact distribution of ldpkit at a time, and see whether its page notices.

    python tests/helpers/mutants.py          # every mutant of mutants.yml (python -m ldpbook mutants)
    python tests/helpers/mutants.py --save   # and keep the table that the book shows
    python tests/helpers/mutants.py NAME ... # only these

A mutant changes the result of one function while its module is imported, so that no file is
changed. The page runs in a process of its own with few reports, cell after cell as a kernel would
run it. The mutant is noticed if a comparison *differs*. Only comparisons with something that the
changed function did not make count: reports of real clients, the released code, a number that a
paper prints. Without the change, the same page with the same parameters must show no difference.
"""

import argparse
import ast
import contextlib
import csv
import datetime
import importlib.abc
import importlib.machinery
import io
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest.mock import MagicMock

import yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_suffix(".yml")
TABLE = ROOT / "data" / "results" / "mutants.csv"
COLUMNS = ["law", "change", "page", "rows", "red", "witness", "at", "run", "against", "seconds"]
WITNESSES = ("released code", "real reports", "stored run")
"""Bases of a comparison, besides numbers of a paper, that do not come from an exact distribution of
ldpkit.
"""


class Change(ast.NodeTransformer):
    """A function whose result is passed through an expression in `x`."""

    def __init__(self, name: str, expression: str) -> None:
        self.path, self.at, self.found = name.split("."), [], 0
        self.expression = ast.parse(f"lambda x: {expression}", mode="eval").body

    def _inside(self, node):
        self.at.append(node.name)
        self.generic_visit(node)
        self.at.pop()
        return node

    visit_ClassDef = visit_FunctionDef = _inside

    def visit_Lambda(self, node):
        return node

    def visit_Return(self, node):
        if self.at != self.path or node.value is None:
            return node
        self.found += 1
        call = ast.Call(self.expression, [node.value], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Return(call), node))


class Mutant(importlib.machinery.SourceFileLoader):
    """A loader that loads one module with the change."""

    change: Change

    def get_code(self, fullname):
        tree = self.change.visit(ast.parse(self.get_data(self.path)))
        if not self.change.found:
            name = ".".join(self.change.path)
            raise ValueError(f"{fullname} has no {name} that returns anything")
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """A finder that finds one module in its changed form."""

    def __init__(self, law: str, change: str) -> None:
        self.module, _, name = law.partition(":")
        self.change = Change(name, change)

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = Mutant(fullname, spec.origin)
        spec.loader.change = self.change
        return spec


def silence():
    """Suppress the output of pages."""
    return contextlib.redirect_stdout(io.StringIO())


class Unasserted(ast.NodeTransformer):
    """Code that asserts nothing."""

    def visit_Assert(self, node):
        return ast.copy_location(ast.Pass(), node)


def unasserted(cells):
    """Return cells whose hidden ones assert nothing: a page would stop at a broken law before it compares anything."""
    for cell in cells:
        if "remove-cell" in cell["metadata"].get("tags", []):
            tree = Unasserted().visit(ast.parse("".join(cell["source"])))
            cell["source"] = [ast.unparse(tree)]
    return cells


def play(page, parameters, law="", change=""):
    """Run a page here with one function changed; return its error, if any, and its comparisons."""
    if law:  # it is found while it is imported, and the process may be a copy of one that has imported it
        for name in [*sys.modules]:
            if name.partition(".")[0] in ("ldpkit", "ldpbook"):
                del sys.modules[name]
        sys.meta_path.insert(0, Finder(law, change))
    import matplotlib.pyplot as plt
    import pandas as pd
    from pages import failure, shell

    from ldpbook import claims, paths, plots

    plots.figure = lambda *_, **__: plots.attach(plt.subplots()[0], None)
    plots.data = lambda _: None  # not needed
    plots.show = claims.judge = MagicMock()
    source = ROOT / "book" / f"{page}.ipynb"
    with tempfile.TemporaryDirectory() as scratch, shell() as made, silence():
        board = Path(scratch, "board.csv")
        os.environ |= {"LDPKIT_SCOREBOARD": str(board), "TQDM_DISABLE": "1"}
        os.chdir(source.parent)
        sys.path.insert(0, str(source.parent))
        paths.STORE = Path(scratch, "store")  # stored cells are from unchanged functions
        os.cpu_count = lambda: 1  # a sweep stays in this process
        problem = failure(made, unasserted(json.loads(source.read_text())["cells"]), parameters)
        rows = pd.read_csv(board) if board.exists() else pd.DataFrame({"verdict": []})
    return {"problem": problem, "rows": json.loads(rows.to_json(orient="records"))}


def mutants():
    """Return a dictionary for each mutant of the list, with the parameters of its page."""
    said = yaml.safe_load(LIST.read_text())
    return [
        {"law": law, "change": change, "page": page, "parameters": one["parameters"]}
        for page, one in said["pages"].items()
        for law, changes in one["laws"].items()
        for change in ([changes] if isinstance(changes, str) else changes)
    ]


def apart(*asked):
    """Return the result of `play` in a process that has already loaded all but this package."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(HEAVY)
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(play, *asked).result()


HEAVY = "pandas scipy.stats scipy.interpolate seaborn numba IPython myst_nb statsmodels.api".split()


def independent(row):
    """Return whether a comparison is with something that no exact distribution of ldpkit made."""
    return row["how"] in WITNESSES or row["published"] is not None


def judged(mutant, found, seconds):
    """Return the table's row for a mutant, with the comparison that deviates furthest, if any."""
    red = [row for row in found["rows"] if row["verdict"] == "differs"]
    known = [row for row in red if independent(row)]
    order = {how: place for place, how in enumerate(WITNESSES)}
    known.sort(key=lambda row: order.get(row["how"], len(order)))
    line = {key: mutant[key] for key in ("law", "change", "page")}
    line |= {"rows": len(found["rows"]), "red": len(red), "seconds": round(seconds, 1)}
    if known:
        row = known[0]
        printed = row["how"] not in WITNESSES
        against = row["published"] if printed else row["exact"]
        at = "" if row["x"] is None else f", {row['x']}"
        line |= {"witness": row["kind" if printed else "how"], "at": f"{row['series']}{at}"}
        line |= {"run": row["reproduced"], "against": against}
    elif found["problem"]:
        line |= {"witness": "stopped", "at": found["problem"]}
    return line


def save(lines):
    """Write the results into the table of the book, in the order of the list."""
    known = {}
    if TABLE.exists():
        with TABLE.open() as file:
            known = {(row["law"], row["change"]): row for row in csv.DictReader(file)}
    known |= {(line["law"], line["change"]): line for line in lines}
    with TABLE.open("w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS)
        out.writeheader()
        asked = [(mutant["law"], mutant["change"]) for mutant in mutants()]
        out.writerows(known[change] for change in asked if change in known)
    made = {"command": "python -m ldpbook mutants --save", "Python": platform.python_version()}
    made["date"] = datetime.date.today().isoformat()
    TABLE.with_suffix(".json").write_text(json.dumps(made, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="laws or pages")
    parser.add_argument("--save", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    given = parser.parse_args()
    chosen = [m for m in mutants() if not given.names or {m["law"], m["page"]} & {*given.names}]
    start, lines, green = time.perf_counter(), [], {}
    for mutant in chosen:
        page, parameters = mutant["page"], mutant["parameters"]
        if page not in green:
            found = apart(page, parameters)
            red = [row for row in found["rows"] if row["verdict"] == "differs"]
            green[page] = not found["problem"] and not red
            if not green[page]:
                print(f"RED UNHARMED  {page}: {found['problem'] or red[0]}", file=sys.stderr)
        begun = time.perf_counter()
        found = apart(page, parameters, mutant["law"], mutant["change"])
        lines.append(judged(mutant, found, time.perf_counter() - begun))
        line = lines[-1]
        said = f"killed by {line['witness']}: {line['at']}" if "witness" in line else "ALIVE"
        print(f"{line['seconds']:6.1f} s  {page}  {line['law']}: {said}", flush=True)
    alive = [line["law"] for line in lines if "witness" not in line]
    seconds = time.perf_counter() - start
    print(f"{len(lines) - len(alive)} of {len(lines)} mutants killed in {seconds:.0f} s")
    if given.save:
        save(lines)
    return len(alive) + list(green.values()).count(False)


if __name__ == "__main__":
    sys.exit(main())
