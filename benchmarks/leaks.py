"""Define twelve clients that leak more than their claim epsilon = 1, and six that do not.

Each client takes two inputs, knows nothing of audits, and sends values that JSON can represent.
Each leak has the event that somebody who knew the leak would declare, and the rates of that event.
"""

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpkit import Client
from ldpkit.mechanisms import GRR, OUE, SS, SUE
from ldpkit.reports import hash_cell

E, K = math.e, 8


@dataclass(frozen=True)
class Leak:
    """A broken client.

    Parameters
    ----------
    client : callable
        ``f(values, rng)``.
    values : two inputs
        The event is likelier with the first.
    rates : (float, float)
        Rates of the declared event, with the first input and with the second.
    event : str
        The declared event in words.
    """

    client: Any
    values: tuple[Any, Any]
    rates: tuple[float, float]
    event: str


def lists(mechanism, values, rng):
    return mechanism.perturb(np.array(values), rng).tolist()


def own_first(values, rng):
    """Return reports of subset selection that puts the value first and does not shuffle."""
    sets = lists(SS(10, 1.0), values, rng)
    shuffled = [rng.permutation(s).tolist() for s in sets]
    return [sorted(s, key=lambda x: x != v) for s, v in zip(shuffled, values)]


def last_bit_bare(values, rng):
    return [[*bits[:-1], int(v == 15)] for bits, v in zip(lists(OUE(16, 1.0), values, rng), values)]


def laplace(values, rng):
    """Return numbers with noise in double precision, neither rounded nor clipped."""
    return (np.array(values, float) + rng.laplace(0, 1, len(values))).tolist()


class Seeded:
    """A client that draws the same noise for the same user and value again and again."""

    def __init__(self, user):
        self.user = user

    def __call__(self, values, rng):
        return [lists(OUE(K, 1.0), [v], np.random.default_rng([self.user, v]))[0] for v in values]


class Memoised:
    """A client that stores the first report of every value, and sends it for ever."""

    def __init__(self):
        self.kept = {}

    def __call__(self, values, rng):
        for v in values:
            if v not in self.kept:
                self.kept[v] = lists(OUE(K, 1.0), [v], rng)[0]
        return [self.kept[v] for v in values]


def padded(values, rng):
    return [
        bits + [0] * int(v % 2 and rng.random() < 0.1)
        for bits, v in zip(lists(OUE(K, 1.0), values, rng), values)
    ]


def twice_the_budget(values, rng):
    return lists(OUE(10, 2.0), values, rng)


def parity_kept(values, rng):
    return [[*b[:7], (sum(b[:7]) + v) % 2] for b, v in zip(lists(SUE(K, 1.0), values, rng), values)]


def two_bits_tied(values, rng):
    """Return reports in which bit 5 equals bit 2 in nine of ten reports, or its opposite for value
    0.
    """
    reports = lists(OUE(K, 1.0), values, rng)
    for bits, v in zip(reports, values):
        if rng.random() < 0.9:
            bits[5] = bits[2] ^ (v == 0)
    return reports


def rare_text(values, rng):
    """Return reports of which one in a hundred is an error text that names the value."""
    return [
        f"E{v}" if rng.random() < 0.01 else r
        for r, v in zip(lists(GRR(10, 1.0), values, rng), values)
    ]


def keys_in_order(values, rng, leak=0.8):
    out = []
    for bits, v in zip(lists(SUE(4, 1.0), values, rng), values):
        names = rng.permutation(4).tolist()
        if rng.random() < leak:
            names.sort(key=lambda name: name != v)
        out.append({f"k{name}": bits[name] for name in names})
    return out


def seed_and_cell(values, rng):
    """Return reports of local hashing with three cells."""
    grr, seeds = GRR(3, 1.0), rng.integers(0, 2**20, len(values))
    cells = [hash_cell(int(v), int(seed), 3) for v, seed in zip(values, seeds)]
    return [{"seed": int(s), "y": y} for s, y in zip(seeds, lists(grr, cells, rng))]


def discrete_laplace(values, rng):
    p, n = 1 - math.exp(-1 / 5), len(values)
    return (np.array(values) + rng.geometric(p, n) - rng.geometric(p, n)).tolist()


def keys_at_random(values, rng):
    return keys_in_order(values, rng, 0.0)


@functools.cache
def lattice_rates(draws=400_000):
    """Return simulated rates of the event on digits of doubles, for which no formula exists."""
    found = []
    for value in (0, 1):
        y = np.array(laplace([value] * draws, np.random.default_rng(value)))
        mantissa, exponent = np.frexp(y)
        whole = (mantissa * 2.0**53).astype(np.int64)
        lowest = exponent - 53 + np.frexp((whole & -whole).astype(float))[1] - 1
        found.append(float((lowest < -53).mean()))
    return found[0], found[1]


def leaks():
    """Return the broken clients by name, each newly made."""
    kept = 3 * E / (3 * E + 7)  # of a value in its subset
    oue, doubled = 1 / (E + 1), 1 / (E**2 + 1)  # of a bit that is not
    differ = 2 * oue * (1 - oue)
    return {
        "order leak": Leak(own_first, (0, 1), (kept, (1 - kept) / 9), "the first element is 0"),
        "last bit unnoised": Leak(last_bit_bare, (15, 0), (1.0, 0.0), "the last bit is 1"),
        "float lattice": Leak(laplace, (0, 1), lattice_rates(), "lowest bit below 2^-53"),
        "missing clipping": Leak(
            laplace, (4, 0), (1 - math.exp(-1.25) / 2, math.exp(-2.75) / 2), "y > 2.75"
        ),
        "seeded per user": Leak(Seeded(7), (0, 1), (1.0, 0.0), "the report of 0"),
        "memoised": Leak(Memoised(), (0, 1), (1.0, 0.0), "the report of 0"),
        "length leak": Leak(padded, (1, 0), (0.1, 0.0), "nine bits"),
        "epsilon doubled": Leak(
            twice_the_budget, (0, 1), ((1 - doubled) / 2, doubled / 2), "bit 0 and not bit 1"
        ),
        "parity leak": Leak(parity_kept, (0, 1), (1.0, 0.0), "even parity"),
        "two-bit correlation": Leak(
            two_bits_tied, (0, 1), (0.9 + 0.1 * differ, 0.1 * differ), "bits 2 and 5 differ"
        ),
        "rare output": Leak(rare_text, (0, 1), (0.01, 0.0), "E0"),
        "JSON key order": Leak(keys_in_order, (0, 1), (0.85, 0.05), "k0 comes first"),
    }


def sound():
    """Return six clients that keep their claim, with two inputs each."""
    return {
        "GRR": (lambda v, rng: lists(GRR(10, 1.0), v, rng), (0, 1)),
        "OUE": (lambda v, rng: lists(OUE(10, 1.0), v, rng), (0, 1)),
        "SS": (lambda v, rng: [rng.permutation(s).tolist() for s in lists(SS(10, 1.0), v, rng)],
               (0, 1)),
        "OLH": (seed_and_cell, (0, 1)),
        "discrete Laplace": (discrete_laplace, (0, 5)),
        "JSON bits": (keys_at_random, (0, 1)),
    }  # fmt: skip


def fresh(name, run):
    """Return a broken client without memory for user number `run`, and its inputs."""
    afresh = {"seeded per user": Seeded(run), "memoised": Memoised()}
    leak = leaks()[name]
    return afresh.get(name, leak.client), leak.values


def audited(function, values, epsilon=1.0, delta=0.0):
    """Return a client for an audit."""
    return Client(function, report="any", values=list(values), epsilon=epsilon, delta=delta)
