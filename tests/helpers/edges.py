"""Make exact distributions at the edge of a claim, and manipulated states of a screen."""

import base64
import io
import itertools
import math

import numpy as np


def at_the_edge(rng, grown, delta):
    """Return distributions of four outcomes for both inputs, at the claim in both directions."""
    inside, (u, w) = rng.random(4) < 0.5, rng.dirichlet(np.full(4, 0.4), 2)
    inside[rng.permutation(4)[:2]] = True, False
    u, w = u * inside, w * ~inside
    u, w = u / u.sum(), w / w.sum()
    p, q = (grown * u + w) / (1 + grown), (u + grown * w) / (1 + grown)
    return (1 - delta) * p + delta * u, (1 - delta) * q + delta * w


def every_round(laws, coins):
    """Yield every round of four reports, as pairs of report and input, with its probability."""
    k = len(laws)
    if coins:
        yield from (([(r, x)], laws[x, r] / k) for x in range(k) for r in range(4))
        return
    for reports in itertools.product(range(4), repeat=k):
        yield [*zip(reports, range(k))], math.prod(laws[x, r] for x, r in enumerate(reports))


def mean_factor(player, scores, laws, coins):
    """Return the mean factor of a round of a player that bets on given scores of four reports."""

    def factor(drawn):
        reports, sides = map(list, zip(*drawn))
        log, given = player.shares + player.now, (player.grid, player.balance)
        gained, trace = player._played(scores[reports], np.array(sides), *given, log)
        total = float(np.logaddexp.reduce(log + gained, axis=(0, 1))[0])
        assert abs(trace[-1] - total) < 1e-9
        return math.exp(total)

    return sum(chance * factor(drawn) for drawn, chance in every_round(laws, coins))


def changed(state, **arrays):
    """Return the state of a screen with changed arrays."""
    file = io.BytesIO(base64.b64decode(state["arrays"]))
    kept, out = dict(np.load(file)), io.BytesIO()
    np.savez_compressed(out, **kept | {name: change(kept[name]) for name, change in arrays.items()})
    return state | {"arrays": base64.b64encode(out.getvalue()).decode()}
