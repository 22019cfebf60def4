"""Audit means of a few numbers whose noise reveals how many numbers there are.

The inputs are one number, 0, and two numbers, 0 and 1. Source: Gonzalez, Dulce-Rubio, Ramdas and
Ribero, "Sequentially auditing differential privacy", 2025. Published are the mean pairs of reports
that their test and that of a second source need at alpha = .05.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import scipy

from ldpkit.blackbox import betting
from ldpkit.blackbox.sequential import Declared

ALPHA = 0.05


@dataclass(frozen=True)
class Case:
    """Noise of scale 2 / (n epsilon) on the mean of n numbers.

    Attributes
    ----------
    law : scipy distribution
        Distribution of the noise with scale 1.
    published : dict
        Mean pairs: sequential MMD test, adaptive pairwise test.
    """

    name: str
    epsilon: float
    delta: float
    law: object
    published: dict = field(default_factory=dict)

    def client(self, values, rng):
        many = np.array(values) + 1
        noise = self.law.rvs(size=len(many), random_state=rng)
        return ((many - 1) / many + 2 / (many * self.epsilon) * noise).tolist()

    def sides(self):
        """Return the distributions of the reports of both inputs."""
        return self.law(0, 2 / self.epsilon), self.law(0.5, 1 / self.epsilon)

    def soft_growth(self):
        """Return the largest growth of any bet on pairs of reports, integrated on a fine grid."""
        one, two = self.sides()
        wide = 2 / self.epsilon
        y = np.linspace(-40 * wide, 40 * wide, 400_001)
        p, q = one.pdf(y), two.pdf(y)
        odds, step = one.logpdf(y) - two.logpdf(y), y[1] - y[0]
        c = np.clip(scipy.special.expit(odds), 1e-15, 1 - 1e-15)

        def lost(balance):
            f, g = betting.soft(c, balance, self.epsilon, self.delta)
            won = scipy.special.xlogy(p, f) + scipy.special.xlogy(q, g)
            return -float(won.sum() * step)

        return -scipy.optimize.minimize_scalar(lost, bounds=(0.01, 1.99), method="bounded").fun

    def event(self):
        """Return the best interval around the middle, or its complement, with its rates."""
        one, two = self.sides()
        best = (0.0, None)
        for width in np.linspace(0.05, 12, 2400) / self.epsilon:
            inside = [side.cdf(width) - side.cdf(-width) for side in (one, two)]
            for turned, (p, q) in ((True, inside[::-1]), (False, [1 - x for x in inside])):
                growth = betting.joint_growth(p, q, self.epsilon, self.delta)
                if growth > best[0]:
                    best = growth, (turned, float(width), (float(p), float(q)))
        return best

    def limits(self):
        """Return the mean number of pairs that no bet can do without: on anything, on one event."""
        goal = -math.log(ALPHA)
        return {"limit": goal / self.soft_growth(), "event_limit": goal / self.event()[0]}

    def attacks(self):
        """Return three ways to audit: event declared with its rates, without rates, nothing
        declared.
        """
        turned, width, rates = self.event()[1]

        def holds(reports):
            inside = np.abs(np.array(reports, float)) <= width
            return inside if turned else ~inside

        words = f"|y| {'<=' if turned else '>'} {width:g}"
        assert not turned  # the first input has the wide distribution, so it is likelier far out
        return [("rates declared", Declared(holds, words, rates)),
                ("event declared", Declared(holds, words)), ("learned", "learned")]  # fmt: skip


LAPLACE, NORMAL = scipy.stats.laplace, scipy.stats.norm
CASES = [
    Case("NonDP Laplace", 0.01, 0.0, LAPLACE, {"MMD": 331, "APT": 81}),
    Case("NonDP Laplace", 0.1, 0.0, LAPLACE, {"MMD": 920, "APT": 115}),
    Case("NonDP Gauss", 0.01, 1e-5, NORMAL, {"MMD": 264, "APT": 61}),
    Case("NonDP Gauss", 0.1, 1e-5, NORMAL, {"MMD": 562, "APT": 72}),
]
