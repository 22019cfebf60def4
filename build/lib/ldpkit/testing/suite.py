"""Checks of real reports, of estimates and of audits; and the functions that run all checks.

The check `repeats` tests equality. Each of the others here fails a correct mechanism with
probability at most `SHARE`, which is divided by the number of its comparisons. Counts are judged by
exact binomial tails, two groups by Clopper-Pearson bounds, and estimates by Bernstein's inequality.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from .. import audit, stats
from .. import checks as _checks
from ..attacks import Attack
from ..mechanisms import FrequencyOracle, Mechanism
from ..reports.base import picked
from ..types import Array, Input, Row
from . import properties
from .case import NO_ATTACK, OWN, SHARE, TAIL, USERS, Case, NotApplicableError, applies, need, tail

# fmt: off
__all__ = [
    "CHECKS", "Check", "Conformance", "check_mechanism", "checks",
    "claim", "client", "estimate", "null", "power", "repeats",
]
# fmt: on


def client(case: Case) -> None:
    """Reports of the real client follow the exact rates, also in one call with other values."""
    m, n, found = case.mechanism, case.users(USERS), []
    for i, (attack, pair, rates) in enumerate(case.exact_rates):
        values = np.stack([m.inputs(value, n) for value in pair], axis=1)
        rng = case.rng("client", i)
        reports = m.perturb(values.reshape(2 * n, *values.shape[2:]), rng)
        accepted = attack.accepts(m, reports, pair, rng).reshape(n, 2)
        for value, rate, hits in zip(pair, rates, np.count_nonzero(accepted, axis=0)):
            what = (
                f"attack {attack.name} on {pair} accepts {hits} of {n} reports of {value}, its"
                f" exact rate is {rate:.6g}"
            )
            found.append((tail(hits, n, rate), what))
    case.judge(found)


def estimate(case: Case) -> None:
    """The mean of estimates is the truth, and their variance is as stated."""
    m, groups, size, rng = case.mechanism, 2000, 48, case.rng("estimate")
    many = max(1, case.users(groups // 16 * size) // size)  # because one call per group is slow
    applies(
        hasattr(m, "estimate") and hasattr(m, "variance"),
        "it has no estimator with a stated variance",
    )

    def estimates(given: Array, of: int = 1) -> list[Array]:
        """Return estimates from the reports of `of` groups, which are made in one call."""
        reports, n = m.perturb(np.concatenate([given] * of), rng), len(given)
        found = [m.estimate(picked(reports, slice(i * n, i * n + n))) for i in range(of)]
        # for several attributes, the stated variance is that of the first
        return [np.atleast_1d(one[0] if isinstance(one, list) else one) for one in found]

    first, second = m.pair()
    share = 0.75 if isinstance(m, FrequencyOracle) else 1.0  # of users who hold the first value
    values = np.concatenate(
        [m.inputs(first, round(share * size)), m.inputs(second, size - round(share * size))]
    )
    drawn: list[Array] = []
    while len(drawn) < groups:
        drawn += estimates(values, min(many, groups - len(drawn)))
    found, truth = np.array(drawn), np.array([first])
    if isinstance(m, FrequencyOracle):  # the estimates are of values, or of equal groups of them
        truth = np.zeros(max(found.shape[1], m.report_type.k))
        truth[[first, second]] = share, 1 - share
        truth = truth.reshape(found.shape[1], -1).sum(axis=1)
    variance = np.broadcast_to(m.variance(size, truth), truth.shape)
    alone = np.array([estimates(values[i : i + 1])[0] for i in range(size)])
    single = np.abs(alone - truth).max(axis=0)
    # Largest effect of one report. If a report has two values, the product of their distances is
    # the variance, even if one of them is too rare to be seen.
    reach = 1 + np.maximum(single, size * variance / np.maximum(single, 1e-12))
    # Bernstein: let n terms have variance v and bound b. Their mean deviates by more than
    # sqrt(2 v x / n) + b x / n with probability at most 2 e^-x.
    x = math.log(2 * 2 * truth.size / SHARE) / groups
    means, far = found.mean(axis=0), np.sqrt(2 * variance * x) + reach / size * x
    squares = ((found - truth) ** 2).mean(axis=0) / variance
    tails = 1 + reach**2 / (size**2 * variance)
    sentences = [f"the mean of estimates of {t:g} is {mean:.6g}" for t, mean in zip(truth, means)]
    loose = np.sqrt(2 * (1 + tails) * x) + 2 * tails * x
    for i, what in enumerate(sentences):
        need(
            abs(means[i] - truth[i]) <= far[i],
            f"{what}, which by chance is at most {far[i]:.3g} away",
        )
    for i, what in enumerate(sentences):
        need(
            abs(squares[i] - 1) <= loose[i],
            f"{what} and their variance {squares[i]:.3g} times what is stated",
        )


def null(case: Case) -> None:
    """No attack tells two groups of users with the same value apart."""
    applies(case.attacks, NO_ATTACK)
    m, calls, rng = case.mechanism, 16, case.rng("null")
    n = case.users(USERS) // calls
    cases = [
        (attack, pair, value)
        for attack in case.attacks
        for pair in (m.pair(), m.pair()[::-1])
        for value in pair
    ]
    for attack, pair, value in cases:
        hits = [0, 0]
        for call in range(2 * calls):  # to detect randomness that the users of one call share
            hits[call % 2] += int(
                np.count_nonzero(attack.accepts(m, m.perturb(m.inputs(value, n), rng), pair, rng))
            )
        each = SHARE / len(cases) / 4  # two bounds in either direction
        need(
            np.max(stats.epsilon_lower(hits, hits[::-1], n * calls, tail=each)) <= 0,
            f"two groups of {n * calls} reports of {value} are told apart by {hits} hits of attack"
            f" {attack.name}",
        )


def claim(case: Case) -> None:
    """Real reports of the proposed pair do not refute the claim."""
    m, n = case.mechanism, case.users(USERS)
    applies(math.isfinite(m.epsilon), "no epsilon is claimed")
    counted: Row = {"trials": n, "independent": True}
    asked = [counted | {"attack": attack} for attack in case.attacks]
    # without such an attack, only one that learns can read the reports
    asked = asked or [{"attack": "learned", "trials": 1000}]
    for given in asked:
        found = audit(m, **given, alpha=SHARE / len(asked), seed=case.seed, faithful=True)
        need(
            found.status != "violation",
            f"{found.trials} real reports per input and attack {found.attack} prove"
            f" {found.lower:.4g}, epsilon {m.epsilon:g} is claimed",
        )


def power(case: Case) -> None:
    """Real reports refute half the claim whenever the exact rates imply that they must."""
    m, n, sure = case.mechanism, case.users(USERS), []
    for attack, pair, (tpr, fpr) in case.exact_rates:
        if tuple(pair) != tuple(m.pair()):
            continue
        each = SHARE / len(case.attacks) / 2
        worst = scipy.stats.binom.ppf(each, n, min(1, tpr)), scipy.stats.binom.isf(each, n, fpr)
        if float(stats.epsilon_lower(*worst, trials=n, delta=m.delta, tail=TAIL)) > m.epsilon / 2:
            sure.append(attack)
    applies(sure, f"no exact rates imply that {n} reports refute half of its epsilon")
    for attack in sure:
        given: Row = {"trials": n, "seed": case.seed, "faithful": True, "independent": True}
        lower = audit(m, attack, **given).lower
        need(
            lower > m.epsilon / 2,
            f"{n} real reports and attack {attack.name} prove {lower:.4g}, its exact rates"
            " imply more than half",
        )


def repeats(case: Case) -> None:
    """An audit repeats its result with the same seed, on one thread and on two."""
    applies(case.mechanism.batched, OWN)
    applies(case.attacks, NO_ATTACK)
    for attack in case.attacks:
        given: Row = {
            "mechanism": case.mechanism,
            "attack": attack,
            "trials": case.users(USERS),
            "seed": case.seed,
            "independent": True,
        }
        one, two, threads = (audit(**given, faithful=True, threads=t) for t in (1, 1, 2))
        need(
            (one.counts, one.lower) == (two.counts, two.lower),
            f"an audit by attack {attack.name} does not repeat",
        )
        need(
            one.counts == threads.counts,
            f"an audit by attack {attack.name} depends on the number of threads",
        )


# --- all checks

CHECKS: dict[str, Callable[[Case], None]] = {
    check.__name__: check
    for check in (
        properties.value,
        properties.parameters,
        properties.generator,
        properties.inputs,
        properties.read,
        properties.pair,
        properties.rates,
        properties.budget,
        properties.routes,
        client,
        properties.rounds,
        estimate,
        properties.extremes,
        null,
        claim,
        power,
        repeats,
    )
}
"""The checks by name. The first line of each docstring states the property that it tests."""


@dataclass(frozen=True)
class Check:
    """One check of one mechanism, which is callable.

    ``str`` returns its name, as ``parametrize(..., ids=str)`` needs it.
    """

    name: str
    case: Case

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> str | None:
        """Return ``None`` if the check passes, or why it does not apply.

        Raises
        ------
        AssertionError
            If the check fails.
        """
        try:
            CHECKS[self.name](self.case)
        except NotApplicableError as reason:
            return str(reason)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"it raises {type(error).__name__}: {error}") from error
        return None


@dataclass(frozen=True, repr=False)
class Conformance:
    """Outcomes of all checks of a mechanism by name, with a table as ``repr``."""

    mechanism: Mechanism
    outcomes: Mapping[str, str]

    def __repr__(self) -> str:
        return "\n".join(
            [
                repr(self.mechanism),
                *(f"  {name:<12}{outcome}" for name, outcome in self.outcomes.items()),
            ]
        )


def checks(
    mechanism: Mechanism,
    *,
    seed: int = 1,
    attacks: Sequence[str | Attack] | None = None,
    inputs: Sequence[Input] | None = None,
) -> list[Check]:
    """Return the checks of a mechanism for a parametrised test.

    Parameters are those of `check_mechanism`.
    """
    _checks.instance(
        "mechanism", mechanism, Mechanism, "a mechanism whose reports can be read, or a Client"
    )
    case = Case(mechanism, _checks.integer("seed", seed, 0), attacks, inputs)
    return [Check(name, case) for name in CHECKS]


def check_mechanism(
    mechanism: Mechanism,
    *,
    expected_failures: Mapping[str, str] | None = None,
    seed: int = 1,
    attacks: Sequence[str | Attack] | None = None,
    inputs: Sequence[Input] | None = None,
) -> Conformance:
    """Run all `CHECKS` on a mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism, also a `Client`.
    expected_failures : mapping, optional
        Names of checks that should fail, each with the reason. If such a check passes, that is a
        failure.
    seed : int
        Non-negative number that determines all random numbers.
    attacks : sequence of str or attack, optional
        The attacks on the reports, by default all attacks of the package that can read them.
    inputs : sequence, optional
        The inputs to tell apart, by default all values of a small domain, a few of a large one, or
        the proposed `pair`.

    Returns
    -------
    Conformance

    Raises
    ------
    AssertionError
        With the name of every failed check and a sentence about it.
    """
    expected = {
        _checks.one_of("expected_failures", name, CHECKS): reason
        for name, reason in (expected_failures or {}).items()
    }
    outcomes, failures = {}, []
    for check in checks(mechanism, seed=seed, attacks=attacks, inputs=inputs):
        name, reason = check.name, expected.get(check.name)
        try:
            outcomes[name] = f"does not apply: {why}" if (why := check()) else "passed"
        except AssertionError as error:
            outcomes[name] = f"fails as expected: {reason}"
            failures += [f"{name}: {error}"] if reason is None else []
        else:
            told = f"{name}: {outcomes[name]}, but it was expected to fail: {reason}"
            failures += [] if reason is None else [told]
    need(
        not failures,
        "\n  ".join([f"{mechanism!r} fails {len(failures)} of {len(CHECKS)} checks", *failures]),
    )
    return Conformance(mechanism, outcomes)
