"""Make the files of a release (sources, wheel and book), or one file for a machine without a network, from the last commit.

The sources are built and checked in a folder and an environment of their own. Every phrase of an unpublished letter to maintainers
is compared with them and with the built site. Without the letters nobody knows whether the release reveals a finding. In that case
the same files are written to a folder of another name, and the program ends with an error.

The letters lie outside this repository, in the folder that the environment variable ``LDPKIT_LETTERS`` names. Each letter is a
file ``PACKAGE.md``, whose front matter states what is withheld until when.

The file for a machine without a network also has everything that is installed. That machine needs make, the same version of
Python, the same system and the same processor. If there is a folder ``wheels``, `make` installs from it alone.
"""

import calendar
import datetime
import gzip
import hashlib
import html
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml
from packaging.markers import Marker

from . import compare_builds, dependencies, paths
from .build import epoch
from .execute import SCALE, fresh

ROOT = paths.ROOT
DAYS = 90
"""Days that maintainers have, counted from the day on which their letter was sent."""
RUN = 8
"""Number of consecutive words shared by a letter and a text that is not taken for a coincidence."""
FIELDS: dict[str, list[Any]] = {
    "published": [bool],
    "sent": [datetime.date, type(None)],
    "release": [str],
    "clients": [list],
    "words": [list],
}
NOTE = """\
This archive has the sources and everything that is installed, for Python {version} on {system}. No network is needed:

    tar xf {name} && cd ldpkit && make book
"""


@dataclass(frozen=True)
class Letter:
    """One letter: its name, the entries of its front matter, and its text."""

    name: str
    published: bool
    sent: datetime.date | None
    release: str
    clients: list[str]
    words: list[str]
    body: str

    @property
    def script(self) -> str:
        """Return the program in the letter that shows the finding."""
        return "".join(re.findall(r"^```python\n(.*?)^```$", self.body, flags=re.M | re.S))

    @property
    def runs(self) -> set[str]:
        """Return all runs of consecutive words of the letter, without its import lines."""
        text = re.sub(r"^(```.*|(import|from) .*)$", "", self.body, flags=re.M)
        return runs(words(text)) | runs(words(text, markup=False))

    def state(self, today: datetime.date) -> str:
        """Return in words whether the finding may be published, as far as the days since the letter decide it."""
        if self.published:
            return "published"
        if self.sent is None:
            return "not sent"
        left = (self.sent + datetime.timedelta(DAYS) - today).days
        return f"sent {self.sent}, " + (f"{left} days left" if left > 0 else f"{DAYS} days are over")


def letters(folder: str | None = None) -> list[Letter]:
    """Return the letters of a folder, by default of the one that ``LDPKIT_LETTERS`` names; without a folder there are none.

    The program ends if the folder has no letters, or if the front matter of a letter is wrong.
    """
    folder = os.environ.get("LDPKIT_LETTERS", "") if folder is None else folder
    if not folder:
        return []
    paths = sorted(Path(folder).glob("*.md"))
    if not paths:
        raise SystemExit(f"LDPKIT_LETTERS must name a folder with letters (*.md), got {folder!r}")
    return [_letter(path) for path in paths]


def _letter(path: Path) -> Letter:
    _, front, body = [*path.read_text().split("---\n", 2), "", ""][:3]
    try:
        said: Any = yaml.safe_load(front)
    except yaml.YAMLError as error:
        raise SystemExit(f"{path}: its front matter cannot be read: {error}") from None
    if not isinstance(said, dict) or set(said) != set(FIELDS):
        raise SystemExit(f"{path}: its front matter must say {', '.join(FIELDS)}, got {front!r}")
    wrong = [name for name, kinds in FIELDS.items() if type(said[name]) not in kinds or said[name] == []]
    if wrong:
        raise SystemExit(f"{path}: {wrong[0]} cannot be {said[wrong[0]]!r}")
    return Letter(path.stem, body=body, **said)


def words(text: str, markup: bool = True) -> list[str]:
    """Return the words of a text without the markup of tables and notebooks; with `markup` false, ``<`` begins no tag."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", text) if markup else text)
    return re.findall(r"[^\W_]+", re.sub(r"\\n", " ", text).lower())


def runs(words: list[str]) -> set[str]:
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of a file, or of every file in an archive, with their names."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path}: {name}", archive.read(name).decode(errors="replace")
    else:
        yield str(path), path.read_bytes().decode(errors="replace")


def found(letters: list[Letter], *folders: Path) -> list[str]:
    """Return the places in files of folders where a phrase of an unpublished letter stands: file, letter and phrase."""
    kept = [letter for letter in letters if not letter.published]
    long = {run: letter.name for letter in kept for run in letter.runs}
    short = {" ".join(words(word)): letter.name for letter in kept for word in letter.words}
    hits = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        for name, text in texts(path):
            seen = set()
            for markup in (True, False):  # ``<`` may begin a tag of a page, or be a comparison in a program
                said = words(text, markup)
                whole = f" {' '.join(said)} "
                seen |= {phrase for phrase in short if f" {phrase} " in whole} | (long.keys() & runs(said))
            hits += [f"{name}: {phrase!r} of the letter {(short | long)[phrase]}" for phrase in sorted(seen)]
    return hits


def unpacked(root: Path, place: Path) -> Path:
    """Extract the files of the last commit of `root` into a new folder, and return that folder."""
    tree, packed = place / "ldpkit", place / "sources.tar"
    tree.mkdir(parents=True)
    done = subprocess.run(["git", "archive", "-o", packed, "HEAD"], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"A release is made from the last commit of a clone, and {root} is none: {done.stderr.strip()}")
    with tarfile.open(packed) as archive:
        archive.extractall(tree, filter="data")
    packed.unlink()
    return tree


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an archive entry without owner and time, so that equal contents give equal archives."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def packed(folder: Path, target: Path, date: int) -> Path:
    """Write an archive of a folder and return its path; equal files give equal bytes, whatever the user, time and place."""
    paths = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.as_posix())
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in paths:
            member = plain(archive.gettarinfo(path, path.relative_to(folder).as_posix()))
            member.mtime, member.mode = date, 0o755 if member.mode & 0o100 else 0o644
            with path.open("rb") as file:
                archive.addfile(member, file)
    return target


def _built(copy: Path, made: Path, date: int, *only: str) -> None:
    """Build the source archive (sdist) and the wheel of a copy, or one of them, in the folder `made`."""
    for path in copy.rglob("*"):
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    build: list[str | Path] = [
        sys.executable,
        "-m",
        "uv",
        "build",
        "-q",
        "--no-build-isolation",
        *only,
        "-p",
        sys.executable,
        "-o",
        made,
        copy,
    ]
    subprocess.run(build, env=os.environ | {"SOURCE_DATE_EPOCH": str(date), "TZ": "UTC"}, umask=0o022, check=True)


def packages(tree: Path, target: Path, date: int) -> list[Path]:
    """Build the source archive (sdist) and the wheel of a tree, with equal bytes under any umask, path, time zone and order."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copy, made = Path(folder) / "ldpkit", Path(folder) / "made"
        shutil.copytree(tree, copy)  # a build leaves files beside what it builds
        _built(copy, made, date)
        wheel, sources = next(made.glob("*.whl")), next(made.glob("*.tar.gz"))
        with tarfile.open(sources) as archive:
            archive.extractall(made / "sources", filter="data")
        return [packed(made / "sources", target / sources.name, date), Path(shutil.copy(wheel, target / wheel.name))]


def wheel(root: Path) -> tuple[str, bytes]:
    """Return name and content of the wheel of a project's own files, as its site offers it. Its files are dated 1980."""
    with tempfile.TemporaryDirectory() as folder:
        copy, made = Path(folder) / "ldpkit", Path(folder) / "made"
        shutil.copytree(root / "ldpkit", copy / "ldpkit", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
            shutil.copy2(root / name, copy)
        _built(copy, made, calendar.timegm((1980, 1, 1, 0, 0, 0)), "--wheel")
        return (file := next(made.glob("*.whl"))).name, file.read_bytes()


def book(tree: Path, scale: str, jobs: str = "") -> Path:
    """Build the book in a tree, with an environment, stores and caches of its own, and return the folder of its site."""
    if subprocess.run(["make", "book", f"SCALE={scale}", f"JOBS={jobs}"], cwd=tree, env=fresh(tree)).returncode:
        raise SystemExit(f"The book could not be built in {tree}")
    return tree / "_build" / "html"


def checked(kept: list[Letter], *folders: Path) -> None:
    """End the program if a file in the folders contains a phrase of an unpublished letter."""
    if hits := found(kept, *folders):
        raise SystemExit("\n".join([*hits, f"{len(hits)} phrases of letters that are not published: nothing was released"]))


def sums(made: list[Path]) -> str:
    """Return the check sums of files in the format that `sha256sum --check` reads."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)


@click.command()
@click.option("--packages", "alone", is_flag=True, help="sources and wheel alone, in _build/dist, compared with nothing")
@SCALE
def main(scale: str, alone: bool) -> None:
    """Make the files of a release (sources, wheel and book) from the last commit, and compare them with the letters."""
    if alone:
        with tempfile.TemporaryDirectory() as place:
            made = packages(unpacked(ROOT, Path(place)), ROOT / "_build" / "dist", int(epoch(ROOT)))
        print(sums(made), end="")
        return
    kept = letters()
    target = ROOT / "_build" / ("release" if kept else "draft")
    shutil.rmtree(target, ignore_errors=True)
    date = int(epoch(ROOT))
    os.environ["SOURCE_DATE_EPOCH"] = str(date)
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        tree = unpacked(ROOT, Path(place))
        checked(kept, tree)
        made = packages(tree, Path(place) / "made", date)
        site = book(tree, scale)
        checked(kept, site)
        version = made[0].name.removeprefix("ldpkit-")
        made.append(packed(site, made[0].with_name(f"ldpkit-book-{version}"), date))
        (Path(place) / "made" / "SHA256SUMS").write_text(sums(made))
        (Path(place) / "made").rename(target)
    print((target / "SHA256SUMS").read_text(), end="")
    for letter in kept:
        print(f"letter to {letter.name}: {letter.state(datetime.date.today())}")
    if not kept:
        raise SystemExit(
            f"No release: {target.relative_to(ROOT)} was compared with no letter to maintainers. "
            "Set LDPKIT_LETTERS to the folder of the letters (SECURITY.md)"
        )


def wanted(root: Path, folder: Path) -> list[Path]:
    """Return every file of pins from which `make book` and `make test` are installed.

    The lock pins some releases for other patch versions of this Python only. A file of pins for each of them is written to
    `folder`.
    """
    lock = root / "requirements.lock"
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    first, last = ({"python_full_version": f"{minor}.{patch}"} for patch in (0, 99))
    marked = [(release, Marker(release.marker)) for release in dependencies.releases(lock.read_text()) if release.marker]
    for release in (release for release, marker in marked if marker.evaluate(first) != marker.evaluate(last)):
        sums = " ".join(f"--hash=sha256:{content}" for content in release.hashes)
        (folder / f"{release.name}-{release.version}.txt").write_text(f"{release.name}=={release.version} {sums}\n")
    return [lock, root / dependencies.ENGINE, *sorted(folder.glob("*.txt")), *sorted((root / "book" / "packages").glob("*.txt")),
            *sorted((root / "book" / "released" / "pins").glob("*.txt"))]  # fmt: skip


def bundle() -> None:
    """Put the sources of the last commit and everything that is installed into one file."""
    version, system = f"{sys.version_info.major}.{sys.version_info.minor}", f"{sys.platform}-{platform.machine()}"
    target = ROOT / "_build" / f"ldpkit-offline-py{version}-{system}.tar"
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wheels = Path(folder) / "wheels"
        for path in wanted(ROOT, Path(folder)):  # each alone: two of them may pin two releases of one package
            command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes",
                       "--no-build-isolation", "-d", str(wheels), "-r", str(path)]  # fmt: skip
            subprocess.run(command, check=True)
            print(f"fetched   {path.name}", flush=True)
        unfinished = target.with_suffix(".part")
        subprocess.run(["git", "archive", "--prefix=ldpkit/", "-o", str(unfinished), "HEAD"], cwd=ROOT, check=True)
        note = Path(folder) / "OFFLINE.txt"
        note.write_text(NOTE.format(version=version, system=system, name=target.name))
        with tarfile.open(unfinished, "a") as archive:
            archive.add(note, f"ldpkit/{note.name}")
            archive.add(wheels, "ldpkit/wheels", filter=plain)
        unfinished.replace(target)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1e6:.0f} MB")


def read_out() -> None:
    """Run the script of every letter whose release is installed; the output is for the person at the keyboard only."""
    for letter in letters():
        folder = ROOT / "_build" / "packages" / letter.release
        print(f"\n{letter.name}: {letter.state(datetime.date.today())}", flush=True)
        if folder.exists():
            environment = os.environ | {"PYTHONPATH": str(folder)}
            subprocess.run([sys.executable, "-c", letter.script], env=environment, check=True)


@click.command()
@SCALE
def twice(scale: str) -> None:
    """Build the last commit twice, in two folders, with one and with two notebooks at a time, and compare every file."""
    place = ROOT / "_build" / "reproduce"
    shutil.rmtree(place, ignore_errors=True)
    os.environ["SOURCE_DATE_EPOCH"] = epoch(ROOT)
    folders = {place / "one": "1", place / "another folder, with a longer name": "2"}
    first, second = (book(unpacked(ROOT, folder), scale, jobs).parent for folder, jobs in folders.items())
    common, unequal = compare_builds.differences(first, second)
    allowed = compare_builds.excused((first, second), unequal)
    for name in unequal:
        print(f"{'may differ' if name in allowed else 'DIFFERS   '}  {name}")
    wrong = [name for name in unequal if name not in allowed]
    print(f"{common} files in both, {len(unequal)} unequal, {len(wrong)} of them should not be; they stay in {place}")
    sys.exit(bool(wrong))
