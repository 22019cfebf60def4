"""Digests of code and versions of libraries, by which a stored result is known to be current."""

import hashlib
import importlib.metadata
import inspect
import os
import platform
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

__all__ = ["code_digest", "damaged", "identity", "missing", "versions"]


def _digest(folder: Path, names: str) -> str:
    """Digest of the Python files of a folder, by name and content."""
    sha = hashlib.sha256()
    for path in sorted(folder.glob(names)):
        sha.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


_CODE = _digest(Path(__file__).parent, "**/*.py")[:16]  # now: the files may be edited later


def code_digest() -> str:
    """Return a short digest of the code of the package as this process imported it."""
    return _CODE


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers may depend on."""
    found = {"Python": platform.python_version()}
    for name in ("numpy", "scipy", "numba", "pandas", "scikit-learn", "statsmodels"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


_EXTRAS = {"pandas": "tables", "pyarrow": "parquet", "distributed": "cluster"}
"""By which extra a module is installed that no plain installation brings."""


def missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error in words that name the extra, if one installs what was not found."""
    extra = _EXTRAS.get(error.name or "")
    words = f"{error.name} is missing: pip install 'ldpkit[{extra}]'"
    return ModuleNotFoundError(words, name=error.name) if extra else error


def damaged(note: str) -> None:
    """Warn of damage that is mended.

    A build of the book names a file for such notes and prints it, so that no executed notebook
    holds them.
    """
    if place := os.environ.get("LDPKIT_NOTES"):
        with open(place, "a", encoding="utf-8") as notes:
            notes.write(f"{note}\n")
    else:
        warnings.warn(note, stacklevel=4)


def identity(func: Callable[..., object], code: Callable[[object], str] | None = None) -> str:
    """Return a digest of a function, of the code that it may depend on, and of the versions of the
    libraries.

    A function of the package counts with the whole package; a function of another file also with
    the Python files beside it; a function of a notebook with everything that it uses. A class
    method of a file counts with its class, which is the one it was asked of. Values that a function
    holds (defaults, enclosed variables) count too.

    Parameters
    ----------
    func : function or class method
        Not a method of an instance, a class or a partial.
    code : callable, optional
        ``code(owner)``: what is known better of the code that a function or a class depends on.

    Raises
    ------
    TypeError
        If `func` is neither, or was defined where its source cannot be read.
    """
    import cloudpickle  # here, as little needs it

    owner = func.__self__ if inspect.ismethod(func) and inspect.isclass(func.__self__) else func
    if not inspect.isfunction(func) and (owner is func or not _file(owner)):
        raise TypeError(f"func must be a function to have its results stored, got {func!r}")
    held = [
        func.__defaults__,
        func.__kwdefaults__,
        [cell.cell_contents for cell in func.__closure__ or ()],
    ]
    parts = [
        owner.__qualname__,
        func.__qualname__,
        (code or _code)(owner),
        cloudpickle.dumps(held),
        sorted(versions().items()),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _file(owner: object) -> str | None:
    """The file that defines a function or a class, if one does."""
    return getattr(sys.modules.get(getattr(owner, "__module__", None) or ""), "__file__", None)


def _code(owner: object) -> str:
    """Digest of the code that a function or a class may depend on."""
    import cloudpickle

    path, module = _file(owner), str(getattr(owner, "__module__", ""))
    if path:
        own = module.partition(".")[0] == __package__
        return _CODE if own else _CODE + _digest(Path(path).parent, "*.py")
    notebook = sys.modules[module]
    cloudpickle.register_pickle_by_value(notebook)
    try:
        return _CODE + hashlib.sha256(cloudpickle.dumps(owner)).hexdigest()
    finally:
        cloudpickle.unregister_pickle_by_value(notebook)
