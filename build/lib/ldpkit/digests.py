"""Files that hold results, and digests of code which show whether a result is current.

Files are written atomically and checked when they are read.
"""

import ast
import hashlib
import importlib
import inspect
import json
import operator
import os
import platform
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

from . import checks
from .progress import shown

# fmt: off
__all__ = [
    "CODE", "damaged", "digest", "identity", "load", "missing", "notebook", "replace",
    "replaceable", "versions"
]
# fmt: on

_HEAD = 2**16  # first characters of a file, by which it is recognised


def digest(parts: object) -> str:
    """Return the digest of an object that JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _of_files(folder: Path, names: str) -> str:
    """Return the digest of the names and contents of the Python files of a folder."""
    return digest({
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.glob(names)
    })  # fmt: skip


CODE = _of_files(Path(__file__).parent, "**/*.py")[:16]
"""A short digest of the code of the package as this process imported it."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers may depend on."""
    import importlib.metadata  # imported here, because few processes need it

    found = {
        name: next((each.version for each in importlib.metadata.distributions(name=name)), "absent")
        for name in ("numpy", "scipy", "numba", "pandas", "scikit-learn", "statsmodels")
    }
    return {"Python": platform.python_version(), **found}


_EXTRAS = {"pandas": "tables", "pyarrow": "parquet", "distributed": "cluster"}
"""The extra of this package that installs each optional module."""


def missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return an error that names the extra which installs the missing module, if there is one."""
    extra = _EXTRAS.get(error.name or "")
    words = f"{error.name} is missing: pip install 'ldpkit[{extra}]'"
    return ModuleNotFoundError(words, name=error.name) if extra else error


def damaged(note: str) -> None:
    """Warn of a damaged file that was repaired, or of a folder that others control.

    A build of the book names a file for such notes in ``LDPKIT_NOTES``, so that no executed
    notebook contains them.
    """
    if place := os.environ.get("LDPKIT_NOTES"):
        with open(place, "a", encoding="utf-8") as notes:
            notes.write(f"{shown(note)}\n")
    else:
        warnings.warn(shown(note), stacklevel=4)


def identity(func: Callable[..., object], code: Callable[[object], str] | None = None) -> str:
    """Return a digest of a function, of the code that it may use, and of the library versions.

    The digest covers the whole package. For a function of another file it also covers the Python
    files in the same folder. For a function of a notebook it covers everything of the notebook that
    the function uses, and the Python files in the same folder. For a class method it covers the
    class on which it is called. Values that a function holds (defaults and enclosed variables) are
    covered too.

    Parameters
    ----------
    func : function or class method
        Not a method of an instance, a class or a partial.
    code : callable, optional
        ``code(owner)`` returns a digest of the code on which a function or a class depends. It
        replaces the rules above.

    Raises
    ------
    TypeError
        If `func` is neither, or if its source cannot be read.
    """
    import cloudpickle  # imported here, because few processes need it

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
    """Return the path of the file that defines a function or a class, if there is one."""
    return getattr(sys.modules.get(getattr(owner, "__module__", None) or ""), "__file__", None)


def _code(owner: Any) -> str:
    """Return the digest of the code on which a function or a class may depend."""
    path = _file(owner)
    if path and owner.__module__.partition(".")[0] == __package__:
        return CODE
    folder, text = (Path(path).parent, "") if path else (Path.cwd(), notebook(owner))
    return CODE + _of_files(folder, "*.py") + text


def notebook(func: Callable[..., object]) -> str:
    """Return the source of a function of a notebook and of everything there that it uses.

    The sources are one text, with imports.

    Raises
    ------
    TypeError
        If the source cannot be read.
    """
    return "\n".join(_sources(func, set()))


def _sources(func: Callable[..., object], seen: set[str]) -> Iterator[str]:
    """Yield the source of a function and of everything that it uses, each once."""
    import cloudpickle

    try:
        source = inspect.cleandoc("\n" + inspect.getsource(func))
    except OSError:
        raise TypeError(
            f"func must be defined in a file or a notebook to have its results stored, got {func!r}"
        ) from None
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    for name in sorted(names & set(func.__globals__) - seen):
        seen.add(name)
        value = func.__globals__[name]
        if inspect.ismodule(value):
            yield f"import {value.__name__} as {name}"
        elif getattr(value, "__module__", None) == func.__module__ and inspect.isfunction(value):
            yield from _sources(value, seen)
        elif (
            hasattr(value, "__module__")
            and hasattr(value, "__qualname__")
            and value.__module__ != func.__module__
        ):
            yield f"from {value.__module__} import {value.__qualname__.partition('.')[0]} as {name}"
        else:
            yield f"{name} = {hashlib.sha256(cloudpickle.dumps(value)).hexdigest()!r}"
    yield source


# --- files ----------------------------------------------------------------------------------------


def replace(path: Path, text: str) -> None:
    """Write a text file atomically; a file that is replaced keeps its mode.

    Raises
    ------
    ValueError
        If the path holds anything but a regular file, for example a link.
    """
    part, taken = path.with_name(f"{path.name}.{os.getpid()}.tmp"), os.path.lexists(path)
    checks.need(not taken or _regular(path), f"output must be a new or a regular file, got {path}")
    try:
        part.unlink(missing_ok=True)
        with part.open("x", encoding="utf-8", newline="") as file:  # follows no link
            if taken:
                shutil.copymode(path, part)
            file.write(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)  # it exists only after an error


def _regular(path: Path) -> bool:
    """Return whether a path holds a regular file, and no link to one."""
    return path.is_file() and not path.is_symlink()


def replaceable(option: str, path: Path, what: str, own: Callable[[str], object]) -> None:
    """Check that an output replaces no file of another origin.

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
    own_file = _regular(path)
    if own_file:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            text = file.read(_HEAD)
        own_file = not text or bool(own(text))
    checks.need(
        own_file or not os.path.lexists(path),
        f"{option} must be a new file or {what}, got {path}, which is something else: name"
        " another one",
    )


def load(path: str, error: type[ValueError] = ValueError) -> Callable[..., Any]:
    """Import ``"module:function"`` and return the function.

    Raises
    ------
    ValueError
        Of the class `error`, if the text has another form, or the module or the function cannot be
        imported.
    """
    module, _, name = path.partition(":") if isinstance(path, str) else ("", "", "")
    checks.need(module and name, f"client must be given as module:function, got {path!r}", error)
    stem = PurePath(module).stem
    checks.need(
        not module.endswith(".py") and "/" not in module,
        f"client must be given as module:function, not by a path, got {path!r}: for f in the file"
        f" {stem}.py of this folder, {stem}:f",
        error,
    )
    try:
        function: Any = operator.attrgetter(name)(importlib.import_module(module))
    except (Exception, SystemExit) as failure:  # importing foreign code can raise anything
        raise error(
            f"client {path!r} cannot be imported: {type(failure).__name__}: {failure}"
        ) from failure
    checks.need(
        callable(function),
        f"client {path!r} is not callable but a {type(function).__name__}",
        error,
    )
    return function
