"""Whose reports are counted: those of replaced clients, and of clients whose reports are stated to be
independent."""

import dataclasses
import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from ldpkit import Client, audit
from ldpkit.auditors import Audit, audits, expected
from ldpkit.auditors.ldp import ASSUMED
from ldpkit.auditors.rad_bounds import tradeoff_support
from ldpkit.mechanisms import GRR, MECHANISMS, OUE, RSFD, SUE, Repeated, make, takes
from ldpkit.mechanisms.base import FrequencyOracle, exact_distribution
from ldpkit.reports import ExactSupport, IndependentBits


class Leaking(OUE):
    def perturb(self, values, rng):
        return np.eye(self.k)[values]


@exact_distribution
class Named(OUE):
    name = "a name of its own"

    def estimate(self, reports):
        return OUE.estimate(self, reports)


@exact_distribution
@dataclass(frozen=True)
class Own(FrequencyOracle):
    """A protocol that brings its client and its probabilities: those of GRR."""

    k: int
    epsilon: float
    name = "own"
    report_type, p, q = (
        property(lambda self, of=of: getattr(GRR(self.k, self.epsilon), of))
        for of in ("report_type", "p", "q")
    )

    def perturb(self, values, rng):
        return GRR(self.k, self.epsilon).perturb(values, rng)


class OwnButLeaking(Own):
    def perturb(self, values, rng):
        return np.asarray(values)


def same(name, cls):
    """A subclass that changes nothing."""
    return dataclasses.make_dataclass(name, [], bases=(cls,), frozen=True)(10, 1.0)


PATCHED = OUE(10, 1.0)
object.__setattr__(PATCHED, "perturb", lambda values, rng: np.eye(10)[values])
FOREIGN = {
    "subclass": Leaking(10, 1.0), "subclass of a subclass": same("Deeper", Leaking),
    "instance": PATCHED, "inner": Repeated(Leaking(10, 1.0), 2),
    "remembered": Repeated(Leaking(10, 1.0), 2, True), "own": OwnButLeaking(10, 1.0),
}  # fmt: skip


def test_a_replaced_client_is_audited_by_its_own_reports():
    for (label, mechanism), attack in itertools.product(FOREIGN.items(), ("guess", "tight")):
        found, case = audit(mechanism, attack, trials=5000), (label, attack)
        assert found.faithful and found.exact is found.exact_sd is None, case
        assert expected(mechanism, attack) is None, case
        assert found.violated and found.counts == {"tp": 5000, "fp": 0}, case
        row = Audit.cell(mechanism=mechanism, attack=attack, trials=100)[0]
        assert row["faithful"] is True, case
        assert row["exact_tpr"] is row["exact_fpr"] is row["exact_epsilon_emp"] is None, case
    assert audit(Leaking(10, 1.0), trials=100).mechanism == "Leaking"
    assert Named(10, 1.0).name == "a name of its own" and OUE(10, 1.0).name == "OUE"


def test_a_replaced_probability_or_component_has_no_law_either():
    class LeakingTuple(RSFD):
        def attribute(self, j):
            return Leaking(self.sizes[j], self.amplified)

    louder = type("Louder", (OUE,), {"q": property(lambda self: 0.1)})(10, 1.0)
    assert not louder.distribution_known and not LeakingTuple(10, 2, 1.0).distribution_known
    with pytest.raises(ValueError, match="mechanism must have exact rates of its own"):
        tradeoff_support(louder)
    found = audit(louder, "tight", trials=20_000)
    assert found.faithful and found.violated  # ln(0.5 * 0.9 / (0.1 * 0.5)) = 2.2


def test_a_client_that_is_replaced_inside_the_package_has_no_law_either(monkeypatch):
    """Who adds a mechanism works there."""

    def perturb(self, values, rng):
        return np.eye(self.k)[values]

    perturb.__module__ = OUE.__module__
    body = {"__module__": OUE.__module__, "perturb": perturb}
    inside = type("Inside", (OUE,), body)(10, 1.0)
    assert not inside.distribution_known and audit(inside, trials=5000).violated
    stated = body | {"report_type": IndependentBits(10, 1.0, 0.0)}
    assert exact_distribution(type("Anew", (OUE,), stated))(10, 1.0).distribution_known
    believed = type("Believed", (OUE,), body | {"exact": True})(10, 1.0)  # as before 0.4
    assert not believed.distribution_known
    assert SUE(5, 1.0).distribution_known
    monkeypatch.setattr(SUE, "perturb", lambda self, values, rng: np.eye(self.k)[values])
    assert not SUE(5, 1.0).distribution_known and audit(SUE(5, 1.0), trials=2000).violated


def test_several_attributes_of_a_replaced_client_are_looked_at_too():
    class Truthful(RSFD):
        def perturb(self, values, rng):
            return list(np.transpose(values))

    found = audit(Truthful((3, 5), 2, 1.0), trials=2000)
    assert found.violated and found.faithful


def test_what_changes_nothing_of_the_client_keeps_the_law():
    given = {"g": 3, "delta": 0.01, "first": 0.3, "d": 2, "buckets": 3, "bits": 2, "omega": 2, "p": 0.6, "theta": 0.7,
             "k": 6, "epsilon": 0.7, "sigma": 2.0}  # fmt: skip
    for name in MECHANISMS:
        mechanism = make(name, **{key: value for key, value in given.items() if takes(name, key)})
        # whatever it computes once and keeps is no replacement
        audit(mechanism, "tight", trials=10)
        assert mechanism.distribution_known, name
        if isinstance(mechanism.report_type, ExactSupport):
            assert Repeated(mechanism, 2).distribution_known, name
    for mechanism in (Named(10, 1.0), Own(10, 1.0)):
        found = audit(mechanism, trials=5000)
        assert mechanism.distribution_known and not found.faithful, mechanism
        assert found.exact is not None, mechanism
    unstated = audit(same("Same", GRR), trials=5000)
    assert unstated.faithful and unstated.exact is None and not unstated.violated


def test_a_subset_keeps_the_order_in_which_it_was_sent():
    sent = [[7, 2, 5], (3,), np.array([9, 0]), {8, 1}, frozenset((6, 4)), []]
    client = Client(lambda values, rng: sent, 10, "subset", 1.0)
    kept = client.perturb(np.zeros(6, int), np.random.default_rng(1)).tolist()
    assert kept[:3] == [[7, 2, 5], [3, -1, -1], [9, 0, -1]]
    assert kept[3:] == [[1, 8, -1], [4, 6, -1], [-1, -1, -1]]


def honest(k, epsilon, name):
    """The client of a mechanism of ours, as somebody else's."""
    report = {"GRR": "value", "SUE": "bits", "OUE": "bits", "THE": "bits", "SS": "subset"}[name]
    mechanism = make(name, k=k, epsilon=epsilon)
    return Client(lambda values, rng: mechanism.perturb(values, rng), k, report, epsilon)


def test_a_client_is_counted_only_if_its_reports_are_stated_to_be_independent():
    client = honest(4, 1.0, "GRR")
    for counted in (Audit, lambda client, attack: audits(client, [attack])):
        with pytest.raises(ValueError, match="independent must be True to count the reports"):
            counted(client, "tight")
    found = audit(client, "tight", trials=2000, independent=True)
    assert found.faithful and found.status == "none found" and ASSUMED in found.verdict
    assert ASSUMED not in audit(GRR(4, 1.0), trials=2000, faithful=True).verdict
