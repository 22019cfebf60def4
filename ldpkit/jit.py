"""Compiled kernels: one decorator, and where numba keeps what it compiled."""

import contextlib
import functools
import hashlib
import io
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from . import digests

__all__ = ["CACHE", "kernel"]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def _cache() -> Path:
    """The user's cache folder; a private temporary one for users who have none they can write."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "ldpkit"
    there = next(folder for folder in (wanted, *wanted.parents) if folder.exists())
    if wanted.is_absolute() and os.access(there, os.W_OK | os.X_OK):
        return wanted
    own = Path(tempfile.gettempdir(), f"ldpkit-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        own.mkdir(mode=0o700)
    found = own.lstat()  # whoever else may write there could make us run their machine code
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return own if private and not found.st_mode & 0o077 else Path(tempfile.mkdtemp("ldpkit"))


CACHE = _cache()
"""The user's folder for what can be made again."""
_KEPT = 16


@functools.cache
def _folder(cache: Path) -> Path:
    """This very source's folder of machine code; of other sources those used last are kept."""
    own = cache / "numba" / digests.code_digest()
    with contextlib.suppress(OSError):
        own.mkdir(parents=True, exist_ok=True)
        os.utime(own)
        known = sorted(own.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in known[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return own


class _Lazy:
    """A kernel that is compiled when it is first needed: whoever calls none does not wait for
    numba.

    Other kernels, and numba itself, find in it whatever they ask of a compiled function.
    """

    def __init__(self, function: Callable[..., object], inline: str) -> None:
        functools.update_wrapper(self, function)
        self._inline = inline

    def __call__(self, *given: object) -> object:
        return self._compiled(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __reduce__(self) -> str:
        return self.__qualname__  # other processes find it where it is defined

    @functools.cached_property
    def _compiled(self) -> Any:
        with _one:
            return _compile(self.__wrapped__, self._inline)


_one = threading.Lock()  # what numba is told of its cache belongs to one kernel


def _compile(function: Callable[..., object], inline: Any) -> Any:
    import numba

    config: Any = numba.config
    given = config.CACHE_DIR
    config.CACHE_DIR = given or str(_folder(CACHE))
    try:
        compiled: Any = numba.njit(cache=True, nogil=True, inline=inline)(function)
        if hasattr(compiled, "_cache"):  # not where the compiler is switched off
            compiled._cache._cache_file.__class__ = _checked()
        return compiled
    finally:
        config.CACHE_DIR = given  # the caller's own kernels stay where they were


def kernel(function: Kernel, inline: Literal["never", "always"] = "never") -> Kernel:
    """Compile a plain function of numbers and arrays when it is first called, so that threads run
    it side by side.

    Machine code is kept in ``NUMBA_CACHE_DIR``, or in a folder of `CACHE` that belongs to this very
    source: numba itself does not notice an edited helper in another file. What is read from there
    was checked: damaged code is compiled again, and a disk that takes none is no failure.
    """
    return cast(Kernel, _Lazy(function, inline))


@functools.cache
def _checked() -> type:
    """The files of one kernel, each with a check sum at its end, which pickle does not read."""
    from numba.core import caching

    files: Any = caching.IndexDataCacheFile  # which has no types

    class Checked(files):  # type: ignore[misc]  # its base has no types
        def save(self, key: object, data: object) -> None:
            with contextlib.suppress(OSError):
                super().save(key, data)

        def _load_index(self) -> Any:
            return super()._load_index() if self._whole(self._index_path) else {}

        def _load_data(self, name: str) -> Any:
            return super()._load_data(name) if self._whole(self._data_path(name)) else None

        def _whole(self, place: str) -> bool:
            path = Path(place)
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                return True  # which is for numba to see
            except OSError:
                text = b""
            if hashlib.sha256(text[:-32]).digest() == text[-32:]:
                return True
            digests.damaged(
                f"compiled code in {path.parent} is damaged ({path.name}); it is compiled again"
            )
            # without its index nobody knows which code is in which file
            for one in path.parent.glob(self._data_name_pattern.partition("{")[0] + "*"):
                shutil.rmtree(one) if one.is_dir() else one.unlink(missing_ok=True)
            return False

        @contextlib.contextmanager
        def _open_for_write(self, place: str) -> Iterator[io.BytesIO]:
            whole = io.BytesIO()
            with super()._open_for_write(place) as file:
                yield whole
                text = whole.getvalue()
                file.write(text + hashlib.sha256(text).digest())

    return Checked
