"""The mechanism under test, and the helpers by which checks judge it."""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from .. import attacks, checks
from ..attacks.base import Attack, able
from ..rng import generator
from ..types import Input, Numbers, Rates, Reports, Rng

__all__ = [
    "Case",
    "FALSE_ALARM",
    "NO_ATTACK",
    "NO_RATES",
    "NotApplicableError",
    "OWN",
    "SHARE",
    "TAIL",
    "USERS",
    "applies",
    "close",
    "need",
    "refused",
    "same",
    "tail",
]

FALSE_ALARM = 1e-4
"""Upper bound of the probability that a correct mechanism fails some check."""

SHARE = FALSE_ALARM / 5
"""Part of `FALSE_ALARM` for each check of random reports, over all its comparisons."""

USERS = 20_000
"""Reports of a check, if memory allows."""

TAIL = 1e-3
"""Tail mass of a bound that an audit must reach. Stricter than that of the audit."""

NO_RATES = "the exact distribution of its reports is unknown"
NO_ATTACK = "no attack can read its reports"
OWN = "its randomness is its own: it takes one value and no generator"


need = functools.partial(checks.need, error=AssertionError)
"""Raise an `AssertionError` with a sentence unless something holds."""


class NotApplicableError(Exception):
    """The reason why a check does not apply to a mechanism."""


applies = functools.partial(checks.need, error=NotApplicableError)
"""Leave a check for the reason that a sentence states, unless something holds."""


def refused(call: Callable[[Input], object], bad: Input, what: str, *words: str) -> None:
    """Need that ``call(bad)`` raises a `ValueError` whose text contains all `words`."""
    try:
        call(bad)
    except ValueError as error:
        need(
            all(word in str(error) for word in words),
            f"the error that refuses {what} must name {' and '.join(words)}: {error}",
        )
    except Exception as error:
        raise AssertionError(
            f"{what} must be refused by a ValueError, it raises {type(error).__name__}: {error}"
        ) from error
    else:
        raise AssertionError(f"{what} must be refused by a ValueError, it is accepted")


def same(one: Reports, two: Reports) -> bool:
    """Return whether two sets of reports are equal."""
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(np.array_equal(one, two))


def close(one: Iterable[Numbers], two: Iterable[Numbers]) -> bool:
    """Return whether numbers are equal up to rounding."""
    return np.allclose(list(one), list(two), rtol=1e-9, atol=1e-12)


def tail(hits: int, n: int, rate: float) -> float:
    """Return the exact two-sided p-value of a binomial count."""
    rate = min(1.0, rate)  # a rate that is a sum may have been rounded up
    lower, upper = scipy.stats.binom.cdf(hits, n, rate), scipy.stats.binom.sf(hits - 1, n, rate)
    return float(min(1.0, 2 * min(lower, upper)))


@dataclass(frozen=True)
class Case:
    """A mechanism under test, with its attacks and pairs of inputs.

    Parameters
    ----------
    mechanism, seed, chosen, inputs
        As `mechanism`, `seed`, `attacks` and `inputs` in `ldpkit.testing.check_mechanism`.
    """

    mechanism: Any
    seed: int
    chosen: Sequence[str | Attack] | None
    inputs: Sequence[Input] | None

    def rng(self, *name: str | int) -> Rng:
        """Return the generator of this name."""
        return generator(self.seed, "testing", *name)

    @functools.cached_property
    def attacks(self) -> list[Attack]:
        """The given attacks, or those that can read the reports."""
        chosen = able(self.mechanism.report_type) if self.chosen is None else self.chosen
        return [attacks.make(a).choose(self.mechanism, USERS, TAIL) for a in chosen]

    @functools.cached_property
    def pairs(self) -> list[Input]:
        """Ordered pairs of inputs that reports can tell apart.

        Raises
        ------
        ValueError
            If a given input is in no pair.
        """
        domain: int | None = getattr(self.mechanism.report_type, "k", None)
        values, found, taken = self.inputs, [], set[int]()
        if values is None and domain is not None:
            values = range(domain) if domain <= 6 else (0, 1, domain // 2, domain - 1)
        elif values is None:
            values = first, last = self.mechanism.pair()
            if isinstance(first, float) and isinstance(last, float):  # add two numbers between
                values = first, 0.6 * first + 0.4 * last, 0.35 * first + 0.65 * last, last
        for places in itertools.permutations(range(len(values)), 2):
            try:
                found.append(self.mechanism.pair(tuple(values[place] for place in places)))
            except ValueError:  # for example, two values of one bucket
                continue
            taken.update(places)
        alone = [x for place, x in enumerate(values) if place not in taken]
        if self.inputs is not None and alone:
            raise ValueError(f"inputs must be told apart by reports from others, got {alone[0]!r}")
        return found

    @functools.cached_property
    def exact_rates(self) -> list[tuple[Attack, Input, Rates]]:
        """Every attack and pair whose exact rates are known, with these rates."""
        return [
            (attack, pair, rates)
            for attack, pair in itertools.product(self.attacks, self.pairs)
            if (rates := attack.rates(self.mechanism, pair)) is not None
        ]

    def users(self, wanted: int) -> int:
        """Return `wanted`, or the largest number of reports that fits into memory at once."""
        return max(100, min(wanted, 2**22 // self.mechanism.width))

    def judge(self, found: list[tuple[float, str]]) -> None:
        """Fail if one of several p-values is too small.

        Correct code fails with probability at most `SHARE`, because the p-values are corrected for
        their number.
        """
        applies(found, NO_RATES)
        p, sentence = min(found)
        need(p * len(found) >= SHARE, f"{sentence} (p-value {p:.1e})")
