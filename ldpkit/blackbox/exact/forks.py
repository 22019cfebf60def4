"""Coins that fork: every way through a client is run once, and weighed."""

import bisect
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .sources import Tape

__all__ = ["MOVED", "Tree"]

_STEP = 2.0**-53  # the numbers that Python and NumPy draw from [0, 1) are its multiples


MOVED = "the client does not repeat itself with the same coins: a clock, memory or another source"


class Tree(Tape):
    """A tape on which every coin forks: the ways that were run, depth first.

    Parameters
    ----------
    most : int
        Largest number of ways, and of values of one draw.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.path: list[list[int]] = []  # branch and number of branches at each fork of this way
        super().__init__()

    def begin(self) -> None:
        super().begin()
        self.at, self.mass = 0, 1.0
        self.words: list[str] = []

    def fork(self, masses: Sequence[float], words: Callable[[int], str]) -> int:
        """Return the branch of this way, one of those with a mass."""
        alive = [branch for branch, mass in enumerate(masses) if mass > 0]
        if self.at == len(self.path) <= self.most:
            self.path.append([0, len(alive)])
        if self.at == len(self.path) or self.path[self.at][1] != len(alive):
            self.stop(f"one report needs more than {self.most:,} coins" if self.at > self.most
                      else MOVED)  # fmt: skip
        branch = alive[self.path[self.at][0]]
        self.at += 1
        self.mass *= masses[branch] / math.fsum(masses)
        self.words.append(words(branch))
        return branch

    def advance(self) -> bool:
        """Go to the next way, and tell whether there is one."""
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            self.path[-1][0] += 1
        return bool(self.path)

    def few(self, count: int) -> None:
        """Stop if a draw has too many values."""
        if count > self.most:
            bits = count.bit_length() - 1
            self.stop(f"a draw has 2^{bits} values or more, and {self.most:,} ways are the limit")

    def below(self, count: int) -> int:
        self.few(count)
        return self.pick([1.0] * count, f"number below {count} = {{}}") if count > 1 else 0

    def pick(self, masses: Sequence[float], words: str) -> int:
        return self.fork(masses, words.format)

    def uniform(self) -> "Drawn":
        return Drawn(self, [0, 2**53], lambda n: n * _STEP, "random()")

    def real(self, base: type) -> None:
        return None


class Drawn:
    """A monotone function of a coin, which forks where it is compared or rounded.

    A coin is a multiple of 2^-53 in [0, 1). All functions of one coin share the range of multiples
    in which it is known to lie. Addition and multiplication with a number are monotone, also as
    they are rounded. Everything else is arithmetic, which hands over to the audit.
    """

    def __init__(
        self, tree: Tree, known: list[int], value: Callable[[float], Any], text: str
    ) -> None:
        self.tree, self.known, self.value, self.text = tree, known, value, text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.tree.stop(f"a coin enters arithmetic: {name} of {self.text}")

    def split(self, of: Callable[[Any], Any], words: Callable[[Any], str]) -> Any:
        """Fork over the values of a function of this number, and return the value.

        The function is monotone and has whole numbers or truth values; all between the ends are
        taken.
        """
        low, high = self.known
        first, last = (int(of(self.value(n))) for n in (low, high - 1))
        if first == last:
            return first
        self.tree.few(abs(last - first) + 1)
        step, numbers = 1 if last > first else -1, range(low, high)
        values = range(first, last + step, step)
        ends = [low, *(low + bisect.bisect_left(
            numbers, 1, key=lambda n: step * (int(of(self.value(n))) - v) >= 0
        ) for v in values[1:]), high]  # fmt: skip
        masses = [float(b - a) for a, b in itertools.pairwise(ends)]
        at = self.tree.fork(masses, lambda at: words(values[at]))
        self.known[:] = ends[at : at + 2]
        return values[at]


def _computed(drawn: Drawn, other: Any, compute: Any, words: str, turned: bool = False) -> Drawn:
    value = drawn.value
    return Drawn(
        drawn.tree,
        drawn.known,
        (lambda n: compute(other, value(n))) if turned else lambda n: compute(value(n), other),
        words.format(drawn.text, f"{other:.6g}"),
    )


def _compared(drawn: Drawn, other: Any, compute: Any, yes: str, no: str) -> bool:
    return bool(drawn.split(
        lambda number: compute(number, other),
        lambda holds: f"{drawn.text} {yes if holds else no} {other:.6g}",
    ))  # fmt: skip


def _meeting(result: Callable[..., Any], name: str, *more: Any) -> Callable[[Drawn, Any], Any]:
    """Return the method of this name, which a number must meet."""
    compute = getattr(operator, name)

    def method(self: Drawn, other: Any) -> Any:
        if other is self and result is _compared:  # as a search in a sorted array asks
            return compute(0, 0)
        if isinstance(other, np.ndarray):  # its entries meet the coin one by one
            return NotImplemented
        if not isinstance(other, (int, float, np.integer)) or not math.isfinite(other):
            self.tree.stop(f"a coin enters arithmetic: {name} of {self.text} and"
                                f" {getattr(other, 'text', other)!s:.40}")  # fmt: skip
        return result(self, other, compute, *more)

    return method


def _rounded(name: str, convert: Callable[[Any], int]) -> Callable[..., Any]:
    def method(self: Drawn, *digits: Any) -> Any:
        if digits != (None,) * len(digits):
            self.tree.stop(f"a coin enters arithmetic: round of {self.text} to digits")
        return self.split(convert, lambda whole: f"{name}({self.text}) = {whole}")

    return method


def _refused(name: str) -> Callable[..., Any]:
    def method(self: Drawn, *_: Any) -> Any:
        self.tree.stop(f"a coin enters arithmetic: {name} of {self.text}")

    return method


_METHODS: dict[str, Callable[..., Any]] = {
    "__add__": _meeting(_computed, "add", "({} + {})"),
    "__radd__": _meeting(_computed, "add", "({1} + {0})", True),
    "__sub__": _meeting(_computed, "sub", "({} - {})"),
    "__rsub__": _meeting(_computed, "sub", "({1} - {0})", True),
    "__mul__": _meeting(_computed, "mul", "{} * {}"),
    "__rmul__": _meeting(_computed, "mul", "{1} * {0}", True),
    "__truediv__": _meeting(_computed, "truediv", "{} / {}"),
    "__neg__": lambda self: -1 * self,
    "__pos__": lambda self: self,
    "__abs__": lambda self: -self if self < 0 else self,
    "__eq__": lambda self, other: self <= other and self >= other,
    "__lt__": _meeting(_compared, "lt", "<", ">="),
    "__le__": _meeting(_compared, "le", "<=", ">"),
    "__gt__": _meeting(_compared, "gt", ">", "<="),
    "__ge__": _meeting(_compared, "ge", ">=", "<"),
    "__int__": _rounded("int", int),
    "__trunc__": _rounded("int", int),
    "__floor__": _rounded("floor", math.floor),
    "__ceil__": _rounded("ceil", math.ceil),
    "__round__": _rounded("round", round),
}
_METHODS |= {f"__{name}__": _refused(name) for name in (
    "bool float complex hash str repr format reduce_ex rtruediv pow rpow mod rmod divmod"
    " rdivmod floordiv rfloordiv matmul rmatmul"
).split()}  # fmt: skip
for _name, _made in _METHODS.items():
    setattr(Drawn, _name, _made)
