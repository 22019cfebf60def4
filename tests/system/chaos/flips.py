"""Flip single bits of what is kept between runs. Each is noticed (said, and made again), or does no
harm; none may be believed, show a traceback or crash."""

import os
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from . import Ended, Tally, builder, command_line, differences, finish, forked, small_book
from .faults import KEPT, warm

KERNEL = """
def weigh(x, y):
    return 2.5 * x + y
"""
SWEPT = """
def cell(x, seed):
    return {"value": x * 1.5, "seed": seed}
"""


def flipped(path: Path, draw: random.Random) -> Callable[[], object]:
    """Flip one bit of a file; what undoes it. Where a file was removed since, it comes back."""
    whole = path.read_bytes()
    bit = draw.randrange(8 * len(whole))
    spoilt = bytearray(whole)
    spoilt[bit // 8] ^= 1 << bit % 8
    path.write_bytes(spoilt)
    return lambda: path.write_bytes(whole)


def judged(found: Ended, wanted: str, said: str) -> tuple[str, str]:
    """The verdict on a run with a flipped bit: `wanted` has to be its output, unless it refuses."""
    problem = f"status {found.status}: {found.out[-200:]} {found.err[-300:]}"
    if found.late or found.left or "Traceback" in found.err or found.status not in (0, 2):
        return "wrong", problem
    if found.status == 2:
        return ("noticed", "") if found.err.count("\n") == 1 else ("wrong", problem)
    if found.out != wanted:
        return "wrong", problem
    return ("noticed" if said in found.err else "harmless"), ""


def _flips(
    tally: Tally, n: int, place: Path, call: Callable[[], object], folder: Path, said: str
) -> None:
    """Flip `n` bits of the files in `place`, each before a `call`."""
    draw, first = random.Random(tally.seed), forked(call, folder)
    if first.status or first.err:
        raise RuntimeError(f"undisturbed: {first}")
    # every file as often as any other: most bits are in few files
    for number in range(1, n + 1):
        files = sorted(path for path in place.rglob("*") if path.is_file())
        before = {path: path.read_bytes() for path in files}
        flipped(draw.choice(files), draw)
        verdict, problem = judged(forked(call, folder), first.out, said)
        tally.add(verdict, number, problem)
        for path in set(place.rglob("*")) - set(before):
            if path.is_file():
                path.unlink()
        for path, content in before.items():
            path.write_bytes(content)


def run(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Flip `n` bits of each: a store of cells, kept machine code, a kept audit."""
    from ldpkit import grid, jit

    warm()
    sys.path.insert(0, str(folder))
    (folder / "flip_cells.py").write_text(SWEPT)
    (folder / "flip_kernel.py").write_text(KERNEL)
    import flip_cells
    import flip_kernel

    for name in ("store", "code", "state"):
        (folder / name).mkdir()

    def swept() -> None:
        cells = {"x": list(range(12))}
        table = grid.grid(flip_cells.cell, cells, seed=1, workers=1, store=folder / "store")
        print(table.to_csv())

    def compiled_call() -> None:
        os.environ.pop("NUMBA_CACHE_DIR", None)
        jit.CACHE = folder / "code"
        print(jit.kernel(flip_kernel.weigh)(2.0, 1.0))

    def resumed() -> None:
        work = folder / "work"
        work.mkdir(exist_ok=True)
        shutil.copy(folder / "state" / "kept.state", work)
        os.chdir(work)
        command_line("resume", "kept.state", "--trials", "4000", "--json")()

    rows = []
    for what, place, call, said in (
        ("flipped bit of stored cells", "store", swept, "is damaged; it is computed again"),
        ("flipped bit of machine code", "code", compiled_call, "it is compiled again"),
        ("flipped bit of a kept audit", "state", resumed, "nothing"),
    ):
        tally = Tally(what, seed)
        if place == "state":
            forked(command_line(*KEPT), folder / "state")
            (folder / "state" / "kept.html").unlink()
        forked(call, folder)  # which fills the place
        _flips(tally, n, folder / place, call, folder, said)
        rows.append(tally.row())
    return rows


def run_built(seed: int, n: int, folder: Path, again: int = 1) -> list[dict[str, object]]:
    """Flip `n` bits of executed notebooks with their records and tables, and `n` of the site with
    its manifest; `again` times whole builds mend what they find."""
    from ldpbook import build, execute, stored

    root, log = small_book(folder / "book"), folder / "log"
    if problem := finish(root, builder(), log):
        raise RuntimeError(problem)
    kept = folder / "kept"
    shutil.copytree(root / "_build", kept, symlinks=True)
    project, draw = execute.Project(root), random.Random(seed)
    records = {page: execute.record(project, page) for page in project.notebooks()}
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"

    def executed() -> None:
        """What a build would take as it is."""
        graph = stored.Graph(project.root / "ldpkit", project.root / "book" / "ldpbook")
        shared = project.digest(*execute.SHARED)
        for page, known in records.items():
            wanted = execute.key(project, page, known["parameters"], shared, graph)
            if not execute.current(project, page, wanted):
                print(f"again {page}")
            elif execute.record(project, page) != known:
                raise AssertionError(f"a changed record of {page} is believed")

    def again_site(*_: object, **__: object) -> None:
        raise SystemExit(2)

    def site() -> None:
        execute.jupyter_book = again_site
        shutil.rmtree = lambda *_, **__: None
        Path.unlink = lambda *_, **__: None
        build.site(project)

    rows = []
    for what, call, files in (
        ("flipped bit of executed pages", executed, sorted((kept / "executed").rglob("*.*"))),
        ("flipped bit of the site", site, [kept / "site.json", *sorted((kept / "html").rglob("*.*"))]),
    ):  # fmt: skip
        tally = Tally(what, seed)
        files = [path for path in files if path.is_file() and path.stat().st_size]
        if (found := forked(call, folder / "book")).status or "again" in found.out:
            raise RuntimeError(f"undisturbed: {found}")
        for number in range(1, n + 1):
            path = root / "_build" / draw.choice(files).relative_to(kept)
            back = flipped(path, draw)
            found = forked(call, folder / "book")
            bad = found.err if "Traceback" in found.err or found.status not in (0, 2) else ""
            noticed = found.status == 2 or "again " in found.out
            verdict = "wrong" if bad or not noticed else "noticed"
            tally.add(verdict, number, f"{path.name} {bad[-300:]}")
            back()
        for number in range(n + 1, n + 1 + again):  # several at once, and a whole build
            for path in draw.sample(files, 4):
                flipped(root / "_build" / path.relative_to(kept), draw)
            problem = finish(root, builder(), log) or differences(kept, root / "_build")
            tally.add("wrong" if problem else "noticed", number, problem)
        rows.append(tally.row())
    return rows
