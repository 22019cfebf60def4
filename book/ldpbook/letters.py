"""Read the letters to maintainers of packages about findings that are not public yet, and keep the findings out of releases.

The letters lie outside this repository, in the folder that the environment variable ``LDPKIT_LETTERS`` names. Each letter is a
file ``PACKAGE.md``, whose front matter states what is withheld until when. `make release` compares every phrase of an unpublished
letter with the files of the release. When run as a program, this module executes the scripts in the letters.
"""

import datetime
import html
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from . import paths

DAYS = 90
"""Days that maintainers have, counted from the day on which their letter was sent."""
RUN = 8
"""Number of consecutive words shared by a letter and a text that is not taken for a coincidence."""
ROOT = paths.ROOT
FIELDS: dict[str, list[Any]] = {
    "published": [bool],
    "sent": [datetime.date, type(None)],
    "release": [str],
    "clients": [list],
    "words": [list],
}


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
        return runs(plain(text)) | runs(plain(text, markup=False))

    def state(self, today: datetime.date) -> str:
        """Return in words whether the finding may be published, as far as the days since the letter decide it."""
        if self.published:
            return "published"
        if self.sent is None:
            return "not sent"
        left = (self.sent + datetime.timedelta(DAYS) - today).days
        return f"sent {self.sent}, " + (f"{left} days left" if left > 0 else f"{DAYS} days are over")


def read(folder: str | None = None) -> list[Letter]:
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


def plain(text: str, markup: bool = True) -> list[str]:
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
    short = {" ".join(plain(word)): letter.name for letter in kept for word in letter.words}
    hits = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        for name, text in texts(path):
            seen = set()
            for markup in (True, False):  # ``<`` may begin a tag of a page, or be a comparison in a program
                words = plain(text, markup)
                whole = f" {' '.join(words)} "
                seen |= {phrase for phrase in short if f" {phrase} " in whole} | (long.keys() & runs(words))
            hits += [f"{name}: {phrase!r} of the letter {(short | long)[phrase]}" for phrase in sorted(seen)]
    return hits


def main() -> None:
    """Run the script of every letter whose release is installed; the output is for the person at the keyboard only."""
    for letter in read():
        folder = ROOT / "_build" / "packages" / letter.release
        print(f"\n{letter.name}: {letter.state(datetime.date.today())}", flush=True)
        if folder.exists():
            environment = os.environ | {"PYTHONPATH": str(folder)}
            subprocess.run([sys.executable, "-c", letter.script], env=environment, check=True)
