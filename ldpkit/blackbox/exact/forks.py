"""Coins that fork: the ways through a client are run by falling probability, and weighed."""

import functools
import heapq
import itertools
import math
import operator
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy

from .sources import Tape
from .states import Joints

__all__ = ["LEFT", "MOVED", "Node", "Tree"]

_STEP = 2.0**-53  # the numbers that Python and NumPy draw from [0, 1) are its multiples
_PATIENCE = 1 / 16  # a way is left when another one is so many times likelier

LEFT = "another way is likelier"
MOVED = "the client does not repeat itself with the same coins: a clock, memory or another source"


class Node:
    """A place on the ways through a client: after a coin, and before the next one.

    Attributes
    ----------
    parent, branch : Node, int
        The fork that leads here, and its branch; the first node has none.
    share, mass : float
        Probability of the branch, and of the way from the first node to this one.
    root : Node
        The first node.
    children : list of Node
        The nodes after the next coin, empty if no coin follows or if none is known yet.
    same : Node or None
        An earlier node in the same state, whose ways are not run again.
    lost : float
        Share of the ways from here that no child stands for.
    """

    def __init__(self, parent: "Node | None" = None, branch: int = 0, share: float = 1.0) -> None:
        self.parent, self.branch, self.share = parent, branch, share
        self.mass: float = share * parent.mass if parent else 1.0
        self.root: Node = parent.root if parent else self
        self.children: list[Node] = []
        self.same: Node | None = None
        self.lost = 0.0

    def route(self) -> list[int]:
        """Return the branches from the first node to this one."""
        found, node = [], self
        while node.parent:
            found.append(node.branch)
            node = node.parent
        return found[::-1]


class Call(NamedTuple):
    """The ways through a call of a function, of which one is known for each value it returns.

    Attributes
    ----------
    root : Node
        The first node of a tree of this call alone.
    ends : dict
        The last node of a way for each value, and the probability of the value.
    lost : float
        Mass of the ways that were not run.
    """

    root: Node
    ends: dict[Node, float]
    lost: float


class Tree(Tape):
    """A tape on which every coin forks, so that the likeliest ways are run first.

    Parameters
    ----------
    most : int
        Largest number of ways, and of values of one draw.

    Attributes
    ----------
    lazy : bool
        Whether a whole number of Python's generators forks in two where it is compared.
    calls : dict
        The ways through calls of functions that were made twice, by function and arguments;
        ``None`` where they are not known.
    wanted : tuple or None
        The key of such a call, and a function that makes it, if the ways through it are to be run.
    """

    def __init__(self, most: int) -> None:
        import scipy.sparse.linalg  # noqa: F401  before anything is replaced

        self.most, self.lazy = most, True
        self.calls: dict[Any, Call | None] = {}
        self.wanted: tuple[Any, Callable[[], Any]] | None = None
        self.plant(math.inf)
        super().__init__()

    def plant(self, until: float) -> None:
        """Begin with no ways, which may be run until a time of `clock`."""
        self.nodes, self.until, self.order = [Node()], until, itertools.count()
        self.lost = 0.0
        self.joints = Joints(self)
        self.open: list[tuple[float, int, Node]] = []  # nodes from which no way was run, a heap
        self.keep(self.nodes[0])

    def keep(self, node: Node) -> None:
        """Leave a node for later."""
        heapq.heappush(self.open, (-node.mass, next(self.order), node))

    def follow(self, node: Node, grow: bool = True) -> None:
        """Let the next call of the client take the way to a node, and go on if it may `grow`."""
        self.ahead, self.grow, self.node, self.at = node.route(), grow, node.root, 0

    def begin(self) -> None:
        super().begin()
        self.joints.calls = 0
        self.words: list[str] = []
        self.coins: list[list[int]] = []  # ranges in which the coins of this way are known to lie

    def clock(self, time: Callable[[], float] = time.perf_counter) -> float:
        """Return the time; the clock is a default, so that it is not replaced."""
        return time()

    def leave(self) -> NoReturn:
        """End the call of the client, whose way may be gone on with later."""
        if not (self.node.same or self.reason):  # a client may catch the end of its call
            self.keep(self.node)
        self.stop(LEFT)

    def weigh(self) -> float:
        """Give each node the mass of all ways to it, and return the mass of the open ones.

        The attribute `lost` gets the mass that inserted calls have lost.

        The masses solve m = e + A m, where e is the first node. A leads from a node to its children
        with their shares, or to the node that has the same state.
        """
        if any(node.same for node in self.nodes):
            number = {node: i for i, node in enumerate(self.nodes)}
            steps = [(number[node.parent], i, node.share)
                     for node, i in number.items() if node.parent]  # fmt: skip
            steps += [(i, number[node.same], 1.0) for node, i in number.items() if node.same]
            start, end, share = zip(*steps)
            size = len(number)
            chain = scipy.sparse.csc_array((share, (end, start)), (size, size))
            with warnings.catch_warnings(action="ignore"):
                masses = scipy.sparse.linalg.spsolve(
                    scipy.sparse.eye_array(size, format="csc") - chain, np.eye(1, size)[0]
                )
            if not np.isfinite(masses).all():
                self.stop("the client has a loop that does not end")
            for node, mass in zip(self.nodes, masses.tolist()):
                node.mass = mass
        self.lost = math.fsum(node.mass * node.lost for node in self.nodes if node.lost)
        return math.fsum(node.mass for *_, node in self.open)

    def insert(self, call: "Call") -> None:
        """Let the ways from here be those through a call: one for each value that it returns."""
        self.node.lost, masses = call.lost, {call.root: 1.0}
        for node, mass in call.ends.items():
            while node.parent:
                masses[node] = masses.get(node, 0.0) + mass
                node = node.parent
        pairs, ends = [(call.root, self.node)], []
        for old, new in pairs:
            new.children = [Node(new, one.branch, masses.get(one, 0.0) / masses[old])
                            for one in old.children]  # fmt: skip
            alive = [pair for pair in zip(old.children, new.children) if pair[0] in masses]
            self.nodes += [one for _, one in alive]
            ends += [one for old, one in alive if old in call.ends]
            pairs += [pair for pair in alive if pair[0] not in call.ends]
        best = max(ends, key=lambda node: node.mass)
        for node in ends:
            if node is not best:
                self.keep(node)
        self.ahead = best.route()

    def fork(self, masses: Sequence[float], words: Callable[[int], str]) -> int:
        """Return the branch of this way, one of those with a mass."""
        alive = [branch for branch, mass in enumerate(masses) if mass > 0]
        if self.reason:
            self.stop(self.reason)
        new = self.at == len(self.ahead)
        if new and self.grow:
            total = math.fsum(masses)
            self.node.children = [
                Node(self.node, i, masses[branch] / total) for i, branch in enumerate(alive)
            ]
            self.nodes += self.node.children
        if len(self.node.children) != len(alive) or (new and not self.grow):
            self.stop(MOVED)
        if new:
            best = max(self.node.children, key=lambda node: node.share)
            for node in self.node.children:
                if node is not best:
                    self.keep(node)
            self.ahead.append(best.branch)
        self.node = self.node.children[self.ahead[self.at]]
        branch = alive[self.node.branch]
        self.at += 1
        self.joints.calls = 0
        self.words.append(words(branch))
        if new:
            likeliest = -self.open[0][0] if self.open else 0.0
            if self.node.mass < _PATIENCE * likeliest or self.clock() > self.until:
                self.leave()
        return branch

    def few(self, count: int) -> None:
        """Stop if a draw has too many values."""
        if count > self.most:
            bits = count.bit_length() - 1
            self.stop(f"a draw has 2^{bits} values or more, and {self.most:,} ways are the limit")

    def below(self, count: int) -> int:
        self.few(count)
        return self.pick([1.0] * count, f"number below {count} = {{}}") if count > 1 else 0

    def whole(self, count: int) -> Any:
        if not self.lazy or not 1 < count < 2**1000:
            return self.below(count)
        self.coins.append([0, count])
        return Whole(self, self.coins[-1], int, f"number below {count}")

    def pick(self, masses: Sequence[float], words: str) -> int:
        return self.fork(masses, words.format)

    def uniform(self) -> "Drawn":
        self.coins.append([0, 2**53])
        return Drawn(self, self.coins[-1], _coin, "random()")

    def real(self, base: type) -> None:
        return None


def _coin(n: int) -> float:
    return n * _STEP


class Drawn:
    """A monotone function of a coin, which forks where it is compared or rounded.

    A coin is a multiple of 2^-53 in [0, 1). All functions of one coin share the range of multiples
    in which it is known to lie. Addition and multiplication with a number are monotone, also as
    they are rounded. Everything else is arithmetic, which hands over to the audit.
    """

    followed = True

    def __init__(
        self, tree: Tree, known: list[int], value: Callable[[int], Any], text: str
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
        step = 1 if last > first else -1
        values = range(first, last + step, step)

        def reached(v: int, n: int) -> bool:
            return step * (int(of(self.value(n))) - v) >= 0

        firsts = (_first(functools.partial(reached, v), low, high) for v in values[1:])
        ends = [low, *firsts, high]
        masses = [float(b - a) for a, b in itertools.pairwise(ends)]
        at = self.tree.fork(masses, lambda at: words(values[at]))
        self.known[:] = ends[at : at + 2]
        return values[at]


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number of a range for which a monotone condition holds, or its end."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _computed(drawn: Drawn, other: Any, compute: Any, words: str, turned: bool = False) -> Drawn:
    value = drawn.value
    return type(drawn)(
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


class Whole(Drawn):
    """A whole number that was drawn: it forks in two where it is compared with another one.

    It can be added to whole numbers. All other uses fork over its values.
    """

    __class__ = property(lambda self: int)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.taken(), name)

    def taken(self) -> int:
        """Fork over all values, and return the one of this way."""
        return int(self.split(int, lambda value: f"{self.text} = {value}"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.taken(), dtype)


def _taking(name: str) -> Callable[..., Any]:
    followed = _METHODS[name] if name in _FOLLOWED else None
    usual = vars(operator).get(name)
    turned = vars(operator).get(f"__{name[3:]}") if name[2] == "r" else None

    def method(self: Whole, *given: Any) -> Any:
        if followed and type(given[0]) is int:
            return followed(self, *given)
        whole = self.taken()
        given = tuple(one.taken() if type(one) is Whole else one for one in given)
        if usual:
            return usual(whole, *given)
        return turned(given[0], whole) if turned else getattr(whole, name)(*given)

    return method


_FOLLOWED = {f"__{name}__" for name in "add radd sub rsub eq lt le gt ge".split()}
_OWN = {*dir(object)} - {f"__{name}__" for name in "eq lt le gt ge hash str repr format".split()}
for _name in {*dir(int), "__reduce_ex__"} - (_OWN - {"__reduce_ex__"}):
    if callable(getattr(int, _name)):
        setattr(Whole, _name, _taking(_name))
