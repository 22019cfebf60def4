"""What pages import refuses bad input by parameter, value and range. Nothing here is random."""

import math
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from ldpbook import claims, datasets, neural_networks, paper_values, plots

mpl.use("Agg")

POSITIVE = "must be a finite number > 0, got"
RNG = "rng must be a numpy.random.Generator, got"
X, Y = np.zeros((3, 2)), np.array([0, 1, 1])
TABLE = pd.DataFrame({"mechanism": ["GRR"], "k": [2], "epsilon": [1.0], "epsilon_emp": [0.9]})
POINTS = pd.DataFrame([("", "", "exact", 1.0, 1.0, None)], columns=plots.COLUMNS)
SPACE = {
    **{module.__name__.partition(".")[2]: module
       for module in (claims, datasets, neural_networks, paper_values, plots)},
    "math": math, "matplotlib": mpl, "np": np, "X": X, "Y": Y, "TABLE": TABLE, "POINTS": POINTS,
    "rng": lambda: np.random.default_rng(1),
    "net": lambda: neural_networks.mlp([2, 2], np.random.default_rng(1)),
    "board": paper_values.Scoreboard("ldp_auditor/fig2"),
}  # fmt: skip
REFUSED = [
    ("paper_values.furthest(3)", "table must have the columns mean, exact, se, got 3"),
    ("paper_values.load('no_paper')", "no published numbers at"),
    ("paper_values.lookup('ldp_auditor', 'no_item')", "0 published numbers of ldp_auditor match item='no_item'"),
    ("paper_values.load('ldp_auditor', 'guesses')", "folder must be one of published, reference, claims, got 'guesses'"),
    ("claims.load('no_paper')", "no published numbers at"),
    ("claims.verdict([1], [0], relation='<', published=1, tolerance=0)", "relation must be one of =, <=, >=, got '<'"),
    ("claims.judge('ldp_auditor/index', math)", "page must be one that data/claims speaks about, got 'ldp_auditor/index'"),
    ("claims.judge('ldp_auditor/fig1', math)", "code and tables must have flat, guess, per_claim, pure of claim ldp_auditor/grr_close"),
    ("claims._evaluator({'id': 'rad/x', 'code': '__import__(1)'}, math, {})", "must have __import__ of claim rad/x"),
    ("paper_values.verdict('1', 0)", "reproduced must be a number, got '1'"),
    ("paper_values.verdict(1, -0.1)", "se must be a number >= 0, got -0.1"),
    ("paper_values.verdict(1, 0, published=[1])", "published must be a number, got [1]"),
    ("paper_values.verdict(1, 0, relation='<')", "relation must be one of =, <=, >=, got '<'"),
    ("paper_values.verdict(1, 0, how='hearsay')", "how must be one of real reports, sampled from exact rates"),
    ("paper_values.verdict(1, 0, kind='rumour')", "kind must be one of printed number, digitised curve"),
    ("paper_values.Scoreboard('ldp_auditor/fig1', how='hearsay')", "how must be one of real reports"),
    ("board.add('a', 1, 1.0)", "how must be one of real reports, sampled from exact rates"),
    ("paper_values.Scoreboard('ldp_auditor/fig')", "got 'ldp_auditor/fig'; did you mean 'ldp_auditor/fig"),
    ("plots.figure(TABLE, x='', y='')", "table must have the columns panel, series, source, x, y, error, got mechanism"),
    ("plots.figure(POINTS.assign(colour=1), x='', y='')", "table must have the columns panel, series, source, x, y, error alone, got"),
    ("plots.figure(POINTS.assign(source='theirs'), x='', y='')", "source must be one of paper, released code, exact, this run"),
    ("plots.figure(POINTS.assign(x='GRR'), x='', y='')", "x must be a number where lines are drawn, got 'GRR'"),
    ("plots.figure(POINTS, x='', y='', kind='pie')", "kind must be one of lines, bars, got 'pie'"),
    ("plots.figure(POINTS, x='', y='', xscale='cubic')", "xscale must be one of linear, log, symlog, got 'cubic'"),
    ("plots.figure(POINTS, x='', y='', yscale='cubic')", "yscale must be one of linear, log, symlog, got 'cubic'"),
    ("plots.figure(POINTS, x='', y='', share='z')", "share must be one of xy, x, y, , got 'z'"),
    ("plots.figure(POINTS, x='', y='', floor=0)", "floor must be a finite number > 0, got 0"),
    ("plots.figure(POINTS, x='', y='', columns=0)", "columns must be an integer >= 1, got 0"),
    ("plots.tidy(TABLE, x='k')", "table must have the columns k, mean, spread, exact, got mechanism, k"),
    ("plots.tidy(TABLE, x='k', sources={}, claim={'claim': 'level'})", "table must have the columns k, level, got mechanism, k"),
    ("plots.data(3)", "figure must be a matplotlib figure, got 3"),
    ("plots.attach(3, TABLE)", "figure must be a matplotlib figure, got 3"),
    ("plots.data(matplotlib.figure.Figure())", "figure must have a table: draw it by plots.figure, or plots.attach one"),
    ("plots.summary(TABLE)", "table must have the columns mechanism, k, epsilon, epsilon_emp, exact_epsilon_emp, exact_sd, got"),
    ("plots.summary(None)", "table must have the columns mechanism, k, epsilon, epsilon_emp, exact_epsilon_emp, exact_sd, got None"),
    ("plots.show(TABLE, bold='won')", "table must have the columns won, got mechanism, k"),
    ("plots.show(TABLE, -1)", "precision must be an integer >= 0, got -1"),
    ("datasets.download('mnits')", "data set must be one of mnist, fashion_mnist, adult, got 'mnits'; did you mean 'mnist'?"),
    ("datasets.images('adult')", "data set must be one of mnist, fashion_mnist, got 'adult'"),
    ("neural_networks.mlp([3], rng())", "sizes must name inputs and classes at least, got [3]"),
    ("neural_networks.mlp(3, rng())", "sizes must be a list of layer sizes, got 3"),
    ("neural_networks.mlp([3, 0], rng())", "sizes must be an integer >= 1, got 0"),
    ("neural_networks.mlp([3, 2], 1)", f"{RNG} 1"),
    ("net().gradients(X, [0, 1, 2])", "labels must lie in 0..1, got 2 at position 2"),
    ("net().gradients(X, [0, 1])", "labels must be one for each of the 3 records, got 2"),
    ("neural_networks.train(net(), X, Y, rounds=-1, lr=0.1, rng=rng())", "rounds must be an integer >= 0, got -1"),
    ("neural_networks.train(net(), X, Y, rounds=1, lr=0, rng=rng())", f"lr {POSITIVE} 0"),
    ("neural_networks.train(net(), X, Y, rounds=1, lr=0.1, rng=rng(), clients=0)", "clients must be an integer >= 1, got 0"),
    ("neural_networks.train(net(), X, Y, rounds=1, lr=0.1, rng=rng(), clip=-1)", f"clip {POSITIVE} -1"),
    ("neural_networks.train(net(), X, Y, rounds=1, lr=0.1, rng=None)", f"{RNG} None"),
    ("neural_networks.train(net(), X[:0], Y[:0], rounds=1, lr=0.1, rng=rng())", "records must be an integer >= 1, got 0"),
    ("neural_networks.benign(net(), X[:1], Y[:1], 5, rng())", "records must be an integer >= 2, got 1"),
    ("neural_networks.benign(net(), X, Y, 0, rng())", "count must be an integer >= 1, got 0"),
    ("neural_networks.label_flip(net(), X, Y, 5, rng(), 'worst')", "flip must be one of random, next, runner_up, got 'worst'"),
    ("neural_networks.label_flip(net(), X, Y + 9, 5, rng())", "labels must lie in 0..1, got"),
    ("neural_networks.gradient_flip(net(), X, Y, 2.5, rng())", "count must be an integer >= 1, got 2.5"),
    ("neural_networks.gradient_flip(net(), X, Y, 2, 1)", f"{RNG} 1"),
    ("neural_networks.collude(net(), X, Y, 2, rng(), None)", "teach must be callable, got None"),
    ("neural_networks.collude(net(), X, Y, 2, 1, len)", f"{RNG} 1"),
]  # fmt: skip


def test_bad_input_is_refused_by_parameter_value_and_range():
    wrong = []
    for text, message in REFUSED:
        refused = pytest.raises((ValueError, TypeError, KeyError, OSError))
        with warnings.catch_warnings(), refused as caught:
            warnings.simplefilter("error")
            eval(text, dict(SPACE))
        if message not in str(caught.value):
            wrong.append((text, str(caught.value)))
    assert wrong == []


def test_files_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LDPKIT_DATA", str(tmp_path))
    (tmp_path / "adult").mkdir()
    (tmp_path / "adult" / "adult.data").write_text("39, State-gov")
    with pytest.raises(ValueError, match=r"file .*adult\.data is not the original"):
        datasets.adult()
    missing = r"file .*train-images.* of fashion_mnist is missing"
    with pytest.raises(FileNotFoundError, match=missing):
        datasets.images("fashion_mnist")
