"""Arrays as text, so that another process can continue an audit."""

import base64
import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import checks
from ...types import Array

__all__ = ["packed", "unpacked"]

_LARGEST = 2**29  # bytes of all arrays of a state, so that a small file cannot fill the memory


def packed(arrays: Mapping[str, Array]) -> str:
    """Return arrays as text, which `unpacked` reads."""
    file = io.BytesIO()
    kept: Any = dict(arrays)
    np.savez_compressed(file, **kept)
    return base64.b64encode(file.getvalue()).decode()


def unpacked(text: str, like: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays from text, which is not trusted: they have the types of those in `like`, and
    their shapes but for the first number.

    Raises
    ------
    ValueError
        If the text holds something else.
    """
    file = io.BytesIO(base64.b64decode(text, validate=True))
    try:
        with zipfile.ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
        checks.need(size <= _LARGEST, f"state must hold at most {_LARGEST:,} bytes, got {size:,}")
        found = dict(np.load(file, allow_pickle=False))
    except zipfile.BadZipFile as error:
        raise ValueError(f"state must hold arrays, got {error}") from None
    for name, old in like.items():
        new = found[name]
        checks.need(
            new.dtype == old.dtype and new.shape[1:] == old.shape[1:] and new.ndim == old.ndim,
            f"state must hold {name} of {old.dtype} and shape {old.shape}, got {new.dtype} of"
            f" {new.shape}",
        )
    return found
