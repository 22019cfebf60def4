"""Draw everything that a client draws from one source, which decides what it gets."""

import _random
import contextlib
import copy
import functools
import gc
import math
import os
import random
import secrets
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ...types import Array

__all__ = ["Stop", "Tape", "replaced"]

_STATE, _GENERATOR = np.random.RandomState, np.random.Generator
_DAY = 86_413  # seconds, no multiple of a usual period
_CLOCKS: dict[Any, int] = {
    **dict.fromkeys((time.time, time.monotonic, time.perf_counter), _DAY),
    **dict.fromkeys((time.time_ns, time.monotonic_ns, time.perf_counter_ns), _DAY * 10**9),
    os.getpid: 1,
}
"""Clocks, and the steps by which they are set on from call to call."""
_DRAWS = 100_000  # of one call, which are more in a loop that does not end
_FEW = 60  # trials of a binomial whose outcomes are told apart
_busy = threading.Lock()


class Stop(BaseException):
    """End of a call of a client, which the client must not catch; the source has the reason."""


class Tape:
    """A source of coins for a client, which gives the same coins for the same `number`.

    A subclass may decide each coin otherwise. It then has `uniform`, `below` and `pick`, and its
    method `real` returns ``None``.

    Attributes
    ----------
    calling : bool
        Whether the client is in a call.
    reason : str
        Why no exact statement is possible, empty if it is.
    seeds : list of str
        Seeds that the client gave to generators since `begin`.
    """

    number, turn, reason, calling = 0, 0, "", False
    pick: Callable[[Sequence[float], str], int]  # a position, as likely as its mass

    def __init__(self) -> None:
        self.legacy, self.generator = _Legacy(self), _Generator(self)
        self.thread = threading.get_ident()  # of the client

    def begin(self) -> None:
        """Forget the last call of the client; clocks are set on."""
        self.turn, self.reason, self.drawn, self.calling = self.turn + 1, "", 0, True
        self.stream = _random.Random(self.number)
        self.made: list[Any] = []
        self.seeds: list[str] = []
        self.seeded: dict[int, object] = {}  # generators of Python that the client seeded itself
        self.legacy.real, self.generator.real = self.real(_STATE), self.real(_GENERATOR)
        self.start = self.position

    @property
    def elsewhere(self) -> bool:
        """Whether another thread than the client's asks, such as one of a notebook."""
        return threading.get_ident() != self.thread

    @property
    def position(self) -> tuple[Any, ...]:
        """How far the tape was read."""
        return (self.drawn, *(str(one._bit_generator.state) for one in self.made))

    def stop(self, reason: str) -> NoReturn:
        """End the call of the client."""
        self.reason = self.reason or reason
        raise Stop(reason)

    def count(self) -> None:
        """Count a draw of the client."""
        self.drawn += 1
        if self.drawn > _DRAWS:
            self.stop(f"a call of the client draws more than {_DRAWS:,} times")

    def uniform(self) -> Any:
        """Return a number in [0, 1)."""
        return self.stream.random()

    def below(self, count: int) -> int:
        """Return a whole number below another."""
        return self.stream.getrandbits(count.bit_length() + 64) % count if count > 1 else 0

    def whole(self, count: int) -> Any:
        """Return what Python's generators return for a whole number below another."""
        return self.below(count)

    def real(self, base: type) -> Any:
        """Return a generator of NumPy with this tape, or ``None`` if its draws are to be forked."""
        self.made.append(base(np.random.SFC64([self.number, len(self.made)])))
        return self.made[-1]


# --- NumPy's generators ---------------------------------------------------------------------------


def _filled(like: Any, draw: Callable[..., Any], *given: Any) -> Any:
    """Return one draw for each entry of `like`, with parameters that are broadcast to its shape."""
    one = np.frompyfunc(lambda _, *own: draw(*own), 1 + len(given), 1)
    return one(like, *given) if isinstance(like, np.ndarray) else draw(*given)


def _typed(like: Any, draw: Callable[..., Any], *given: Any) -> Any:
    """Return `_filled` in the type that NumPy returns."""
    out = _filled(like, draw, *given)
    if isinstance(like, np.ndarray):
        return out.astype(like.dtype)
    return type(like)(out) if isinstance(like, (int, np.integer)) else out


def _random_(source: Tape, usual: Any, *size: Any, **named: Any) -> Any:
    like = usual(*size, **named)
    if np.asarray(like).dtype != float or named.keys() - {"size"} or None in size[:-1]:
        source.stop("numpy's random with a dtype or an array of its own is not followed")
    return _filled(like, source.uniform)


def _uniform(source: Tape, usual: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    def draw(a: float, b: float) -> Any:
        return source.uniform() if (a, b) == (0, 1) else source.uniform() * float(b - a) + float(a)

    return _filled(usual(low, high, size), draw, low, high)


def _integers(
    source: Tape, usual: Any, low: Any, high: Any = None, size: Any = None, *kind: Any,
    **more: Any,
) -> Any:  # fmt: skip
    ends, closed = (0, low) if high is None else (low, high), bool(more.get("endpoint"))
    like = usual(low, high, size, *kind, **more)
    return _typed(like, lambda a, b: a + source.below(int(b) - int(a) + closed), *ends)


def _binomial(source: Tape, usual: Any, n: Any, p: Any, size: Any = None) -> Any:
    def draw(n: int, p: float) -> int:
        if n > _FEW:
            source.stop(f"numpy's binomial of {n} trials is not followed")
        masses = [math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)]
        return source.pick(masses, f"binomial({n}, {p:.6g}) = {{}}")

    return _typed(usual(n, p, size), draw, n, p)


def _choice(
    source: Tape, usual: Any, a: Any, size: Any = None, replace: bool = True, p: Any = None,
    axis: int = 0, shuffle: bool = True,
) -> Any:  # fmt: skip
    items = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
    masses = np.ones(len(items)) if p is None else np.array(p, float)

    def draw() -> Any:
        at = source.pick(masses.tolist(), f"choice = item {{}} of {len(items)}")
        masses[at] *= replace
        return items[at]

    like = usual(a, size, replace, p)
    if items.ndim > 1 or axis or not shuffle:
        source.stop("numpy's choice of rows, or in no certain order, is not followed")
    return _typed(like, draw)


def _permutation(source: Tape, usual: Any, x: Any) -> Array:
    items = np.arange(x) if np.ndim(x) == 0 else np.asarray(x)
    left = list(range(len(items)))
    return items[[left.pop(source.below(len(left))) for _ in range(len(items))]]


def _shuffle(source: Tape, usual: Any, x: Any) -> None:
    x[:] = [copy.copy(x[at]) for at in _permutation(source, usual, len(x))]


_FOLLOWED: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("random", "random_sample", "rand"), _random_),
    **dict.fromkeys(("randint", "integers"), _integers),
    "uniform": _uniform,
    "binomial": _binomial,
    "choice": _choice,
    "permutation": _permutation,
    "shuffle": _shuffle,
}
"""Methods of NumPy's generators whose outcomes are forked."""


def _method(name: str, usual: Any) -> Callable[..., Any]:
    def call(self: Any, *given: Any, **named: Any) -> Any:
        self.source.count()
        if self.real is not None:
            return getattr(self.real, name)(*given, **named)
        if name not in _FOLLOWED:
            self.source.stop(f"numpy's {name} has no finite range, or is not followed")
        return _FOLLOWED[name](self.source, usual, *given, **named)

    return call


def _followed(base: type, make: Callable[[int], Any]) -> Any:
    """Return a subclass of a generator of NumPy that draws from a source."""
    usual = make(0)  # it is called for its errors, and for the shape and type of its results

    # defaults of parameters, because `_swap` would replace what a closure holds
    def init(self: Any, source: Tape, real: Any = None, base: Any = base) -> None:
        # a seed of the system, so that compiled code, which draws from it, is found out
        base.__init__(self, np.random.SFC64(_random.Random().getrandbits(64)))
        self.source, self.real = source, real

    def seed(self: Any, seed: Any = None, base: Any = base) -> None:
        self.real = self.source.real(base)
        if seed is not None:
            self.source.seeds.append(f"numpy.random.seed({seed!r})")
            self.real = base(np.random.MT19937(0))  # base(seed) would ask the system, for nothing
            self.real.seed(seed)

    def bits(self: Any) -> Any:
        if self.real is None:
            self.source.stop("numpy's bit_generator is not followed")
        return self.real.bit_generator

    methods: dict[str, Any] = {
        name: _method(name, getattr(usual, name)) for name in dir(base) if not name.startswith("_")
    }
    methods |= {"__init__": init, "__reduce_ex__": _method("__reduce_ex__", None)}
    methods |= {"seed": seed} if base is _STATE else {"bit_generator": property(bits)}
    return type(base.__name__, (base,), methods)


_Legacy = _followed(_STATE, _STATE)
_Generator = _followed(_GENERATOR, np.random.default_rng)


# --- in the place of what a client draws from -----------------------------------------------------


@contextlib.contextmanager
def replaced(source: Tape) -> Iterator[None]:
    """Let this process draw from a source only, and put everything back at the end.

    Names that were imported earlier, and generators that modules and objects hold, are found by the
    garbage collector. Not found are names in tuples and classes, compiled code, other processes,
    the clock of `datetime` and the hash of texts. Most of these do not repeat, and are found out.

    Raises
    ------
    RuntimeError
        If a client is replayed already, because there is only one place for the source.
    """
    if not _busy.acquire(blocking=False):
        raise RuntimeError("a client is replayed already: replays must not be nested")
    with contextlib.ExitStack() as undo:
        undo.callback(_busy.release)
        undo.callback(random._inst.setstate, random._inst.getstate())
        if gc.get_freeze_count():  # the collector does not see what it has frozen
            gc.unfreeze()
            undo.callback(gc.freeze)
        _classes(source, undo)
        pairs, modules = _names(source), len(sys.modules)
        _swap(pairs, undo)
        yield
    if len(sys.modules) > modules:  # a module that the client imported may hold a replacement
        _swap([(new, old) for old, new in pairs], contextlib.ExitStack())


def _set(undo: contextlib.ExitStack, owner: type, name: str, new: Any) -> None:
    own = vars(owner)
    undo.callback(*((setattr, owner, name, own[name]) if name in own else (delattr, owner, name)))
    setattr(owner, name, new)


def _classes(source: Tape, undo: contextlib.ExitStack) -> None:
    """Replace the methods from which all others of Python's generators draw."""

    def followed(cls: type, name: str, draw: Callable[..., Any]) -> None:
        usual = getattr(cls, name)

        def method(self: Any, *given: Any) -> Any:
            if id(self) in source.seeded or source.elsewhere:
                return usual(self, *given)
            source.count()
            return draw(*given)

        _set(undo, cls, name, method)

    def seed(self: Any, a: Any = None, version: int = 2) -> None:
        source.seeded.pop(id(self), None)
        if a is not None:
            original(self, a, version)
            source.seeds.append(f"random.seed({a!r})")
            source.seeded[id(self)] = self

    original = random.Random.seed
    for cls in (random.Random, random.SystemRandom):
        followed(cls, "random", source.uniform)
        followed(cls, "getrandbits", lambda k: source.whole(2**k))
        followed(cls, "_randbelow", source.whole)
    _set(undo, random.Random, "seed", seed)
    wrong = "the client sets the state of a generator"
    _set(undo, random.Random, "setstate", lambda self, state: source.stop(wrong))


def _names(source: Tape) -> list[tuple[Any, Any]]:
    """Return pairs of an object that gives chance or time, and its replacement."""

    # originals are defaults of parameters, because `_swap` would replace what a closure holds
    def default_rng(seed: Any = None, made: Any = np.random.default_rng) -> Any:
        if seed is None:
            return _Generator(source, source.real(_GENERATOR))
        if not isinstance(seed, (_GENERATOR, np.random.BitGenerator, np.random.SeedSequence)):
            source.seeds.append(f"numpy.random.default_rng({seed!r})")
        return made(seed)

    class Meta(type):
        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, _STATE)

        def __call__(cls, seed: Any = None) -> Any:
            fresh = _Legacy(source)
            fresh.seed(seed)
            return fresh

    def urandom(n: int, usual: Any = os.urandom) -> bytes:
        if source.elsewhere:
            return usual(n)
        source.count()
        return source.below(256**n).to_bytes(n, "big")

    legacy, inner, numpy = source.legacy, random._inst, np.random.mtrand._rand
    held = [one for one in gc.get_objects() if type(one) in (_STATE, _GENERATOR)]
    functions = [f for f in vars(np.random).values() if getattr(f, "__self__", None) is numpy]
    bound = ("random", "getrandbits", "seed", "setstate")
    return [
        *((getattr(random, name), getattr(inner, name)) for name in bound),
        (secrets.randbits, secrets._sysrand.getrandbits),  # type: ignore[attr-defined]
        (os.urandom, urandom),
        *((f, getattr(legacy, f.__name__)) for f in functions),
        *((getattr(np.random, name), legacy.random_sample) for name in ("sample", "ranf")),
        (np.random.seed, legacy.seed),
        (np.random.default_rng, default_rng),
        (_STATE, Meta("RandomState", (), {})),
        *((one, legacy if type(one) is _STATE else source.generator) for one in held),
        *((c, functools.partial(_moved, source, c, step)) for c, step in _CLOCKS.items()),
    ]  # fmt: skip


def _moved(source: Tape, clock: Any, step: int) -> Any:
    """Return the time of a clock that is set on, and in other threads the time itself."""
    return clock() + (0 if source.elsewhere else source.turn * step)


def _swap(pairs: list[tuple[Any, Any]], undo: contextlib.ExitStack) -> None:
    """Replace objects in modules, instances and closures, but not in this module."""
    news = {id(old): new for old, new in pairs}
    for holder in gc.get_referrers(*(old for old, _ in pairs)):
        space = holder if isinstance(holder, dict) else getattr(holder, "__dict__", None)
        if isinstance(holder, types.CellType):
            space = {"cell_contents": holder.cell_contents}
            put: Callable[[str, Any], None] = functools.partial(setattr, holder)
        elif isinstance(space, dict) and "__module__" not in space and space is not globals():
            put = space.__setitem__
        else:
            continue
        for name, value in [*space.items()]:
            if id(value) in news:
                put(name, news[id(value)])
                undo.callback(put, name, value)
