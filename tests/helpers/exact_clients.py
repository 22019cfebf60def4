"""Small clients for tests of exact distributions: right ones, wrong ones, and some that hide what
they draw from."""

import math
import random
import secrets
import time
from random import randint
from random import random as early

import numpy as np

K, EPS = 5, 1.0
KEEP = math.exp(EPS) / (math.exp(EPS) + K - 1)
Q = 1 / (math.exp(EPS) + 1)
STATE = np.random.RandomState(5)
HELD = (np.random.default_rng(6),)  # a tuple, in which nothing can be replaced
SECRET = secrets.randbelow(2)
ANSWERS: dict[int, object] = {}


def good(v):
    if random.random() < KEEP:
        return v
    w = random.randrange(K - 1)
    return w + (w >= v)


def imported_early(v):
    if early() < KEEP:
        return v
    w = randint(0, K - 2)
    return w + (w >= v)


def any_other(v):
    return v if random.random() < KEEP else random.randrange(K)


def two_values(v):
    w = random.randrange(K - 1)
    return v if random.random() < math.exp(EPS) / (math.exp(EPS) + 1) else w + (w >= v)


def one_in_a_million(v):
    return {"clear": v} if random.random() < 1e-6 else good(v)


def bits(v):
    return [int(random.random() < (0.5 if i == v else Q)) for i in range(K)]


def system(v):
    return v if secrets.randbelow(1000) < 405 else secrets.randbelow(K)


def seeded(v):
    rng = np.random.default_rng(42)
    return int(v if rng.random() < 0.6 else rng.integers(K))


def seeded_globally(v):
    np.random.seed(7)
    random.seed("seven")
    return [v ^ np.random.randint(2), random.randrange(3)]


def seeded_by_value(v):
    return random.Random(4 + v).random() < 0.5


def unnoised(v):
    return [v, "sent"]


def lazy(v):
    return v if v == 0 else good(v)


def shy(v):
    if v == 1:
        random.random()
    return good(v)


def clock(v):
    return v + time.perf_counter_ns() % 7


def hour(v):
    return random.Random(int(time.time()) // 3600).random() < 0.3 + v / 2


def noise(v):
    return v + random.random()


def laplace(v):
    return float(v + np.random.default_rng().laplace())


def held(v):
    return v if HELD[0].random() < KEEP else 0


def rarely_held(v):
    return int(HELD[0].integers(10**6)) if random.random() < 1e-3 else good(v)


def remembers(v):
    if v not in ANSWERS:
        ANSWERS[v] = good(v)
    return ANSWERS[v]


def draws_and_remembers(v):
    return ANSWERS.setdefault(-v, good(v))


def secret(v):
    return v ^ SECRET


def swallows(v):
    try:
        return int(100 * math.sqrt(random.random()))
    except BaseException:
        return v


def fails(v):
    raise ZeroDivisionError(v)


def copied(values, rng):
    import copy

    return copy.copy(rng).integers(0, 2, len(values))


def loops(v):
    n = 0
    while random.random() < 0.5:
        n += 1
    return n


def number_grr(values, rng):
    keep = rng.random(len(values)) < KEEP
    other = rng.integers(0, K - 1, len(values))
    return np.where(keep, values, other + (other >= values))


def number_oue(values, rng):
    out = rng.random((len(values), K)) < Q
    out[np.arange(len(values)), values] = rng.binomial(1, 0.5, len(values))
    return out.astype(int)


def legacy_grr(v):
    others = np.arange(K)[np.arange(K) != v]
    return v if np.random.binomial(1, KEEP) == 1 else int(np.random.choice(others))


def legacy_oue(v):
    out = np.random.choice([1, 0], size=K, p=[Q, 1 - Q])
    out[v] = np.random.rand() < 0.5
    return out


def state_grr(v):
    return v if STATE.uniform(-1, 1) < 2 * KEEP - 1 else int((v + STATE.randint(1, K)) % K)


def floor_grr(v):
    return (
        v if random.uniform(2, 4) < 2 + 2 * KEEP else (v + 1 + int(random.random() * (K - 1))) % K
    )


def chosen_grr(v):
    weights = [math.exp(EPS) if w == v else 1.0 for w in range(K)]
    return random.choices(range(K), weights)[0]


def subset(v):
    others = [w for w in range(K) if w != v]
    inside = 2 * math.exp(EPS) / (2 * math.exp(EPS) + K - 2)
    own = random.random() < inside
    return sorted([v] * own + random.sample(others, 2 - own))


def number_subset(values, rng):
    (v,) = values
    own = rng.random() < 2 * math.exp(EPS) / (2 * math.exp(EPS) + K - 2)
    others = rng.permutation(np.delete(np.arange(K), v))[: 2 - own]
    return [sorted([v] * own + others.tolist())]


def _enclosed():
    draw = random.random

    def client(v):
        return v if draw() < KEEP else (v + 1 + random.randrange(K - 1)) % K

    return client


class Device:
    """A client that holds its generator."""

    def __init__(self):
        self.rng = np.random.default_rng()

    def report(self, v):
        return v if self.rng.random() < KEEP else (v + int(self.rng.integers(1, K))) % K


enclosed, device = _enclosed(), Device().report
