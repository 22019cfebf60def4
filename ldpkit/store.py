"""Files that are there whole or not at all, and the store of finished cells made of them."""

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

from . import depends
from .types import Row

__all__ = ["replace", "digest", "Store"]


def replace(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)  # there only if that failed


def digest(parts: object) -> str:
    """Digest of what JSON can write."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Store:
    """Finished cells as files: name = digest of everything the result depends on."""

    def __init__(
        self, folder: str | os.PathLike[str], func: Callable[..., object], seed: int
    ) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError, PermissionError) as error:
            raise ValueError(
                f"store must be a folder that can be written, got {str(folder)!r}: {error.strerror}"
            ) from error
        self.base = [f"{func.__module__}.{func.__qualname__}", depends.identity(func), seed]
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
            warnings.warn(
                f"stored result {path.name} of {cell} is damaged; it is computed again",
                stacklevel=3,
            )
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            return None
        return text

    def write(self, cell: Row, text: str) -> None:
        """Keep the result of a cell."""
        path = self.path(cell)
        replace(path, f"{self._check(path, text)}\n{text}")
