"""Digests of code and versions of libraries, which show whether a stored result is current."""

import ast
import hashlib
import inspect
import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["code_digest", "damaged", "identity", "missing", "notebook", "used", "versions"]


def _digest(folder: Path, names: str) -> str:
    """Return the digest of the names and contents of the Python files of a folder."""
    sha = hashlib.sha256()
    for path in sorted(folder.glob(names)):
        sha.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return sha.hexdigest()


_CODE = _digest(Path(__file__).parent, "**/*.py")[:16]  # at import: later edits must not count


def code_digest() -> str:
    """Return a short digest of the code of the package as this process imported it."""
    return _CODE


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that numbers may depend on."""
    import importlib.metadata  # imported here, because few processes need it

    found = {"Python": platform.python_version()}
    for name in ("numpy", "scipy", "numba", "pandas", "scikit-learn", "statsmodels"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


_EXTRAS = {"pandas": "tables", "pyarrow": "parquet", "distributed": "cluster"}
"""The extra of this package that installs each optional module."""


def missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return an error that names the extra which installs the missing module, if there is one."""
    extra = _EXTRAS.get(error.name or "")
    words = f"{error.name} is missing: pip install 'ldpkit[{extra}]'"
    return ModuleNotFoundError(words, name=error.name) if extra else error


def damaged(note: str) -> None:
    """Warn of a damaged file that was repaired.

    A build of the book names a file for such notes in ``LDPKIT_NOTES``, so that no executed
    notebook contains them.
    """
    if place := os.environ.get("LDPKIT_NOTES"):
        with open(place, "a", encoding="utf-8") as notes:
            notes.write(f"{note}\n")
    else:
        warnings.warn(note, stacklevel=4)


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
        return _CODE
    folder, text = (Path(path).parent, "") if path else (Path.cwd(), notebook(owner))
    return _CODE + _digest(folder, "*.py") + text


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
    bare, attributes = used(ast.parse(source))
    for name in sorted((bare | set(attributes)) & set(func.__globals__) - seen):
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


def used(tree: ast.AST) -> tuple[set[str], dict[str, set[str]]]:
    """Return the names that a syntax tree uses alone, and the attributes of its other names."""
    attributes: dict[str, set[str]] = {}
    owners = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
            owners.add(id(node.value))
    return {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in owners
    }, attributes
