"""What every kind of report promises.

A kind knows the form of a report: how it is read, which values it speaks for,
how strongly it speaks for one input and against another. Where the law of the
reports is known, the same object knows what follows from it, so a law and the
reports it is about cannot come apart. What a kind does not say is unknown: an
attack that needs it refuses, an audit falls back on real reports.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from .. import checks
from ..exact import binomial, count_wins, support_success
from ..jit import kernel
from ..types import Array, Pair, Rates, Reports, Rng

# fmt: off
__all__ = [
    "ReportType", "Named", "Scored", "Listed", "Crafted", "Support", "ExactSupport",
    "Independent", "FIRST", "SECOND", "BOTH", "NEITHER", "ROUTES", "drawn", "log_ratio", "shaped",
    "listed", "ones", "pick"
]
# fmt: on

FIRST, SECOND, BOTH, NEITHER = range(4)
"""Which of two values a report supports: the symbols of `ExactSupport.pair_law`."""

ROUTES = {
    "formula": "a closed form",
    "integrate": "a one-dimensional integral, by Gauss-Legendre panels: about 1e-13 is rounded",
    "convolve": (
        "sums of independent counts, whose tails beyond 12 standard deviations (below 1e-20) are"
        " left out"
    ),
    "enumerate": "a sum over everything that can be seen",
    "simulate": "nothing: rounds are made, and only counted",
}
"""Ways to an exact number, and what each of them leaves out."""


class ReportType(ABC):
    """A form of report, and its law where that is known.

    Attributes
    ----------
    name : str
        What a report is, in a word.
    exact : bool
        Whether the law of the reports is known.
    ordered : bool
        Whether a report is a row of values whose order may give one away.
    k : int
        Domain size, where inputs are values ``0..k-1``.
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    k: int

    @property
    def domain(self) -> int:
        """Values that may be audited: those below it."""
        return self.k

    @property
    def width(self) -> int:
        """Numbers in one user's report at most: how many reports fit into memory at once."""
        if not hasattr(self, "k"):
            raise TypeError(
                f"{type(self).__name__} must say its `width`: the numbers in one report"
            )
        return self.k

    @abstractmethod
    def read(self, reports: Reports, sender: str) -> Reports:
        """Return reports as arrays, after checking that `sender` can have sent them.

        Raises
        ------
        ValueError
            If their number, shape or type is another one, or an entry is out of range.
        """

    def check(self, pair: Pair) -> None:  # noqa: B027  # most kinds can tell all values apart
        """Refuse a pair that no report can tell apart."""


class Named(ReportType):
    """A kind whose reports name a value."""

    guess_route: ClassVar[str] = "formula"
    """How `guess_rates` are found, one of `ROUTES`."""

    @abstractmethod
    def guess(self, reports: Reports, rng: Rng) -> Array:
        """Name a value for each report, uniform among those that it supports most; int array
        (n,)."""

    def success(self) -> float | None:
        """Probability that the guess is the true value, where all are treated alike; ``None`` if
        unknown."""
        return None

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Exact chances that the guess is the first of the pair, under either input; ``None`` if no
        law is known."""
        success = self.success()
        return None if success is None else (success, (1 - success) / (self.k - 1))

    def guess_count(self, trials: int, truth: bool, pair: Pair, rng: Rng) -> int:
        """Draw the number of guesses that are the first of the pair, among reports of it (`truth`)
        or of the second."""
        return drawn(self, trials, truth, self.guess_rates(pair), rng)


class Scored(ReportType):
    """A kind whose reports speak for one value against another."""

    extreme: ClassVar[float | None] = 1.0
    """Score of the reports whose likelihood ratio is the largest; ``None`` if a threshold must be
    chosen."""
    score_route: ClassVar[str] = "formula"
    """How `score_rates` are found, one of `ROUTES`."""

    @abstractmethod
    def score(self, reports: Reports, pair: Pair) -> Array:
        """Evidence for the first value against the second, larger where the likelihood ratio is;
        array (n,)."""

    def thresholds(self) -> Array | None:
        """Scores from which an event may be chosen; ``None`` if there is nothing to choose."""
        return None

    def score_rates(self, threshold: float, pair: Pair) -> Rates | None:
        """Exact chances that the score reaches `threshold`, under either input; ``None`` if no law
        is known."""
        return None

    def loss(self, pair: Pair) -> float | None:
        """Largest log ratio of the probabilities of any event under the first input and the second;
        ``None`` if no law is known."""
        return None


class Listed(ReportType):
    """A kind whose law can be written down report by report."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many different reports there are."""

    @property
    @abstractmethod
    def reports(self) -> Array:
        """All of them, in the order of `law`."""

    @abstractmethod
    def law(self, value: int, positions: Iterable[int] | None = None) -> Array:
        """Probabilities of all reports of one value, or of what is seen at a few `positions` of
        them."""


class Crafted(ReportType):
    """A kind whose reports fake users can make up."""

    @abstractmethod
    def most(self, targets: int) -> int:
        """How many of so many target values one report can support."""

    @abstractmethod
    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        """Reports of `count` fake users that support as many of ``0..targets-1`` as they can, and
        how many those are."""


@kernel
def ones(word: np.uint64) -> int:
    """Number of ones of a word, a standard trick that compilers know."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@kernel
def _picked(words: Array, n: int, k: int, rng: Rng) -> Array:
    """`pick` from rows of k bits that follow each other, 64 in a word."""
    guess, every, one = np.empty(n, np.int64), ~np.uint64(0), np.uint64(1)
    for i in range(n):
        first, last = i * k, i * k + k - 1
        at, end = first >> 6, last >> 6
        before = ones(words[at] & ~(every << np.uint64(first & 63)))  # of the row above
        count = ones(words[end] & (every >> np.uint64(~last & 63))) - before
        for w in range(at, end):
            count += ones(words[w])
        if count == 0:
            guess[i] = int(rng.random() * k)
            continue
        wanted = before + int(rng.random() * count)
        while ones(words[at]) <= wanted:
            wanted -= ones(words[at])
            at += 1
        word, place, half = words[at], 64 * at - first, 32
        for _ in range(6):  # in which half of a word, of half a word, ...
            lower = ones(word & ((one << np.uint64(half)) - one))
            upper = lower <= wanted
            wanted -= lower if upper else 0
            place += half if upper else 0
            word >>= np.uint64(half if upper else 0)
            half >>= 1
        guess[i] = place
    return guess


def pick(bits: Array, rng: Rng) -> Array:
    """A uniform place of a one in each row, or any place of a row without ones."""
    packed = np.packbits(bits.astype(bool, copy=False), bitorder="little")
    words = np.zeros(-(-packed.size // 8), "<u8")
    words.view(np.uint8)[: packed.size] = packed
    return _picked(words, len(bits), bits.shape[1], rng)


class Support(Named, Scored):
    """Reports that support a set of values each."""

    @abstractmethod
    def supports(self, reports: Array, value: int) -> Array:
        """Whether each report supports `value`; bool array (n,)."""

    @abstractmethod
    def tally(self, reports: Array) -> Array:
        """Which values each report supports, array (n, k)."""

    def support_counts(self, reports: Array) -> Array:
        """How many reports support each value, shape (k,)."""
        return np.sum([part.sum(axis=0, dtype=np.int64) for part in self._parts(reports)], axis=0)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return np.concatenate([pick(part, rng) for part in self._parts(reports)])

    def _parts(self, reports: Array) -> Iterator[Array]:
        """The tally, some reports at a time: a part of it stays in the cache."""
        step = max(1, 2**18 // self.k)
        return (self.tally(reports[i : i + step]) for i in range(0, len(reports), step))

    def score(self, reports: Array, pair: Pair) -> Array:
        """1 if only the first value is supported, -1 if only the second is, else 0; int array
        (n,)."""
        one, two = (self.supports(reports, value).astype(np.int8) for value in pair)
        return one - two

    def symbols(self, reports: Array, pair: Pair) -> Array:
        """Which of the two values each report supports: `FIRST`, `SECOND`, `BOTH` or `NEITHER`; int
        array (n,)."""
        one, two = (self.supports(reports, value) for value in pair)
        return np.where(one & two, BOTH, np.where(one, FIRST, np.where(two, SECOND, NEITHER)))


class ExactSupport(Support):
    """Supports whose law is known: that of a pure protocol in the sense of Wang et al. (2017).

    The own value is supported with probability `p`, any other with `q`.
    """

    exact = True
    p: float
    q: float

    @abstractmethod
    def pair_law(self) -> Array:
        """Probabilities of the four symbols under the first input; those under the second are
        mirrored."""

    @abstractmethod
    def success(self) -> float:
        """Probability that the guess is the true value."""

    @abstractmethod
    def wins(self, tau: int) -> tuple[Array, Array] | None:
        """Law of the own value's count over `tau` rounds, and the chance of winning with each;
        ``None`` if unknown."""

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        law = self.pair_law()
        return float(law[FIRST]), float(law[SECOND])

    def loss(self, pair: Pair) -> float:
        return log_ratio(*self.score_rates(1, pair))


class Independent(ExactSupport):
    """Supports whose values are independent of each other."""

    def pair_law(self) -> Array:
        p, q = self.p, self.q
        return np.array([p * (1 - q), q * (1 - p), p * q, (1 - p) * (1 - q)])

    def success(self) -> float:
        return float(support_success(self.p, self.q, self.k))

    def wins(self, tau: int) -> tuple[Array, Array]:
        return binomial(tau, self.p), count_wins(binomial(tau, self.q), self.k)


def drawn(kind: ReportType, trials: int, truth: bool, rates: Rates | None, rng: Rng) -> int:
    """Draw the count of an event with known rates under the first input (`truth`) and the
    second."""
    if rates is None:
        raise ValueError(
            f"no law is known of {kind.name} reports to draw from; make reports instead"
        )
    return int(rng.binomial(trials, rates[0 if truth else 1]))


def log_ratio(one: float, two: float) -> float:
    """``ln(one / two)``, infinite where only the first can happen."""
    return math.log(one / two) if two else math.inf


def shaped(
    reports: Reports,
    shape: Sequence[int | None],
    sender: str,
    dtype: np.dtype[np.void] | None = None,
) -> Array:
    """Return `reports` as an array after checking its shape; ``None`` matches any length."""
    reports = checks.unmasked(f"reports of {sender}", reports)
    fits = reports.ndim == len(shape) and all(w in (None, h) for h, w in zip(reports.shape, shape))
    if not fits or reports.shape[0] == 0 or (dtype is not None and reports.dtype != dtype):
        wanted = "(" + ", ".join("n" if s is None else str(s) for s in shape) + ")"
        raise ValueError(
            f"reports of {sender} must have shape {wanted} with n >="
            f" 1{f' and type {dtype}' if dtype is not None else ''}, got {reports.shape} of"
            f" {reports.dtype}"
        )
    return reports


def listed(reports: Reports, parts: Sequence[ReportType], called: str, sender: str) -> list[Array]:
    """Return a list of arrays, each read as its own kind and all about the same users."""
    given = list(reports) if isinstance(reports, (list, tuple, np.ndarray)) else None
    if given is None or len(given) != len(parts):
        raise ValueError(
            f"reports of {sender} must have {len(parts)} {called}, got"
            f" {type(reports).__name__ if given is None else len(given)}"
        )
    seen = {
        id(r): part.read(r, sender) for r, part in zip(given, parts)
    }  # what is remembered comes again as the same array
    users = sorted({len(r) for r in seen.values()})
    checks.need(
        len(users) == 1,
        f"reports of {sender} must come from the same users in all {called}, got {users[0]} and"
        f" {users[-1]}",
    )
    return [seen[id(r)] for r in given]


def picked(reports: Reports, rows: Array) -> Reports:
    """Return the reports of some users, whatever the form of reports."""
    if isinstance(reports, (list, tuple)):  # one array for each part of a report
        return [picked(part, rows) for part in reports]
    return reports[rows]


def joined(pieces: Sequence[Reports]) -> Reports:
    """Return reports of several calls as those of one."""
    if isinstance(pieces[0], (list, tuple)):
        return [joined(parts) for parts in zip(*pieces)]
    if pieces[0].ndim == 1:
        return np.concatenate(pieces)
    widest = max(piece.shape[1] for piece in pieces)  # collections may differ in size; -1 fills up
    rest = ((0, 0),) * (pieces[0].ndim - 2)
    return np.concatenate(
        [
            np.pad(piece, ((0, 0), (0, widest - piece.shape[1]), *rest), constant_values=-1)
            for piece in pieces
        ]
    )
