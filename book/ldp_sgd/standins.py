"""Provide the records and networks that replace the four data sets of the LDP-SGD paper, and the cells of its figures.

CIFAR-10, FEMNIST, CelebA and Sent140 cannot be distributed with a book. The stand-ins take their roles: a hard and an easy task
with ten classes, a task with two classes, and short texts with a mood.
"""

import functools
import string

import networks
import numpy as np
import pandas as pd

from ldpbook import datasets, neural_networks, plots
from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import GradientAudit
from ldpkit.mechanisms import LDPSGD
from ldpkit.rng import derive, generator

ROLES = {"noisy digits": "CIFAR-10", "digits": "FEMNIST", "even/odd": "CelebA", "made-up text": "Sent140"}
"""Each stand-in, and the data set of the paper that it replaces."""

OWN = "your images"
"""Name of the stand-in that replaces the first one if a reader gives a file of images."""

STEPS = {"digits": {"lr": 0.2}, "made-up text": {"lr": 1.0, "clip": 1.0}}
MAIN = {"noisy digits": 300, "digits": 100, "even/odd": 30, "made-up text": 1000, OWN: 300}
"""Training iterations before an audit, after which the test accuracy is well above chance and not all gradients are short."""


ADVERSARIES = {"benign": "benign", "random": "label flip"} | {a: a for a in ("gradient flip", "collusion", "dummy")}
"""How the adversaries of the figures are crafted, and their names; a label flip is crafted by its wrong label."""

SYMBOLS = string.printable
"""The 100 characters of generated text; the number after the last one pads."""

_CUES = (
    "hate sad bad sick tired miss sorry awful cry hurt worst lost pain boring ugh fail broken alone angry terrible".split(),
    "love great happy good awesome best fun nice cool thanks lol yay excited amazing sweet enjoy"
    " win smile glad beautiful".split(),
)
_NEUTRAL = (
    "today work home going just the day night school movie phone time back people morning weekend"
    " car friend game coffee really still need think know want tomorrow music house dinner"
).split()


def sentences(count, rng, length=25):
    """Generate short texts with a mood, which are artificial data in the place of labelled tweets.

    A text has two to four neutral words. Three texts of four also have a cue word at a random place. The cue word has the wrong
    mood in one of ten such texts. Therefore no classifier is right in more than 80 % of all texts.

    Returns
    -------
    x : int array, shape (count, length)
        Positions in `SYMBOLS` of the letters without blanks, cut and padded to `length`.
    y : int array, shape (count,)
        0 negative, 1 positive.
    """
    x, y = np.full((count, length), len(SYMBOLS)), rng.integers(0, 2, count)
    for text, mood in zip(x, y):
        words = [_NEUTRAL[i] for i in rng.integers(0, len(_NEUTRAL), rng.integers(2, 5))]
        if rng.random() < 0.75:
            cues = _CUES[mood if rng.random() < 0.9 else 1 - mood]
            words.insert(rng.integers(0, len(words) + 1), cues[rng.integers(0, len(cues))])
        letters = "".join(words)[:length]
        text[: len(letters)] = [SYMBOLS.index(letter) for letter in letters]
    return x, y


def names(images):
    """Return the names of the stand-ins; a file of images replaces the first."""
    return list(ROLES) if images is None else [OWN, *list(ROLES)[1:]]


@functools.lru_cache(maxsize=8)
def records(name, seed, images=None):
    """Return training records and labels, and test records and labels (one record in eight).

    `images` is the path of an ``.npz`` file with ``x_train`` (bytes, (n, height, width) or (n, height, width, channels)) and
    ``y_train``. It is read for the stand-in `OWN` only.
    """
    rng = generator(seed, "records", name)
    if name == OWN:
        with np.load(images) as file:
            x, y = file["x_train"], file["y_train"].astype(int)
        x = x.reshape(*x.shape[:3], -1).astype(np.float32) / 255
        x = (x - x.mean(axis=(0, 1, 2))) / x.std(axis=(0, 1, 2))
    elif name == "made-up text":
        x, y = sentences(5500, rng)
    else:
        x, y = datasets.digits()
        order = rng.permutation(len(y))
        x, y = x[order].astype(np.float32), y[order]
        if name == "noisy digits":
            x = x + rng.normal(0, 0.5, x.shape).astype(np.float32)
        if name == "even/odd":
            y = y % 2
    held = len(y) // 8
    return x[held:], y[held:], x[:held], y[:held]


def network(name, x, y, rng):
    """Return the untrained network of a stand-in."""
    if name == "made-up text":
        return networks.lstm(len(SYMBOLS), 2, rng)
    if name == "digits":
        return neural_networks.mlp([x[0].size, 64, 10], rng)
    return networks.cnn(x.shape[1:], int(y.max()) + 1, rng)


def teach(name, rng):
    """Return a function that trains a net of a stand-in on records and labels."""
    return lambda net, x, y, rounds=20: neural_networks.train(net, x, y, rounds=rounds, rng=rng, **STEPS.get(name, {"lr": 0.05}))


@functools.lru_cache(maxsize=8)
def checkpoints(name, seed, iterations, images=None):
    """Return a net for each number of training iterations in `iterations`, which must rise."""
    x, y, *_ = records(name, seed, images)
    rng = generator(seed, "training", name)
    net, found, done = network(name, x, y, rng), [], 0
    for rounds in iterations:
        teach(name, rng)(net, x, y, rounds - done)
        done = rounds
        found.append(net.fresh(generator(seed, "copy")))
        found[-1].theta = net.theta.copy()
    return found


def craft(name, adversary, net, pairs, seed, images=None):
    """Return the pairs of gradients of an adversary against a trained net; a label flip has the name of its wrong label."""
    x, y, *_ = records(name, seed, images)
    rng = generator(seed, "pairs", name, adversary)
    if adversary == "dummy":
        return dummy(net.d)
    if adversary == "collusion":
        return neural_networks.collude(net, x, y, pairs, rng, teach(name, rng))
    if adversary in neural_networks.FLIPS:
        return neural_networks.label_flip(net, x, y, pairs, rng, adversary)
    return {"benign": neural_networks.benign, "gradient flip": neural_networks.gradient_flip}[adversary](net, x, y, pairs, rng)


def measure(pool, mechanism, rule, trials, measurements, seed):
    """Audit one pool of pairs several times, and return one row per audit, without constant columns."""
    rows = []
    for run in range(measurements):
        result = GradientAudit(mechanism, pool, rule, trials=trials // 2, alpha=0.05, faithful=True).run(derive(seed, run))[0]
        kept = ("epsilon", "fpr", "fnr", "epsilon_emp", "exact_epsilon_emp", "exact_sd", "limit", "pooled", "lower")
        rows.append({key: result.row()[key] for key in kept} | {"run": run})
    return rows


def cell(name, adversary, training, pairs, epsilon, rule, trials, measurements, start, seed, images=None):
    """Audit one stand-in with one adversary at every budget, and return one row per audit; `start` seeds records and training."""
    net = checkpoints(name, start, (round(training * MAIN[name]),), images)[0]
    pool = craft(name, adversary, net, pairs, start, images)
    return [row for e in epsilon for row in measure(pool, LDPSGD(net.d, e), rule, trials, measurements, derive(seed, e))]


def training_cell(name, iterations, pairs, epsilon, trials, measurements, start, seed, images=None):
    """Audit label flips at every checkpoint of a training run, and describe the gradients at each checkpoint."""
    rows = []
    *_, x, y = records(name, start, images)
    for rounds, net in zip(iterations, checkpoints(name, start, tuple(iterations), images)):
        for flip in ("random", "runner_up"):
            pool = craft(name, flip, net, pairs, start, images)
            one, two, angle = pool.shape(1.0)
            state = {"iteration": rounds, "flip": flip, "accuracy": net.accuracy(x, y), "short": float(np.mean(one)),
                     "angle": float(np.mean(angle) / np.pi), "A1": float(np.mean(one * angle) / np.pi),
                     "A2": float(np.mean(two * angle) / np.pi)}  # fmt: skip
            own = derive(seed, rounds, flip)
            rows += [state | row for row in measure(pool, LDPSGD(net.d, epsilon), "cosine", trials, measurements, own)]
    return rows


def private_cell(epsilon, lr, rounds, every, pairs, start, seed):
    """Train a linear classifier of the digits with LDP-SGD, and return its accuracy and gradient lengths during training.

    If `epsilon` is None, the training adds no noise.
    """
    x, y, held_x, held_y = records("digits", start)
    net, rng, rows = neural_networks.mlp([64, 10], generator(start, "linear")), generator(seed, "private"), []
    mechanism = None if epsilon is None else LDPSGD(net.d, epsilon)
    for done in range(0, rounds + 1, every):
        at = generator(start, "watch").integers(0, len(y), pairs)
        length = np.minimum(1, np.linalg.norm(net.gradients(x[at], y[at]), axis=1))
        state = {"accuracy": net.accuracy(held_x, held_y), "length": float(np.mean(length))}
        rows.append({"round": done, "parameters": net.d} | state)
        neural_networks.train(net, x, y, rounds=every, lr=lr, rng=rng, mechanism=mechanism)
    return rows


def summary(table, by):
    """Return for each cell the mean of the finite estimates, its exact expectation, and its standard error."""
    cells = table.groupby(by, sort=False).agg(
        mean=("epsilon_emp", "mean"), spread=("epsilon_emp", "std"), exact=("exact_epsilon_emp", "first"), sd=("exact_sd", "first"), limit=("limit", "first"),
        pooled=("pooled", "mean"), bound=("lower", "mean"), runs=("epsilon_emp", "count")).reset_index()  # fmt: skip
    return cells.assign(spread=cells["spread"].fillna(0.0), se=cells["sd"] / cells.pop("runs") ** 0.5)


def measured(cells, top, *, x="epsilon", label="budget of a report ε₀", panel="", series="", claim=None, **look):
    """Draw the measurements of the cells of `summary`, and the budget in column `claim`; the axis ends a third above `top`."""
    claim = {} if claim is None else {"budget ε₀": claim}
    table = plots.tidy(cells, panel=panel, series=series, x=x, claim=claim)
    return plots.figure(table, x=label, y="measured ε", ylim=(0, 1.35 * top), z=True, **look)


def curves(rows, x, columns, panel=""):
    """Return the values of this run in several columns of a table, as series for a figure."""
    found = [plots.tidy(rows, panel=panel, series=label, x=x, sources={"this run": column}) for column, label in columns.items()]
    return pd.concat(found, ignore_index=True)


def densities(panel, cosines, laws, d):
    """Return shares of real cosines in units of 1/sqrt(d) and their exact densities, as series for a figure."""
    edges, fine, found = np.linspace(-4, 4, 41), np.linspace(-4, 4, 161), []
    fine = fine[np.abs(fine) < d**0.5]
    for series, values in cosines.items():
        shares = np.histogram(values * d**0.5, edges, density=True)[0]
        for source, x, y in (("this run, real reports", (edges[1:] + edges[:-1]) / 2, shares),
                             ("exact", fine, laws[series](fine / d**0.5) / d**0.5)):  # fmt: skip
            found.append(pd.DataFrame(dict(zip(plots.COLUMNS, (panel, series, source, x, y, np.nan)))))
    return pd.concat(found, ignore_index=True)
