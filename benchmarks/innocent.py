"""Audits of those who keep their claim, at its very edge: how often they are accused.

Randomised response with k values loses exactly epsilon between any two inputs, so every bet on
one of its values is fair, and none is worse than fair: the hardest innocent.
"""

import functools
import json

import leaks
import numpy as np
from series import STORE, Series

from ldpkit.mechanisms import GRR, Client, recorded
from ldpkit.sequential import Declared, SequentialAudit

K, EPSILON, ALPHA = 5, 1.0, 0.01
SHORT, LONG = 200, 20_000  # pairs of reports, where something is learned


def respond(values, rng):
    return GRR(K, EPSILON).perturb(np.array(values), rng)


def answers(values, rng):
    """The same as anybody's reports: what they are has to be learned."""
    return respond(values, rng).tolist()


def is_first(reports):
    """An event whose rates are on the edge."""
    return np.asarray(reports) == 0


def declared(pairs, run):
    client, event = Client(respond, K, "value", EPSILON), Declared(is_first, "the report is 0")
    return SequentialAudit(client, event, pair=(0, 1), trials=pairs, alpha=ALPHA)


def recordings(pairs, run):
    """The same event, in two files."""
    STORE.mkdir(parents=True, exist_ok=True)
    paths = []
    for value in (0, 1):
        paths.append(STORE / f"recording{value}.jsonl")
        made = respond(np.full(pairs, value), np.random.default_rng([run, value]))
        paths[-1].write_text("\n".join(map(json.dumps, made.tolist())) + "\n")
    source = recorded(*paths, "value", EPSILON, k=K)
    return SequentialAudit(source, Declared(is_first, "the report is 0"), pair=(0, K - 1),
                        trials=pairs, alpha=ALPHA)  # fmt: skip


def learned(pairs, run, inputs=(0, 1)):
    client = leaks.audited(answers, inputs, EPSILON)
    given = {"inputs": inputs} if len(inputs) > 2 else {}
    return SequentialAudit(client, "learned", trials=pairs, alpha=ALPHA, **given)


def searched(pairs, run):
    """Each of three inputs against the others, in one wealth."""
    return learned(pairs, run, (0, 1, 2))


def sound(name, pairs, run):
    function, values = leaks.sound()[name]
    return SequentialAudit(leaks.audited(function, values), "learned", trials=pairs, alpha=ALPHA)


def nulls(times=1.0):
    """All series at the edge of the claim; `times` as many runs as were planned."""
    planned = [("declared", declared, 10_000, 10_000), ("recordings", recordings, 10_000, 10_000),
               ("learned", learned, SHORT, 10_000), ("three inputs", searched, SHORT, 10_000),
               ("learned", learned, LONG, 200), ("three inputs", searched, LONG, 200)]  # fmt: skip
    return [Series({"audit": name, "pairs": n}, round(times * runs), functools.partial(f, n),
                   {"wanted": runs})
            for name, f, n, runs in planned]  # fmt: skip


def clients(times=1.0):
    """The clients that keep their claim, each audit stopped at a random time and continued."""
    return [Series({"client": name, "pairs": pairs}, round(times * runs),
                   functools.partial(sound, name, pairs), {"wanted": runs}, paused=True)
            for pairs, runs in ((SHORT, 2000), (LONG, 50)) for name in leaks.sound()]  # fmt: skip
