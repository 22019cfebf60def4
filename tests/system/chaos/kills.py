"""Kill whole builds at random moments; each time the next one goes on, and ends with the bytes of a
build that nobody disturbed."""

import random
import shutil
import subprocess
import time
from pathlib import Path

from . import ROOT, Tally, builder, differences, finish, kill_at, orphans, small_book, started

EACH = 5  # kills after which a build is finished, compared and begun again


def run(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Kill the build of a small book `n` times."""
    whole, root = small_book(folder / "whole"), small_book(folder / "killed, and elsewhere")
    return [disturb("kill of a small build", seed, n, folder, whole, root).row()]


def run_book(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Kill the build of the last commit's whole book at smoke scale `n` times, between start and
    end of one build."""
    places = folder / "whole", folder / "killed, and elsewhere"
    for place in places:
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, place], check=True)
        (place / "_build").mkdir()
        (place / "_build" / "packages").symlink_to(ROOT / "_build" / "packages")
    return [disturb("kill of the smoke build", seed, n, folder, *places, each=n).row()]


def disturb(
    what: str, seed: int, n: int, folder: Path, whole: Path, root: Path, each: int = EACH
) -> Tally:
    """Build `whole`, then kill builds of `root` at random moments, and compare whenever it was
    killed `each` times."""
    tally, draw, log = Tally(what, seed), random.Random(seed), folder / "log"
    begun = time.monotonic()
    if problem := finish(whole, builder(), log):
        raise RuntimeError(f"the undisturbed build of {whole} failed: {problem}")
    duration, since = time.monotonic() - begun, 0
    for number in range(1, n + 1):
        # many kills of one build share its time, a few each see any moment of it; none comes so soon
        # that no page was begun
        share = draw.uniform(0.02, 1.0) * (max(2 / each, 0.06) if each > EACH else 1)
        with started(builder(), root, log) as process:
            killed = kill_at(process, duration * share, draw)
            left = orphans(process)
        since, problem = since + 1, ""
        if left:
            tally.add("wrong", number, f"still at work: {left}")
        elif since < each and number < n and killed:
            tally.add("harmless", number)
            continue
        problem = finish(root, builder(), log)
        problem = problem or differences(whole / "_build", root / "_build")
        if not left:
            tally.add("wrong" if problem else "harmless", number, problem)
        since = 0
        if problem:  # to be looked at
            shutil.copytree(root / "_build", folder / f"wrong {number}", symlinks=True)
        for part in (root / "_build").iterdir():
            if part.is_dir() and not part.is_symlink():
                shutil.rmtree(part)
            elif not part.is_symlink():
                part.unlink()
    return tally


PYTHON = """#!/bin/sh
# stands for Python and uv: every step installs ten files, one after the other
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/uv ;;
esac
step=$(echo "$*" | cksum | cut -d' ' -f1)
test -d .venv/bin || exit 9
for i in 0 1 2 3 4 5 6 7 8 9; do
  test -e ".venv/$step.$i" && exit 8
  echo "$step" >".venv/$step.$i"
done
"""


def run_installation(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Kill `make .venv/ready` at random moments, with a Python that installs nothing real."""
    tally, draw = Tally("kill of the installation", seed), random.Random(seed)
    log = folder / "log"
    for name in ("whole", "killed"):
        (folder / name / "book").mkdir(parents=True)
        for part in ("Makefile", "pyproject.toml", "book/pyproject.toml", "requirements.lock"):
            shutil.copy(ROOT / part, folder / name / part)
        (folder / name / "stub").write_text(PYTHON)
        (folder / name / "stub").chmod(0o755)
    whole, root = folder / "whole", folder / "killed"
    command = ["make", ".venv/ready", "PYTHON=./stub"]
    begun = time.monotonic()
    if problem := finish(whole, command, log):
        raise RuntimeError(f"the undisturbed installation failed: {problem}")
    duration = time.monotonic() - begun
    wanted = _content(whole / ".venv")
    for number in range(1, n + 1):
        with started(command, root, log) as process:
            kill_at(process, duration * draw.uniform(0, 1), draw)
            left = orphans(process)
        problem = f"still at work: {left}" if left else finish(root, command, log)
        if not problem and _content(root / ".venv") != wanted:
            problem = "another environment"
        tally.add("wrong" if problem else "harmless", number, problem)
        shutil.rmtree(root / ".venv")
    return [tally.row()]


def _content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
