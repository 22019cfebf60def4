"""KV-Auditor: empirical epsilon of key-value mechanisms, from counts of whole records or parts of them.

Every group of users is one multinomial draw from the mechanism's exact law, so
the number of users costs nothing. Source: Xu, Wang and Meng, "KV-Auditor:
Auditing Local Differential Privacy for Correlated Key-Value Estimation", CIKM
2025; where text and released program differ, the program (see the errata).
"""

import dataclasses
import functools
import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from .. import checks, streams
from ..kinds import Listed
from ..kinds.listing import alphabet, chosen
from ..mechanisms import KEY_VALUE, SupportOracle
from ..mechanisms.base import kind_with
from ..mechanisms.cpp import CPP, CPPUE, bit_vectors
from ..mechanisms.keyvalue import KeyValues
from ..mechanisms.pckv import PCKV, PCKVUE
from ..types import Array, Held, Rng
from .ratio import check, statistic
from .result import AuditResult, repeat, too_few

__all__ = ["AUDITORS", "audit_kv", "audit_laws", "kv_cell", "collapse", "guess_rates", "oracle_law"]

Groups = list[list[Array]]  # pairs of counts to compare, one row per half of the users

AUDITORS = {
    "hkv": "whole records (or the given positions of PCKV-UE)",
    "vkv": "two positions of the record",
    "skv": "a squad with a fixed value against imitators of the broadcast mean (CPP)",
    "separated": "what is left of the records after subtracting scaled owners (CPP)",
    "probe": "extra users without the key, who receive either side's means (CPP)",
    "ldp": "LDP-Auditor's guess of one position (CPP-UE)",
}
"""What is compared between the two groups."""


# --- laws and views of them ---------------------------------------------------------------------------


def collapse(cells: ArrayLike, positions: Iterable[int], base: int, length: int) -> Array:
    """Sum over the symbols that are not looked at.

    Parameters
    ----------
    cells : array, shape (..., base ** length)
        Counts or probabilities of all records; the last symbol moves fastest.
    positions : sequence of int
        Symbols that are seen, in the order in which they are to be numbered.
    """
    kept = chosen(positions, checks.integer("length", length, 1))
    rows, size = np.shape(cells)[:-1], alphabet(checks.integer("base", base, 2), length, "take fewer symbols")
    if np.shape(checks.numeric("cells", cells))[-1:] != (size,):
        raise ValueError(f"cells must have {base}^{length} = {size} columns, got shape {np.shape(cells)}")
    other = [p for p in range(length) if p not in kept]
    axes = [*range(len(rows)), *(len(rows) + p for p in kept + other)]
    shaped = np.reshape(cells, (*rows, *[base] * length)).transpose(axes)
    return shaped.reshape(*rows, base ** len(kept), -1).sum(axis=-1)


def guess_rates(length: int, target: int) -> Array:
    """Probability that LDP-Auditor guesses `target`, by bit vector: a uniform set bit, or any position if none is set."""
    return _guess_rates(length, checks.integer("target", target, 0, checks.integer("length", length, 1) - 1))


@functools.lru_cache(maxsize=8)
def _guess_rates(length: int, target: int) -> npt.NDArray[Any]:
    bits = bit_vectors(length)
    size = bits.sum(axis=1)
    return np.where(size == 0, 1 / length, bits[:, target] / np.maximum(size, 1))


def oracle_law(mechanism: SupportOracle, value: int, positions: Iterable[int] | None = None) -> Array:
    """Return the exact law of a frequency oracle's report for one value.

    Parameters
    ----------
    mechanism : SupportOracle
        With reports ``"bits"`` or ``"value"``.
    value : int
        In ``0..k-1``.
    positions : sequence of int, optional
        Which bits are seen, all by default.

    Returns
    -------
    float array
        Over all vectors of these bits, the last moving fastest, or over all values.
    """
    kind = kind_with(mechanism, Listed, "send reports that can be listed")
    return kind.law(checks.integer("value", value, 0, mechanism.k - 1), positions)


class _Draw:
    """Counts of a group of users, one row per half if halves are needed: random with a generator, expected without."""

    def __init__(self, users: int, halves: bool, rng: Rng | None) -> None:
        self.users, self.halves, self.rng = users, halves, rng
        self.sizes = [users // 2, users - users // 2] if halves else [users]

    def counts(self, law: Array) -> Array:
        return np.outer(self.sizes, law) if self.rng is None else self.rng.multinomial(self.sizes, law / law.sum())

    def thin(self, counts: Array, rates: Array) -> Array:
        """Users of whom a guess hits, if each output leads to a hit with its own probability, shape (rows, 1)."""
        hits = counts * rates if self.rng is None else self.rng.binomial(counts, rates)
        return hits.sum(axis=1, keepdims=True)

    def half(self) -> "_Draw":
        return _Draw(self.users // 2, self.halves, self.rng)


# --- experiments: in each round, the pairs of groups that are compared ----------------------------------


def _mixed(mechanism: PCKV | CPP, pair: Held, ownership: float, seen: Any = None) -> Array:
    """Law of a user who holds `pair` with probability `ownership` and nothing otherwise; `seen`: positions, or means."""
    return ownership * mechanism.law([pair], seen) + (1 - ownership) * mechanism.law([], seen)


def _records(mechanism: PCKV | CPP, cells: Array) -> Array:
    """Counts of records: after a no CPP-UE sends the zero vector."""
    return np.column_stack([cells[:, 0] + cells[:, 1], cells[:, 2:]]) if isinstance(mechanism, CPPUE) else cells


def _once(
    mechanism: PCKV, auditor: str, pairs: Sequence[Held], ownership: float, positions: Sequence[int] | None, draw: _Draw
) -> Iterator[Groups]:
    if auditor == "vkv" and positions is None and isinstance(mechanism, PCKVUE):
        audited = pairs[0][0], pairs[1][0]
        positions = audited[0], next(p for p in range(mechanism.d) if p not in audited)
    yield [[draw.counts(_mixed(mechanism, pair, ownership, positions)) for pair in pairs]]


def _in_rounds(
    mechanism: CPP,
    auditor: str,
    pairs: Sequence[Held],
    ownership: float,
    positions: Sequence[int] | None,
    scaling: str,
    draw: _Draw,
) -> Iterator[Groups]:
    means: list[Array | None] = [None, None]
    owners = []
    if auditor == "separated":  # first, the average of five runs in which everybody holds the pair
        for pair in pairs:
            owners.append(np.mean([_records(mechanism, draw.counts(mechanism.law([pair]))) for _ in range(5)], axis=0))
    for _ in range(mechanism.rounds):
        cells = [draw.counts(_mixed(mechanism, pair, ownership, m)) for pair, m in zip(pairs, means)]
        seen = [_records(mechanism, c) for c in cells]
        if auditor == "separated":
            exact = ownership * mechanism.key_rate(means[0]) / mechanism.key_rate()
            part = 1 / (1 + np.exp(mechanism.value_epsilon)) if scaling == "released" else exact
            whole = np.floor if draw.rng else np.asarray
            left = [c - whole(part * o) for c, o in zip(seen, owners)]
            both = np.all([rest > 1e-12 * c for rest, c in zip(left, seen)], axis=0)  # rounding errors are no residuals
            seen = [np.where(both, rest, 0) for rest in left]
        elif auditor == "probe":
            seen = [_records(mechanism, draw.counts(mechanism.law([], m))) for m in means]
        elif auditor == "vkv" and isinstance(mechanism, CPPUE):
            seen = [collapse(c, positions or (0, mechanism.buckets - 1), 2, mechanism.buckets) for c in seen]
        elif auditor == "ldp":
            seen = [draw.thin(c, guess_rates(mechanism.buckets, 0)) for c in seen]
        yield [seen]
        means = [mechanism.broadcast(*mechanism.tally_counts(c.sum(axis=0)), m) for c, m in zip(cells, means)]


def _segmented(mechanism: CPP, squads: Sequence[float], ownership: float, draw: _Draw) -> Iterator[Groups]:
    """Squads with fixed values against imitators who hold the bucket's mean; the means come from the squads alone."""
    bucket, _ = mechanism.place(squads)
    if bucket.ndim != 1 or len(set(bucket.tolist())) != 1:
        raise ValueError(f"squads must hold values of one bucket, got {squads}")
    means, half = None, draw.half()
    for _ in range(mechanism.rounds):
        held = mechanism.started(means)[0, bucket[0]]
        cells = [half.counts(_mixed(mechanism, (0, held), ownership, means)) for _ in squads]
        squad = [half.counts(_mixed(mechanism, (0, value), ownership, means)) for value in squads]
        yield [[_records(mechanism, s), _records(mechanism, c)] for s, c in zip(squad, cells)]
        means = mechanism.broadcast(*mechanism.tally_counts(sum(s.sum(axis=0) for s in squad)), means)


# --- audits -------------------------------------------------------------------------------------------


def _limit(first: Array, second: Array) -> float:
    """Largest absolute log ratio of the expected counts."""
    first, second = (side.sum(axis=0) for side in (first, second))
    seen = (first > 0) | (second > 0)
    with np.errstate(divide="ignore"):
        return float(np.max(np.abs(np.log(first[seen] / second[seen])), initial=0.0))


def _audit(play: Callable[[_Draw], Iterator[Groups]], users: int, estimator: str, alpha: float, minimum: int,
           variation: float | None, seed: int, *, name: Sequence[Any], parameters: dict[str, Any], attack: str,
           bounded: bool = True, last: bool = False, **said: Any) -> list[AuditResult]:  # fmt: skip
    """Play an experiment with random and with expected counts, and state what each round, or the last, shows."""
    users = checks.integer("users", users, 1, 10**12)
    check(estimator, alpha, minimum, variation)
    halves = estimator in ("split", "pooled")
    each = users // 2 if attack == "skv" else users
    if each < 1 + halves:
        raise ValueError(f"users must be at least {(1 + halves) * (1 + (attack == 'skv'))} here, got {users}")
    start = time.perf_counter()
    expected = list(play(_Draw(users, halves, None)))
    played = list(play(_Draw(users, halves, streams.generator(seed, "kv", *name, attack, users, halves))))
    seconds, results = (time.perf_counter() - start) / len(played), []
    for number, (groups, ideal) in list(enumerate(zip(played, expected), 1))[-1 if last else 0 :]:
        first, second = groups[0]
        value, output = statistic(first, second, each, estimator, alpha=alpha, minimum=minimum, variation=variation)
        sure = estimator if halves else "valid"
        lower = max(statistic(one, two, each, sure, alpha=alpha / len(groups))[0] for one, two in groups) if bounded else 0.0
        best = functools.partial(_best, first.shape[1], sure, alpha / len(groups))
        why = too_few(best, each, said["claim"], "users per group") if bounded else f"auditor {attack} has no bound that holds"
        seen = [int(side.sum(axis=0)[output]) if output >= 0 else 0 for side in groups[0]]
        results.append(AuditResult(
            trials=each, alpha=float(alpha), faithful=False, epsilon_emp=value, lower=lower, exact=None, exact_sd=None,
            counts={"outputs": groups[0][0].shape[1], "output": output, "first": seen[0], "second": seen[1]},
            rates={"first_rate": seen[0] / each, "second_rate": seen[1] / each}, limit=_limit(*ideal[0]), seed=seed,
            parameters=parameters | {"estimator": estimator, "round": number}, attack=attack, seconds=seconds,
            inconclusive=why, **said,
        ))  # fmt: skip
    return results


def _best(outputs: int, estimator: str, alpha: float, users: int) -> float:
    """The largest bound that so many users per group can show: two outputs, each seen in one group only."""
    halves = [users // 2, users - users // 2] if estimator in ("split", "pooled") else [users]
    one, two = np.zeros((2, len(halves), outputs), np.int64)
    one[:, 0], two[:, 1:2] = halves, np.array(halves)[:, None]
    return statistic(one, two, users, estimator, alpha=alpha)[0]


def audit_laws(first: ArrayLike, second: ArrayLike, *, users: int = 10**8, estimator: str = "released", alpha: float = 0.05,
               minimum: int = 5, variation: float | None = None, seed: int = 1, guess: Array | None = None,
               mechanism: str = "law", parameters: Mapping[str, Any] | None = None, attack: str = "hkv",
               claim: float = np.inf) -> AuditResult:  # fmt: skip
    """Audit two given laws over the same outputs.

    Parameters
    ----------
    first, second : float array, shape (outputs,)
        Probabilities of every output in the two groups.
    users : int
        Users per group, in [1, 10^12].
    estimator, alpha, minimum, variation
        See `ldpkit.auditors.ratio.statistic`.
    guess : float array, shape (outputs,), optional
        Audit one event only: a guess that hits with these probabilities, by output (`guess_rates`).
    seed : int
        Non-negative; the random stream is named by `mechanism`, `parameters` and `attack` too.
    mechanism, parameters, attack, claim
        What the result is to say.

    Returns
    -------
    AuditResult
        `limit` is the statistic without noise.
    """
    laws = [checks.numeric(name, law).astype(float) for name, law in (("first", first), ("second", second))]
    sound = all((x >= 0).all() and abs(x.sum() - 1) <= 1e-9 for x in laws)
    if laws[0].ndim != 1 or laws[0].shape != laws[1].shape or not sound:
        got = " and ".join(f"shape {x.shape} adding to {x.sum():g}" for x in laws)
        raise ValueError(f"first and second must be probabilities of the same outputs, each adding to 1, got {got}")
    if guess is not None and checks.reals("guess", guess, 0, 1).shape != laws[0].shape:
        raise ValueError(f"guess must hold one probability for each of the {laws[0].size} outputs, got shape {np.shape(guess)}")
    if claim != np.inf:
        checks.real("claim", claim, 0)

    def play(draw: _Draw) -> Iterator[Groups]:
        counts = [draw.counts(law) for law in laws]
        yield [counts if guess is None else [draw.thin(c, guess) for c in counts]]

    parameters = dict(parameters or {})
    return _audit(play, users, estimator, alpha, minimum, variation, seed, name=[mechanism, parameters], parameters=parameters,
                  mechanism=mechanism, attack=attack, claim=float(claim))[0]  # fmt: skip


def audit_kv(mechanism: PCKV | CPP, auditor: str = "hkv", *, users: int = 10**8, pairs: Sequence[Held] | None = None,
             ownership: float = 0.5, positions: Sequence[int] | None = None, squads: Sequence[float] = (-1.0, -0.5),
             scaling: str = "released", estimator: str = "released", alpha: float = 0.05, minimum: int = 5,
             variation: float | None = None, last: bool = False, seed: int = 1) -> list[AuditResult]:  # fmt: skip
    """Audit a key-value mechanism.

    Parameters
    ----------
    mechanism : PCKV or CPP
        The latter with ``k = 1``.
    auditor : str
        A key of `AUDITORS`.
    users : int
        Users per group, in [1, 10^12]; the paper uses 10^8.
    pairs : ((key, value), (key, value)), optional
        What the users of each group hold, if they hold anything. By default
        (0, +1) and (1, -1) for PCKV, (0, -1) and (0, +1) for CPP.
    ownership : float
        Probability that a user really holds the pair, in [0, 1]; the paper uses 1/2.
    positions : sequence of int, optional
        Which symbols of the record are seen. PCKV-UE: all under ``hkv``, under ``vkv`` the first audited key and
        an unrelated one; CPP-UE under ``vkv``: the first and the last. A report of GRR has no positions.
    squads : sequence of float
        Values of the squads of ``skv``, all in one bucket. The statistic is that of the first, as in the
        paper's table; the bound is the largest of all, each at its share of alpha.
    scaling : {"released", "exact"}
        How much of the owners ``separated`` subtracts.
    estimator, alpha, minimum, variation
        See `ldpkit.auditors.ratio.statistic`; residuals take ``released`` and ``printed`` only.
    last : bool
        Evaluate the last round only.
    seed : int
        Non-negative. Estimators see the same counts, except that ``split`` and ``pooled`` draw two halves.

    Returns
    -------
    list of AuditResult
        One per round, one in all for PCKV; `limit` is the statistic without noise. Residuals are no counts, so
        ``separated`` has no bound and `lower` is 0: audit ``probe`` instead.

    Raises
    ------
    ValueError
        Naming the parameter that is out of range or does not belong to the mechanism.
    """
    rounds, last = isinstance(mechanism, CPP), checks.flag("last", last)
    if not isinstance(mechanism, (PCKV, CPP)) or (rounds and mechanism.k != 1):
        raise ValueError(f"mechanism must be a PCKV, or a CPP with k = 1, got {mechanism!r}")
    fit = [a for a in AUDITORS if a in ("hkv", "vkv") or (rounds and (a != "ldp" or isinstance(mechanism, CPPUE)))]
    checks.one_of(f"auditor of {mechanism.name}", auditor, fit)
    unary = isinstance(mechanism, PCKVUE) or (isinstance(mechanism, CPPUE) and auditor == "vkv")
    if positions is not None and not unary:
        raise ValueError(f"positions must be left out for {mechanism.name} under auditor {auditor}, got {positions!r}")
    if auditor == "separated":
        checks.one_of("estimator of residuals", estimator, ("released", "printed"))
    ownership = checks.real("ownership", ownership, 0, 1)
    checks.one_of("scaling", scaling, ("released", "exact"))
    if pairs is None:
        pairs = ((0, -1.0), (0, 1.0)) if rounds else ((0, 1.0), (1, -1.0))
    if len(KeyValues.of([[pair] for pair in pairs], mechanism.k)) != 2:  # refuses keys and values that are none
        raise ValueError(f"pairs must be two (key, value), one per group, got {pairs!r}")

    def play(draw: _Draw) -> Iterator[Groups]:
        if isinstance(mechanism, PCKV):
            return _once(mechanism, auditor, pairs, ownership, positions, draw)
        if auditor == "skv":
            return _segmented(mechanism, squads, ownership, draw)
        return _in_rounds(mechanism, auditor, pairs, ownership, positions, scaling, draw)

    seen = positions if positions is None else list(positions)
    design = str(tuple(map(tuple, pairs))), ownership, str(seen), str(tuple(squads)), scaling  # lists and tuples draw alike
    name = mechanism.name, mechanism.parameters, *design
    return _audit(play, users, estimator, alpha, minimum, variation, seed, name=name, mechanism=mechanism.name, attack=auditor,
                  parameters=mechanism.parameters | {"ownership": ownership}, claim=mechanism.epsilon,
                  bounded=auditor != "separated", last=last)  # fmt: skip


def kv_cell(mechanism: str, auditor: str = "hkv", runs: int = 1, seed: int = 1, **given: Any) -> list[dict[str, Any]]:
    """Audit a key-value mechanism given by name, several times: one cell of a grid, as flat dictionaries.

    Parameters
    ----------
    mechanism : str
        A name of `ldpkit.mechanisms.KEY_VALUE`.
    auditor, seed
        As in `audit_kv`.
    runs : int
        Independent repetitions, each on its own stream.
    **given
        Other parameters of the mechanism and of `audit_kv`.

    Returns
    -------
    list of dict
        One `AuditResult.row` per run and round, with the number of the `run`, without the time.
    """
    cls = KEY_VALUE[checks.one_of("mechanism", mechanism, KEY_VALUE)]
    fields = [f.name for f in dataclasses.fields(cls) if f.init]
    own = {name: given.pop(name) for name in fields if name in given}
    takes = [name for name, p in inspect.signature(audit_kv).parameters.items() if p.kind is p.KEYWORD_ONLY and name != "seed"]
    for name in given:
        checks.one_of(f"parameter of {mechanism} and its audit", name, [*fields, *takes])
    checked = cls(**own)
    return repeat(lambda own: audit_kv(checked, auditor, seed=own, **given), runs, seed)
