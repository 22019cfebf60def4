"""Tests of independence, which bounds of fixed sample size assume.

If reports share their randomness, their counts refute a claim or fail to refute it by chance.
Therefore each check compares reports at corresponding places that must be independent. It compares
features that are true or false: the audited events, and one digit of a hash of the whole report. A
client with fresh randomness for every user fails any check with probability at most `FALSE_ALARM`,
whatever its reports are.

A client may always send the same report for one value. Either it is a fixed function, so that an
audit refutes its claim rightly, or it remembers a random report. Only another process can
distinguish these two cases. Four starts of a program show whether its seed is known, see
`LocalRandomizer.known_seed`.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load on first use

from ..mechanisms.base import LocalRandomizer, NoClientError
from ..reports.base import joined
from ..rng import derive, generator
from ..types import Array, Numbers, Pair, Reports, Rng

# fmt: off
__all__ = [
    "FALSE_ALARM", "BatchSummary", "Findings", "examine", "summarise",
]
# fmt: on

FALSE_ALARM = 1e-6
"""Upper bound of the probability that an audit calls independent reports dependent."""

_PLACES, _BATCHES = 4096, 256

UNSEEDED = (
    "the program has the same seed at every start, so that its coins are known, and counts of its"
    " reports prove nothing"
)
"""Why an audit of a program that repeats its coins is not valid."""

Judge = Callable[[Reports, Rng], list[Array]]


@dataclass(frozen=True)
class BatchSummary:
    """Summary of the reports of one call.

    Attributes
    ----------
    lead : bool array (n, features)
        Features of the first reports of the call, if they are kept.
    near : tuple of int arrays (4, features)
        Two tables of pairs of neighbours, starting at the first and at the second report. Their
        rows count the pairs, and the pairs in which the first, the second, and both have a feature.
    only : int or None
        Hash of the reports, if all reports are the same.
    order : (int, int)
        Number of reports that hold both audited values, and of those with the first value in front.
    """

    lead: Array
    near: tuple[Array, Array]
    only: int | None
    order: tuple[int, int]


@dataclass(frozen=True)
class Findings:
    """Findings of the checks of one audit, as clauses that can end a sentence.

    Attributes
    ----------
    dependent : str
        Evidence that the reports depend on each other, or the empty string.
    fixed : str
        States that every value has one report of its own, or the empty string.
    constant : str
        States that all reports are the same for both values, or the empty string.
    warnings : tuple of str
        Further findings, which do not make the audit invalid.
    """

    dependent: str = ""
    fixed: str = ""
    constant: str = ""
    warnings: tuple[str, ...] = ()


def _hash(reports: Reports) -> Array:
    """Return a 64-bit hash of each report of any type, which is the same in every process.

    It is a sum of all numbers of a report, with odd random weights.
    """
    names = range(len(reports)) if isinstance(reports, (list, tuple)) else reports.dtype.names
    if names is not None:  # several parts
        words = np.column_stack([_hash(reports[name]) for name in names])
    else:
        flat = reports.reshape(len(reports), -1)
        if flat.dtype.kind not in "biuf":  # entries that are no numbers are hashed as text
            flat = np.array([[_number(entry) for entry in row] for row in flat])
        real = np.issubdtype(flat.dtype, np.floating)
        words = np.ascontiguousarray(flat, float if real else np.int64).view(np.uint64)
    weights = generator(0, "hash").integers(2**64, size=words.shape[1], dtype=np.uint64)
    return words @ (weights | np.uint64(1))


def _number(entry: object) -> int:
    """Return a hash of 63 bits of the text of an entry."""
    return int(hashlib.blake2b(repr(entry).encode(), digest_size=8).hexdigest(), 16) >> 1


def _table(first: Array, second: Array) -> Array:
    """Return the number of pairs, and of those whose first, second and both have each feature.

    The array has the shape (4, features).
    """
    return np.array(
        [
            np.full(first.shape[1], len(first)),
            first.sum(axis=0),
            second.sum(axis=0),
            (first & second).sum(axis=0),
        ]
    )


def _luck(pairs: Numbers, first: Numbers, second: Numbers, both: Numbers) -> Array:
    """Return the logarithm of a bound of the probability that features coincide by chance.

    Fix the number of pairs whose first report has the feature, and of those whose second report has
    it. If the reports are independent, the number of pairs in which both have it is hypergeometric.
    Hoeffding's bound of its two tails holds for all numbers (1963, section 6). Therefore a false
    alarm is at most as likely as the bound states.
    """
    n, x, y, met = (np.asarray(a, float) for a in (pairs, first, second, both))
    rate, seen = x / np.maximum(n, 1), met / np.maximum(y, 1)
    entropy = scipy.special.rel_entr(seen, rate) + scipy.special.rel_entr(1 - seen, 1 - rate)
    return np.minimum(0.0, np.log(2) - y * np.where((y > 0) & (rate < 1), entropy, 0.0))


def summarise(
    reports: Reports, events: Sequence[Array], pair: Pair | None = None, keep: bool = True
) -> BatchSummary:
    """Summarise the reports of one call.

    Parameters
    ----------
    reports
        Reports of n users, as the mechanism returns them.
    events : sequence of bool arrays (n,)
        The events that the audit counts.
    pair : (int, int), optional
        The audited values, if reports are ordered collections.
    keep : bool
        Whether to keep the features of the first reports.
    """
    hashed = _hash(reports)
    features = np.column_stack([*events, (hashed >> np.uint64(63)).astype(bool)])
    even, odd = (features[start : start + (len(features) - start) // 2 * 2] for start in (0, 1))
    order = (0, 0)
    if pair is not None:
        held = [(reports == v).any(axis=1) for v in pair]
        both = reports[held[0] & held[1]]
        at, other = (np.argmax(both == v, axis=1) for v in pair)
        order = len(both), int(np.count_nonzero(at < other))
    return BatchSummary(
        features[: _PLACES if keep else 0],
        (_table(even[::2], even[1::2]), _table(odd[::2], odd[1::2])),
        int(hashed[0]) if (hashed == hashed[0]).all() else None,
        order,
    )


def _aligned(pairs: Sequence[tuple[BatchSummary, BatchSummary]]) -> Array:
    """Return the sum of `_table` over reports at the same places of different calls."""
    tables = [
        _table(*(side.lead[: min(len(a.lead), len(b.lead))] for side in (a, b))) for a, b in pairs
    ]
    return np.sum(tables, axis=0) if tables else np.zeros((4, 1))


def _batches(
    mechanism: LocalRandomizer, value: int, judge: Judge, batches: int, most: int, rng: Rng
) -> tuple[Array, BatchSummary]:
    """Make many batches of two reports and one larger batch.

    Return the table of the reports of the same batch, and the summary of the larger batch.
    """
    twos = joined([mechanism.perturb(mechanism.inputs(value, 2), rng) for _ in range(batches)])
    large = mechanism.perturb(mechanism.inputs(value, min(2 * batches, most)), rng)
    return summarise(twos, judge(twos, rng)).near[0], summarise(large, judge(large, rng))


def _steady(mechanism: LocalRandomizer, pair: Pair, seed: int) -> tuple[str, str, str]:
    """Find out why the reports of a value never vary.

    Either text may be empty: how another process shows that one draw is remembered, that each value
    has one report of its own, and what could not be examined.
    """
    domain = {*pair, *range(min(getattr(mechanism.report_type, "k", 0), 16))}
    values = np.concatenate([mechanism.inputs(value, 16) for value in sorted(domain)])
    try:
        here = _hash(mechanism.perturb(values, generator(seed, "sanity", "here"))).reshape(-1, 16)
        there = mechanism.afresh(values, derive(seed, "sanity", "there"))
    except NoClientError:
        raise
    except ValueError as error:
        return "", "", f"; it was not asked about other values ({error})"
    unseen, steady = "", here == here[:, :1]
    if there is None:
        unseen = (
            "; whether another process reports the same was not seen: the client cannot be imported"
            " there by its name"
        )
    else:
        other = _hash(there).reshape(-1, 16)
        if (steady & (other == other[:, :1]) & (here != other)).all(axis=1).any():
            another = "every report of a value is the same here, and another one in a new process"
            return f"{another}: one draw is remembered", "", ""
    fixed = "every value has one report of its own and nothing is drawn afresh"
    return "", fixed if steady.all() and len(np.unique(here)) > 1 else "", unseen


def examine(
    mechanism: LocalRandomizer,
    pair: Pair,
    seen: Sequence[Sequence[BatchSummary]],
    judge: Judge,
    trials: int,
    most: int,
    refuted: bool,
    seed: int,
    *name: object,
) -> Findings:
    """Check the reports of an audit, and of some further calls, for independence.

    Parameters
    ----------
    mechanism : Mechanism
        The client, which is called again.
    pair : (int, int)
        The audited values.
    seen : two sequences of BatchSummary
        Summaries of the calls with the first and with the second value.
    judge : callable
        ``judge(reports, rng)`` returns the events of reports.
    trials, most : int
        Number of reports of each value in the audit, and largest number in one call.
    refuted : bool
        Whether the counts would refute the claim. In this case more calls are made.
    seed, *name
        Seed and name of the audit's random stream.
    """
    warnings, shared = [], []
    neighbours = [np.sum([one.near[i] for one in side], axis=0) for side in seen for i in (0, 1)]
    places = [_aligned(list(zip(side[::2], side[1::2]))) for side in seen]
    places.append(_aligned(list(zip(*seen))))
    batches = _BATCHES if refuted else min(_BATCHES, trials // 8)
    if mechanism.batched and batches:
        try:
            for side, value, label in zip(seen, pair, ("tp", "fp")):
                rng = generator(seed, *name, label, "sanity")
                table, large = _batches(mechanism, value, judge, batches, most, rng)
                shared.append(table)
                places.append(_aligned([(large, side[0])]))
        except NoClientError:
            raise
        except ValueError as error:
            warnings.append(
                "whether the reports of one call share their randomness was not seen: in further"
                f" calls {error}"
            )
    tables = {
        "reports of one call depend on each other, as if they shared their randomness": shared,
        "neighbouring reports of one call depend on each other": neighbours,
        "reports at the same places of different calls depend on each other, as if every call began"
        " with the same seed": places,
    }
    level = np.log(FALSE_ALARM / sum(t.shape[1] for t in [*shared, *neighbours, *places]))
    seldom = (text for text, each in tables.items() if any((_luck(*t) < level).any() for t in each))
    dependent, fixed, constant = next(seldom, ""), "", ""
    same = [{batch.only for batch in side} for side in seen]
    # fewer reports may be the same by chance, for two values with probability exp(-16)
    many = max(100, 16 * math.exp(min(mechanism.epsilon, 700)))
    steady = [v for v, only in zip(pair, same) if len(only) == 1 and None not in only]
    if steady and trials >= many:
        remembered, own, unseen = _steady(mechanism, pair, seed)
        named = " and of value ".join(map(str, steady))
        warnings.append(f"every report of value {named} is the same{unseen}")
        dependent = dependent or remembered
        if len(steady) == 2:
            fixed = own
            constant = "every report is the same, whatever the value" if same[0] == same[1] else ""
    counts = np.array([np.sum([batch.order for batch in side], axis=0) for side in seen])
    (held, ahead), (other, behind) = counts
    if _luck(held + other, held, ahead + behind, ahead) < np.log(FALSE_ALARM):
        warnings.append(
            "the order of the collections gives the value away: of those that hold both values,"
            f" {pair[0]} stands before {pair[1]} in {ahead / held:.1%} if it is the user's and in"
            f" {behind / other:.1%} if the other is; the attacks read no order, so audit it apart"
            " (the first element as a value, for example)"
        )
    return Findings(dependent, fixed, constant, tuple(warnings))
