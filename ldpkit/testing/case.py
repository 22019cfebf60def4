"""A mechanism under test, and how what is found about it is judged."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from .. import attacks
from ..attacks import Attack
from ..attacks.base import able
from ..rng import generator
from ..types import Input, Numbers, Rates, Reports, Rng

__all__ = [
    "Case",
    "FALSE_ALARM",
    "NO_LAW",
    "OWN",
    "SHARE",
    "TAIL",
    "USERS",
    "close",
    "need",
    "part",
    "refused",
    "same",
    "tail",
]

FALSE_ALARM = 1e-4
"""Probability at most that a mechanism which keeps all promises fails some check."""

SHARE = FALSE_ALARM / 5
"""What each check that judges random draws may spend of it, over all its comparisons."""

USERS = 20_000
TAIL = 1e-3
"""Of a bound that an audit must reach: sharper than the audit's own, whatever it divides its alpha
by."""

NO_LAW = "no law of the reports is known"
OWN = "its randomness is its own: it takes one value and no generator"


def need(holds: object, sentence: str) -> None:
    """Fail with a sentence unless something holds."""
    if not holds:
        raise AssertionError(sentence)


def refused(call: Callable[[Input], object], bad: Input, what: str, *said: str) -> None:
    """Need a `ValueError` whose text names what is `said`."""
    try:
        call(bad)
    except ValueError as error:
        need(
            all(word in str(error) for word in said),
            f"the error that refuses {what} must name {' and '.join(said)}: {error}",
        )
    except Exception as error:
        raise AssertionError(
            f"{what} must be refused by a ValueError, it raises {type(error).__name__}: {error}"
        ) from error
    else:
        raise AssertionError(f"{what} must be refused by a ValueError, it is accepted")


def same(one: Reports, two: Reports) -> bool:
    """Whether two sets of reports are equal."""
    return (
        len(one) == len(two) and all(map(same, one, two))
        if isinstance(one, list)
        else bool(np.array_equal(one, two))
    )


def part(reports: Reports, users: slice) -> Reports:
    """The reports of some users."""
    return [part(r, users) for r in reports] if isinstance(reports, list) else reports[users]


def close(one: Iterable[Numbers], two: Iterable[Numbers]) -> bool:
    """Whether numbers are equal but for rounding."""
    return np.allclose(list(one), list(two), rtol=1e-9, atol=1e-12)


def tail(hits: int, n: int, rate: float) -> float:
    """Exact two-sided p-value of a count; sums that give a rate may round up."""
    rate = min(1.0, rate)
    return float(
        min(
            1.0,
            2 * min(scipy.stats.binom.cdf(hits, n, rate), scipy.stats.binom.sf(hits - 1, n, rate)),
        )
    )


@dataclass(frozen=True)
class Case:
    """A mechanism, and what is asked about it.

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

    @cached_property
    def attacks(self) -> list[Attack]:
        """What reports are asked: the given attacks, or those that can read them."""
        chosen = able(self.mechanism.report_type) if self.chosen is None else self.chosen
        return [attacks.make(a).choose(self.mechanism, USERS, TAIL) for a in chosen]

    @cached_property
    def pairs(self) -> list[Input]:
        """Ordered pairs of inputs that reports can tell apart.

        Raises
        ------
        ValueError
            If a given input is in none of them.
        """
        domain: int | None = getattr(self.mechanism.report_type, "domain", None)
        values, found, taken = self.inputs, [], set[int]()
        if values is None and domain is not None:
            values = range(domain) if domain <= 6 else (0, 1, domain // 2, domain - 1)
        elif values is None:
            values = first, last = self.mechanism.pair()
            if isinstance(first, float) and isinstance(last, float):  # and two between them
                values = first, 0.6 * first + 0.4 * last, 0.35 * first + 0.65 * last, last
        for places in itertools.permutations(range(len(values)), 2):
            try:
                found.append(self.mechanism.pair(tuple(values[place] for place in places)))
            except ValueError:  # two values of one bucket, say
                continue
            taken.update(places)
        alone = [x for place, x in enumerate(values) if place not in taken]
        if self.inputs is not None and alone:
            raise ValueError(f"inputs must be told apart by reports from others, got {alone[0]!r}")
        return found

    @cached_property
    def laws(self) -> list[tuple[Attack, Input, Rates]]:
        """Every attack and pair whose exact rates are known."""
        asked = itertools.product(self.attacks, self.pairs)
        return [
            (a, pair, rates)
            for a, pair in asked
            if (rates := a.rates(self.mechanism, pair)) is not None
        ]

    def users(self, wanted: int) -> int:
        """So many, or as many as fit into memory at once."""
        return max(100, min(wanted, 2**22 // self.mechanism.width))

    def judge(self, found: list[tuple[float, str]]) -> str | None:
        """Need p-values that correct code undercuts, all together, with probability `SHARE` at
        most."""
        p, sentence = min(found, default=(1.0, ""))
        need(p * len(found) >= SHARE or not found, f"{sentence} (p-value {p:.1e})")
        return None if found else NO_LAW
