"""Whose reports are counted, and are they independent: replaced clients, unknown report types,
orders, broken randomness. Fewer than 600 honest audits are called dependent with probability 2e-6
each at most; a broken client is missed with probability below 1e-6."""

import dataclasses
import itertools
from dataclasses import dataclass

import forgetful_clients as broken
import numpy as np
import pytest
from scipy import stats as law

from ldpkit import Client, audit
from ldpkit.auditors import Audit, audits, expected
from ldpkit.auditors.independence import _luck
from ldpkit.auditors.rad_bounds import tradeoff_support
from ldpkit.blackbox.clients.client import FORMS
from ldpkit.mechanisms import GRR, MECHANISMS, OUE, RSFD, SHE, SS, SUE, Repeated, make, takes
from ldpkit.mechanisms.base import FrequencyOracle, exact_distribution
from ldpkit.reports import ExactSupport, IndependentBits, Value


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
        row = Audit(mechanism, attack, trials=100).rows()[0]
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
    assert found.violated
    assert found.warnings[0].startswith("every report of value 0 and of value 2 is the same")


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


def true_first(values, rng):
    """Subset selection that writes the true value to the front, as multi-freq-ldpy 0.2.5 does."""
    out = SS(10, 1.0).perturb(values, rng)
    held = out == values[:, None]
    users = np.flatnonzero(held.any(axis=1))
    at = held[users].argmax(axis=1)
    out[users, at], out[users, 0] = out[users, 0], values[users]
    return out


def test_a_subset_keeps_the_order_in_which_it_was_sent():
    sent = [[7, 2, 5], (3,), np.array([9, 0]), {8, 1}, frozenset((6, 4)), []]
    client = Client(lambda values, rng: sent, 10, "subset", 1.0)
    kept = client.perturb(np.zeros(6, int), np.random.default_rng(1)).tolist()
    assert kept[:3] == [[7, 2, 5], [3, -1, -1], [9, 0, -1]]
    assert kept[3:] == [[1, 8, -1], [4, 6, -1], [-1, -1, -1]]


@pytest.mark.parametrize("attack", ["guess", "tight"])
def test_an_order_that_gives_the_value_away_is_a_warning(attack):
    found = audit(Client(true_first, 10, "subset", 1.0), attack, trials=20_000)
    assert found.status == "none found"
    assert "the order of the collections gives the value away" in found.warnings[0]
    assert "0 stands before 9 in 100.0% if it is the user's and in 0.0%" in found.warnings[0]
    for tidy in (np.sort, lambda reports, axis: [set(r) for r in reports.tolist()]):
        honest = Client(lambda v, rng: tidy(true_first(v, rng), axis=1), 10, "subset", 1.0)
        assert audit(honest, attack, trials=20_000).warnings == ()


def test_whether_the_order_matters_is_said_by_the_kind_whatever_its_class(monkeypatch):
    @dataclass(frozen=True)
    class Row(Value):
        """A row of distinct values, of a class that nobody has heard of; the first one counts."""

        name = "row"

        def read(self, reports, sender):
            return reports

        def supported(self, reports, values):
            return reports[:, [0]] == values

    monkeypatch.setitem(FORMS, "subset", Row)
    client = Client(true_first, 10, "subset", 1.0)
    for ordered in (False, True):
        monkeypatch.setattr(Row, "ordered", ordered)
        warnings = audit(client, "tight", trials=20_000).warnings
        assert any("the order of the collections" in text for text in warnings) is ordered


RUNS = range(1, 4)


def test_shared_randomness_makes_no_valid_audit():
    same, shared = "as if every call began with the same seed", "as if they shared their randomness"
    for function, report, message in [
        (broken.seeded_inside, "value", same), (broken.seeded_inside_bits, "bits", same),
        (broken.seeded_by_value, "value", same), (broken.one_coin, "value", shared),
        (broken.one_report, "value", shared), (broken.sticky, "value", "depend on each other"),
    ]:  # fmt: skip
        for seed in RUNS:
            client, case = Client(function, 10, report, 1.0), (function.__name__, seed)
            found = audit(client, "tight", trials=100_000, seed=seed)
            assert (found.status, found.violated, found.lower) == ("not valid", False, 0), case
            assert found.verdict.startswith("Not a valid audit: "), case
            assert message in found.verdict, case
            assert all(one["lower"] == 0 for one in found.directions), case


def test_few_reports_suffice_to_see_it():
    for function in (broken.seeded_inside, broken.seeded_by_value, broken.one_coin):
        for trials in (300, 2000, 20_000):
            found = audit(Client(function, 10, "value", 1.0), "guess", trials=trials)
            assert found.status == "not valid", (function.__name__, trials)


def test_a_client_that_is_seeded_for_every_user_is_no_valid_audit():
    clients = {"value": broken.seeded_per_call, "bits": broken.seeded_per_call_bits}
    for (report, function), seed in itertools.product(clients.items(), (1, 2)):
        found = audit(Client(function, 10, report, 1.0), "tight", trials=2000, seed=seed)
        assert found.counts == {"tp": 0, "fp": 0} and found.status == "not valid", report
        assert "every value has one report of its own" in found.verdict, report
        assert found.warnings[0] == "every report of value 0 and of value 9 is the same", report


def test_a_draw_that_is_remembered_is_found_out_by_another_process():
    client = Client(broken.remembered, 10, "value", 1.0)
    for seed in RUNS:
        broken.MEMORY.clear()
        found = audit(client, "tight", trials=100_000, seed=seed)
        assert found.status == "not valid" and "another one in a new process" in found.verdict, seed


def test_a_constant_report_that_differs_between_the_inputs_violates():
    found = audit(Client(broken.identity, 10, "value", 1.0), trials=2000)
    assert found.violated
    assert found.warnings == ("every report of value 0 and of value 9 is the same",)
    unseen = audit(Client(lambda value: value, 10, "value", 1.0), trials=2000)
    assert unseen.violated and "another process" in unseen.warnings[0]
    assert "was not seen" in unseen.warnings[0]


def test_a_report_that_never_changes_decides_nothing():
    for report, constant in ("value", 3), ("bits", [0] * 10), ("subset", []):
        client = Client(lambda values, rng: [constant] * len(values), 10, report, 1.0)
        found = audit(client, trials=2000)
        assert found.status == "inconclusive", report
        said = "Inconclusive: every report is the same, whatever the value."
        assert found.verdict == said, report


def test_a_recording_is_audited_and_the_missing_calls_are_said():
    given = {v: broken.respond(np.full(1000, v), np.random.default_rng(v)) for v in (0, 9)}
    at = dict.fromkeys(given, 0)

    def recorded(values, rng):
        value = int(values[0])
        start, at[value] = at[value], at[value] + len(values)
        return given[value][start : at[value]]

    found = audit(Client(recorded, 10, "value", 1.0), trials=1000)
    assert found.status == "none found"
    assert "in further calls client must return 2 reports, got 0" in found.warnings[0]


def test_honest_clients_are_left_alone():
    class Passed(SHE):
        def perturb(self, values, rng):
            return super().perturb(values, rng)

    reports = {"GRR": "value", "SUE": "bits", "OUE": "bits", "THE": "bits", "SS": "subset"}
    every = [*itertools.product((0.3, 1.0, 4.0), (2, 10, 40), reports)]
    for i, (epsilon, k, name) in enumerate(every * 3):
        mechanism = make(name, k=k, epsilon=epsilon)
        client = Client(
            lambda values, rng: mechanism.perturb(values, rng), k, reports[name], epsilon
        )
        trials = (150, 1500, 6000)[(i + i // len(every)) % 3]
        for found in audits(client, ["guess", "tight"], trials=trials, seed=i):
            assert not found.invalid and found.warnings == (), (mechanism, found.trials)
    for seed in range(20):
        found = audit(Passed(5, 1.0), trials=3000, seed=seed)
        assert found.faithful and not found.invalid and found.warnings == ()


def test_the_bound_of_a_false_alarm_holds():
    """Against the exact hypergeometric tails, for every number of common places."""
    cases = (50, 10, 20), (50, 1, 49), (200, 100, 100), (30, 0, 7), (30, 30, 7), (9, 4, 9)
    for pairs, first, second in cases:
        exact = law.hypergeom(pairs, first, second)
        for met in range(max(0, first + second - pairs), min(first, second) + 1):
            bound = np.exp(_luck(pairs, first, second, met)) * (1 + 1e-12)
            assert min(exact.sf(met - 1), exact.cdf(met)) <= bound, (pairs, first, second, met)
