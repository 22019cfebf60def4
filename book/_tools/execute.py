"""Execute the book's notebooks, several at a time, and skip those whose results are current.

A notebook's result depends on its code, its parameters, the package, the data,
the audited packages and the locked environment; a digest of all of them is kept
beside the executed copy. A notebook that fails leaves no executed copy and no
page behind. Afterwards the comparisons of all notebooks are merged into one
table, and a difference from a paper that nobody explains is an error.
"""

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import yaml
from tqdm import tqdm

SHARED = ("ldpkit/**/*.py", "data/**/*", "book/packages/*.txt", "requirements.lock")


class Project:
    """Where the book's parts lie under one root."""

    def __init__(self, root, build="_build"):
        self.root = Path(root).resolve()
        self.build = self.root / build

    def notebooks(self):
        """Pages of the table of contents that are notebooks, in its order."""
        return [page for page in self.pages() if self.source(page).exists()]

    def pages(self):
        """All pages of the table of contents, in its order."""

        def walk(node):
            if isinstance(node, dict):
                for key, value in node.items():
                    if key in ("root", "file"):
                        yield re.sub(r"\.(md|ipynb)$", "", value)
                    else:
                        yield from walk(value)
            elif isinstance(node, list):
                for value in node:
                    yield from walk(value)

        return list(walk(yaml.safe_load((self.root / "_toc.yml").read_text())))

    def source(self, page):
        return self.root / f"{page}.ipynb"

    def executed(self, page, suffix=".ipynb"):
        return self.build / "executed" / f"{page}{suffix}"

    def html(self, page):
        return self.build / "html" / f"{page}.html"

    def digest(self, *patterns):
        """Digest of the files that match, by name and content."""
        sha = hashlib.sha256(sys.version.encode())
        for path in sorted({p for pattern in patterns for p in self.root.glob(pattern) if p.is_file()}):
            sha.update(path.relative_to(self.root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        return sha.hexdigest()


def declared(notebook):
    """Names assigned in the cell tagged ``parameters``, with their source lines."""
    for cell in notebook["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return set(re.findall(r"^(\w+)\s*=", "".join(cell["source"]), flags=re.M))
    return set()


def overrides(scale, page, names):
    """Parameters that `scale` changes on `page`; a page's own entry may name only parameters it has."""
    own = scale.get(page, {})
    unknown = set(own) - names
    if unknown:
        raise SystemExit(f"{page} has no parameter {', '.join(sorted(unknown))}; it has {', '.join(sorted(names))}")
    return {name: value for name, value in scale.get("*", {}).items() if name in names} | own


def load_scale(project, name):
    """Read a scale's parameter file; ``paper`` is what the notebooks themselves say."""
    if name == "paper":
        return {}
    path = project.root / "book" / "scales" / f"{name}.yml"
    if not path.exists():
        known = ["paper", *sorted(p.stem for p in path.parent.glob("*.yml"))]
        raise SystemExit(f"SCALE must be one of {', '.join(known)}, got {name!r}")
    return yaml.safe_load(path.read_text())


def key(project, page, parameters, shared):
    """Digest of everything the executed copy of `page` depends on."""
    notebook = json.loads(project.source(page).read_text())
    cells = [
        [cell["cell_type"], "".join(cell["source"]), {m: cell["metadata"].get(m) for m in ("tags", "mystnb")}]
        for cell in notebook["cells"]
    ]
    beside = project.digest(f"{Path(page).parent}/*.py")
    return hashlib.sha256(json.dumps([cells, parameters, shared, beside], sort_keys=True).encode()).hexdigest()


def current(project, page, wanted):
    """Whether the executed copy of `page` is there, whole, and made from what `wanted` describes."""
    try:
        record = json.loads(project.executed(page, ".json").read_text())
        text = project.executed(page).read_bytes()
    except (FileNotFoundError, ValueError):
        return False
    if record.get("key") != wanted:
        return False
    if record.get("sha256") != hashlib.sha256(text).hexdigest():
        print(f"damaged   {page}: the executed copy was changed; it is made again", flush=True)
        return False
    return True


def forget(project, page):
    """Remove every trace of an earlier result of `page`."""
    for path in (*(project.executed(page, s) for s in (".ipynb", ".json", ".csv", ".tmp")), project.html(page)):
        path.unlink(missing_ok=True)


def versions():
    """What the pages' results may depend on: Python, the package, and what it computes with."""
    names = ("ldpkit", "numpy", "scipy", "numba", "pandas", "matplotlib")
    return {"Python": platform.python_version()} | {name: importlib.metadata.version(name) for name in names}


def execute(root, page, parameters, wanted, build="_build"):
    """Execute one notebook; return its wall time, or raise with the cell and the error."""
    import papermill
    from traitlets.config import Config

    project = Project(root, build)
    target, unfinished = project.executed(page), project.executed(page, ".tmp")
    target.parent.mkdir(parents=True, exist_ok=True)
    os.environ.update(TQDM_DISABLE="1", LDPKIT_SCOREBOARD=str(project.executed(page, ".csv")))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        # sockets in a folder of their own: kernels that run side by side must not share names
        sockets = {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}
        notebook = papermill.execute_notebook(
            str(project.source(page)),
            None,
            parameters=parameters,
            cwd=str(project.source(page).parent),
            kernel_name="python3",
            progress_bar=False,
            config=Config({"KernelManager": sockets, "NotebookClient": {"extra_arguments": ["--log-level=CRITICAL"]}}),
        )
    seconds = time.perf_counter() - start
    for part in (notebook, *notebook.cells):  # times of this run would make equal results differ
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
    text = json.dumps(notebook, indent=1, ensure_ascii=False).encode()
    unfinished.write_bytes(text)
    os.replace(unfinished, target)
    record = {"key": wanted, "sha256": hashlib.sha256(text).hexdigest(), "seconds": round(seconds, 1),
              "parameters": parameters, "executed": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
              "versions": versions()}  # fmt: skip
    project.executed(page, ".json").write_text(json.dumps(record, indent=1))
    return seconds


def explain(error):
    """Name the failing cell and its error in a few lines, without the colours of the traceback."""
    name = type(error).__name__
    if name == "PapermillExecutionError":
        return f"cell {error.cell_index}: {error.ename}: {error.evalue}"
    return f"{name}: {error}"


def merge_scoreboards(project):
    """Write ``_build/scoreboard.csv``; return the rows that differ without an explanation."""
    import pandas as pd

    found = [pd.read_csv(path) for page in project.notebooks() if (path := project.executed(page, ".csv")).exists()]
    if not found:
        return pd.DataFrame()
    board = pd.concat([table for table in found if len(table)], ignore_index=True)
    unfinished = project.build / "scoreboard.csv.tmp"
    board.to_csv(unfinished, index=False)
    os.replace(unfinished, project.build / "scoreboard.csv")
    print("scoreboard " + ", ".join(f"{n} {v}" for v, n in board["verdict"].value_counts().items()), flush=True)
    return board[board["verdict"] == "differs"]


def run(root, scale="paper", jobs=2):
    """Execute what is not current; return the number of failures."""
    project = Project(root)
    chosen, shared = load_scale(project, scale), project.digest(*SHARED)
    todo = []
    for page in project.notebooks():
        parameters = overrides(chosen, page, declared(json.loads(project.source(page).read_text())))
        wanted = key(project, page, parameters, shared)
        if current(project, page, wanted):
            print(f"current   {page}", flush=True)
        else:
            forget(project, page)
            todo.append((page, parameters, wanted))
    failures = 0
    start = time.perf_counter()
    bar = tqdm(total=len(todo), desc="notebooks", disable=None, leave=False)
    # one process executes one notebook: the environment of its kernel is its own
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        futures = {pool.submit(execute, project.root, *task): task[0] for task in todo}
        for future in as_completed(futures):
            page = futures[future]
            try:
                bar.write(f"executed  {page} {future.result():.1f} s", file=sys.stdout)
            except Exception as error:
                failures += 1
                forget(project, page)
                bar.write(f"FAILED    {page}: {explain(error)}", file=sys.stderr)
            bar.update()
            sys.stdout.flush()
    bar.close()
    if todo:
        print(f"{len(todo)} notebooks in {time.perf_counter() - start:.1f} s", flush=True)
    differing = merge_scoreboards(project)
    for row in differing.itertuples():
        print(f"DIFFERS   {row.item} {row.series} {row.x}: published {row.published}, this run {row.reproduced} "
              f"(se {row.reproduced_se}), exact {row.exact}", file=sys.stderr)  # fmt: skip
    return failures + len(differing)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="paper", help="paper, or a file of book/scales")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="notebooks at a time")
    arguments = parser.parse_args()
    sys.exit(1 if run(Path(__file__).parents[2], arguments.scale, max(1, arguments.jobs)) else 0)


if __name__ == "__main__":
    main()
