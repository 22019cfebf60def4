"""The base of all report types, and report types that support values.

A report type knows the form of a report: how to read it, which values it supports, and how strong
its evidence for one input against another is. Where the exact distribution of the reports is known,
the same object computes the rates that follow from the distribution, so the two cannot disagree.
A report type defines the methods that make sense for it. All others refuse, and an attack that
needs one of them is refused. An audit of a report type without an exact distribution uses real
reports.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from .. import checks
from ..guess_success import binomial, count_losses, count_wins, support_failure, support_success
from ..jit import kernel
from ..types import Array, ArrayLike, Pair, Rates, Reports, Rng

# fmt: off
__all__ = [
    "ReportType", "Support", "Columns", "Structured", "ExactSupport", "Independent", "FIRST",
    "SECOND", "BOTH", "NEITHER", "MAX_OUTPUTS", "ROUTES", "alphabet", "chosen", "joined", "listed",
    "listed_positions", "log_ratio", "ones", "pick", "picked", "product_distribution", "shaped",
    "structured", "won",
]
# fmt: on

FIRST, SECOND, BOTH, NEITHER = range(4)
"""Symbols for which of two values a report supports, see `ExactSupport.pair_distribution`."""

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
"""Ways to compute an exact number, and the error of each."""


class ReportType(ABC):
    """The form of a report, and the exact distribution of reports where it is known.

    A report type must define `name` and `read`. Everything else is optional: a method that is left
    out refuses, or returns ``None`` where that means "unknown".

    Attributes
    ----------
    name : str
        Noun for a report in messages.
    exact : bool
        Whether the exact distribution of the reports is known.
    guess_route, score_route, rounds_route : str
        How `guess_rates`, `score_rates` and `rounds_success` are computed, each one of `ROUTES`.
    rounds_exact : bool or None
        Whether the exact distribution of several reports about one value is known; ``None`` if a
        user cannot send several reports.
    k : int
        Domain size, where inputs are values ``0..k-1``.
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = False
    guess_route: ClassVar[str] = "formula"
    score_route: ClassVar[str] = "formula"
    rounds_route: ClassVar[str] = "convolve"
    rounds_exact: ClassVar[bool | None] = None
    k: int

    @property
    def width(self) -> int:
        """Largest number of numbers in one report, by which audits choose how many reports to hold
        in memory; the domain size unless a report type states its own."""
        checks.need(
            hasattr(self, "k"),
            f"{type(self).__name__} must state its `width`: the numbers in one report",
            TypeError,
        )
        return self.k

    @abstractmethod
    def read(self, reports: Reports, sender: str) -> Reports:
        """Return reports as arrays, after checking that `sender` can have sent them.

        Raises
        ------
        ValueError
            If the number, shape or type of the reports is wrong, or an entry is out of range.
        """

    def offers(self, method: str) -> bool:
        """Whether the report type defines an optional method, such as ``"guess"``."""
        return getattr(type(self), method) is not getattr(ReportType, method)

    def _refusal(self, wanted: str) -> ValueError:
        """The error of every optional method that a report type does not define."""
        return ValueError(f"mechanism must send reports that {wanted}, got {self.name} reports")

    # --- a guess of the user's value

    def guess(self, reports: Reports, rng: Rng) -> Array:
        """Return one guess per report, uniform among the values that the report supports most; int
        array (n,)."""
        raise self._refusal("support values")

    def success(self) -> float | None:
        """Probability that the guess is the true value, if it is the same for all values; ``None``
        if unknown."""
        return None

    def failure(self) -> float | None:
        """Probability that the guess is not the true value; report types whose `success` may be
        near 1 define it, because ``1 - success`` loses digits there."""
        success = self.success()
        return None if success is None else 1 - success

    def guess_rates(self, pair: Pair) -> Rates | None:
        """Exact probabilities that the guess is the first of the pair, under the first input and
        under the second; ``None`` if unknown."""
        success, failure = self.success(), self.failure()
        return None if success is None or failure is None else (success, failure / (self.k - 1))

    def count(self, trials: int, truth: bool, rates: Rates | None, rng: Rng) -> int:
        """Sample how often an event with these exact `rates` happens in `trials` reports of the
        first input (`truth`) or of the second."""
        if rates is None:
            raise ValueError(
                f"report type {self.name} has no exact rates of this event to sample from; count"
                " the event on real reports instead"
            )
        return int(rng.binomial(trials, rates[0 if truth else 1]))

    # --- evidence for one input against another

    def score(self, reports: Reports, pair: Pair) -> Array:
        """Evidence for the first input against the second, which grows with the likelihood ratio;
        array (n,)."""
        raise self._refusal("have a score")

    def thresholds(self) -> Array:
        """Scores at which the event of an attack may begin. If there are several, an attack chooses
        one; the only one is the score of the reports whose likelihood ratio is the largest."""
        return np.ones(1)

    def score_rates(self, threshold: float, pair: Pair) -> Rates | None:
        """Exact probabilities that the score reaches `threshold`, under the first input and under
        the second; ``None`` if unknown."""
        return None

    def loss(self, pair: Pair) -> float | None:
        """Largest log ratio of the probabilities of any event under the first input and the second;
        ``None`` if unknown."""
        return None

    # --- the whole distribution, report by report

    @property
    def outputs(self) -> float:
        """Number of different reports; infinite if they cannot be listed."""
        return math.inf

    @property
    def reports(self) -> Array:
        """All different reports, in the order of `distribution`; numbers unless a report type lists
        others."""
        if math.isinf(self.outputs):
            raise self._refusal("can be listed")
        return np.arange(self.outputs)

    def distribution(self, value: int, positions: Iterable[int] | None = None) -> Array:
        """Probabilities of all reports of a user who holds `value`, or of the symbols at a few
        `positions` of these reports."""
        raise self._refusal("can be listed")

    # --- the reports of fake users

    def most(self, targets: int) -> int:
        """Return how many of `targets` target values one report can support."""
        raise self._refusal("fake users can make up")

    def craft(self, targets: int, count: int, rng: Rng, tries: int) -> tuple[Array, int]:
        """Return reports of `count` fake users that support as many of the values ``0..targets-1``
        as possible, and how many values each report supports."""
        raise self._refusal("fake users can make up")

    # --- what several reports about the same value add up to, see `ldpkit.reports.Rounds`

    def rounds_success(self, tau: int) -> float | None:
        """Probability that the guess from `tau` reports is the true value; ``None`` if unknown."""
        return None

    def rounds_failure(self, tau: int) -> float | None:
        """Probability that the guess from `tau` reports is not the true value; see `failure`."""
        success = self.rounds_success(tau)
        return None if success is None else 1 - success

    def states(self, pair: Pair) -> list[tuple[float, float, float, float]]:
        """Hidden states that stay the same in all rounds: their probabilities under the first
        input, and in each state the probabilities that one round scores 1, -1 and 0."""
        rates: Any = self.score_rates(1.0, pair)
        return [(1.0, *rates, 1 - sum(rates))]

    def pooled(self, tau: int) -> "ReportType | None":
        """Type of the mean of `tau` reports if the mean is as much evidence as all of them, else
        ``None``."""
        return None


@kernel
def ones(word: np.uint64) -> int:
    """Number of ones in a 64-bit word; compilers turn this form into one instruction."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int(np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56)))


@kernel
def pick(bits: Array, uniforms: Array) -> Array:
    """Return the place of a uniformly chosen one of each row, or a uniform place for a row without
    ones; int array (n,). Each row has a uniform number in [0, 1) that chooses."""
    n, k = bits.shape
    guess, held = np.empty(n, np.int64), np.empty(k + 1, np.int64)
    for i in range(n):
        count = 0
        for u in range(k):  # without a branch: every place is written, and kept for ones only
            held[count] = u
            count += bits[i, u] != 0
        at = int(uniforms[i] * (count if count else k))
        guess[i] = held[at] if count else at
    return guess


class Support(ReportType):
    """A report type in which each report supports a set of values."""

    @abstractmethod
    def supported(self, reports: Array, values: Array) -> Array:
        """Whether each report supports each of some values; bool array (n, values)."""

    def supports(self, reports: Array, value: int) -> Array:
        """Whether each report supports `value`; bool array (n,)."""
        return self.supported(reports, np.array([value]))[:, 0]

    def tally(self, reports: Array) -> Array:
        """Whether each report supports each value, array (n, k)."""
        return self.supported(reports, np.arange(self.k))

    def support_counts(self, reports: Array) -> Array:
        """Number of reports that support each value, shape (k,)."""
        return np.sum([part.sum(axis=0, dtype=np.int64) for part in self._parts(reports)], axis=0)

    def guess(self, reports: Array, rng: Rng) -> Array:
        return np.concatenate([pick(part, rng.random(len(part))) for part in self._parts(reports)])

    def _parts(self, reports: Array) -> Iterator[Array]:
        """The tally of some reports at a time, so that it stays in the processor's cache."""
        step = max(1, 2**18 // self.k)
        return (self.tally(reports[i : i + step]) for i in range(0, len(reports), step))

    def score(self, reports: Array, pair: Pair) -> Array:
        """1 if only the first value is supported, -1 if only the second is, else 0; int array
        (n,)."""
        one, two = (self.supports(reports, value).astype(np.int8) for value in pair)
        return one - two


Columns: TypeAlias = dict[str, tuple[str, tuple[int, ...], int | None]]
"""Type, shape, and smallest whole number above all entries of each part of a report, by name;
``None`` if the entries are not limited."""


class Structured(Support):
    """Reports of several named parts, structured array (n,)."""

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The parts of a report."""

    @property
    def form(self) -> np.dtype[np.void]:
        """Type of one report."""
        return np.dtype([(name, *column[:2]) for name, column in self.columns.items()])

    def read(self, reports: Reports, sender: str) -> Array:
        reports = shaped(reports, (None,), sender, self.form)
        for name, (_, _, limit) in self.columns.items():
            if limit is not None:
                checks.values(reports[name].ravel(), limit, f"{name} of {sender}")
        return reports


class ExactSupport(Support):
    """Supports of a pure protocol in the sense of Wang et al. (2017), with exact distribution.

    A report supports the user's own value with probability `p`, and any other value with
    probability `q`. It does not support the own value with probability `absent`, which is stated
    because ``1 - p`` loses digits if `p` is near 1. A report type that leaves it out has ``1 - p``.
    """

    exact = rounds_exact = True
    p: float
    q: float
    absent: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.absent):
            checks.fix(self, absent=1 - self.p)

    @abstractmethod
    def pair_distribution(self) -> Array:
        """Probabilities of the symbols `FIRST`, `SECOND`, `BOTH`, `NEITHER` under the first input;
        under the second input, those of `FIRST` and `SECOND` are exchanged."""

    @abstractmethod
    def success(self) -> float:
        """Probability that the guess is the true value."""

    def score_rates(self, threshold: float, pair: Pair) -> Rates:
        distribution = self.pair_distribution()
        return float(distribution[FIRST]), float(distribution[SECOND])

    def loss(self, pair: Pair) -> float:
        return log_ratio(*self.score_rates(1, pair))

    def states(self, pair: Pair) -> list[tuple[float, float, float, float]]:
        first, second, both, neither = map(float, self.pair_distribution())
        return [(1.0, first, second, both + neither)]


class Independent(ExactSupport):
    """Supports that contain each value independently of the others."""

    def pair_distribution(self) -> Array:
        p, q, absent = self.p, self.q, self.absent
        return np.array([p * (1 - q), q * absent, p * q, absent * (1 - q)])

    def success(self) -> float:
        return float(support_success(self.p, self.q, self.k))

    def failure(self) -> float:
        return float(support_failure(self.p, self.q, self.k, self.absent))

    def rounds_success(self, tau: int) -> float:
        return won(binomial(tau, self.p), count_wins(binomial(tau, self.q), self.k))

    def rounds_failure(self, tau: int) -> float:
        return won(binomial(tau, self.absent)[::-1], count_losses(binomial(tau, self.q), self.k))


def won(own: Array, wins: Array) -> float:
    """Probability that the guess is the true value, from the distribution of the number of rounds
    that support it, and for each number the probability that it wins; with the probability that it
    loses, the opposite."""
    return min(1.0, float(own @ wins))  # the sum may round up


def log_ratio(one: float, two: float) -> float:
    """``ln(one / two)``, infinite where `two` is 0."""
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


def structured(form: np.dtype[np.void], **columns: Array) -> Array:
    """Return reports of several named parts, each given for all users: array (n,) of type
    `form`."""
    reports = np.empty(len(next(iter(columns.values()))), form)
    for name, column in columns.items():
        reports[name] = column
    return reports


def listed(reports: Reports, parts: Sequence[ReportType], called: str, sender: str) -> list[Array]:
    """Return a list of arrays, each read by its own report type and all about the same users; error
    messages call them `called`."""
    given = list(reports) if isinstance(reports, (list, tuple, np.ndarray)) else None
    if given is None or len(given) != len(parts):
        raise ValueError(
            f"reports of {sender} must have {len(parts)} {called}, got"
            f" {type(reports).__name__ if given is None else len(given)}"
        )
    # a memoised report comes as the same array in every round and is read once
    seen = {id(r): part.read(r, sender) for r, part in zip(given, parts)}
    users = sorted({len(r) for r in seen.values()})
    checks.need(
        len(users) == 1,
        f"reports of {sender} must come from the same users in all {called}, got {users[0]} and"
        f" {users[-1]}",
    )
    return [seen[id(r)] for r in given]


def picked(reports: Reports, rows: Array | slice) -> Reports:
    """Return the reports of some users, by their numbers or as a slice, for any report type."""
    several = isinstance(reports, (list, tuple))  # one array for each round or attribute
    return [picked(part, rows) for part in reports] if several else reports[rows]


def joined(pieces: Sequence[Reports]) -> Reports:
    """Join the reports of several calls along the axis of users."""
    if isinstance(pieces[0], (list, tuple)):
        return [joined(parts) for parts in zip(*pieces)]
    if pieces[0].ndim == 1:
        return np.concatenate(pieces)
    widest = max(piece.shape[1] for piece in pieces)  # subsets may differ in size; -1 fills up
    rest = ((0, 0),) * (pieces[0].ndim - 2)
    return np.concatenate(
        [
            np.pad(piece, ((0, 0), (0, widest - piece.shape[1]), *rest), constant_values=-1)
            for piece in pieces
        ]
    )


# --- distributions over alphabets that are small enough to be listed

MAX_OUTPUTS = 2**20
"""Largest alphabet whose distribution is enumerated."""


def alphabet(base: int, length: int, instead: str) -> int:
    """Return ``base ** length``, the number of outputs.

    Raises
    ------
    ValueError
        If there are more than `MAX_OUTPUTS`; the message ends with the advice `instead`.
    """
    most = int(math.log(MAX_OUTPUTS) / math.log(base) + 1e-9)
    if length <= most:
        return base**length
    size = (
        f"{base}^{length} = {base**length}"
        if 1 < length <= 30
        else f"{base}^{length}"
        if length > 1
        else f"{base}"
    )
    limit = f"at most {MAX_OUTPUTS}" + (f", a length of {most}" if length > 1 else "")
    raise ValueError(
        f"an alphabet of {size} outputs is too large to enumerate ({limit}); {instead}"
    )


def chosen(positions: Iterable[int] | None, length: int) -> list[int]:
    """Return different positions of a record of `length` symbols as a list, all positions if
    ``None``."""
    checks.instance("positions", positions, (Iterable, type(None)), "a list of positions")
    kept = [
        checks.integer("positions", p, 0, length - 1)
        for p in (range(length) if positions is None else positions)
    ]
    checks.need(len(set(kept)) == len(kept), f"positions must differ, got {kept}")
    return kept


def listed_positions(
    positions: Iterable[int] | None, length: int, base: int, instead: str
) -> list[int]:
    """Return `chosen` positions, after checking that the symbols there, of `base` values each, are
    few enough to be listed; see `alphabet`."""
    if positions is None:
        alphabet(base, length, instead)  # before a list of all positions is built
    kept = chosen(positions, length)
    alphabet(base, len(kept), instead)
    return kept


def product_distribution(rates: Iterable[ArrayLike]) -> Array:
    """Joint distribution of independent symbols from one distribution per position; the last
    position moves fastest."""
    joint = np.ones(1)
    for rate in rates:
        joint = np.multiply.outer(joint, rate).ravel()
    return joint
