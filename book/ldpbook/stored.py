"""Stored sweeps: a finished cell is used again as long as nothing changed that it depends on."""

import ast
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpkit import digests
from ldpkit import sweep as sweeps
from ldpkit.sweep import cells

from . import paths
from .dependencies import PACKAGE, used

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cells", "identity", "sweep"]


def identity(func: Callable[..., object]) -> str:
    """Return a digest of a function, of exactly the code that it depends on, and of the versions of
    the libraries; see `ldpkit.digests.identity`.

    A function of a file counts with its whole file; a function defined in a notebook counts with
    its own source and with everything of the notebook that it uses.
    """
    return digests.identity(func, _code)


def sweep(func: Callable[..., object], grid: Any, **options: Any) -> "pd.DataFrame":
    """Return the table of a grid, of which finished cells are kept as long as nothing changed that
    they depend on; see `ldpkit.sweep.sweep`."""
    own: Any = {"store": paths.STORE, "identity": identity}
    return sweeps.sweep(func, grid, **own | options)


def _code(owner: Any) -> str:
    """Digest of what a function or a class depends on."""
    path = getattr(sys.modules.get(owner.__module__ or ""), "__file__", None)
    if owner.__module__ in PACKAGE.modules:
        text, folder = f"from {owner.__module__} import {owner.__name__}", None
    elif path:
        text, folder = Path(path).read_text(encoding="utf-8"), Path(path).parent
    else:
        text, folder = "\n".join(_of_notebook(owner, set())), Path.cwd()
    return PACKAGE.digest(text, folder)


def _of_notebook(func: Callable[..., object], seen: set[str]) -> Iterator[str]:
    """Yield the source of a function and of everything in its notebook that it uses, as one text
    with imports."""
    import cloudpickle

    try:
        source = inspect.cleandoc("\n" + inspect.getsource(func))
    except OSError:
        raise TypeError(f"func must be defined in a file or a notebook to have its results stored, got {func!r}") from None
    bare, attributes = used(ast.parse(source))
    for name in sorted((bare | set(attributes)) & set(func.__globals__) - seen):
        seen.add(name)
        value = func.__globals__[name]
        if inspect.ismodule(value):
            yield f"import {value.__name__} as {name}"
        elif getattr(value, "__module__", None) == func.__module__ and inspect.isfunction(value):
            yield from _of_notebook(value, seen)
        elif hasattr(value, "__module__") and hasattr(value, "__qualname__") and value.__module__ != func.__module__:
            yield f"from {value.__module__} import {value.__qualname__.partition('.')[0]} as {name}"
        else:
            yield f"{name} = {hashlib.sha256(cloudpickle.dumps(value)).hexdigest()!r}"
    yield source
