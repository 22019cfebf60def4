"""KV-Auditor measures epsilon of key-value mechanisms by counts of whole records or of their parts.

The counts of a group of users are one multinomial sample from the mechanism's exact distribution.
Therefore the time does not depend on the number of users.

Source: Xu, Wang and Meng, "KV-Auditor: Auditing Local Differential Privacy for Correlated Key-Value
Estimation", CIKM 2025. If text and released program differ, this module follows the program (see
the errata).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from ..mechanisms import KEY_VALUE, FrequencyOracle
from ..mechanisms.base import oracle
from ..mechanisms.correlated import CPP, CPPUE, bit_vectors
from ..mechanisms.keyvalue import PCKV, PCKVUE, KeyValues
from ..reports.base import alphabet, chosen
from ..types import Array, Held
from .count_ratio import Compared, Draw, Groups
from .result import Row

__all__ = ["AUDITORS", "KVAudit", "collapse", "guess_rates", "oracle_distribution"]

AUDITORS = {
    "hkv": "whole records (or the given positions of PCKV-UE)",
    "vkv": "two positions of the record",
    "skv": "a squad with a fixed value against imitators of the broadcast mean (CPP)",
    "separated": "what is left of the records after subtracting scaled owners (CPP)",
    "probe": "extra users without the key, who receive either side's means (CPP)",
    "ldp": "LDP-Auditor's guess of one position (CPP-UE)",
}
"""The attacks by name, each with the part of the records that it compares."""


# --- distributions and sums over their parts ------------------------------------------------------


def collapse(cells: ArrayLike, positions: Iterable[int], base: int, length: int) -> Array:
    """Sum counts or probabilities over the symbols that are not seen.

    Parameters
    ----------
    cells : array, shape (..., base ** length)
        Counts or probabilities of all records, in an order in which the last symbol moves fastest.
    positions : sequence of int
        Positions of the symbols that are seen, in the order of the result.
    base : int
        Number of values of a symbol, at least 2.
    length : int
        Number of symbols of a record, at least 1.

    Returns
    -------
    array, shape (..., base ** len(positions))

    Raises
    ------
    ValueError
        If the array has another number of columns, or if a position is invalid.
    """
    kept, leading = chosen(positions, checks.integer("length", length, 1)), np.shape(cells)[:-1]
    size = alphabet(checks.integer("base", base, 2), length, "take fewer symbols")
    checks.need(
        np.shape(checks.numeric("cells", cells))[-1:] == (size,),
        f"cells must have {base}^{length} = {size} columns, got shape {np.shape(cells)}",
    )
    other = [p for p in range(length) if p not in kept]
    axes = [*range(len(leading)), *(len(leading) + p for p in kept + other)]
    shaped = np.reshape(cells, (*leading, *[base] * length)).transpose(axes)
    return shaped.reshape(*leading, base ** len(kept), -1).sum(axis=-1)


def guess_rates(length: int, target: int) -> Array:
    """Return the probability that LDP-Auditor guesses `target`, for each bit vector.

    The guess is a uniform set bit, or a uniform position if no bit is set.

    Returns
    -------
    float array, shape (2 ** length,)
    """
    bits = bit_vectors(checks.integer("length", length, 1))
    own, size = bits[:, checks.integer("target", target, 0, length - 1)], bits.sum(axis=1)
    return np.where(size == 0, 1 / length, own / np.maximum(size, 1))


def oracle_distribution(
    mechanism: FrequencyOracle, value: int, positions: Iterable[int] | None = None
) -> Array:
    """Return the exact distribution of a frequency oracle's report for one value.

    Parameters
    ----------
    mechanism : FrequencyOracle
        A mechanism with reports ``"bits"`` or ``"value"``.
    value : int
        The user's value, in ``0..k-1``.
    positions : sequence of int, optional
        Positions of the bits that are seen, all by default.

    Returns
    -------
    float array
        Probabilities of all values, or of all vectors of these bits. The last bit moves fastest.
    """
    value = checks.integer("value", value, 0, oracle(mechanism).k - 1)
    return mechanism.report_type.distribution(value, positions)


# --- experiments, which yield the pairs of groups that are compared in each round -----------------


def _mixed(
    mechanism: PCKV | CPP, pair: Held, ownership: float, seen: Sequence[int] | Array | None = None
) -> Array:
    """Return the distribution of a report if the user holds `pair` with probability `ownership`.

    Otherwise the user holds nothing. `seen` has the visible positions (PCKV) or the broadcast means
    (CPP).
    """
    return ownership * mechanism.distribution([pair], seen) + (
        1 - ownership
    ) * mechanism.distribution([], seen)


def _records(mechanism: PCKV | CPP, cells: Array) -> Array:
    """Return the counts of records, because CPP-UE sends the zero vector after the answer no."""
    return (
        np.column_stack([cells[:, 0] + cells[:, 1], cells[:, 2:]])
        if isinstance(mechanism, CPPUE)
        else cells
    )


def _once(audit: "KVAudit", mechanism: PCKV, draw: Draw) -> Iterator[Groups]:
    positions = audit.positions
    if audit.attack == "vkv" and positions is None and isinstance(mechanism, PCKVUE):
        audited = audit.held[0][0], audit.held[1][0]
        positions = audited[0], next(p for p in range(mechanism.d) if p not in audited)
    yield [
        [draw.counts(_mixed(mechanism, pair, audit.ownership, positions)) for pair in audit.held]
    ]


def _in_rounds(audit: "KVAudit", mechanism: CPP, draw: Draw) -> Iterator[Groups]:
    means: list[Array | None] = [None, None]
    owners = [  # as in the released code, the average of five runs in which all users hold the pair
        np.mean([_records(mechanism, draw.counts(full)) for _ in range(5)], axis=0)
        for pair in (audit.held if audit.attack == "separated" else ())
        for full in [mechanism.distribution([pair])]
    ]
    for _ in range(mechanism.rounds):
        cells = [
            draw.counts(_mixed(mechanism, pair, audit.ownership, m))
            for pair, m in zip(audit.held, means)
        ]
        seen = [_records(mechanism, c) for c in cells]
        if audit.attack == "separated":
            exact = audit.ownership * mechanism.key_rate(means[0]) / mechanism.key_rate()
            part = (
                1 / (1 + np.exp(mechanism.value_epsilon)) if audit.scaling == "released" else exact
            )
            whole = np.floor if draw.rng else np.asarray
            left = [c - whole(part * o) for c, o in zip(seen, owners)]
            # rounding errors are no residuals
            both = np.all([rest > 1e-12 * c for rest, c in zip(left, seen)], axis=0)
            seen = [np.where(both, rest, 0) for rest in left]
        elif audit.attack == "probe":
            seen = [_records(mechanism, draw.counts(mechanism.distribution([], m))) for m in means]
        elif audit.attack == "vkv" and isinstance(mechanism, CPPUE):
            positions = audit.positions or (0, mechanism.buckets - 1)
            seen = [collapse(c, positions, 2, mechanism.buckets) for c in seen]
        elif audit.attack == "ldp":
            guessed = guess_rates(mechanism.buckets, 0)
            seen = [draw.thin(c, guessed) for c in seen]
        yield [seen]
        means = [
            mechanism.broadcast(*mechanism.tally_counts(c.sum(axis=0)), m)
            for c, m in zip(cells, means)
        ]


def _segmented(audit: "KVAudit", mechanism: CPP, draw: Draw) -> Iterator[Groups]:
    """Compare squads that hold fixed values with imitators who hold the bucket's mean.

    The means come from the reports of the squads only.
    """
    bucket, _ = mechanism.place(audit.squads)
    checks.need(
        bucket.ndim == 1 and len(set(bucket.tolist())) == 1,
        f"squads must hold values of one bucket, got {audit.squads}",
    )
    means = None
    for _ in range(mechanism.rounds):
        held = mechanism.started(means)[0, bucket[0]]
        imitators = _mixed(mechanism, (0, held), audit.ownership, means)
        cells = [draw.counts(imitators) for _ in audit.squads]
        squad = [
            draw.counts(_mixed(mechanism, (0, value), audit.ownership, means))
            for value in audit.squads
        ]
        yield [[_records(mechanism, s), _records(mechanism, c)] for s, c in zip(squad, cells)]
        means = mechanism.broadcast(
            *mechanism.tally_counts(np.sum([s.sum(axis=0) for s in squad], axis=0)), means
        )


# --- audits ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KVAudit(Compared):
    """Compare two groups of users of a key-value mechanism.

    Parameters
    ----------
    mechanism : PCKV or CPP
        The audited mechanism. A CPP must have ``k = 1``.
    attack : str
        A key of `AUDITORS`, which KV-Auditor calls the auditor.
    trials : int
        Users per group, in [1, 10^12]. Under ``skv`` the users of a group are a squad or its
        imitators.
    alpha, estimator, minimum, variation
        See `ldpkit.auditors.count_ratio.statistic`. The attack ``separated`` takes the estimators
        ``released`` and ``printed`` only.
    pairs : ((key, value), (key, value)), optional
        The pair of key and value of each group. By default (0, +1) and (1, -1) for PCKV, and
        (0, -1) and (0, +1) for CPP.
    ownership : float
        Probability that a user really holds the pair, in [0, 1] (the paper uses 1/2).
    positions : sequence of int, optional
        Positions of the record that are seen. By default, PCKV-UE shows all positions under
        ``hkv``. Under ``vkv`` it shows the first audited key and an unrelated one, and CPP-UE shows
        the first and the last position. A report of GRR has no positions.
    squads : sequence of float
        Values of the squads of ``skv``, all in one bucket. The statistic is that of the first
        squad, as in the paper's table. The bound is the largest of all squads, among which alpha is
        divided.
    scaling : {"released", "exact"}
        Share of the owners' records that ``separated`` subtracts.
    last : bool
        Evaluate the last round only.

    Raises
    ------
    ValueError
        If a parameter is out of range or does not belong to the mechanism. The message names it.
    """

    mechanism: PCKV | CPP
    attack: str = "hkv"
    _: KW_ONLY
    pairs: Sequence[Held] | None = None
    ownership: Annotated[
        checks.Share,
        "Probability that a user really holds the pair, in [0, 1] (the paper uses 1/2).",
    ] = 0.5
    positions: Sequence[int] | None = None
    squads: Sequence[float] = (-1.0, -0.5)
    scaling: Annotated[str, checks.rule(checks.one_of, ("released", "exact"))] = "released"
    names: ClassVar = KEY_VALUE

    def __post_init__(self) -> None:
        mechanism, rounds = self.mechanism, isinstance(self.mechanism, CPP)
        checks.need(
            isinstance(mechanism, PCKV) or (rounds and mechanism.k == 1),
            f"mechanism must be a PCKV, or a CPP with k = 1, got {mechanism!r}",
        )
        fit = [
            a
            for a in AUDITORS
            if a in ("hkv", "vkv") or (rounds and (a != "ldp" or isinstance(mechanism, CPPUE)))
        ]
        checks.one_of(f"attack of {mechanism.name}", self.attack, fit)
        unary = isinstance(mechanism, PCKVUE) or (
            isinstance(mechanism, CPPUE) and self.attack == "vkv"
        )
        checks.need(
            self.positions is None or unary,
            f"positions must be left out for {mechanism.name} under attack {self.attack}, got"
            f" {self.positions!r}",
        )
        if self.attack == "separated":
            checks.one_of("estimator of residuals", self.estimator, ("released", "printed"))
        # this also refuses invalid keys and values
        checks.need(
            len(KeyValues.of([[pair] for pair in self.held], mechanism.k)) == 2,
            f"pairs must be two (key, value), one per group, got {self.held!r}",
        )
        super().__post_init__()

    @property
    def held(self) -> Sequence[Held]:
        """The pair of key and value that the users of each group hold."""
        signs = ((0, -1.0), (0, 1.0)) if isinstance(self.mechanism, CPP) else ((0, 1.0), (1, -1.0))
        return signs if self.pairs is None else self.pairs

    def described(self, number: int) -> Row:
        # squads and imitators receive the same means
        single = number == 1 or self.attack == "skv"
        return {
            "mechanism": self.mechanism.name,
            "parameters": self.mechanism.parameters | {"ownership": self.ownership},
            "attack": self.attack,
            "claim": self.mechanism.epsilon,
            "words": {
                "attack": f"{self.attack}: {AUDITORS[self.attack]}; {self.trials:,} users per group"
            },
            "about": ""
            if single
            else f"The groups of round {number} heard different means: of two groups, not of one"
            " user.",
        }

    @property
    def stream(self) -> tuple[object, ...]:
        # lists and tuples lead to the same stream
        design = (
            str(tuple(map(tuple, self.held))),
            self.ownership,
            str(None if self.positions is None else list(self.positions)),
            str(tuple(self.squads)),
            self.scaling,
        )
        users = 2 * self.trials if self.attack == "skv" else self.trials
        return self.mechanism.name, self.mechanism.parameters, *design, self.attack, users

    def play(self, draw: Draw) -> Iterator[Groups]:
        if isinstance(self.mechanism, PCKV):
            return _once(self, self.mechanism, draw)
        return (_segmented if self.attack == "skv" else _in_rounds)(self, self.mechanism, draw)
