"""Letters to the maintainers of packages, about findings that are not public yet.

They lie outside this repository, in the folder that the environment variable ``LDPKIT_LETTERS`` names. Each is a file
``PACKAGE.md`` whose front matter says what is withheld until when. `make release` compares every phrase of a letter that is
not published with what it is about to pass on. Called by itself, this program runs the scripts of the letters.
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
"""How long maintainers have, from the day on which their letter was sent."""
RUN = 8
"""So many words in a row, of a letter and of a text, are no coincidence."""
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
    """One letter: its name, what its front matter says, and its text."""

    name: str
    published: bool
    sent: datetime.date | None
    release: str
    clients: list[str]
    words: list[str]
    body: str

    @property
    def script(self) -> str:
        """The program that shows the finding."""
        return "".join(re.findall(r"^```python\n(.*?)^```$", self.body, flags=re.M | re.S))

    @property
    def runs(self) -> set[str]:
        """Everything that the letter says, but for names that anybody imports."""
        text = re.sub(r"^(```.*|(import|from) .*)$", "", self.body, flags=re.M)
        return runs(plain(text)) | runs(plain(text, markup=False))

    def state(self, today: datetime.date) -> str:
        """Whether the finding may be published, as far as days say it."""
        if self.published:
            return "published"
        if self.sent is None:
            return "not sent"
        left = (self.sent + datetime.timedelta(DAYS) - today).days
        return f"sent {self.sent}, " + (f"{left} days left" if left > 0 else f"{DAYS} days are over")


def read(folder: str | None = None) -> list[Letter]:
    """The letters of a folder, by default of that which `LDPKIT_LETTERS` names; none if it names none.

    A folder without letters, and a letter whose front matter is not as it should be, end the program.
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
    """The words of a text, in whatever table or notebook they stand; without `markup` what begins with `<` is no tag."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", text) if markup else text)
    return re.findall(r"[^\W_]+", re.sub(r"\\n", " ", text).lower())


def runs(words: list[str]) -> set[str]:
    return {" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """The texts of a file, and of what an archive holds, by name."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path}: {name}", archive.read(name).decode(errors="replace")
    else:
        yield str(path), path.read_bytes().decode(errors="replace")


def found(letters: list[Letter], *folders: Path) -> list[str]:
    """Where a phrase of a letter that is not published stands in the files of folders: file, letter and phrase."""
    kept = [letter for letter in letters if not letter.published]
    long = {run: letter.name for letter in kept for run in letter.runs}
    short = {" ".join(plain(word)): letter.name for letter in kept for word in letter.words}
    hits = []
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        for name, text in texts(path):
            seen = set()
            for markup in (True, False):  # a page, or a program that compares
                words = plain(text, markup)
                whole = f" {' '.join(words)} "
                seen |= {phrase for phrase in short if f" {phrase} " in whole} | (long.keys() & runs(words))
            hits += [f"{name}: {phrase!r} of the letter {(short | long)[phrase]}" for phrase in sorted(seen)]
    return hits


def main() -> None:
    """Run the script of every letter whose release is installed: for the person at the keyboard only."""
    for letter in read():
        folder = ROOT / "_build" / "packages" / letter.release
        print(f"\n{letter.name}: {letter.state(datetime.date.today())}", flush=True)
        if folder.exists():
            environment = os.environ | {"PYTHONPATH": str(folder)}
            subprocess.run([sys.executable, "-c", letter.script], env=environment, check=True)
