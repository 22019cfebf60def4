"""Compiled kernels: a decorator, and the folder of numba's machine code."""

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

__all__ = ["CACHE", "kernel", "waiting"]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


def _cache() -> Path:
    """The user's cache folder, or a private temporary folder if the user cannot write there."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "ldpkit"
    existing = next(folder for folder in (wanted, *wanted.parents) if folder.exists())
    if wanted.is_absolute() and os.access(existing, os.W_OK | os.X_OK):
        return wanted
    own = Path(tempfile.gettempdir(), f"ldpkit-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        own.mkdir(mode=0o700)
    # other users who may write there could make us run their machine code
    status = own.lstat()
    private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return own if private and not status.st_mode & 0o077 else Path(tempfile.mkdtemp("ldpkit"))


CACHE = _cache()
"""The user's folder for files that can be made again."""
waiting: list[Callable[[], object]] = []
"""Called once each, before a kernel is compiled because no machine code of it was kept."""
_KEPT = 16  # folders of machine code that are kept


@functools.cache
def _folder(cache: Path) -> Path:
    """The folder of machine code of this version of the source; old folders of other versions are
    removed."""
    own = cache / "numba" / digests.CODE
    with contextlib.suppress(OSError):
        own.mkdir(parents=True, exist_ok=True)
        os.utime(own)
        folders = sorted(own.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in folders[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return own


class _Lazy:
    """A kernel that is compiled at its first use, so that a program without kernels does not wait
    for numba.

    The object has all attributes of the compiled function, because other kernels and numba use
    them.
    """

    def __init__(self, function: Callable[..., object], inline: Literal["never", "always"]) -> None:
        functools.update_wrapper(self, function)
        self._inline = inline

    def __call__(self, *arguments: object) -> object:
        return self._compiled(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __reduce__(self) -> str:
        return self.__qualname__  # other processes import it from its module

    @functools.cached_property
    def _compiled(self) -> Any:
        import numba

        config: Any = numba.config
        with _lock:
            given = config.CACHE_DIR
            config.CACHE_DIR = given or str(_folder(CACHE))
            try:
                compiled: Any = numba.njit(cache=True, nogil=True, inline=self._inline)(
                    self.__wrapped__
                )
                if not config.DISABLE_JIT:
                    compiled._cache._cache_file.__class__ = _checked()
                return compiled
            finally:
                config.CACHE_DIR = given  # the caller's own kernels keep their folder


_lock = threading.Lock()  # compiling changes numba's global configuration


def kernel(function: Kernel, inline: Literal["never", "always"] = "never") -> Kernel:
    """Compile a plain function of numbers and arrays at its first call; threads can run it in
    parallel.

    Machine code is kept in ``NUMBA_CACHE_DIR``, or in a folder of `CACHE`. The folder belongs to
    one version of the source, because numba does not notice that another file was edited.
    Stored code is checked when it is read, and damaged code is compiled again. A disk that cannot
    be written is not an error.
    """
    return cast(Kernel, _Lazy(function, inline))


@functools.cache
def _checked() -> type:
    """Class of the files of one kernel, each with a check sum at its end, which pickle ignores."""
    from numba.core import caching

    files: Any = caching.IndexDataCacheFile  # has no types

    class Checked(files):  # type: ignore[misc]  # its base has no types
        def save(self, key: object, data: object) -> None:
            with contextlib.suppress(OSError):
                super().save(key, data)

        def load(self, key: object) -> Any:
            # the index and the code of all signatures, of which none is of use without the index
            kept = [*Path(self._cache_path).glob(f"{self._index_name.removesuffix('nbi')}*nb[ci]")]
            for path in kept:
                try:
                    text = path.read_bytes()
                except OSError:
                    text = b""
                if hashlib.sha256(text[:-32]).digest() != text[-32:]:
                    digests.damaged(
                        f"compiled code in {path.parent} is damaged ({path.name}); it is compiled"
                        " again"
                    )
                    for stale in kept:
                        shutil.rmtree(stale) if stale.is_dir() else stale.unlink(missing_ok=True)
                    return None
            found = super().load(key)
            while found is None and waiting:
                waiting.pop()()
            return found

        @contextlib.contextmanager
        def _open_for_write(self, place: str) -> Iterator[io.BytesIO]:
            whole = io.BytesIO()
            with super()._open_for_write(place) as file:
                yield whole
                text = whole.getvalue()
                file.write(text + hashlib.sha256(text).digest())

    return Checked
