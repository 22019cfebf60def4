"""Compiled kernels: a decorator, and the folder of numba's machine code."""

import contextlib
import functools
import hashlib
import importlib.util
import io
import logging  # noqa: F401  # its handler at a fork runs after the one below, see `_hold`
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from . import digests

__all__ = [
    "CACHE",
    "PATIENCE",
    "clock",
    "deferred",
    "folder",
    "interpreted",
    "kernel",
    "substitute",
    "waiting",
]

Kernel = TypeVar("Kernel", bound=Callable[..., object])


CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "ldpkit"
"""The user's folder for files that can be made again."""
waiting: list[Callable[[], object]] = []
"""Called once each, before a kernel is compiled because no machine code of it was kept."""
PATIENCE = 0.0 if os.environ.get("LDPKIT_COMPILE") else 2e-4
"""Seconds, for each byte of its bytecode, for which a process interprets a `deferred` kernel before
it compiles it. Compiling takes two or three times as long. ``LDPKIT_COMPILE=1`` compiles at once,
for example to fill a folder that others copy."""
_KEPT = 16  # folders of machine code that are kept


def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of which unsigned integers wrap around silently, as in compiled code."""

    @functools.wraps(function)
    def call(*arguments: object) -> Any:
        import numpy as np

        with np.errstate(over="ignore"):
            return function(*arguments)

    return call


substitute: Callable[[Callable[..., Any]], Callable[..., Any]] = interpreted
"""Return what is called in the place of a kernel where numba is not installed. It gets the kernel's
plain function, at the kernel's first call."""


def _owned(path: Path) -> bool:
    """Return whether a file or a link belongs to the user, or to root."""
    return path.lstat().st_uid in (0, os.getuid())


def _foreign(folder: Path) -> Path | None:
    """Make a folder and those above it, for the user alone; return the first that others control.

    Each of them belongs to the user or to root. Others can write into none of them, unless they can
    replace only their own files there (sticky). The same holds on the way to the target of a link.
    """
    for part in [*reversed(folder.parents), folder]:
        if not part.exists():
            with contextlib.suppress(FileExistsError):
                part.mkdir(mode=0o700)
        mode = part.stat().st_mode
        if not _owned(part) or (mode & 0o022 and not mode & stat.S_ISVTX):
            return part
        if part.is_symlink() and (found := _foreign(part.parent / part.readlink())):
            return found
    return None


def folder() -> Path | None:
    """Return the folder of machine code of this version of the source, or ``None`` if none is safe.

    It is below ``NUMBA_CACHE_DIR`` if that is set, and otherwise below `CACHE`. If other users
    could put their machine code there, it is below a private temporary folder, which is told when
    it is made.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    return _folder(Path(given, "ldpkit").absolute() if given else CACHE)


@functools.cache
def _folder(wanted: Path) -> Path | None:
    """Make the folder below `wanted`, and remove old folders of other versions."""
    note = ""
    for base in (wanted, None):
        with contextlib.suppress(OSError):  # such a folder is no place for files either
            base = base or Path(tempfile.gettempdir(), f"ldpkit-{os.getuid()}")
            if not base.is_absolute():  # there is no home
                continue
            own = base / "numba" / digests.CODE
            known = own.exists()
            if foreign := _foreign(own):
                note = note or (
                    f"{foreign} belongs to another user, or others can write into it; compiled"
                    " code is"
                )
                continue
            if own.stat().st_mode & 0o077:  # others could write into folders of numba there
                shutil.rmtree(own)
                own.mkdir(mode=0o700)
            os.utime(own)
            if note and not known:
                digests.damaged(f"{note} kept in {own}")
            folders = sorted(own.parent.iterdir(), key=lambda path: path.stat().st_mtime)
            for old in folders[:-_KEPT]:
                shutil.rmtree(old, ignore_errors=True)
            return own
    if note:
        digests.damaged(f"{note} not kept")
    return None


_within = threading.local()  # whether the thread interprets a kernel


class _Lazy:
    """A kernel that is compiled at its first use, so that a program without kernels does not wait
    for numba.

    The object has all attributes of the compiled function, because other kernels and numba use
    them.
    """

    _compiled: Any

    def __init__(
        self, function: Callable[..., object], inline: Literal["never", "always"], deferred: bool
    ) -> None:
        functools.update_wrapper(self, function)
        self._inline, self._deferred, self._spent = inline, deferred, 0.0
        self._size = len(function.__code__.co_code)

    def __call__(self, *arguments: object) -> object:
        global _interpreting
        if self._deferred:
            if getattr(_within, "kernel", False):
                return self.__wrapped__(*arguments)
            new = self._spent == 0
            self._deferred = self._spent < PATIENCE * self._size and not (new and self._ready())
            if self._deferred:
                _within.kernel, since, begun = True, clock(), time.monotonic()
                try:
                    return interpreted(self.__wrapped__)(*arguments)
                finally:
                    _within.kernel = False
                    _interpreting += clock() - since
                    self._spent += time.monotonic() - begun
        return self._compiled(*arguments)

    def _ready(self) -> bool:
        """Return whether machine code of the kernel is kept, or numba is not installed."""
        if not _available():
            return True
        stem, own = Path(self.__wrapped__.__code__.co_filename).stem, folder()
        return own is not None and any(own.glob(f"*/{stem}.{self.__qualname__}-*.nbi"))

    def __getattr__(self, name: str) -> Any:
        if name != "_compiled":
            return getattr(self._compiled, name)
        if not _available():
            self._compiled = substitute(self.__wrapped__)
            return self._compiled
        with _imported().core.compiler_lock.global_compiler_lock:
            if name not in vars(self):  # another thread may have been faster
                self._compiled = _compile(self.__wrapped__, self._inline)
            return self._compiled

    def __reduce__(self) -> str:
        return self.__qualname__  # other processes import it from its module


_importing, _numba, _timer = threading.RLock(), cast(Any, None), cast(Any, None)
_interpreting = 0.0  # seconds for which kernels were interpreted until they were compiled


@functools.cache
def _available() -> bool:
    """Return whether numba is installed, without importing it."""
    return importlib.util.find_spec("numba") is not None


def _imported() -> Any:
    """Return numba, which is imported at the first call."""
    global _numba, _timer
    if _numba is None:
        with _importing:
            import numba.core.compiler_lock
            import numba.core.event

            events: Any = numba.core.event  # has no types
            _timer = events.TimingListener()
            events.register("numba:compile", _timer)
            _numba = numba
    return _numba


def clock() -> float:
    """Return the seconds of a clock that stands still while numba compiles, and while a kernel is
    interpreted that will be compiled."""
    compiled = _timer.duration if _timer is not None and _timer.done else 0.0
    return time.perf_counter() - compiled - _interpreting


def _hold() -> None:
    """Wait until no thread imports or compiles, because a fork copies its locks, but no thread
    that releases them.

    Compiling logs. Therefore the lock of `logging` has to be free until then; handlers that were
    registered later run first.
    """
    _importing.acquire()
    if _numba is not None:
        _numba.core.compiler_lock.global_compiler_lock.acquire()


def _release() -> None:
    if _numba is not None:
        _numba.core.compiler_lock.global_compiler_lock.release()
    _importing.release()


if hasattr(os, "register_at_fork"):  # there are systems without processes
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)


def _compile(function: Callable[..., object], inline: str) -> Any:
    """Return a function that numba compiles at a call; numba's lock is held."""
    numba, own = _imported(), folder()
    given = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(own or given)
    try:
        made = numba.njit(cache=own is not None, nogil=True, inline=inline)(function)
    finally:
        numba.config.CACHE_DIR = given  # the caller's own kernels keep their folder
    if own and not numba.config.DISABLE_JIT:
        made._cache._cache_file.__class__ = _checked()
        if Path(made._cache.cache_path).parent != own:  # numba has chosen a folder of its own
            made._cache.disable()
    return made


def kernel(
    function: Kernel, inline: Literal["never", "always"] = "never", deferred: bool = False
) -> Kernel:
    """Compile a plain function of numbers and arrays at its first call; threads can run it in
    parallel.

    Machine code is kept in a folder of ``NUMBA_CACHE_DIR`` or of `CACHE`, see `folder`. The folder
    belongs to one version of the source, because numba does not notice that another file was
    edited. Stored code is checked when it is read. If it is damaged or of another user, it is
    compiled again. A disk that cannot be written is not an error.

    A `deferred` kernel of which no machine code is kept is interpreted as long as `PATIENCE` says.
    It gives the same to the last bit.
    """
    return cast(Kernel, _Lazy(function, inline, deferred))


deferred = functools.partial(kernel, deferred=True)


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
                    own, text = _owned(path) and not path.is_symlink(), path.read_bytes()
                except OSError:
                    own, text = True, b""
                if not own or hashlib.sha256(text[:-32]).digest() != text[-32:]:
                    fault = "is damaged" if own else "belongs to another user"
                    digests.damaged(
                        f"compiled code in {path.parent} {fault} ({path.name}); it is compiled"
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
