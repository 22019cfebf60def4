"""Conversion of arrays to text that JSON can hold, and back; the text is not trusted."""

import base64
import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..types import Array

__all__ = ["packed", "taken", "unpacked"]

_LARGEST = 2**29  # largest number of bytes of all arrays


def packed(arrays: Mapping[str, Array]) -> str:
    """Return arrays as one text."""
    file = io.BytesIO()
    given: Any = arrays
    np.savez_compressed(file, **given)
    return base64.b64encode(file.getvalue()).decode()


def unpacked(text: str) -> dict[str, Array]:
    """Return the arrays of a text that `packed` made.

    Raises
    ------
    ValueError
        If the text holds anything else, or more than 512 MiB.
    """
    file = io.BytesIO(base64.b64decode(text, validate=True))
    try:
        with zipfile.ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > _LARGEST:
            raise ValueError(f"state must hold at most {_LARGEST:,} bytes, got {size:,}")
        return dict(np.load(file, allow_pickle=False))
    except zipfile.BadZipFile as error:
        raise ValueError(f"state must hold arrays, got {error}") from None


def taken(arrays: Mapping[str, Array], name: str, like: Array, rows: int | None = None) -> Array:
    """Return the array `name`, after checking that it has the type and the shape of `like`.

    With `rows`, the length of the first axis has to be that number instead.
    """
    new, shape = arrays[name], like.shape if rows is None else (rows, *like.shape[1:])
    if new.shape != shape or new.dtype != like.dtype:
        raise ValueError(f"state must hold {name} of shape {shape}, got {new.dtype} of {new.shape}")
    return new
