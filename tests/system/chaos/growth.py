"""What happens where nothing fits: long names, full disks, closed streams."""

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from . import ROOT, Tally, builder, command_line, finish, forked, small_book
from .faults import KEPT, warm

LONG = "a temporary folder with a name that is as long as some systems make them "
STREAMS = {
    "closed": lambda: os.close(1),
    "full": lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1),
    "gone": lambda: _gone(),
}
COMMANDS = ["audit --mechanism GRR --k 5 --epsilon 1 --trials 100 --json", "list", "cache",
            "rates --mechanism OUE --k 10 --epsilon 1", "audit --help",
            "audit --mechanism GRR --k 5 --epsilon 1 --until-sure --trials 100"]  # fmt: skip


def run(seed: int, n: int, folder: Path) -> Iterator[dict[str, object]]:
    """Run with long names, on `n` full disks, and into streams that take nothing."""
    warm()
    yield _streams(seed)
    yield _full(seed, n, folder)
    tally = Tally("folder for temporary files with a long name", seed)
    place = folder / (LONG * 2)[:100]
    place.mkdir()
    problem = finish(small_book(folder / "long"), builder(), folder / "log", TMPDIR=str(place))
    problem = problem or f"left behind: {list(place.iterdir())}" * any(place.iterdir())
    tally.add("wrong" if problem else "harmless", 1, problem)
    yield tally.row()


def _gone() -> None:
    """Standard output as a pipe that nobody reads any more, as after `| head`."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(reader)


def _streams(seed: int) -> dict[str, object]:
    """A result that nobody got is a failure (status 4), and said in one line if anybody hears."""
    tally, number = Tally("standard output that takes nothing", seed), 0
    for words in COMMANDS:
        for name, spoil in STREAMS.items():
            if name == "full" and not Path("/dev/full").exists():  # Linux has it
                continue
            number += 1
            code = (
                f"import sys; sys.argv[1:] = {words.split()!r}; from ldpkit import cli; cli.main()"
            )
            done = subprocess.run([sys.executable, "-c", code], preexec_fn=spoil,
                                  stderr=subprocess.PIPE, text=True, cwd=ROOT)  # fmt: skip
            good = done.returncode == 4 and "Traceback" not in done.stderr
            about = f"{words} with {name} output: {done.returncode}, {done.stderr[-300:]}"
            tally.add("noticed" if good else "wrong", number, about)
    return tally.row()


@contextlib.contextmanager
def disk(place: Path, size: int) -> Iterator[Callable[[], object]]:
    """A disk of so many bytes, or files that cannot be larger; yields what a process does first."""
    place.mkdir()
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={max(size, 4096)}", "tmpfs", str(place)],
        capture_output=True,
    ).returncode if sys.platform == "linux" else False  # fmt: skip

    def limited() -> None:
        if not mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    try:
        yield limited
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)
        shutil.rmtree(place)


def _full(seed: int, n: int, folder: Path) -> dict[str, object]:
    """Keep an audit on a disk that is too small: status 4 in one line, or it fits."""
    tally, draw = Tally("full disk", seed), random.Random(seed)
    for number in range(1, n + 1):
        with disk(folder / "small", 4096 * draw.randrange(1, 12)) as limited:

            def call() -> None:
                limited()
                command_line(*KEPT)()

            found = forked(call, folder / "small")
            whole = found.status == 0 and (folder / "small" / "kept.html").stat().st_size
            noticed = found.status == 4 and found.err.count("\n") == 1
            good = (whole or noticed) and "Traceback" not in found.err
            verdict = "noticed" if noticed else "harmless"
            about = f"status {found.status}: {found.err[-300:]}"
            tally.add(verdict if good else "wrong", number, about)
    return tally.row()
