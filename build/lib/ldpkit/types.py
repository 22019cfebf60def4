"""Types that the signatures of the package share."""

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
"""An array. Docstrings state its shape and content."""
Numbers: TypeAlias = Any
"""A number, or an array of numbers if some argument is an array."""
Reports: TypeAlias = Any
"""Reports of users: an array or a list of arrays, see `ldpkit.mechanisms.FrequencyOracle`."""
Input: TypeAlias = Any
"""Input of a user: a number, a vector or any other Python value, as the mechanism defines it."""
Row: TypeAlias = dict[str, Any]
"""Parameters or results by name: one row of a table, one object of JSON, one cell of a grid."""
Word: TypeAlias = Any
"""A parameter that is given by its name and not checked yet, for example on a command line."""
Rng: TypeAlias = np.random.Generator
"""The generator of random numbers that a caller passes."""
Pair: TypeAlias = tuple[int, int]
"""The two audited values."""
Held: TypeAlias = tuple[int, float]
"""A key that a user holds, and its value."""
Rates: TypeAlias = tuple[float, float]
"""Two probabilities of one event, such as the true- and the false-positive rate."""
