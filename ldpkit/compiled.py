"""Compiled kernels: one decorator, and where numba keeps what it compiled."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

from . import depends

__all__ = ["CACHE", "kernel"]

Kernel = TypeVar("Kernel", bound=Callable[..., object])

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ldpkit"
"""The user's folder for what can be made again."""


def kernel(function: Kernel, inline: Literal["never", "always"] = "never") -> Kernel:
    """Compile a plain function of numbers and arrays when it is first called, so that threads run
    it side by side.

    Machine code is kept in ``NUMBA_CACHE_DIR``, or in a folder of `CACHE` that belongs to this very
    source: numba itself does not notice an edited helper in another file.
    """
    import numba  # here, so that whoever needs no kernel does not wait for it

    config: Any = numba.config
    given = config.CACHE_DIR
    config.CACHE_DIR = given or str(CACHE / "numba" / depends.code_digest())
    try:
        compiled: Any = numba.njit(cache=True, nogil=True, inline=inline)(function)
        return compiled
    finally:
        config.CACHE_DIR = given  # the caller's own kernels stay where they were
