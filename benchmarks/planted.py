"""Plant leaks as rare as an audit says that it would have found them, and count how many it finds.

Each client keeps its claim but for the leak. What it sends besides the leak is one of three things.
"""

import functools

import numpy as np
from entry_clients import answer, letters
from series import Series

from ldpkit import Client
from ldpkit.blackbox.sequential import SequentialAudit


def relation(v, rng, shows, last=None):
    """Add a number to that of the report before; it is the input if it shows."""
    last["number"] = last.get("number", 0) + (v if shows else int(rng.integers(2, 10)))
    return {"count": last["number"]}


def failure(v, rng, shows):
    if shows:
        raise RuntimeError(f"no {v}")
    return {}


LEAKS = {
    "a key": lambda v, rng, shows: {"debug": v} if shows else {},
    "a value": lambda v, rng, shows: {"d": v if shows else int(rng.integers(2, 10))},
    "two values": lambda v, rng, shows: {
        "flag": int(shows), "w": v if shows else int(rng.integers(2)),
    },
    "consecutive reports": relation,
    "a character": lambda v, rng, shows: {
        "t": letters(rng, 3, 3) + ("#%"[v] if shows else "x") + letters(rng, 4, 4),
    },
    "a failed call": failure,
}  # fmt: skip
"""What a report shows besides the answer; the input is in it only if it `shows`."""

BESIDE = {
    "nothing": (1.0, 0.01, 800, lambda rng: {}),
    "a real number and an identifier": (
        1.0, 0.05, 1500, lambda rng: {"x": float(rng.random()), "id": int(rng.integers(2**40))}
    ),
    "eight fields": (
        0.5, 0.01, 1000, lambda rng: {f"f{i}": int(rng.integers(20)) for i in range(4)}
        | {f"x{i}": float(rng.random()) for i in range(3)} | {"s": letters(rng, 1, 1)},
    ),
}  # fmt: skip
"""Claim, alpha, reports per input, and what is sent besides, which has nothing to do with the
input."""


def audit(leak, beside, one_in, run):
    """Return an audit of a new client, which leaks in one report of `one_in`; never if it is 0."""
    epsilon, alpha, reports, more = BESIDE[beside]
    rng, planted = np.random.default_rng([1000, run]), LEAKS[leak]
    if leak == "consecutive reports":
        planted = functools.partial(planted, last={})

    def send(v):
        shows = one_in > 0 and rng.random() < 1 / one_in
        return {"own": answer(v, rng, epsilon), **more(rng), **planted(v, rng, shows)}

    client = Client(send, report="any", values=[0, 1], epsilon=epsilon, on_error="report")
    return SequentialAudit(client, "learned", trials=reports, alpha=alpha, explain=0.0)


def said(leak, beside):
    """Return how rare a leak an audit of the client without leaks says that it would have found."""
    return audit(leak, beside, 0, 0).run(1)[0].one_in


def series(runs):
    for beside, (_, _, reports, _) in BESIDE.items():
        for leak in LEAKS:
            n = said(leak, beside)
            labels = {"leak": leak, "beside": beside, "reports": reports, "one in": n}
            yield Series(labels, runs, lambda run, n=n, w=(leak, beside): audit(*w, n, run))
