"""Make exact distributions at the edge of a claim, and manipulated states of a screen."""

import base64
import io

import numpy as np


def at_the_edge(rng, grown, delta):
    """Return distributions of four outcomes for both inputs, at the claim in both directions."""
    inside, u, w = (
        rng.random(4) < 0.5,
        rng.dirichlet(np.full(4, 0.4)),
        rng.dirichlet(np.full(4, 0.4)),
    )
    inside[rng.permutation(4)[:2]] = True, False
    u, w = u * inside, w * ~inside
    u, w = u / u.sum(), w / w.sum()
    p, q = (grown * u + w) / (1 + grown), (u + grown * w) / (1 + grown)
    return (1 - delta) * p + delta * u, (1 - delta) * q + delta * w


def changed(state, **arrays):
    """Return the state of a screen with changed arrays."""
    file = io.BytesIO(base64.b64decode(state["arrays"]))
    kept, out = dict(np.load(file)), io.BytesIO()
    np.savez_compressed(out, **kept | {name: change(kept[name]) for name, change in arrays.items()})
    return state | {"arrays": base64.b64encode(out.getvalue()).decode()}
