"""Stored rows: one audit of every auditor, attack and family, from the law and by real reports, at
fixed seeds.

They tell which numbers an edit changed, not which numbers are right: the laws and oracle tables do
that. Where streams change on purpose, `python tests/ldpkit/test_golden.py` writes the rows anew, and the
edit says why. Counts are compared as they are; what is computed from them may round differently on
another processor.
"""

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import (
    AnytimeAudit,
    audit_gradient,
    audit_kv,
    audit_laws,
    audit_shuffle,
    audits,
    rad_audit,
)
from ldpkit.mechanisms import CPPGRR, CPPUE, GRADIENT, PCKVGRR, PCKVUE, Client, PrivKV, make

STORED = Path(__file__).parents[1] / "data/golden_rows.json"
FAMILIES = [
    ("GRR", {}),
    ("SS", {}),
    ("SUE", {}),
    ("OUE", {}),
    ("OLH", {}),
    ("SHE", {}),
    ("THE", {}),
    ("AGM", {"delta": 1e-5}),
    ("OUE", {"tau": 3}),
    ("GRR", {"tau": 3, "memoise": True}),
    ("L-OSUE", {"first": 0.5, "tau": 2}),
    ("RSFD[OUE-z]", {"d": 2}),
    ("dBitFlipPM", {"buckets": 6, "bits": 2}),
    ("HR", {}),
    ("CMS", {"m": 4, "hashes": 3}),
    ("HM", {"t": 2}),
    ("HCMS", {"m": 4, "hashes": 3}),
    ("RAPPOR", {"m": 8, "h": 2, "cohorts": 3, "keep": 0.9, "flip": 0.2}),
]
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


def name(mechanism, more=()):
    return " ".join(
        map(
            str,
            [
                mechanism.name,
                *(f"{key}={value}" for key, value in mechanism.parameters.items()),
                *more,
            ],
        )
    )


def cases():
    """Every case by its name."""
    found = {}
    for family, own in FAMILIES:
        mechanism = make(family, k=6, epsilon=1.0, **own)
        for attack in ("guess", "tight"):
            for faithful in (False, True):
                found[name(mechanism, (attack, "real" if faithful else "law"))] = functools.partial(
                    audits, mechanism, [attack], trials=3000, alpha=0.05, seed=7, faithful=faithful
                )
    for mechanism in (make(number, epsilon=1.0) for number in NUMBERS):
        for faithful in (False, True):
            found[name(mechanism, ("tight", "real" if faithful else "law"))] = functools.partial(
                audits, mechanism, ["tight"], trials=3000, alpha=0.05, seed=7, faithful=faithful
            )
    for mechanism, attack, given in KEY_VALUE:
        found[name(mechanism, (attack, *given.values()))] = functools.partial(
            audit_kv,
            mechanism,
            attack,
            users=10**5,
            alpha=0.05,
            minimum=5,
            seed=7,
            last=True,
            **given,
        )
    laws = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    for guess in (None, np.array([1.0, 0.5, 0.0])):
        found[f"laws {guess}"] = lambda guess=guess: [
            audit_laws(*laws, users=10**4, alpha=0.05, seed=7, guess=guess)
        ]
    for protocol in ("GRR", "SS", "OUE"):
        for faithful in (False, True):
            found[f"rad {protocol} {'real' if faithful else 'law'}"] = (
                lambda p=protocol, f=faithful: [
                    rad_audit(p, 10, 1.0, reports=5004, alpha=0.02, seed=7, faithful=f)
                ]
            )
    for cls in GRADIENT.values():
        for rule in ("cosine", "lune"):
            for faithful in (False, True):
                mechanism = cls(16, 1.0)
                found[name(mechanism, (rule, "real" if faithful else "law"))] = (
                    lambda m=mechanism, r=rule, f=faithful: [
                        audit_gradient(m, dummy(16), r, trials=400, alpha=0.01, seed=7, faithful=f)
                    ]
                )
    for faithful in (False, True):
        found[f"shuffle {'real' if faithful else 'law'}"] = lambda f=faithful: [
            audit_shuffle(1.0, 500, trials=60, alpha=0.01, seed=7, faithful=f)
        ]
    for label, given in SEQUENTIAL.items():
        found[f"until sure {label}"] = lambda given=given: given()
    return found


def leaking(values, rng):
    """Randomised response of three values that budget 1 does not cover, with a length that says nothing."""
    kept = np.where(rng.random(len(values)) < 0.8, values, rng.integers(0, 3, len(values)))
    return [
        {"answer": int(v), "tail": [0] * int(n)}
        for v, n in zip(kept, rng.integers(0, 3, len(values)))
    ]


def keeping(values, rng):
    """Randomised response of three values at budget 1, times of day beside it."""
    kept = np.where(
        rng.random(len(values)) < math.expm1(1) / (math.e + 2),
        values,
        rng.integers(0, 3, len(values)),
    )
    return [[int(v), float(t)] for v, t in zip(kept, rng.random(len(values)))]


def sequential(mechanism, attack="learned", **more):
    return lambda: AnytimeAudit(mechanism, attack, **{"trials": 2000, "alpha": 0.01} | more).run(7)


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
    return [
        {
            key: value
            for key, value in result.row().items()
            if key not in ("seconds", "how", "verdict", "warnings", "directions")
        }
        for result in case()
    ]


def test_every_case_is_stored():
    assert list(json.loads(STORED.read_text())) == list(CASES)


@pytest.mark.parametrize("case", CASES)
def test_audits_repeat_the_stored_rows(case):
    found, stored = json.loads(json.dumps(rows(CASES[case]))), json.loads(STORED.read_text())[case]
    assert len(found) == len(stored)
    for one, other in zip(found, stored):
        inexact = {key for key, value in other.items() if isinstance(value, float)}
        assert {k: v for k, v in one.items() if k not in inexact} == {
            k: v for k, v in other.items() if k not in inexact
        }
        assert [one[key] for key in sorted(inexact)] == pytest.approx(
            [other[key] for key in sorted(inexact)], rel=1e-9
        )


if __name__ == "__main__":
    lines = [f"{json.dumps(key)}: {json.dumps(rows(case))}" for key, case in CASES.items()]
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
