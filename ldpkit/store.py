"""Atomic writing of files, and the store of finished cells of a sweep."""

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

_HEAD = 2**16  # first characters of a file, by which it is recognised


def replace(path: Path, text: str) -> None:
    """Write a text file atomically; a file that is replaced keeps its mode.

    Raises
    ------
    ValueError
        If the path holds anything but a regular file, for example a link.
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
        part.unlink(missing_ok=True)  # it exists only after an error


def _mode(path: Path) -> int | None:
    """Return type and permissions of a path without following links; ``None`` if it is free."""
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def replaceable(option: str, path: Path, what: str, own: Callable[[str], object]) -> Path:
    """Return the path of an output, after checking that it replaces no file of another origin.

    Parameters
    ----------
    option : str
        Name of the option that gives the path, for the error message.
    path : path
    what : str
        The output in words, for the error message.
    own : callable
        Returns whether the first characters of a file are those of such an output.

    Raises
    ------
    ValueError
        If the folder does not exist, or if the path holds something else.
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
    """Return the digest of an object that JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Store:
    """Store of finished cells, one file each.

    The name of a file is a digest of everything on which the result depends.
    """

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
        """Return the path of the result of a cell.

        The name identifies the function, its source and the cell, so that results of old sources
        can be found.
        """
        return self.folder / f"{self.source}-{digest([self.base, cell])[:32]}.json"

    @staticmethod
    def _check(path: Path, text: str) -> str:
        """Return the first line of a file, a digest of its name and of its content."""
        return hashlib.sha256(f"{path.stem}\n{text}".encode()).hexdigest()

    def read(self, cell: Row) -> str | None:
        """Return the stored text of a cell, or ``None``; report and remove a damaged file."""
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
        """Store the result of a cell."""
        path = self.path(cell)
        replace(path, f"{self._check(path, text)}\n{text}")
