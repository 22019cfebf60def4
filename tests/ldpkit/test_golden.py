"""Stored rows: one audit of every auditor, attack and family, from the law and by real reports, at
fixed seeds. They tell which numbers an edit changed, not which are right. Where streams change on
purpose, `python tests/ldpkit/test_golden.py` writes the rows anew, and the edit says why."""

import itertools
import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ldpkit import Client, audits
from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import DistributionAudit, GradientAudit, KVAudit, RADAudit, ShuffleAudit
from ldpkit.auditors.rad import PROTOCOLS
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.mechanisms import CPPGRR, CPPUE, GRADIENT, PCKVGRR, PCKVUE, PrivKV, make

STORED = Path(__file__).parents[1] / "data/golden_rows.json"
FAMILIES = [
    *((name, {}) for name in ("GRR", "SS", "SUE", "OUE", "OLH", "SHE", "THE")), ("AGM", {"delta": 1e-5}), ("OUE", {"tau": 3}),
    ("GRR", {"tau": 3, "memoise": True}), ("L-OSUE", {"first": 0.5, "tau": 2}), ("RSFD[OUE-z]", {"d": 2}),
    ("dBitFlipPM", {"buckets": 6, "bits": 2}), ("HR", {}), ("CMS", {"m": 4, "hashes": 3}), ("HM", {"t": 2}),
    ("HCMS", {"m": 4, "hashes": 3}), ("RAPPOR", {"m": 8, "h": 2, "cohorts": 3, "keep": 0.9, "flip": 0.2}),
]  # fmt: skip
NUMBERS = ("PM", "Duchi", "Hybrid", "SW")
ESTIMATORS = ("released", "printed", "valid", "split", "pooled")
KEY_VALUE = [
    *((PCKVUE(3, 2.0), "hkv", {"estimator": e}) for e in ESTIMATORS),
    *((PCKVGRR(4, 2.0, 2, 0.5), a, {}) for a in ("hkv", "vkv")),
    (PCKVUE(3, 2.0), "vkv", {}),
    *((CPPUE(1, 3.0), a, {}) for a in ("hkv", "vkv", "skv", "separated", "probe", "ldp")),
    (CPPUE(1, 3.0), "separated", {"scaling": "exact"}),
    *((CPPGRR(1, 3.0), a, {}) for a in ("hkv", "skv", "probe")),
    *((PrivKV(1, 1.0, 2), a, {"estimator": "split"}) for a in ("hkv", "skv")),
]


def name(mechanism, *more):
    own = (f"{key}={value}" for key, value in mechanism.parameters.items())
    return " ".join(map(str, [mechanism.name, *own, *more]))


def cases():
    """Every case by its name."""
    found, drawn = {}, {"trials": 3000, "alpha": 0.05, "seed": 7}
    ways = {"law": False, "real": True}
    families = [make(f, k=6, epsilon=1.0, **own) for f, own in FAMILIES]
    asked = [*itertools.product(families, ("guess", "tight"))]
    asked += [(make(number, epsilon=1.0), "tight") for number in NUMBERS]
    for (m, attack), (way, faithful) in itertools.product(asked, ways.items()):
        found[name(m, attack, way)] = partial(audits, m, [attack], faithful=faithful, **drawn)
    users = {"alpha": 0.05, "minimum": 5, "last": True}
    for m, attack, given in KEY_VALUE:
        users["trials"] = 10**5 // 2 if attack == "skv" else 10**5
        found[name(m, attack, *given.values())] = partial(
            KVAudit(m, attack, **users, **given).run, 7
        )
    laws = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    for guess in (None, np.array([1.0, 0.5, 0.0])):
        given = {"trials": 10**4, "alpha": 0.05, "guess": guess}
        found[f"laws {guess}"] = partial(DistributionAudit(*laws, **given).run, 7)
    for protocol, (way, faithful) in itertools.product(("GRR", "SS", "OUE"), ways.items()):
        given = {"trials": 500, "alpha": 0.02, "faithful": faithful}
        found[f"rad {protocol} {way}"] = partial(
            RADAudit(PROTOCOLS[protocol](10, 1.0), **given).run, 7
        )
    rules = itertools.product(GRADIENT.values(), ("cosine", "lune"), ways.items())
    for cls, rule, (way, faithful) in rules:
        given, m = {"trials": 200, "alpha": 0.01, "faithful": faithful}, cls(16, 1.0)
        found[name(m, rule, way)] = partial(GradientAudit(m, dummy(16), rule, **given).run, 7)
    for way, faithful in ways.items():
        given = {"trials": 30, "alpha": 0.01, "faithful": faithful}
        found[f"shuffle {way}"] = partial(ShuffleAudit(1.0, 500, **given).run, 7)
    return found | {f"until sure {label}": case for label, case in SEQUENTIAL.items()}


def leaking(values, rng):
    """Randomised response of three values that budget 1 does not cover, with a length that says nothing."""
    kept = np.where(rng.random(len(values)) < 0.8, values, rng.integers(0, 3, len(values)))
    tails = rng.integers(0, 3, len(values))
    return [{"answer": int(v), "tail": [0] * int(n)} for v, n in zip(kept, tails)]


def keeping(values, rng):
    """Randomised response of three values at budget 1, times of day beside it."""
    keep = rng.random(len(values)) < math.expm1(1) / (math.e + 2)
    kept = np.where(keep, values, rng.integers(0, 3, len(values)))
    return [[int(v), float(t)] for v, t in zip(kept, rng.random(len(values)))]


def sequential(mechanism, attack="learned", **more):
    given = {
        "trials": 2000,
        "alpha": 0.01,
        "explain": 0.0,
    } | more  # the search of a cause takes as long as it may
    return lambda: SequentialAudit(mechanism, attack, **given).run(7)


def client(function, **more):
    return Client(function, report="any", **{"values": [0, 1], "epsilon": 1.0} | more)


SEQUENTIAL = {
    "GRR guess": sequential(make("GRR", k=6, epsilon=1.0), "guess", trials=3000),
    "OUE tight": sequential(make("OUE", k=6, epsilon=1.0), "tight", trials=3000),
    "SUE tight, both directions": sequential(
        make("SUE", k=6, epsilon=1.0), "tight", trials=3000, both=True
    ),
    "leaking": sequential(client(leaking)),
    "leaking, three inputs": sequential(client(leaking, values=[0, 1, 2])),
    "leaking, delta": sequential(client(leaking, delta=0.05)),
    "keeping": sequential(client(keeping)),
    "keeping, within": sequential(client(keeping), within=0.5),
}
CASES = cases()


def rows(case):
    """What an audit says, without its time and its sentences."""
    left, results = {"seconds", "how", "verdict", "warnings", "directions"}, case()
    results = results if isinstance(results, list) else [results]
    return [{k: v for k, v in one.row().items() if k not in left} for one in results]


def test_audits_repeat_the_stored_rows():
    stored, wrong = json.loads(STORED.read_text()), []
    assert list(stored) == list(CASES)
    for case, run in CASES.items():
        found = json.loads(json.dumps(rows(run)))
        rounded = [{k: v for k, v in row.items() if isinstance(v, float)} for row in stored[case]]
        same = len(found) == len(rounded)
        for one, other, inexact in zip(found, stored[case], rounded):
            floats = {key: one.get(key) for key in inexact}
            same &= one | inexact == other and floats == pytest.approx(inexact, rel=1e-9)
        wrong += [] if same else [(case, found, stored[case])]
    assert wrong == []


if __name__ == "__main__":
    lines = [f"{json.dumps(key)}: {json.dumps(rows(case))}" for key, case in CASES.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
