"""Run sweeps whose finished cells are stored, and reused as long as everything on which they depend is unchanged."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpkit import digests
from ldpkit import sweep as sweeps
from ldpkit.sweep import cells

from . import paths
from .dependencies import PACKAGE

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cells", "identity", "sweep"]


def identity(func: Callable[..., object]) -> str:
    """Return a digest of a function, of exactly the code that it depends on, and of the versions of the libraries.

    A function of a file counts with its whole file. A function defined in a notebook counts with its own source and with
    everything of the notebook that it uses. See `ldpkit.digests.identity`.
    """
    return digests.identity(func, _code)


def sweep(func: Callable[..., object], grid: Any, **options: Any) -> "pd.DataFrame":
    """Return the table of a grid; a finished cell is stored and reused as long as everything on which it depends is unchanged.

    The parameters are those of `ldpkit.sweep.sweep`.
    """
    own: Any = {"store": paths.STORE, "identity": identity}
    return sweeps.sweep(func, grid, **own | options)


def _code(owner: Any) -> str:
    """Return a digest of everything on which a function or a class depends."""
    path = getattr(sys.modules.get(owner.__module__ or ""), "__file__", None)
    if owner.__module__ in PACKAGE.modules:
        text, folder = f"from {owner.__module__} import {owner.__name__}", None
    elif path:
        text, folder = Path(path).read_text(encoding="utf-8"), Path(path).parent
    else:
        text, folder = digests.notebook(owner), Path.cwd()
    return PACKAGE.digest(text, folder)
