"""Models of past reports, which estimate how likely a report is with each input from its columns.

Every model is fitted to each half of the past reports and predicts the other half. The models are
weighted by how well they predict. `_fits` lists all of them; add a line there to add a model.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy
import threadpoolctl

from ...types import Array

__all__ = ["Odds", "fitted", "likely"]

Odds = Callable[[Array], Array]
"""Maps rows of columns to log likelihoods of the inputs, up to a constant in each row."""

Fit = Callable[[Array, Array, int], Odds]
"""Fits a model to rows of columns, the input of each row, and the number of inputs."""

Change = Callable[[Array], Array]
"""Maps rows of columns to rows of other columns."""

_TABLES, _FEW, _SMOOTH = 3, 64, 4  # most tables, values of a tabled column, smooth columns
_FIRST_TREES, _GROWN = 120, 2**11  # reports to which trees are fitted: at least, at most
_WORSE = 7.0  # nats; a model that is this much worse than the best one is left out
_RIDGES = 4.0, 32.0, 128.0
_FAR = 1e15  # numbers are clipped here


def likely(odds: Array) -> Array:
    """Return the probabilities of the inputs, float array (n, k), from their log odds."""
    return np.asarray(scipy.special.softmax(odds, axis=1))


def fitted(
    table: Array, sides: Array, half: Array, inputs: int
) -> tuple[list[tuple[float, Odds]], Array]:
    """Fit all models to past reports.

    Parameters
    ----------
    table : float array (n, m + 1)
        Columns. Missing numbers are NaN, and the last column is a hash of the whole report.
    sides, half : int arrays (n,)
        The input of each report, and the half of the past in which it is, 0 or 1.
    inputs : int
        Number of inputs.

    Returns
    -------
    list of (float, callable)
        Weights of the models, and their log odds.
    float array (n, inputs)
        Probabilities of the inputs of each past report, as predicted from the other half.
    """
    models = [*_models(table, sides, half, inputs)]
    if not models:
        return [], np.full((len(sides), inputs), 1 / inputs)
    weights = scipy.special.softmax([score for *_, score in models])
    kept = [
        (float(w), make, predicted) for w, (make, predicted, _) in zip(weights, models) if w > 1e-2
    ]
    total = sum(w for w, *_ in kept)
    mixed = np.asarray(sum(w / total * predicted for w, _, predicted in kept))
    return [(w / total, make()) for w, make, _ in kept], mixed


def _models(
    table: Array, sides: Array, half: Array, inputs: int
) -> Iterator[tuple[Callable[[], Odds], Array, float]]:
    """Yield what makes each model, its predictions of the past, and their log likelihood.

    A half is predicted from the other one. A model that predicts one half much worse than another
    model does is left out.
    """
    best = np.zeros(2)
    least = -2 * math.log(half.size // 2 + 2)  # so few reports do not support more extreme odds
    parts = [(own, table[~own], sides[~own], table[own]) for own in (half == 0, half == 1)]
    for fit in _fits(table, sides, inputs):
        models, predicted, won = [], np.zeros((len(sides), inputs)), np.zeros(2)
        for part, (own, known, named, asked) in enumerate(parts):
            models.append(fit(known, named, inputs))
            odds = models[-1](asked)
            predicted[own] = likely(np.maximum(odds - odds.max(axis=1, keepdims=True), least))
            won[part] = np.log(inputs * predicted[own, sides[own]]).sum()
            if won[part] < best[part] - _WORSE:
                break
        else:
            best = np.maximum(best, won)
            whole = functools.partial(fit, table, sides, inputs)
            mean = functools.partial(_mean, models)
            yield mean if fit is _trees else whole, predicted, float(won.sum())


def _fits(table: Array, sides: Array, inputs: int) -> Iterator[Fit]:
    """Yield the models that suit these columns, those that are fitted fast first."""
    values = [np.unique(column) for column in table.T]
    few = [i for i, known in enumerate(values) if 1 < known.size <= _FEW]
    few.sort(key=lambda i: -_information(table[:, i], values[i], sides, inputs))
    for i in few[:_TABLES]:
        yield functools.partial(_tabled, i, values[i])
    real = [i for i, known in enumerate(values[:-1]) if known.size > _FEW]
    centred = _remembering(functools.partial(_scaled, real, True), 3)
    standard = _remembering(functools.partial(_scaled, slice(-1), False), 3)
    for power in (1, 2) if 0 < len(real) <= _SMOOTH else ():
        yield functools.partial(_linear, 0.5, centred, power)
    for ridge in _RIDGES if len(values) > 2 else ():
        yield functools.partial(_linear, ridge, standard, 0)
    if len(sides) >= _FIRST_TREES and values[-1].size > _FEW:
        yield _trees


def _mean(models: list[Odds]) -> Odds:
    return lambda table: np.asarray(sum(odds(table) for odds in models) / len(models))


def _information(column: Array, values: Array, sides: Array, inputs: int) -> float:
    """Return the information in nats that the values of a column have about the input."""
    codes = np.searchsorted(values, column) * inputs + sides
    counts = np.bincount(codes, minlength=values.size * inputs).reshape(values.size, inputs)
    rates = counts / np.maximum(counts.sum(axis=0), 1)
    return float(scipy.special.rel_entr(rates, rates.mean(axis=1, keepdims=True)).sum())


def _tabled(column: int, values: Array, table: Array, sides: Array, inputs: int) -> Odds:
    """Return log odds from how often each value of one column was seen; 0 for other values."""
    codes = np.searchsorted(values, table[:, column])
    counts = np.zeros((inputs, values.size + 1))
    np.add.at(counts, (sides, codes), 1)
    odds = np.log(counts + 0.5) - np.log(counts.sum(axis=1) + 1)[:, None]
    odds[:, -1] = 0.0

    def looked_up(table: Array) -> Array:
        x = table[:, column]
        at = np.minimum(np.searchsorted(values, x), values.size - 1)
        same = (values[at] == x) | (np.isnan(values[at]) & np.isnan(x))
        return np.asarray(odds[:, np.where(same, at, values.size)].T)

    return looked_up


def _remembering(function: Callable[[Array], Any], most: int) -> Callable[[Array], Any]:
    """Return the same function, which remembers its last results.

    Several models are fitted to the same rows, and asked about the same rows.
    """
    known: list[tuple[Array, Any]] = []

    def remembered(table: Array) -> Any:
        for asked, result in known:
            if asked is table:
                return result
        known[:] = [(table, function(table)), *known[: most - 1]]
        return known[0][1]

    return remembered


def _scaled(columns: Any, robust: bool, table: Array) -> Change:
    """Return a function that takes columns as distances from their middle, in spreads.

    Missing numbers become 0. If `robust`, middle and spread are those of medians. Otherwise they
    are mean and standard deviation, and indicators of missing numbers are added.
    """
    x, missing = np.clip(table[:, columns], -_FAR, _FAR), np.isnan(table[:, columns])
    if robust:
        middle = np.nanmedian(x, axis=0)
        spread = np.maximum(np.nanmedian(np.abs(x - middle), axis=0) * 1.5, 1e-290)
    else:
        many = np.maximum((~missing).sum(axis=0), 1)
        middle = np.where(missing, 0, x).sum(axis=0) / many
        spread = np.sqrt((np.where(missing, 0, x - middle) ** 2).sum(axis=0) / many)
        spread[spread == 0] = 1

    def scaled(table: Array) -> Array:
        with np.errstate(over="ignore"):
            z = np.clip((np.clip(table[:, columns], -_FAR, _FAR) - middle) / spread, -20, 20)
        z = np.nan_to_num(z)
        some = np.isnan(table[:, columns][:, missing.any(axis=0)])
        return z if robust else np.column_stack([z, some])

    return _remembering(scaled, 2)


def _linear(
    ridge: float, scaled: Callable[[Array], Change], power: int, table: Array, sides: Array,
    inputs: int,
) -> Odds:  # fmt: skip
    """Return log odds that are a weighted sum of scaled columns, and of a power of their size."""

    def bent(z: Array) -> Array:
        return np.column_stack([z, np.abs(z) ** power]) if power else z

    scale = scaled(table)
    fit = _regression(bent(scale(table)), sides, inputs, ridge)
    return lambda table: fit(bent(scale(table)))


def _regression(x: Array, sides: Array, inputs: int, ridge: float) -> Odds:
    """Fit a logistic regression with a ridge penalty by Newton's method.

    For more than two inputs, each is compared with an even mixture of the others.
    """
    x1 = np.column_stack([np.ones(len(x)), x])
    weights, drawn = np.zeros((x1.shape[1], inputs)), ridge * np.eye(x1.shape[1])
    for d in range(1 if inputs == 2 else inputs):
        truth, w = (sides == d).astype(float), weights[:, d]
        even = np.where(truth == 1, 1.0, 1 / (inputs - 1))
        for _ in range(12):
            c = scipy.special.expit(x1 @ w)
            curved = (x1 * (even * c * (1 - c))[:, None]).T @ x1 + drawn
            step = np.linalg.solve(curved, x1.T @ (even * (truth - c)) - ridge * w)
            largest = np.abs(step).max()
            w += step * min(1.0, 4 / max(largest, 1e-12))
            if largest < 1e-3:
                break
    return lambda x: np.column_stack([np.ones(len(x)), x]) @ weights


def _trees(table: Array, sides: Array, inputs: int) -> Odds:
    """Fit gradient boosting of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    low, high = np.fmin.reduce(table, axis=0), np.fmax.reduce(table, axis=0)
    varied = np.flatnonzero((low < high)[:-1])
    if not varied.size:
        return lambda table: np.zeros((len(table), inputs))

    def plain(table: Array) -> Array:
        return np.clip(table[:, varied], -_FAR, _FAR)

    some = slice(None, None, -(-len(table) // _GROWN))
    model = HistGradientBoostingClassifier(
        max_iter=12, learning_rate=0.25, max_leaf_nodes=8, early_stopping=False, random_state=0,
        min_samples_leaf=max(5, len(sides[some]) // 24),
    )  # fmt: skip
    with _libraries().limit(limits=1, user_api="openmp"):
        model.fit(plain(table[some]), sides[some])

    def odds(table: Array) -> Array:
        with _libraries().limit(limits=1, user_api="openmp"):
            score = model.decision_function(plain(table))
        return np.column_stack([-score / 2, score / 2]) if inputs == 2 else np.asarray(score)

    return odds


@functools.cache
def _libraries() -> Any:
    """Return what limits OpenMP: several threads would wait longer than so little work takes."""
    return threadpoolctl.ThreadpoolController()
