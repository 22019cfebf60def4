"""Lower bounds of epsilon for the twenty mechanisms of the DP-Sniper suite.

For every pair of inputs of the suite an event is learned on few reports: a table where there are
few different reports, otherwise a threshold on one feature, or on the log odds of a regression or
of trees. The events that promise most are counted in a few fresh reports, and the best of them in
all that are left of the budget: two Clopper-Pearson bounds at 95% each, as those who are compared
with computed them.
"""

import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy
from mechanisms import SUITE

from ldpkit import stats, streams
from ldpkit.kinds.base import log_ratio

LEARN, CHUNK, TAIL, WORKERS = 50_000, 2**17, 0.05, 2
LEVELS = np.unique(np.r_[np.geomspace(1e-4, 0.5, 20), 1 - np.geomspace(1e-4, 0.5, 20)])
LUCK = (0.5, 1.0, 2.0)  # standard errors that events must be better by, chosen among many
TREES = {"SVT3", "SVT34Parallel", "NumericalSVT"}


class Made:
    """Reports of one mechanism."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.fill, self.given, self.width, self.pairs, self.published, self.sup = SUITE[name]

    def draw(self, x, n, *purpose):
        """n reports of one input."""
        out = np.empty((n, self.width))
        rng = streams.generator(self.seed, self.name, list(x), *purpose)
        self.fill(np.array(x), rng, out, *self.given)
        return out


class Features:
    """Numbers that are seen in reports, chosen by looking at some.

    Values that come again and again are flags. Other numbers are shown whole and between the
    inputs; so are differences of neighbours.
    """

    def __init__(self, reports, low, high):
        values, counts = np.unique(reports[:4000], return_counts=True)
        self.atoms = values[counts > reports[:4000].size / 100]
        self.low, self.high = low, high
        self.discrete = bool(np.isin(reports[:4000], self.atoms).all())

    def __call__(self, reports):
        """Float array, one row a report: places one by one, then what is seen of all of them."""
        d = reports.shape[1]
        if d == 1:
            return np.column_stack([np.clip(reports, self.low, self.high), reports])
        bounded = np.clip(reports, self.low, self.high)
        if not len(self.atoms):
            apart = np.clip(np.diff(reports, axis=1, prepend=0), self.low, self.high)
            return np.column_stack([bounded, apart, *(one(axis=1) for one in (
                reports.min, reports.max, bounded.sum, apart.sum))])  # fmt: skip
        free, each, all_ = np.ones_like(reports, bool), [], []
        for atom in self.atoms:
            here = reports == atom
            free &= ~here
            each.append(here)
            all_ += [here[:, : d // 2].sum(axis=1), here[:, d // 2 :].sum(axis=1)]
        if not self.discrete:
            each += [np.where(free, bounded, 0), np.where(free, reports, 0)]
            least = np.where(free, reports, 1e4).min(axis=1)
            all_ += [least, np.where(free, reports, -1e4).max(axis=1), free.argmax(axis=1),
                     free[:, ::-1].argmax(axis=1)]  # fmt: skip
        return np.column_stack(each + all_).astype(float)

    @property
    def overall(self):
        """How many of the last columns are of all places."""
        if self.discrete or not len(self.atoms):
            return 2 * len(self.atoms) if self.discrete else 4
        return 2 * len(self.atoms) + 4


def promised(a, b, trained, draws, luck=1.0):
    """Bound that so many hits in training promise, drawn a little towards nothing."""
    p, q = a / trained, np.minimum((b + 1) / trained, 1)
    p = np.maximum(p - luck * np.sqrt(p * (1 - p) / trained), 1e-12)
    q = q + luck * np.sqrt(q * (1 - q) / trained)
    lost = 1.645 * (1 / np.sqrt(draws * p) + 1 / np.sqrt(draws * q))
    return np.where((a >= 20) & (q < 0.9), np.log(p / q) - lost, -np.inf)


def odds_of(features, truth, trees):
    """Log odds of the first input: a regression, or trees."""
    if trees:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=12, early_stopping=False,
                                               min_samples_leaf=100, random_state=0)  # fmt: skip
        return model.fit(features, truth).decision_function
    mean, spread = features.mean(axis=0), features.std(axis=0)
    used = np.flatnonzero(spread > 0)
    w, error = regression((features[:, used] - mean[used]) / spread[used], truth)
    clear = np.abs(w[1:]) > 3 * error[1:]
    if clear.any():  # again without what tells nothing
        used = used[clear]
        w, _ = regression((features[:, used] - mean[used]) / spread[used], truth)
    slope = w[1:] / spread[used]
    return lambda x: x[:, used] @ slope


def regression(x, truth):
    """Logistic regression: coefficients and their standard errors."""
    a = np.column_stack([np.ones(len(x)), x])
    w, ridge = np.zeros(a.shape[1]), np.full(a.shape[1], 1.0)
    for _ in range(5):
        c = scipy.special.expit(a @ w)
        curved = (a * (c * (1 - c))[:, None]).T @ a + np.diag(ridge)
        w += np.linalg.solve(curved, a.T @ (truth - c) - ridge * w)
    return w, np.sqrt(np.diag(np.linalg.inv(curved)))


def codes(reports, atoms):
    """Number reports whose entries are all among a few values."""
    places = np.searchsorted(atoms, reports).clip(0, len(atoms) - 1)
    return places @ len(atoms) ** np.arange(reports.shape[1])


def offered(one, two, look, trees, draws):
    """Events: bound promised, whether it speaks for the second input, words, and the test."""
    half = len(one) // 2
    if look.discrete and len(look.atoms) ** one.shape[1] <= 70_000:
        numbered = [codes(side, look.atoms) for side in (one, two)]
        k = len(look.atoms) ** one.shape[1]
        train = [np.bincount(side[:half], minlength=k) + 0.5 for side in numbered]
        ratio = np.log(train[0] / train[1])
        sides = [ratio[side[half:]] for side in numbered]

        def table(reports):
            return ratio[codes(reports, look.atoms)]

        yield from cuts(*sides, draws, "frequencies of reports", table)
    features = [look(side) for side in (one, two)]
    wide = features[0].shape[1]
    for j in range(wide - (2 if one.shape[1] == 1 else look.overall), wide):
        for sign in (1, -1):

            def feature(reports, j=j, sign=sign):
                return sign * look(reports)[:, j]

            yield from cuts(*(sign * side[:, j] for side in features), draws,
                            f"{'-' * (sign < 0)}feature {j}", feature)  # fmt: skip
    stacked = np.concatenate([side[:half] for side in features])
    odds = odds_of(stacked, np.repeat((1.0, 0.0), half), trees)

    def score(reports):
        return odds(look(reports))

    yield from cuts(*(odds(side[half:]) for side in features), draws,
                    "odds of trees" if trees else "odds of a regression", score)  # fmt: skip


def cuts(one, two, draws, words, score):
    """The best threshold on a score, for either input."""
    for turned, (first, second, way) in enumerate(((one, two, 1), (-two, -one, -1))):
        pooled = np.concatenate([first, second])
        levels = np.unique(np.quantile(pooled, LEVELS, method="lower"))
        a, b = (len(s) - np.searchsorted(np.sort(s), levels, "left") for s in (first, second))
        for luck in LUCK:
            bounds = promised(a, b, len(first), draws, luck)
            level = levels[int(np.argmax(bounds))]
            yield (luck, float(bounds.max()), bool(turned), words,
                   lambda reports, way=way, level=level: way * score(reports) >= level)  # fmt: skip


def learned(made, draws):
    """The best events of all pairs of inputs, one of each kind."""
    found = []
    for x, y in made.pairs:
        one, two = (made.draw(side, LEARN, "learn", list(x), list(y)) for side in (x, y))
        look = Features(np.concatenate([one[:2000], two[:2000]]), min(x + y), max(x + y))
        for luck, bound, turned, words, test in offered(one, two, look, made.name in TREES, draws):
            found.append((luck, bound, (y, x) if turned else (x, y), words, test))
    best = sorted(found, key=lambda one: -one[1])
    kept = []
    for luck in LUCK:
        alike = [one[1:] for one in best if one[0] == luck]
        kept += alike[:1] + [one for one in alike if "of" in one[2].split()][:1]  # of many features
    return kept


def chosen(made, candidates, draws, trial):
    """The candidate that does best in `trial` fresh reports."""
    best = (-math.inf,)
    for number, (_, (x, y), words, test) in enumerate(candidates):
        a, b = (counted(made, side, test, trial, f"choose {number}") for side in (x, y))
        bound = float(promised(np.array(a), np.array(b), trial, draws))
        if bound > best[0]:
            best = bound, (x, y), words, test
    return best[1:]


def counted(made, x, test, draws, purpose):
    """Reports of one input that show the event."""
    sizes = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]

    def chunk(job):
        return int(np.count_nonzero(test(made.draw(x, job[1], purpose, job[0]))))

    with ThreadPoolExecutor(WORKERS) as pool:
        return sum(pool.map(chunk, enumerate(sizes)))


def rows(draws, only, seed=1):
    """One row a mechanism."""
    for name in only or SUITE:
        start, made = time.perf_counter(), Made(name, seed)
        candidates, trial = learned(made, draws), draws // 50
        (x, y), words, test = chosen(made, candidates, draws, trial)
        tick, rest = time.perf_counter(), draws - trial * len(candidates) - LEARN * len(made.pairs)
        a, b = (counted(made, side, test, rest, "count") for side in (x, y))
        low = stats.clopper_pearson(a, rest, TAIL)[0]
        high = stats.clopper_pearson(b, rest, TAIL)[1]
        theirs = max(made.published[:2])
        lower = float(log_ratio(float(low), float(high))) if low > 0 else -math.inf
        yield {
            "mechanism": name, "first": " ".join(f"{v:g}" for v in x),
            "second": " ".join(f"{v:g}" for v in y), "event": words, "p": a / rest, "q": b / rest,
            "lower": round(lower, 5), "DP-Sniper LR": made.published[0],
            "DP-Sniper MLP": made.published[1], "StatDP": made.published[2],
            "ratio": round(lower / theirs, 3), "exact": made.sup, "draws": draws,
            "learning_seconds": round(tick - start, 1),
            "counting_seconds": round(time.perf_counter() - tick, 1),
        }  # fmt: skip
