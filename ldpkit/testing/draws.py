"""Checks of what is drawn: real reports, estimates and audits.

Each but the last, which asks for equality, spends `SHARE`, divided by the number of its
comparisons. Counts are judged by exact binomial tails, two groups by Clopper and Pearson's bounds,
and estimates by Bernstein's inequality.
"""

import math

import numpy as np
import scipy

from .. import stats
from ..auditors import audit
from ..mechanisms import FrequencyOracle
from ..types import Array, Row
from .case import OWN, SHARE, TAIL, USERS, Case, need, part, tail

__all__ = ["claim", "client", "estimate", "null", "power", "repeats"]

_LEARNED = 1000  # reports per input from which a learner may learn what refutes the claim


def client(case: Case) -> str | None:
    """Reports of the real client follow the exact rates, beside users with other values too."""
    m, n, found = case.mechanism, case.users(USERS), []
    for i, (attack, pair, rates) in enumerate(case.laws):
        values, rng = (
            np.stack([m.inputs(value, n) for value in pair], axis=1),
            case.rng("client", i),
        )
        reports = m.perturb(values.reshape(2 * n, *values.shape[2:]), rng)
        for value, rate, seen in zip(
            pair, rates, attack.accepts(m, reports, pair, rng).reshape(n, 2).T
        ):
            hits = int(np.count_nonzero(seen))
            what = (
                f"attack {attack.name} on {pair} accepts {hits} of {n} reports of {value}, its law"
                f" says {rate:.6g}"
            )
            found.append((tail(hits, n, rate), what))
    return case.judge(found)


def estimate(case: Case) -> str | None:
    """Estimates have the truth for mean and the stated variance."""
    m, groups, size, rng = case.mechanism, 2000, 48, case.rng("estimate")
    many = max(1, case.users(groups // 16 * size) // size)  # a call for each group would take long
    if not hasattr(m, "estimate") or not hasattr(m, "variance"):
        return "it has no estimator with a stated variance"

    def made(given: Array, of: int = 1) -> list[Array]:
        """Estimates from the reports of so many groups, all made in one call."""
        reports, n = m.perturb(np.concatenate([given] * of), rng), len(given)
        found = [m.estimate(part(reports, slice(i * n, i * n + n))) for i in range(of)]
        # of several attributes, the variance is that of the first
        return [np.atleast_1d(one[0] if isinstance(one, list) else one) for one in found]

    first, second = m.pair()
    share = 0.75 if isinstance(m, FrequencyOracle) else 1.0  # of users who hold the first value
    values = np.concatenate(
        [m.inputs(first, round(share * size)), m.inputs(second, size - round(share * size))]
    )
    drawn: list[Array] = []
    while len(drawn) < groups:
        drawn += made(values, min(many, groups - len(drawn)))
    found, truth = np.array(drawn), np.array([first])
    if isinstance(m, FrequencyOracle):  # what is estimated are values, or equal groups of them
        truth = np.zeros(max(found.shape[1], m.report_type.domain))
        truth[[first, second]] = share, 1 - share
        truth = truth.reshape(found.shape[1], -1).sum(axis=1)
    variance = np.broadcast_to(m.variance(size, truth), truth.shape)
    alone = np.array([made(values[i : i + 1])[0] for i in range(size)])
    single = np.abs(alone - truth).max(axis=0)
    # what one report adds: of two values, one perhaps too rare to be seen, the distances multiply
    # to the variance
    reach = 1 + np.maximum(single, size * variance / np.maximum(single, 1e-12))
    # Bernstein: a mean of n terms of variance v that reach b is off by sqrt(2 v x / n) + b x / n
    # with chance 2 e^-x
    x = math.log(2 * 2 * truth.size / SHARE) / groups
    means, far = found.mean(axis=0), np.sqrt(2 * variance * x) + reach / size * x
    squares, tails = (
        ((found - truth) ** 2).mean(axis=0) / variance,
        1 + reach**2 / (size**2 * variance),
    )
    said = [f"the mean of estimates of {t:g} is {mean:.6g}" for t, mean in zip(truth, means)]
    for i, what in enumerate(said):
        need(
            abs(means[i] - truth[i]) <= far[i],
            f"{what}, which by chance is at most {far[i]:.3g} away",
        )
    for i, what in enumerate(said):
        loose = math.sqrt(2 * (1 + tails[i]) * x) + 2 * tails[i] * x
        need(
            abs(squares[i] - 1) <= loose,
            f"{what} and their variance {squares[i]:.3g} times what is stated",
        )
    return None


def null(case: Case) -> str | None:
    """Two groups of users with the same value are not told apart."""
    m, calls, rng = case.mechanism, 16, case.rng("null")
    n = case.users(USERS) // calls
    asked = [
        (attack, pair, value)
        for attack in case.attacks
        for pair in (m.pair(), m.pair()[::-1])
        for value in pair
    ]
    for attack, pair, value in asked:
        hits = [0, 0]
        for call in range(2 * calls):  # in many calls, so that what users of one call share shows
            hits[call % 2] += int(
                np.count_nonzero(attack.accepts(m, m.perturb(m.inputs(value, n), rng), pair, rng))
            )
        each = SHARE / len(asked) / 4  # two bounds in either direction
        lower = max(
            float(stats.epsilon_lower(one, two, n * calls, tail=each))
            for one, two in (hits, hits[::-1])
        )
        need(
            lower <= 0,
            f"two groups of {n * calls} reports of {value} are told apart by {hits} hits of attack"
            f" {attack.name}",
        )
    return None if asked else "no attack can read its reports"


def claim(case: Case) -> str | None:
    """Real reports of the proposed pair do not refute the claim."""
    m, n = case.mechanism, case.users(USERS)
    if math.isinf(m.epsilon):
        return "no epsilon is claimed"
    for attack in case.attacks:
        alpha = SHARE / len(case.attacks)
        found = audit(m, attack, trials=n, alpha=alpha, seed=case.seed, faithful=True)
        need(
            found.status != "violation",
            f"{n} real reports per input and attack {attack.name} prove {found.lower:.4g}, epsilon"
            f" {m.epsilon:g} is claimed",
        )
    if not case.attacks:  # whose reports only a learner can read
        sure = audit(
            m, "learned", until="sure", trials=_LEARNED, alpha=SHARE, seed=case.seed, faithful=True
        )
        need(sure.status != "violation", sure.verdict)
    return None


def power(case: Case) -> str | None:
    """Half the claim is refuted by real reports wherever the law says that it must be."""
    m, n, sure = case.mechanism, case.users(USERS), []
    for attack, _, (tpr, fpr) in (law for law in case.laws if tuple(law[1]) == tuple(m.pair())):
        each = SHARE / len(case.attacks) / 2
        worst = scipy.stats.binom.ppf(each, n, min(1, tpr)), scipy.stats.binom.isf(each, n, fpr)
        if float(stats.epsilon_lower(*worst, trials=n, delta=m.delta, tail=TAIL)) > m.epsilon / 2:
            sure.append(attack)
    for attack in sure:
        lower = audit(mechanism=m, attack=attack, trials=n, seed=case.seed, faithful=True).lower
        need(
            lower > m.epsilon / 2,
            f"{n} real reports and attack {attack.name} prove {lower:.4g}, its law says more than"
            " half",
        )
    return None if sure else f"no law says that {n} reports refute half of its epsilon"


def repeats(case: Case) -> str | None:
    """An audit with a seed gives the same result again, on one thread and on two."""
    if not getattr(case.mechanism, "batched", True):
        return OWN
    for attack in case.attacks:
        asked: Row = {
            "mechanism": case.mechanism,
            "attack": attack,
            "trials": case.users(USERS),
            "seed": case.seed,
        }
        one, two, threads = (audit(**asked, faithful=True, threads=t) for t in (1, 1, 2))
        need(
            (one.counts, one.lower) == (two.counts, two.lower),
            f"an audit by attack {attack.name} does not repeat",
        )
        need(
            one.counts == threads.counts,
            f"an audit by attack {attack.name} depends on the number of threads",
        )
    return None if case.attacks else "no attack can read its reports"
