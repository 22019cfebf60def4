"""Files that are there whole or not at all, and the store of finished cells made of them."""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from . import checks, digests
from .types import Row

__all__ = ["replace", "replaceable", "digest", "Store"]

_HEAD = 2**16  # characters of a file by which it is recognised


def replace(path: Path, text: str) -> None:
    """Write a text file whole or not at all; one that is replaced keeps its mode.

    Raises
    ------
    ValueError
        If anything but a regular file lies there, a link for example.
    """
    mode, part = _mode(path), path.with_name(f"{path.name}.{os.getpid()}.tmp")
    checks.need(
        mode is None or stat.S_ISREG(mode), f"output must be a new or a regular file, got {path}"
    )
    try:
        part.unlink(missing_ok=True)
        with part.open("x", encoding="utf-8", newline="") as file:  # follows no link
            if mode is not None:
                os.chmod(file.fileno(), stat.S_IMODE(mode))
            file.write(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)  # there only if that failed


def _mode(path: Path) -> int | None:
    """Type and permissions of what lies at a path, links not followed; ``None`` for nothing."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def replaceable(option: str, path: Path, what: str, own: Callable[[str], object]) -> Path:
    """Return the path of an output, unless somebody else's file would be lost by writing it.

    Parameters
    ----------
    option : str
        Who names the file.
    path : path
    what, own : str, callable
        What the command writes, in words, and whether a text begins like that.

    Raises
    ------
    ValueError
        If there is no such folder, or if something else lies at the path.
    """
    checks.need(path.parent.is_dir(), f"{option} must be a file in an existing folder, got {path}")
    mode = _mode(path)
    text = None
    if mode is not None and stat.S_ISREG(mode):
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            text = file.read(_HEAD)
    checks.need(
        mode is None or (text is not None and (not text or own(text))),
        f"{option} must be a new file or {what}, got {path}, which is something else: name"
        " another one",
    )
    return path


def digest(parts: object) -> str:
    """Digest of what JSON can write."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Store:
    """Finished cells as files: name = digest of everything the result depends on."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        func: Callable[..., object],
        seed: int,
        identity: Callable[[Callable[..., object]], str] = digests.identity,
    ) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError, PermissionError) as error:
            raise ValueError(
                f"store must be a folder that can be written, got {str(folder)!r}: {error.strerror}"
            ) from error
        self.base = [f"{func.__module__}.{func.__qualname__}", identity(func), seed]
        self.source = f"{digest(self.base[:1])[:8]}-{digest(self.base[:2])[:8]}"

    def path(self, cell: Row) -> Path:
        """Where the result of a cell lies: its name says which function, which source of it, which
        cell, so cells of old sources can be told."""
        return self.folder / f"{self.source}-{digest([self.base, cell])[:32]}.json"

    @staticmethod
    def _check(path: Path, text: str) -> str:
        """First line of a file: vouches for the content and for the name it is stored under."""
        return hashlib.sha256(f"{path.stem}\n{text}".encode()).hexdigest()

    def read(self, cell: Row) -> str | None:
        """Return the stored text, or ``None``; a damaged file is reported and removed."""
        path = self.path(cell)
        try:
            check, _, text = path.read_text(encoding="utf-8").partition("\n")
        except FileNotFoundError:
            return None
        except (UnicodeDecodeError, IsADirectoryError):
            check, text = "", ""
        if check != self._check(path, text):
            digests.damaged(f"stored result {path.name} of {cell} is damaged; it is computed again")
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            return None
        return text

    def write(self, cell: Row, text: str) -> None:
        """Keep the result of a cell."""
        path = self.path(cell)
        replace(path, f"{self._check(path, text)}\n{text}")
