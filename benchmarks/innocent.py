"""Audit clients that keep their claim at its very edge, and count how often they are refuted.

Randomised response with k values loses exactly epsilon between any two inputs. Therefore a bet on
any of its values is exactly fair. No correct client is refuted more easily.
"""

import functools
import itertools
import json

import entry_clients
import leaks
import numpy as np
import tradeoffs
from series import STORE, Series

from ldpkit import Client
from ldpkit.blackbox.clients import recorded
from ldpkit.blackbox.sequential import Declared, SequentialAudit
from ldpkit.mechanisms import GRR, OUE, SS, SUE

K, EPSILON, ALPHA = 5, 1.0, 0.01
SHORT, LONG = 200, 20_000  # pairs of reports, where something is learned
HONEST = ((200, 40), (500_000, 1))
"""Reports per input of audits of every client of `suite`, and how many of these audits are made."""


def respond(values, rng):
    return GRR(K, EPSILON).perturb(np.array(values), rng)


def answers(values, rng):
    """Return reports as JSON values, as an unknown client would send them, so that they must be
    learned.
    """
    return respond(values, rng).tolist()


def is_first(reports):
    """Return whether each report is 0, an event whose rates lie at the edge of the claim."""
    return np.asarray(reports) == 0


def declared(pairs, run):
    client, event = Client(respond, K, "value", EPSILON), Declared(is_first, "the report is 0")
    return SequentialAudit(client, event, pair=(0, 1), trials=pairs, alpha=ALPHA)


def recordings(pairs, run):
    """Return an audit of the same event, with reports from two recorded files."""
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
    """Return an audit of each of three inputs against the others, with one wealth for all."""
    return learned(pairs, run, (0, 1, 2))


def sound(name, pairs, run):
    function, values = leaks.sound()[name]
    return SequentialAudit(leaks.audited(function, values), "learned", trials=pairs, alpha=ALPHA)


def nulls(times=1.0):
    """Return all series at the edge of the claim, with `times` as many runs as were planned."""
    planned = [("declared", declared, 10_000, 10_000), ("recordings", recordings, 10_000, 10_000),
               ("learned", learned, SHORT, 10_000), ("three inputs", searched, SHORT, 10_000),
               ("learned", learned, LONG, 200), ("three inputs", searched, LONG, 200)]  # fmt: skip
    return [Series({"audit": name, "pairs": n}, round(times * runs), functools.partial(f, n),
                   {"wanted": runs})
            for name, f, n, runs in planned]  # fmt: skip


def clients(times=1.0):
    """Return the series of clients that keep their claim; each audit is stopped at a random time
    and continued.
    """
    return [Series({"client": name, "pairs": pairs}, round(times * runs),
                   functools.partial(sound, name, pairs), {"wanted": runs}, paused=True)
            for pairs, runs in ((SHORT, 2000), (LONG, 50)) for name in leaks.sound()]  # fmt: skip


# --- fifty tests of one suite ---------------------------------------------------------------------
DELTA = 0.01


def sometimes_clear(epsilon, values, rng):
    """Return reports of randomised response, of which a share `DELTA` are the values themselves."""
    reports = np.where(
        rng.random(len(values)) < DELTA, values, GRR(K, epsilon).perturb(np.array(values), rng)
    )
    return reports.tolist()


def named(name, function):
    """Return a client of this name, which is part of the names of its streams."""

    def send(values, rng):
        return function(values, rng)

    send.__name__ = name
    return send


def counting(function):
    """Return a client of many values, from a function of a value, a generator and the number of the
    report."""
    count = itertools.count()
    return lambda values, rng: [function(v, rng, next(count)) for v in values]


def suite():
    """Return fifty clients of all sorts at the edge of their claims, by name, newly made.

    Each has the other arguments of `ldpkit.testing.assert_private`, which are its claim and inputs.
    """
    two = {"epsilon": EPSILON, "inputs": [0, 1]}
    found = {name: (counting(f), two) for name, f in entry_clients.CORRECT.items()}
    found |= {name: (f, two | {"inputs": [*inputs]}) for name, (f, inputs) in leaks.sound().items()}
    for name, (client, curve) in tradeoffs.edges().items():
        found[name] = client, {"curve": curve, "inputs": [0, 1]}
    for epsilon in (0.25, 0.5, 2.0, 3.0):
        claim = {"epsilon": epsilon, "inputs": [0, 1]}
        for mechanism in (GRR(K, epsilon), SUE(8, epsilon), OUE(8, epsilon), SS(10, epsilon)):
            client = functools.partial(tradeoffs.oracle, mechanism)
            found[f"{mechanism.name}, {epsilon}"] = client, claim
        client = functools.partial(tradeoffs.integer, epsilon)
        found[f"integer Laplace, {epsilon}"] = client, claim
        client = functools.partial(sometimes_clear, epsilon)
        found[f"GRR with delta, {epsilon}"] = client, claim | {"delta": DELTA, "inputs": [0, 1, 2]}
    return {name: (named(name, client), claim) for name, (client, claim) in found.items()}


def audit(name, pairs, run):
    """Return an audit of one client of the suite with all its inputs."""
    client, claim = suite()[name]
    curve = claim.get("curve")
    epsilon, delta = curve.implied if curve else (claim["epsilon"], claim.get("delta", 0.0))
    asked = Client(client, values=claim["inputs"], epsilon=epsilon, delta=delta)
    given = {"curve": curve} if curve else {}
    several = {"inputs": range(len(claim["inputs"]))} if len(claim["inputs"]) > 2 else {}
    return SequentialAudit(asked, "learned", trials=pairs, alpha=ALPHA, **given, **several)


def honest():
    """Return the series of audits of every client of the suite, by their reports per input."""
    return {pairs: [Series({"client": name, "pairs": pairs}, runs,
                           functools.partial(audit, name, pairs)) for name in suite()]
            for pairs, runs in HONEST}  # fmt: skip
