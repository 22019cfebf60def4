"""Execute the book's notebooks, several at a time, and skip those whose results are current.

The result of a notebook depends on its code and parameters, and on the files that its imports reach. It also depends on the data,
the audited packages and the locked environment. A digest of all these is stored next to the executed copy. A notebook that fails
leaves no executed copy and no page behind. Afterwards the comparisons of all notebooks are merged into one table. An unexplained
difference from a paper is an error.

Long notebooks start first, so that no core waits for the last one. The expected time of a notebook is that of its last execution
here, or comes from ``durations.csv``.
"""

import csv
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml
from tqdm import tqdm

from ldpkit import digests

from . import conditions, parameters

if TYPE_CHECKING:  # not needed by processes that execute a notebook
    import pandas as pd
    from sphinx.application import Sphinx

    from .stored import Graph

Json = dict[str, Any]
"""Content of a JSON or YAML file: a notebook, a record, or parameters."""

SHARED = ("book/packages/*.txt", "requirements.lock")
EXPECTED = {name: f"data/expected_{name}.csv" for name in ("scoreboard", "claims")}
"""Files with the results of the release's book; no page depends on them."""
DURATIONS = "book/ldpbook/durations.csv"
"""File with the seconds of every notebook, from which new checkouts start."""
LIMIT = 3600
"""Number of seconds that a cell of a notebook may take."""
RESULTS = (".ipynb", ".csv", ".claims.csv")


class Project:
    """Paths of the book's parts under one root."""

    def __init__(self, root: str | Path, build: str | Path = "_build") -> None:
        self.root = Path(root).resolve()
        self.build = self.root / build

    @classmethod
    def of(cls, app: "Sphinx") -> "Project":
        """Return the project whose pages an application of Sphinx builds."""
        return cls(app.srcdir, app.config.ldpkit_build)

    def notebooks(self) -> list[str]:
        """Return the pages of the contents that are notebooks, in the order of the contents."""
        return [page for page in self.pages() if self.source(page).exists()]

    def pages(self) -> list[str]:
        """Return all pages of the contents, in their order."""
        return re.findall(r"\b(?:root|file): *([\w/-]+)", (self.root / "_toc.yml").read_text())

    def contents(self) -> Iterator[tuple[str, str, str]]:
        """Yield each page of a part of the contents, its title there, and the chapter or the part that it belongs to."""
        contents = yaml.safe_load((self.root / "_toc.yml").read_text(encoding="utf-8"))
        for part in contents.get("parts", ()):
            for chapter in part["chapters"]:
                above = chapter.get("title", part["caption"])
                yield chapter["file"], "", above
                yield from ((entry["file"], entry.get("title", ""), above) for entry in chapter.get("sections", ()))

    def source(self, page: str) -> Path:
        return self.root / f"{page}.ipynb"

    def executed(self, page: str, suffix: str = ".ipynb") -> Path:
        return self.build / "executed" / f"{page}{suffix}"

    def html(self, page: str) -> Path:
        return self.build / "html" / f"{page}.html"

    def digest(self, *patterns: str) -> str:
        """Return a digest of the files that match the patterns, by name and content."""
        sha = hashlib.sha256(sys.version.encode())
        found = {p for pattern in patterns for p in self.root.glob(pattern) if p.is_file() and p.suffix != ".pyc"}
        for path in sorted(found - {self.root / name for name in EXPECTED.values()}):
            sha.update(path.relative_to(self.root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        return sha.hexdigest()


def overrides(scale: Json, page: str, known: dict[str, parameters.Parameter]) -> Json:
    """Return the values that `scale` sets for the `known` parameters of a page, by the page's own entry or for all pages.

    A wrong name or value ends the program with a message.
    """
    given: Json = {name: value for name, value in scale.get("*", {}).items() if name in known} | scale.get(page, {})
    if wrong := parameters.refuse(known, given):
        raise SystemExit(f"{page}: {'; '.join(wrong)}; its parameters are {', '.join(known) or 'none'}")
    return given


def load_scale(project: Project, name: str) -> Json:
    """Return the parameters that a scale sets, read from its file; the scale ``paper`` keeps the values of the notebooks."""
    from ldpkit.cli import sweep

    if name == "paper":
        return {}
    path = project.root / "book" / "scales" / f"{name}.yml"
    if not path.exists():
        known = ["paper", *sorted(p.stem for p in path.parent.glob("*.yml"))]
        raise SystemExit(f"SCALE must be one of {', '.join(known)}, got {name!r}")
    try:
        found: Json = sweep.parsed(path.read_bytes()) or {}
    except (yaml.YAMLError, ValueError) as error:
        raise SystemExit(f"{path.name} cannot be read: {error}") from None
    return found


def key(project: Project, page: str, parameters: Json, shared: str, graph: "Graph") -> str:
    """Return a digest of everything on which the executed copy of `page` depends."""
    notebook = json.loads(project.source(page).read_text())
    cells = [
        [cell["cell_type"], "".join(cell["source"]), {m: cell["metadata"].get(m) for m in ("tags", "mystnb")}]
        for cell in notebook["cells"]
    ]
    code = "\n".join(source for kind, source, _ in cells if kind == "code")
    try:
        reached = graph.digest(code, project.source(page).parent)
    except SyntaxError as error:  # it cannot run either, and reports the error when executed
        reached = str(error)
    parts = [cells, parameters, shared, reached]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _sha(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def _check(known: Json) -> str:
    """Return a digest of a record, by which a later reader notices that the record was changed."""
    rest = {name: value for name, value in known.items() if name != "check"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def record(project: Project, page: str) -> Json:
    """Return the record of the executed copy of `page`, or an empty one if the record is missing or damaged."""
    try:
        found: Any = json.loads(project.executed(page, ".json").read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("check") == _check(found) else {}


def current(project: Project, page: str, wanted: str) -> bool:
    """Return whether the executed copy of `page` exists, is undamaged, and was made from the inputs with the digest `wanted`."""
    known = record(project, page)
    if not known and project.executed(page, ".json").exists():
        print(f"damaged   {page}: what is known about it was changed; it is made again", flush=True)
    if known.get("key") != wanted:
        return False
    if known["sha256"] != [_sha(project.executed(page, part)) for part in RESULTS]:
        print(f"damaged   {page}: the executed copy was changed; it is made again", flush=True)
        return False
    return True


def deliver(project: Project) -> None:
    """Write the measured times to the file from which new checkouts start."""
    rows = sorted(durations(project).items(), key=lambda row: -row[1])
    digests.replace(project.root / DURATIONS, "\n".join(["page,seconds", *(f"{page},{seconds}" for page, seconds in rows), ""]))


def delivered_seconds(project: Project) -> dict[str, float]:
    path = project.root / DURATIONS
    return {page: float(s) for page, s in csv.reader(path.read_text().splitlines()[1:])} if path.exists() else {}


def durations(project: Project) -> dict[str, float]:
    """Return the seconds that each notebook takes: measured here, else from ``durations.csv``, else infinite."""
    delivered = delivered_seconds(project)
    return {page: record(project, page).get("seconds") or delivered.get(page, math.inf) for page in project.notebooks()}


def expected(project: Project) -> dict[str, float]:
    """Return the seconds that each executed page took at the papers' own scale, without pages of unknown duration.

    The times come from ``durations.csv`` and not from this build, so that equal builds give equal pages.
    """
    return {page: seconds for page, seconds in delivered_seconds(project).items() if record(project, page)}


def whole(project: Project) -> bool:
    """Return whether every page was executed with its own parameters, which are those of the papers."""
    return all(record(project, page).get("parameters") == {} for page in project.notebooks())


def forget(project: Project, page: str) -> None:
    """Remove every trace of an earlier result of `page`."""
    for path in (*project.executed(page).parent.glob(f"{Path(page).name}.*"), project.html(page)):
        path.unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """Return the versions of Python, of the package and of the libraries on which results may depend."""
    names = ("ldpkit", "numpy", "scipy", "numba", "pandas", "matplotlib")
    return {"Python": platform.python_version()} | {name: importlib.metadata.version(name) for name in names}


def fresh(tree: Path) -> dict[str, str]:
    """Return an environment in which `make book` uses stores and caches of its own, below a checkout."""
    own = {"XDG_CACHE_HOME": str(tree / "_build" / "cache"), "NUMBA_CACHE_DIR": str(tree / "_build" / "numba")}
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | own


SCALE = click.option("--scale", default="paper", show_default=True, help="paper, or a file of book/scales")
JOBS = click.option("--jobs", type=click.IntRange(1), help="notebooks at a time; by default as many as there are cores")
"""Options that several commands have."""


def _begin(cores: int) -> None:
    """Let sweeps of this process use so many cores, and end this process when its parent has ended."""
    os.environ["LOKY_MAX_CPU_COUNT"] = str(cores)

    def watch() -> None:
        if parent := parent_process():
            connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_BOOK = """
import atexit, gc, os, sys, threading
gc.set_threshold(200_000)  # a site is millions of objects that live long: to look at them as often as usual takes a quarter of the time
told = int(sys.argv.pop(1))
def watch():
    threading.Thread(target=lambda: os._exit(os.read(told, 1) == b""), daemon=True).start()
watch()
os.register_at_fork(after_in_child=watch)  # of the processes that write pages and pictures, too
from jupyter_book.cli.main import main
try:
    main()
except SystemExit as ended:
    if ended.code:
        raise
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)  # to free them one by one takes four seconds
"""


def jupyter_book(arguments: list[str], cwd: Path, held: tuple[int, ...] = (), **given: Any) -> "subprocess.CompletedProcess[str]":
    """Run Jupyter Book in a process that ends with this one.

    That process inherits the file descriptors `held`, and so keeps the lock of a build until it has ended.
    """
    ended, life = os.pipe()
    with open(ended, "rb"), open(life, "wb"):
        command = [sys.executable, "-c", _BOOK, str(ended), "build", "--all", "--keep-going", "-q", *arguments]
        return subprocess.run(command, cwd=cwd, pass_fds=[ended, *held], text=True, **given)


def settled(text: str) -> str:
    """Return an executed notebook in which random names are replaced by numbers in order of appearance.

    These names are the identifiers that pandas gives to its tables, and addresses of objects.
    """
    for pattern, name in ((r"\bT_[0-9a-f]{5}(?=_|\b)", "T_{:05x}"), (r"(?<= at )0x[0-9a-f]+(?=>)", "0x{:012x}")):
        known = {found: name.format(i) for i, found in enumerate(dict.fromkeys(re.findall(pattern, text)))}
        text = "".join(known.get(part, part) for part in re.split(f"({pattern})", text))
    return text


def shorten(most: int = 60) -> None:
    """Choose a shorter temporary folder if the current one has more than so many characters: paths of sockets have at most 103."""
    if len(tempfile.gettempdir()) > most:
        short = [folder for folder in ("/tmp", "/var/tmp") if os.access(folder, os.W_OK | os.X_OK)]
        tempfile.tempdir = os.environ["TMPDIR"] = short[0] if short else tempfile.gettempdir()


def execute(root: str | Path, page: str, parameters: Json, wanted: str, build: str | Path = "_build") -> float:
    """Execute one notebook and return its wall time; raise an error that names the failing cell."""
    import nbformat
    import papermill
    from traitlets.config import Config

    from . import warm_kernels  # already there in the copies of the process that has imported it

    shorten()
    warm_kernels.prepare()
    project = Project(root, build)
    target = project.executed(page)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.environ.update(TQDM_DISABLE="1", LDPKIT_SCOREBOARD=str(project.executed(page, ".csv")))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        # sockets in a folder of their own: kernels that run side by side must not share names
        sockets = {"transport": "ipc", "connection_file": f"{folder}/kernel.json"}
        notes = Path(folder, "notes")  # of ldpkit, about damaged files: they appear in the build and not on the page
        notes.touch()
        os.environ["LDPKIT_NOTES"] = str(notes)
        try:
            notebook = papermill.execute_notebook(
                nbformat.reads(json.dumps(conditions.judged(json.loads(project.source(page).read_text()))), as_version=4),  # type: ignore[no-untyped-call]
                None,
                parameters=parameters,
                cwd=str(project.source(page).parent),
                kernel_name="python3",
                progress_bar=False,
                execution_timeout=LIMIT,
                config=Config({"KernelManager": sockets, "NotebookClient": {"extra_arguments": ["--log-level=CRITICAL"]}}),
                coalesce_streams=True,  # the number of pieces of a stream depends on the machine's load
            )
        finally:
            del os.environ["LDPKIT_NOTES"]
            for note in notes.read_text(encoding="utf-8").splitlines():
                print(f"damaged   {page}: {note}", file=sys.stderr, flush=True)
    seconds = time.perf_counter() - start
    for part in (notebook, *notebook.cells):  # times of this run would make equal results different
        part.metadata.pop("papermill", None)
        part.metadata.pop("execution", None)
        if "injected-parameters" in part.metadata.get("tags", []):
            part["id"] = "injected-parameters"
    digests.replace(target, settled(json.dumps(notebook, indent=1, ensure_ascii=False)))
    known = {"key": wanted, "sha256": [_sha(project.executed(page, part)) for part in RESULTS], "seconds": round(seconds, 1),
             "peak_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)),
             "parameters": parameters, "executed": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
             "versions": versions()}  # fmt: skip
    known["check"] = _check(known)
    digests.replace(project.executed(page, ".json"), json.dumps(known, indent=1))
    return seconds


def explain(error: Any) -> str:
    """Return the failing cell and its error in a few lines, without the colours of the traceback."""
    name = type(error).__name__
    if name == "PapermillExecutionError":  # known by name: this process does without papermill
        return f"cell {error.cell_index}: {error.ename}: {error.evalue}"
    if name == "CellTimeoutError":
        source = str(error).partition("contents:")[2].strip(" -\n").partition("\n")[0]
        return f"the cell that begins with {source!r} was not finished within {LIMIT} s"
    return f"{name}: {error}"


def merge_scoreboards(project: Project) -> "pd.DataFrame":
    """Write ``_build/scoreboard.csv``, and return the rows that differ without an explanation."""
    import pandas as pd

    found = [pd.read_csv(path) for page in project.notebooks() if (path := project.executed(page, ".csv")).exists()]
    if not found:
        return pd.DataFrame()
    board = pd.concat([table for table in found if len(table)], ignore_index=True)
    digests.replace(project.build / "scoreboard.csv", board.to_csv(index=False))
    print("scoreboard " + ", ".join(f"{n} {v}" for v, n in board["verdict"].value_counts().items()), flush=True)
    return board[board["verdict"] == "differs"]


def merge_claims(project: Project) -> list[str]:
    """Write ``_build/claims.csv``, and return the claims that have no verdict though their page ran, or whose test cannot fail."""
    import pandas as pd

    from . import claims

    if not (project.root / "data" / "claims").is_dir():  # the book has no claims
        return []
    pages = [page for page in project.notebooks() if project.executed(page).exists()]
    found = [pd.read_csv(path) for page in pages if (path := project.executed(page, ".claims.csv")).exists()]
    table = claims.merged(project.root, found)
    digests.replace(project.build / "claims.csv", table.to_csv(index=False))
    print("claims " + ", ".join(f"{n} {word}" for word, n in claims.counts(table).items()), flush=True)
    judged = {name for rows in found for name in rows["id"]}
    due = table[table["code"].notna() & ("book/" + table["page"].fillna("")).isin(pages) & ~table["id"].isin(judged)]
    asleep = table[table["found"].notna() & (table["mutant"].fillna("") == "")]
    return [
        *(f"{name}: its page ran and gave no verdict" for name in due["id"]),
        *(f"{name}: no table under its negation turns its verdict" for name in asleep["id"]),
    ]


def run(root: str | Path, scale: str = "paper", jobs: int | None = None, chapter: str = "") -> int:
    """Execute the notebooks that are not current, of one chapter or of all, and return the number of failures.

    At most `jobs` notebooks run at a time, by default as many as there are cores. They share the cores.
    """
    from ldpkit import executors  # not at the top: processes that execute a notebook do without numba

    from . import stored

    shorten()
    project = Project(root)
    chosen, shared, graph = load_scale(project, scale), project.digest(*SHARED), stored.PACKAGE
    seconds = durations(project)
    todo = []
    for page in (page for page in project.notebooks() if page.startswith(f"book/{chapter}")):
        try:
            known = parameters.of(json.loads(project.source(page).read_text()))
        except ValueError as error:
            raise SystemExit(f"{page}: {error}") from None
        given = overrides(chosen, page, known)
        wanted = key(project, page, given, shared, graph)
        if current(project, page, wanted):
            print(f"current   {page}", flush=True)
        else:
            forget(project, page)
            todo.append((page, given, wanted))
    failures = 0
    start = time.perf_counter()
    bar = tqdm(total=len(todo), desc="notebooks", disable=None, leave=False)
    # memory that a page frees is kept for its next array: to ask the system for it again takes a fifth of the longest pages' time
    os.environ.update(MALLOC_MMAP_THRESHOLD_=str(2**30), MALLOC_TRIM_THRESHOLD_=str(2**33))
    os.environ["LDPKIT_COMPILE"] = "1"  # machine code is kept for all pages, and the engine compiles what they call
    # one process executes one notebook: the environment of its kernel is its own
    context = get_context("forkserver")
    context.set_forkserver_preload(["ldpbook.warm_kernels"])
    cores = executors.count(None)
    jobs = max(1, min(jobs or cores, len(todo)))
    share = (max(1, cores // jobs),)
    try:
        executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=share, max_tasks_per_child=1)
    except OSError as error:
        raise SystemExit(
            f"No process can be started, since semaphores lie in /dev/shm, which cannot be written: {error}"
        ) from None
    with executor as pool:
        todo.sort(key=lambda task: -seconds[task[0]])
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
        print(_summary(project, [task[0] for task in todo], time.perf_counter() - start), flush=True)
    differing = merge_scoreboards(project)
    for row in differing.itertuples():
        print(f"DIFFERS   {row.item} {row.series} {row.x}: published {row.published}, this run {row.reproduced} "
              f"(se {row.reproduced_se}), exact {row.exact}", file=sys.stderr)  # fmt: skip
    unjudged = merge_claims(project)
    for line in unjudged:
        print(f"CLAIM     {line}", file=sys.stderr)
    untrue = list(struck(project)) if scale == "paper" else []
    for line in untrue:
        print(f"UNTRUE    {line}", file=sys.stderr)
    return failures + len(differing) + len(unjudged) + len(untrue)


def struck(project: Project) -> Iterator[str]:
    """Yield the conditions that are not true in the last run of their page, each with its page."""
    for page in project.notebooks():
        if (path := project.executed(page)).exists():
            found = conditions.shown(json.loads(path.read_text(encoding="utf-8")))
            yield from (f"{page}: {condition}" for condition, holds in found.items() if not holds)


def _summary(project: Project, pages: list[str], wall: float) -> str:
    """Return lines on the times: the longest notebooks executed now, all of them together, and the largest process."""
    known = {page: found for page in pages if (found := record(project, page))}
    longest = sorted(known, key=lambda page: -known[page]["seconds"])
    lines = [f"{known[page]['seconds']:8.1f} s {known[page]['peak_mb']:6} MB  {page}" for page in longest[:10]]
    lines += [f"          and {len(longest) - 10} shorter ones"] if len(longest) > 10 else []
    busy = sum(found["seconds"] for found in known.values())
    peak = max((found["peak_mb"] for found in known.values()), default=0)
    return "\n".join([*lines, f"{len(pages)} notebooks in {wall:.1f} s ({busy:.1f} s one after the other); "
                              f"largest process {peak} MB"])  # fmt: skip
