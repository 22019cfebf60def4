"""Names of types that signatures share."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# fmt: off
__all__ = [
    "Array", "ArrayLike", "Numbers", "Reports", "Input", "Row", "Word", "Rng", "Pair", "Held",
    "Rates"
]
# fmt: on

Array: TypeAlias = NDArray[Any]
"""An array; docstrings give its shape and what it holds."""
Numbers: TypeAlias = Any
"""One number, or an array of them where an argument is one."""
Reports: TypeAlias = Any
"""What users send: an array, or a list of arrays, see `ldpkit.mechanisms.FrequencyOracle`."""
Input: TypeAlias = Any
"""What a user holds: a number, a vector, any Python value, as the mechanism says."""
Row: TypeAlias = dict[str, Any]
"""Parameters or results by name: one row of a table, one object of JSON, one cell of a grid."""
Word: TypeAlias = Any
"""A parameter given by its name, on a command line, in a grid or by a caller: whoever is to use it
checks it."""
Rng: TypeAlias = np.random.Generator
"""The source of randomness that a caller hands over."""
Pair: TypeAlias = tuple[int, int]
"""The two audited values."""
Held: TypeAlias = tuple[int, float]
"""A key that a user holds, and its value."""
Rates: TypeAlias = tuple[float, float]
"""Two probabilities of one event, such as the true- and the false-positive rate."""
