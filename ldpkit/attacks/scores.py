"""How likely a report is of one input rather than the other, as far as past reports tell.

Several models foretell reports that they were not fitted to, each half of the past those of the
other half, and are weighed by how well they do.
"""

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import threadpoolctl

from ..types import Array
from .search import Coded, Past, filled, ratios_of_all

__all__ = ["Score", "fitted"]

_TABLES, _SMOOTH = 3, 4
_MODELS = 2**12  # pairs that models are fitted to: more make them slow, and hardly better
_FIRST_LINEAR, _FIRST_TREES, _WIDEST = 18, 60, 200
_RAW = ("#mag", "#sum", "#len", "#chars")

Odds = Callable[[dict[str, Array], int], Array]
Model = tuple[Sequence[str], Odds, Array]


@dataclass(frozen=True)
class Score:
    """Weighed log odds of several models.

    Attributes
    ----------
    past : float array (2 n,)
        Probabilities of the past reports, of both inputs, each foretold by the other half.
    names : set of str
        The columns that are looked at.
    """

    models: tuple[tuple[float, Odds], ...]
    past: Array
    names: frozenset[str] = frozenset()

    def __call__(self, found: dict[str, Array], n: int) -> Array:
        """Probability that each report is of the first input."""
        return np.asarray(sum(w * scipy.special.expit(odds(found, n)) for w, odds in self.models))


def fitted(past: Past) -> Score:
    """Fit all models to the past."""
    truth, given = np.repeat((1.0, -1.0), past.n), []
    for names, odds, held_out in _models(past):
        bounded = np.clip(held_out, -np.log(past.n + 2), np.log(past.n + 2))
        given.append((names, odds, scipy.special.expit(bounded),
                      -float(np.logaddexp(0, -truth * bounded).mean()) * 2 * past.n))  # fmt: skip
    if not given:
        return Score((), np.full(2 * past.n, 0.5))
    weights = scipy.special.softmax([fit for *_, fit in given])
    kept = [(float(w), *one[:3]) for w, one in zip(weights, given) if w > 1e-3]
    total = sum(w for w, *_ in kept)
    return Score(
        tuple((w / total, odds) for w, _, odds, _ in kept),
        np.asarray(sum(w / total * c for w, *_, c in kept)),
        frozenset(name for _, names, *_ in kept for name in names),
    )


def _models(past: Past) -> Iterator[Model]:
    """Models: the columns they look at, their log odds, and those that their halves foretell."""
    ranked = sorted(past.columns, key=lambda c: -c.fit)
    chosen = [c for c in ranked if c.names != ("whole",)][:_TABLES]
    chosen += [c for c in ranked if c.names == ("whole",)] + _telling(past)
    for coded in chosen:
        yield _table(coded, past)
    reals = [c.names[0] for c in past.columns if c.cut and "#" not in c.names[0]]
    if reals and len(reals) <= _SMOOTH:
        for power in (1, 2):
            yield _crossed(past, reals, _smooth(reals, power, past), _newton)
    numbers = [c.names[0] for c in past.columns if past.found[c.names[0]].dtype != object]
    raw = [name for name in numbers if "#" not in name or name.endswith(_RAW)][:_WIDEST]
    if len(raw) > 1 and past.n >= _FIRST_LINEAR:
        yield _crossed(past, raw, _standard(raw, past), _sparse)
    if numbers and past.n >= _FIRST_TREES:
        yield _crossed(past, numbers[:_WIDEST], _plain(numbers[:_WIDEST]), _trees)


def _telling(past: Past) -> list[Coded]:
    """The couple of two-valued columns whose four cells tell the inputs apart best."""
    two, cells = past.couples
    if len(two) < 2:
        return []
    one, other = (cells + 0.5) / (past.n + 2)
    apart = np.triu(((one - other) * np.log(one / other)).sum(axis=0), 1)
    i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return [past.couple(int(i), int(j))]


def _table(coded: Coded, past: Past) -> Model:
    odds = np.append(ratios_of_all(coded.counts), 0.0)  # nothing is said of what was not seen
    held_out = coded.ratios[1 - past.half, coded.codes]
    return coded.names, lambda found, n: odds[coded.code(found, n)], held_out


def _plain(names: Sequence[str]) -> Odds:
    """A table of numbers as they are, within bounds."""
    return lambda found, n: np.column_stack(
        [np.clip(filled(found, name, n), -1e15, 1e15) for name in names]
    )


def _standard(names: Sequence[str], past: Past) -> Odds:
    """A table of numbers in units of their standard deviations."""
    plain = _plain(names)
    given = plain(past.found, 2 * past.n)
    mean, spread = given.mean(axis=0), given.std(axis=0)
    spread[spread == 0] = 1
    return lambda found, n: (plain(found, n) - mean) / spread


def _smooth(names: Sequence[str], power: int, past: Past) -> Odds:
    """A table of numbers in units of their spread, and a power of how far each is from the
    middle."""
    plain = _plain(names)
    given = plain(past.found, 2 * past.n)
    middle = np.median(given, axis=0)
    spread = np.maximum(np.median(np.abs(given - middle), axis=0) * 1.5, 1e-290)

    def table(found: dict[str, Array], n: int) -> Array:
        z = np.clip((plain(found, n) - middle) / spread, -20, 20)
        return np.column_stack([z, np.abs(z) ** power])

    return table


def _crossed(
    past: Past, names: Sequence[str], table: Odds, fit: Callable[[Array, Array], Any]
) -> Model:
    """Fit a model to all and to each half; a half that was not fitted to is foretold."""
    x, n = table(past.found, 2 * past.n), past.n
    truth = np.repeat((1.0, 0.0), n)
    used = np.tile(np.arange(n) % max(1, n // _MODELS) == 0, 2)
    held_out = np.empty(2 * n)
    for half in (0, 1):
        mine = past.half == half
        held_out[mine] = fit(x[~mine & _thin(used, ~mine)], truth[~mine & _thin(used, ~mine)])(
            x[mine]
        )
    odds = fit(x[used], truth[used])
    return names, lambda found, many: odds(table(found, many)), held_out


def _thin(used: Array, mine: Array) -> Array:
    return used if (used & mine).any() and (used & ~mine).any() else np.ones_like(used)


def _newton(x: Array, truth: Array) -> Callable[[Array], Array]:
    """Logistic regression, drawn a little towards no difference."""

    def whole(x: Array) -> Array:
        return np.column_stack([np.ones(len(x)), x])

    a = whole(x)
    w, ridge = np.zeros(a.shape[1]), np.full(a.shape[1], 0.5)
    for _ in range(12):
        c = scipy.special.expit(a @ w)
        curved = (a * (c * (1 - c))[:, None]).T @ a + np.diag(ridge)
        step = np.linalg.solve(curved, a.T @ (truth - c) - ridge * w)
        w += step * min(1.0, 4 / max(np.abs(step).max(), 1e-12))
    return lambda x: whole(x) @ w


def _sparse(x: Array, truth: Array) -> Callable[[Array], Array]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=0.3, l1_ratio=1, solver="liblinear", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that has not ended is a fit
        return model.fit(x, truth).decision_function


def _trees(x: Array, truth: Array) -> Callable[[Array], Array]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=8, min_samples_leaf=max(5, len(x) // 24), early_stopping=False,
        random_state=0,
    )  # fmt: skip
    with _alone():
        model.fit(x, truth)

    def odds(x: Array) -> Array:
        with _alone():
            return model.decision_function(x)

    return odds


def _alone() -> Any:
    """So little work is done sooner by one thread than by several that wait for each other."""
    return _libraries().limit(limits=1, user_api="openmp")


@functools.cache
def _libraries() -> Any:
    return threadpoolctl.ThreadpoolController()
