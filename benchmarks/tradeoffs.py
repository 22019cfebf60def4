"""Audits of claims that are trade-off curves: clients at the very edge of a claim, and beyond it.

Numbers are rounded to thousandths. Otherwise the last bits of a float reveal the input, which the
auditor finds.
"""

import functools
import math

import numpy as np
from series import Series

from ldpkit import Client
from ldpkit.blackbox import curve
from ldpkit.blackbox.betting import joint_growth
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.mechanisms import GRR, OUE

ALPHA = 0.05
NULLS = ((200, 10_000), (2000, 1000))
"""Reports per input of audits at the edge of a claim, and how many of these audits are planned."""


def noisy(draw, distance, values, rng):
    """Return the two inputs with noise of scale 1, a `distance` apart."""
    noise = getattr(rng, draw)(size=len(values))
    return np.round(np.asarray(values) * distance + noise, 3).tolist()


def integer(distance, values, rng):
    """Return inputs with two-sided geometric noise, whose neighbours have the ratio e^distance."""
    noise = [rng.geometric(1 - math.exp(-distance), len(values)) for _ in range(2)]
    return (np.asarray(values) + noise[0] - noise[1]).tolist()


def oracle(mechanism, values, rng):
    """Return reports of one of the package's mechanisms."""
    return mechanism.perturb(np.array(values), rng).tolist()


def gaussian(mu):
    return functools.partial(noisy, "normal", mu)


def laplace(epsilon):
    return functools.partial(noisy, "laplace", epsilon)


def integers(epsilon):
    steps = np.arange(-60, 62)
    law = np.exp(-epsilon * abs(steps))
    return curve.laws(law / law.sum(), np.roll(law, 1) / law.sum())


def audit(client, claim, trials, run, alpha=ALPHA):
    """Return an audit of a client with two inputs; the claim decides, not its epsilon."""
    epsilon, delta = claim.implied
    asked = Client(client, values=[0, 1], report="any", epsilon=epsilon, delta=delta)
    return SequentialAudit(asked, "learned", curve=claim, trials=trials, alpha=alpha)


def edges():
    """Return clients at the edge of a claim, each with the claim, by name."""
    return {
        "N(1) v gdp(1)": (gaussian(1.0), curve.gdp(1.0)),
        "N(.3) v gdp(.3)": (gaussian(0.3), curve.gdp(0.3)),
        "GRR k = 2 v (1, 0)": (functools.partial(oracle, GRR(2, 1.0)), curve.approx(1.0)),
        "GRR k = 5 v its curve": (functools.partial(oracle, GRR(5, 1.0)), curve.grr(5, 1.0)),
        "OUE k = 8 v its curve": (functools.partial(oracle, OUE(8, 1.0)), curve.oue(1.0)),
        "Laplace v its curve": (laplace(1.0), curve.laplace(1.0)),
        "integer Laplace v its curve": (functools.partial(integer, 1.0), integers(1.0)),
    }


def nulls(times=1.0):
    """Return the series at the edge of a claim, with `times` as many runs as were planned."""
    return [
        Series({"case": name, "kind": "edge", "pairs": pairs}, round(times * runs),
               functools.partial(audit, *case, pairs), {"alpha": ALPHA})
        for pairs, runs in NULLS for name, case in edges().items()
    ]  # fmt: skip


def event_limit(claim, p, q):
    """Return the least mean number of reports per input of a bet on the best of these events."""
    lines = [(math.log(e), d) for e, d in zip(*claim.lines) if e >= 1 and d < 1]
    growth = max(joint_growth(a, b, *line) for a, b in zip(p, q) for line in lines)
    return -math.log(ALPHA) / growth if growth > 0 else math.inf


def tails(draw, distance):
    """Return the probabilities of exceeding thresholds under the first and the second input."""
    from scipy import stats

    law, at = getattr(stats, "norm" if draw == "normal" else "laplace"), np.linspace(-1, 4, 51)
    return law.sf(at - distance), law.sf(at)


def broken(runs):
    """Return the series of clients that leak more than the claim allows."""
    # case, client, claim, most reports, limit of T4 in reports per input, published mean
    normal, single = curve.gdp(1.0), curve.approx(4.3772, 1e-5)
    grr2 = functools.partial(oracle, GRR(2, 2.0))
    # the published runs claim .5 and .8 of a client with mu = 1 (arXiv 2602.06518)
    cases = [
        ("N(1.2) v gdp(1)", gaussian(1.2), normal, 20_000, 354, math.nan, tails("normal", 1.2)),
        ("N(1.5) v gdp(1)", gaussian(1.5), normal, 20_000, 61.7, math.nan, tails("normal", 1.5)),
        ("N(2) v gdp(1)", gaussian(2.0), normal, 20_000, 18.3, math.nan, tails("normal", 2.0)),
        ("Laplace 2 v laplace(1)", laplace(2.0), curve.laplace(1.0), 20_000, 32.0, math.nan,
         tails("laplace", 2.0)),
        ("Laplace 2 v (1, 0)", laplace(2.0), curve.approx(1.0), 20_000, 33.6, math.nan,
         tails("laplace", 2.0)),
        ("GRR k = 2 at 2 v gdp(1)", grr2, normal, 20_000, math.nan, math.nan,
         ([GRR(2, 2.0).p], [GRR(2, 2.0).q])),
        ("N(1) v gdp(.5)", gaussian(1.0), curve.gdp(0.5), 20_000, 54, 188, tails("normal", 1.0)),
        ("N(1) v gdp(.8)", gaussian(1.0), curve.gdp(0.8), 20_000, 339, 1453, tails("normal", 1.0)),
        ("N(1.5) v (4.38, 1e-5)", gaussian(1.5), single, 20_000, math.nan, math.nan,
         tails("normal", 1.5)),
    ]  # fmt: skip
    return [
        Series({"case": name, "kind": "beyond"}, runs,
               functools.partial(audit, client, claim, trials),
               {"alpha": ALPHA, "best event": event_limit(claim, *rates), "limit": limit,
                "published": published})
        for name, client, claim, trials, limit, published, rates in cases
    ]  # fmt: skip
