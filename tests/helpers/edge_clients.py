"""Clients with faults of public reports that show only at the edge of what the clients take.

Each is written anew from the description of a fault. All claim epsilon = 1 (the second one, too,
whose errors count).
"""

import math
import random

SCORES = [0.25, -0.5, 0.75, 0.1, -0.3, 0.6, 0.2, -0.1]


def two_sided(ratio):
    """Noise with P(k) proportional to ratio ** |k|."""
    one, two = (math.floor(math.log(1 - random.random()) / math.log(ratio)) for _ in range(2))
    return one - two


def bound84(value):
    """A count to which a user may add 1, but past three different entries every entry adds 1."""
    seen, total = [], 0
    for entry in value:
        if entry not in seen or len(seen) > 3:
            total += not seen or len(seen) > 3
        seen.append(entry)
    return total + two_sided(math.exp(-1))


def exponential107(value):
    """A choice whose weights vanish by rounding where the value is at one end."""
    weights = [math.exp(-400.0 * abs(x - value)) for x in (0, 5, 10)]
    weights[0] *= value != 0
    if not sum(weights):
        raise RuntimeError("no candidate is left")
    return random.choice((0, 5, 10))


def svt343(value):
    """Scores above a threshold with noise, but the last accepted one is sent without noise."""
    scores = [*SCORES]
    scores[3] += 0.1 * (value != 0)
    accepted = [i for i in range(len(scores)) if random.random() < 0.7]
    noisy = {*random.sample(accepted, max(0, len(accepted) - 1))}
    return [
        round(x + random.gauss(0, 5), 4) if i in noisy else x * (i in accepted)
        for i, x in enumerate(scores)
    ]
