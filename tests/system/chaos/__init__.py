"""Break it on purpose: what the parts of the harness share.

A part has a function ``run(seed, n, folder)`` that does `n` harmful things, drawn from `seed`, to
copies in `folder`, and returns rows of the table of results. Whatever goes wrong is printed with
the seed and the number that repeat it."""

import contextlib
import dataclasses
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from ldpbook import compare_builds

ROOT = Path(__file__).parents[3]
HOOK = Path(__file__).parent / "hook"

PATIENCE = 60  # seconds until who should end by itself counts as one who never does


@dataclasses.dataclass
class Tally:
    """How many harms were noticed (refused or repaired, and said), did no harm, or went wrong."""

    what: str
    seed: int
    noticed: int = 0
    harmless: int = 0
    wrong: int = 0
    begun: float = dataclasses.field(default_factory=time.monotonic)

    def add(self, verdict: str, number: int, about: str = "") -> None:
        """Count one harm; say what went wrong."""
        setattr(self, verdict, getattr(self, verdict) + 1)
        if verdict == "wrong":
            print(f"WRONG     {self.what}, seed {self.seed}, number {number}: {about}", flush=True)

    def row(self) -> dict[str, object]:
        """One row of the table."""
        n = self.noticed + self.harmless + self.wrong
        return {"what": self.what, "seed": self.seed, "n": n, "noticed": self.noticed,
                "harmless": self.harmless, "wrong": self.wrong,
                "seconds": round(time.monotonic() - self.begun)}  # fmt: skip


HELPER = """
from ldpkit.jit import kernel
from ldpbook.stored import sweep

@kernel
def weigh(x, y):
    return 2.5 * x + y

def cell(x, seed):
    return {"again": x, "weight": weigh(float(x), float(seed % 1000))}

def table(cells, workers):
    return sweep(cell, {"x": list(range(cells))}, seed=1, workers=workers)
"""
_WORDS = "# {title}\n\nA page of a small book that is built to be disturbed, " + "again and " * 30
_BOARD = """
import csv, os
with open(os.environ["LDPKIT_SCOREBOARD"], "w") as file:
    rows = [{columns!r}, ["p/fig1", "s", 1, 2, 0, 2, 0, 2, "reproduced", "", "=", "closed form", "printed number"]]
    csv.writer(file).writerows(rows)
"""


def notebook(title: str, *cells: str) -> str:
    """A notebook with a title, a cell of parameters and others."""
    made: list[dict[str, object]] = [
        {"cell_type": "markdown", "id": "t", "metadata": {}, "source": _WORDS.format(title=title)}
    ]
    for i, source in enumerate(cells):
        tags = {} if i else {"tags": ["parameters"]}
        made.append({"cell_type": "code", "id": f"c{i}", "metadata": tags, "source": source,
                     "outputs": [], "execution_count": None})  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    )


def small_book(root: Path, workers: int = 2) -> Path:
    """Make a checkout of this very code with a book of three pages: one has a kernel and a stored
    grid, one a comparison."""
    from ldpbook.paper_values import COLUMNS

    book = root / "book"
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("ldpkit", "book/ldpbook", "book/_static"):
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    for name in ("pyproject.toml", "book/pyproject.toml", "requirements.lock", "CITATION.cff", "_config.yml",
                 "book/references.bib", "book/acronyms.yml", "book/search.yml", "book/execution.md"):  # fmt: skip
        shutil.copy(ROOT / name, root / name)
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters:\n"
        "- file: book/one\n- file: book/two\n- file: book/execution\n"
    )
    (root / "data").mkdir()
    (root / "data" / "items.csv").write_text("item,title,page\np/fig1,One,two\n")
    (book / "course").mkdir()
    (book / "course" / "map.yml").write_text("{}\n")  # no page needs another one
    (book / "redirects").mkdir()
    (book / "scales").mkdir()
    (book / "scales" / "smoke.yml").write_text('"*": {cells: 4}\n')
    (book / "helper.py").write_text(HELPER)
    grid = f"import helper\nprint(helper.table(cells, {workers}).to_csv())"
    (book / "intro.ipynb").write_text(notebook("First", "trials = 3  # how many", "print(trials)"))
    (book / "one.ipynb").write_text(notebook("Second", "cells = 8  # of the grid", grid))
    board = _BOARD.format(columns=list(COLUMNS))
    (book / "two.ipynb").write_text(notebook("Third", "seed = 1  # of nothing", board))
    return root


def environment(root: Path, **more: str) -> dict[str, str]:
    """An environment in which the code of a checkout is used, and all that is kept lies in it."""
    hook = [str(HOOK)] if "CHAOS_AT" in more else []
    own = {"PYTHONPATH": os.pathsep.join([str(root), str(root / "book"), *hook]), "PYTHONDONTWRITEBYTECODE": "1",
           "XDG_CACHE_HOME": str(root / "_build" / "cache"), "ENGINE": "0", "SOURCE_DATE_EPOCH": "1700000000",
           "OPENBLAS_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return kept | own | more


def builder(scale: str = "smoke", jobs: int = 2) -> list[str]:
    """The command that builds the book of a checkout."""
    return [sys.executable, "-m", "ldpbook", "build", "--scale", scale, "--jobs", str(jobs)]


def runner() -> list[str]:
    """The command that executes the pages of a checkout, and builds no site."""
    code = "import sys; from ldpbook import execute; sys.exit(execute.run('.', 'smoke', 1))"
    return [sys.executable, "-c", code]


def finish(root: Path, command: list[str], log: Path, **more: str) -> str:
    """Run a command to its end, undisturbed; what was wrong with that, or nothing."""
    with log.open("w") as said:
        given = {"cwd": root, "env": environment(root, **more), "stderr": subprocess.STDOUT}
        status = subprocess.run(command, stdout=said, **given).returncode
    text = log.read_text(errors="replace")
    if status:
        return f"status {status}: {text[-600:]}"
    return f"a traceback: {text[-600:]}" if "Traceback" in text else ""


def differences(one: Path, two: Path) -> str:
    """In which files two builds of a book differ that should not, or nothing."""
    unequal = compare_builds.differences(one, two)[1]
    allowed = compare_builds.excused((one, two), unequal)
    wrong = [name for name in unequal if name not in allowed]
    return f"{len(wrong)} files differ: {', '.join(wrong[:3])}" if wrong else ""


@contextlib.contextmanager
def started(command: list[str], root: Path, log: Path, **more: str) -> Iterator[subprocess.Popen]:
    """A process that leads a session of its own, whose descendants carry a mark."""
    mark = {"CHAOS_MARK": f"{os.getpid()}-{time.monotonic_ns()}"}
    with log.open("a") as said:
        process = subprocess.Popen(
            command, cwd=root, env=environment(root, **more, **mark), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
    process.mark = mark["CHAOS_MARK"]  # type: ignore[attr-defined]
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def marked(mark: str) -> list[psutil.Process]:
    """The processes that carry a mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # gone, or another user's
            if process.environ().get("CHAOS_MARK") == mark:
                found.append(process)
    return found


def orphans(process: subprocess.Popen) -> list[str]:
    """Who still works for a process that was killed, after all had time to notice; they are
    ended."""
    left = psutil.wait_procs(marked(process.mark), timeout=PATIENCE)[1]  # type: ignore[attr-defined]
    told = [" ".join(one.cmdline())[:80] for one in left]
    for one in left:
        one.kill()
    return told


def kill_at(process: subprocess.Popen, seconds: float, draw: random.Random) -> bool:
    """Kill a process after some time, in every second case with its whole group; whether it was
    still there."""
    try:
        process.wait(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        if draw.random() < 0.5:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        return True


@dataclasses.dataclass
class Ended:
    """How a forked call ended."""

    status: int  # negative: the signal
    out: str
    err: str
    seconds: float
    late: bool = False  # it did not end in time, and was interrupted
    left: bool = False  # it left processes behind, or did not even hear the interrupt
    memory: int = 0  # bytes that it took at most


def forked(
    call: Callable[[], object], folder: Path, limit: float = PATIENCE, memory: int = 0
) -> Ended:
    """Run a call in a child of this process, which has imported all that it needs, as a program of
    its own: in `folder`, with standard streams of its own, as leader of a session.

    After `limit` seconds it hears an interrupt, as from a keyboard."""
    streams = [folder.with_name(f"{folder.name}.{name}") for name in ("out", "err")]
    sys.stdout.flush()
    sys.stderr.flush()
    begun = time.monotonic()
    child = os.fork()
    if not child:
        _child(call, folder, streams, memory)
    late = left = False
    deadline, status = begun + limit, None
    while status is None:
        pid, found, used = os.wait4(child, os.WNOHANG)
        if pid:
            status = os.waitstatus_to_exitcode(found)
        elif time.monotonic() > deadline:
            left = late
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL if late else signal.SIGINT)
            late, deadline = True, time.monotonic() + 10
        else:
            time.sleep(0.002)
    deadline = time.monotonic() + 10
    with contextlib.suppress(ProcessLookupError):
        while not left:
            os.killpg(child, 0)
            left = time.monotonic() > deadline
            time.sleep(0.01)
        os.killpg(child, signal.SIGKILL)
    out, err = (path.read_text(errors="replace") for path in streams)
    return Ended(status, out, err, time.monotonic() - begun, late, left, used.ru_maxrss * 1024)


def _child(call: Callable[[], object], folder: Path, streams: list[Path], memory: int) -> None:
    status = 70
    try:
        os.setsid()
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(streams, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        call()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def command_line(*arguments: str) -> Callable[[], object]:
    """The command line as a call for `forked`."""

    def call() -> None:
        from ldpkit import cli

        sys.argv[1:] = arguments
        cli.main()

    return call
