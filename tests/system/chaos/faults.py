"""The systematic form: harm at write 1, 2, 3, ... until a run never reaches it. After each, the same
run goes on undisturbed and ends with the bytes of one that was never disturbed."""

import json
import random
import shutil
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path

from . import (
    Tally,
    builder,
    command_line,
    differences,
    finish,
    forked,
    orphans,
    runner,
    small_book,
    started,
)
from .hook.sitecustomize import install

MOST = 1000
WAYS = ("end", "torn", "full")
GRID = {"audit": "audit", "seed": 1, "fixed": {"mechanism": "GRR", "k": 5, "trials": 1000},
        "grid": {"epsilon": [0.5, 1, 2, 4]}}  # fmt: skip
KEPT = ("audit --mechanism GRR --k 5 --epsilon 1 --attack tight --until-sure --trials 2000 --save"
        " kept.state --html kept.html").split()  # fmt: skip


def warm() -> None:
    """Import what commands need, and load compiled code, once for all forks."""
    import pandas  # noqa: F401

    from ldpkit import cli, grid
    from ldpkit.auditors import Audit
    from ldpkit.blackbox.sequential import SequentialAudit, loop
    from ldpkit.mechanisms import GRR

    cli.commands()
    given = {"mechanism": "GRR", "k": 5, "epsilon": 1, "attack": "tight", "trials": 300}
    with tempfile.TemporaryDirectory() as store:
        grid.grid(Audit.cell, [given], seed=1, workers=1, store=store)
    loop.time = types.SimpleNamespace(perf_counter=lambda: 0.0)  # an audit's seconds are no result
    SequentialAudit(GRR(5, 1.0), "tight", trials=300).run()


def harms(counter: Path) -> Iterator[int]:
    """Number 1, 2, 3, ... until the last run did not count so far."""
    for at in range(1, MOST + 1):
        counter.unlink(missing_ok=True)
        yield at
        if not counter.exists() or counter.stat().st_size < at:
            return
    raise RuntimeError(f"writes have no end: {MOST} were disturbed")


def run(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Disturb every write of the commands that keep something in `n` ways, which take turns; nothing
    is drawn."""
    warm()
    return [_sweep(seed, n, folder), _audit(seed, n, folder)]


def _disturbed(
    tally: Tally,
    n: int,
    folder: Path,
    call: Callable[[], object],
    after: Callable[[Path], str],
    before: Callable[[Path], object] = lambda place: None,
) -> None:
    """Disturb every write of `call` in `n` of the ways; `after` goes on and says what went wrong."""
    for turn in range(min(n, len(WAYS))):
        for at in harms(folder / "counter"):
            how = WAYS[(at + turn) % len(WAYS)]
            place = folder / "place"
            place.mkdir()
            before(place)

            def harmed() -> None:
                install(str(place), str(folder / "counter"), at, how)
                call()

            found = forked(harmed, place)
            # a killed process says nothing; a full disk is said in one line
            bad = found.left or found.late or "Traceback" in found.err
            if how == "full":
                bad |= found.status not in (0, 4) or found.err.count("\n") > 1
            problem = f"status {found.status}: {found.err[-300:]}" if bad else after(place)
            verdict = "noticed" if found.status == 4 else "harmless"
            tally.add("wrong" if problem else verdict, at, f"{how}: {problem}")
            shutil.rmtree(place)


def _sweep(seed: int, n: int, folder: Path) -> dict[str, object]:
    tally = Tally("fault at every write of a sweep", seed)
    call = command_line("sweep", "grid.yml", "--workers", "1")

    def state(place: Path) -> dict[str, str]:
        """What is there, by name: a cell's name says what it is the result of. Parts of unfinished
        files, which nobody reads, are left out."""
        import pandas as pd

        names = [p.relative_to(place).as_posix() for p in place.rglob("*") if p.suffix != ".tmp"]
        table = pd.read_csv(place / "grid.csv").drop(columns="seconds", errors="ignore")
        return dict.fromkeys(names, "") | {"grid.csv": table.to_csv()}

    def described(place: Path) -> None:
        (place / "grid.yml").write_text(json.dumps(GRID))

    whole = folder / "whole"
    whole.mkdir()
    described(whole)
    if (found := forked(call, whole)).status:
        raise RuntimeError(found.err)
    wanted = state(whole)

    def after(place: Path) -> str:
        found = forked(call, place)
        if found.status or found.err:
            return f"afterwards status {found.status}: {found.err[-300:]}"
        return "" if state(place) == wanted else "afterwards other files"

    _disturbed(tally, n, folder, call, after, described)
    return tally.row()


def _audit(seed: int, n: int, folder: Path) -> dict[str, object]:
    tally = Tally("fault at every write of an audit that is kept", seed)
    first, more = command_line(*KEPT), command_line(
        "resume", "kept.state", "--trials", "4000", "--html", "kept.html"
    )  # fmt: skip

    def said(place: Path) -> str:
        parts = [(place / name).read_text() for name in ("kept.state", "kept.html")]
        if left := [path.name for path in place.iterdir() if path.name.startswith(".")]:
            return f"left behind: {left}"
        return "".join(parts)

    wanted = {}
    for name, calls in (("first", [first]), ("more", [first, more])):
        (folder / name).mkdir()
        for call in calls:
            if (found := forked(call, folder / name)).status:
                raise RuntimeError(found.err)
        wanted[name] = said(folder / name)

    def again(name: str, *calls: Callable[[], object]) -> Callable[[Path], str]:
        def after(place: Path) -> str:
            for call in calls:
                found = forked(call, place)
                if found.status or found.err:
                    return f"afterwards status {found.status}: {found.err[-300:]}"
            here = said(place)
            return "" if here == wanted[name] else f"afterwards other files {here[:80]}"

        return after

    _disturbed(tally, n, folder, first, again("first", first))
    _disturbed(tally, n, folder, more, again("more", more), lambda place: forked(first, place))
    return tally.row()


def run_runner(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Disturb every write of the runner with a small book, the ways taking turns; if it has more than
    `n`, so many drawn ones."""
    return [_build("fault at a write of the runner", seed, n, folder, runner())]


def run_site(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Disturb `n` writes of a whole build, drawn from its last two thirds: the site."""
    return [_build("fault at a write of the site", seed, n, folder)]


def _build(
    what: str, seed: int, n: int, folder: Path, command: list[str] | None = None
) -> dict[str, object]:
    tally, log, counter = Tally(what, seed), folder / "log", folder / "counter"
    whole, root = (small_book(folder / name, workers=1) for name in ("whole", "disturbed"))
    counted = {"CHAOS_COUNTER": str(counter), "CHAOS_UNDER": f"{whole}/", "CHAOS_AT": "0",
               "CHAOS_HOW": "end"}  # fmt: skip
    if problem := finish(whole, command or builder(jobs=1), log, **counted):
        raise RuntimeError(problem)
    writes, draw = counter.stat().st_size, random.Random(seed)
    first = 1 if command else writes // 3
    every = n >= writes - first
    chosen = harms(counter) if every else draw.sample(range(first, writes + 1), n)
    for at in chosen:
        counter.unlink(missing_ok=True)
        how = ("end", "torn", "full", "all")[at % 4]
        log.unlink(missing_ok=True)
        own = command or builder(jobs=1)
        given = {**counted, "CHAOS_UNDER": f"{root}/", "CHAOS_AT": str(at), "CHAOS_HOW": how}
        with started(own, root, log, **given) as process:
            process.wait()
            left = orphans(process)
        problem = f"still at work: {left}" if left else finish(root, own, log)
        problem = problem or differences(whole / "_build", root / "_build")
        noticed = "noticed" if process.returncode > 0 else "harmless"
        tally.add("wrong" if problem else noticed, at, f"{how}: {problem}")
        shutil.rmtree(root / "_build")
    return tally.row()
