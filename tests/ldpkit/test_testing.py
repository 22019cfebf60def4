"""The checks that strangers run: passed by every registered mechanism, and each failed by a mutant
that breaks one promise. Seeds are fixed; the false alarm is `FALSE_ALARM` = 1e-4 per mechanism at
most."""

import functools
import inspect
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from chance import DELTA
from speller import Speller, Spelt

from ldpkit import Client, audit
from ldpkit import mechanisms as lib
from ldpkit.attacks import Guess, TwoValueTest
from ldpkit.attacks.base import able
from ldpkit.beyond.numeric import Interval
from ldpkit.beyond.sketch import CountMeanSketch
from ldpkit.mechanisms import GRR, MECHANISMS, OUE, SHE, FaultyUE, Repeated, make, takes
from ldpkit.mechanisms.base import Domain, Epsilon, FrequencyOracle, exact_distribution
from ldpkit.mechanisms.unary import UnaryEncoding
from ldpkit.reports import HASH_REPORT, IndependentBits
from ldpkit.reports.base import ROUTES, shaped
from ldpkit.testing import CHECKS, FALSE_ALARM, check_mechanism, checks, suite
from ldpkit.testing import case as cases
from ldpkit.testing.case import Case, tail

GIVEN = {
    "epsilon": 1.0, "delta": DELTA, "g": 3, "omega": 1, "p": 0.7, "theta": 0.65, "first": 0.5, "tau": 2, "t": 2, "h": 2,
    "cohorts": 512, "keep": 0.75, "flip": 0.5, "d": 2, "m": 16, "hashes": 1024, "buckets": 2, "bits": 1,
    "sensitivity": 3, "sigma": 2.0, "seeds": 2**16,
}  # fmt: skip
DIFFERS = "records that differ in every attribute are told apart by the amplified budget"
FIXED = "estimates are unbiased over the choice of the functions, of which these are a few"
TWICE = "the own bit is drawn twice: this is the fault that it was made for"
UNKNOWN = "does not apply: the exact distribution of its reports is unknown"


# buckets have a size of their own; what consists of others, or of many functions, has one domain
ONE = ("L-", "RSFD", "RAPPOR", "CMS", "HCMS", "FLH")
SIZES = {name: (5,) for name in MECHANISMS if name.startswith(ONE)} | {"dBitFlipPM": (4, 6)}


def registered():
    for name in MECHANISMS:
        for k in SIZES.get(name, (2, 5) if takes(name, "k") else (None,)):
            given = GIVEN | ({} if k is None else {"k": k})
            skipped = {"protocol"} if name.startswith("L-") else set()
            own = {key for key in given if takes(name, key)} - skipped
            yield make(name, **{key: given[key] for key in own})


VARIANTS = [
    GRR(100, 3.0), lib.SS(30, 0.5), lib.HR(100, 4.0), SHE(20, 5.0), SHE(20, 5.0, 2.0**-20), lib.GM(3, 1.0, 0.02, 2.0**-10),
    FaultyUE(5, 1.0, "OUE"), lib.BucketFlip(8, 1.0, 4, 2), lib.HR(2, 0.5), lib.HR(10, 1.0), lib.HR(7, 4.0), lib.HM(100, 4.0),
    lib.HM(9, 0.5, 3), lib.HCMS(30, 3.0, 4, 3), lib.RAPPOR(5, 2.0, 5, 3, 16), lib.RAPPOR(3, 8.0, 128, 1, 512),
    lib.RAPPOR(5, 1.0, 16, 2, 512, 0.75, 0.5), lib.CMS(30, 1.0, 4, 3), lib.CMS(100, 3.0, 8, 16), lib.PM(0.01), lib.PM(5.0),
    *(Repeated(m, 3) for m in (GRR(5, 1.0), lib.SS(9, 0.5), OUE(4, 0.5), SHE(4, 0.5))), Repeated(lib.AGM(5, 1.0, 0.02), 2),
    *(Repeated(m, 3, memoise=True) for m in (GRR(5, 1.0), lib.GM(5, 1.0, 0.02))), lib.FLH(30, 3.0, 8, 2**16),
    lib.FLH(7, 1.0, 3, None, "carter-wegman"), lib.DiscreteLaplace(0.1, 5), lib.DiscreteGaussian(0.125),
    lib.DiscreteGaussian(900.7, 2000, 0.01), lib.Chained(3, 2.0, 1.5, 1, "SUE"), lib.Chained(3, 2.0, 1.0, 5, "GRR"),
    lib.RSFD(3, 3, 0.5, "SUE-r"), lib.RSFD(3, 4, 1.0, "GRR"),
]  # fmt: skip
ALL = [*registered(), *VARIANTS]
ALWAYS = {*"value parameters generator inputs read pair rates client estimate null repeats".split()}
PARTS = 8  # seconds each


def test_every_number_that_a_mechanism_takes_is_given():
    every = {field for cls in MECHANISMS.values() for field in inspect.signature(cls).parameters}
    left = every - {*GIVEN, "k", "base", "family", "grid", "protocol"}
    assert not left, f"add a value to GIVEN in {__file__}"


def excuses(mechanism):
    """Names of the checks that a mechanism fails, and why."""
    if isinstance(mechanism, lib.RSFD):
        return {"budget": DIFFERS, "claim": DIFFERS}
    sketch = isinstance(mechanism, CountMeanSketch) and mechanism.hashes < 100
    if sketch or (isinstance(mechanism, lib.RAPPOR) and mechanism.cohorts < 100):
        return {"estimate": FIXED}
    return {"budget": TWICE, "claim": TWICE} if isinstance(mechanism, FaultyUE) else {}


@pytest.fixture
def few(monkeypatch):
    """Ask for fewer reports than of a stranger's mechanism: they kill every mutant below."""

    def ask(users=8000):
        for module in (cases, suite):
            monkeypatch.setattr(module, "USERS", users)

    ask()
    return ask


@pytest.mark.parametrize("part", range(PARTS))
def test_every_mechanism_of_the_package_keeps_its_promises(part, few):
    wrong = []
    for mechanism in ALL[part::PARTS]:
        excused = excuses(mechanism)
        few(20_000 if "claim" in excused else 8000)
        try:
            found = check_mechanism(mechanism, expected_failures=excused).outcomes
        except AssertionError as error:
            wrong.append(str(error))
            continue
        unlisted = {name for name, said in found.items() if said.startswith("does not apply")}
        if list(found) != list(CHECKS) or ALWAYS & unlisted:
            wrong.append((mechanism, found))
    assert wrong == []


def test_every_exact_number_says_how_it_is_found():
    for mechanism in ALL:
        for attack in (Guess(), TwoValueTest(1.0)):
            if attack.name in able(mechanism.report_type):
                route, rates = attack.route(mechanism), attack.rates(mechanism)
                assert route in ROUTES and (rates is None or route != "simulate"), mechanism


def test_what_has_no_law_is_checked_as_far_as_its_reports_reach():
    found = check_mechanism(Repeated(lib.HR(3, 0.5), 3)).outcomes
    assert {found[name] for name in ("read", "estimate", "null", "repeats")} == {"passed"}

    def response(values, rng):
        keep = rng.random(len(values)) < math.e / (math.e + 4)
        return np.where(keep, values, (values + rng.integers(1, 5, len(values))) % 5)

    def alone(value):
        return int(value) if own.random() < 0.5 else int(own.integers(5))

    found = check_mechanism(Client(response, 5, "value", 1.0)).outcomes
    assert {name for name, outcome in found.items() if outcome == "passed"} == {
        "value", "parameters", "generator", "inputs", "pair", "null", "claim", "repeats"}  # fmt: skip
    assert found["client"] == UNKNOWN
    own = np.random.default_rng(1)
    found = check_mechanism(Client(alone, 5, "value", 2.0)).outcomes
    assert found["null"] == "passed"
    assert all("randomness is its own" in found[name] for name in ("generator", "repeats"))


def test_inputs_need_not_hold_the_proposed_pair_but_each_must_be_one():
    assert check_mechanism(lib.PM(1.0), inputs=[-0.5, 0.5]).outcomes["client"] == "passed"
    assert check_mechanism(GRR(5, 1.0), inputs=[0, 2]).outcomes["pair"] == "passed"
    with pytest.raises(AssertionError, match="inputs must be told apart .* from others, got -5"):
        check_mechanism(lib.PM(1.0), inputs=[-5, 0.1, 0.5])


def test_laws_of_numbers_are_asked_between_the_ends_too(monkeypatch):
    right = Interval.score_rates

    def flat(self, threshold, pair):
        return right(self, threshold, pair) if abs(pair[0] - pair[1]) == 2 else (0.2, 0.1)

    monkeypatch.setattr(Interval, "score_rates", flat)
    with pytest.raises(AssertionError, match="client: attack tight on"):
        check_mechanism(lib.PM(1.0), attacks=["tight"])


def test_a_kind_that_nobody_has_heard_of_is_checked_with_an_attack_of_its_own():
    known = {"estimate": "nobody asks", "read": "takes all words"}
    found = check_mechanism(Speller(4, 2.0), attacks=[Spelt()], expected_failures=known)
    assert found.outcomes["null"] == found.outcomes["repeats"] == "passed"
    assert found.outcomes["rates"] == UNKNOWN


def mutant(base=OUE, **changes):
    """A mechanism with its own law and client, written as `base` is, with changes."""
    root, body = FrequencyOracle, {}
    for cls in reversed(base.__mro__):
        if issubclass(cls, root) and cls is not root:
            own = vars(cls).items()
            body |= {name: v for name, v in own if not name.startswith(("__", "_abc_"))}
    for name, own in body.items():
        if isinstance(own, functools.cached_property):  # it cannot be pickled
            body[name] = property(own.func)
    body |= {"__annotations__": {"k": Domain, "epsilon": Epsilon}, "__module__": __name__}
    body |= {"perturb": lambda self, values, rng: base.perturb(self, values, rng)}
    made = dataclass(frozen=True)(type("Mutant", (root,), body | changes))
    return exact_distribution(made)(3, 1.0)


def spoilt(**changes):
    """A mutant by the laws of its kind."""
    cls = dataclass(frozen=True)(type("MutantKind", (IndependentBits,), changes))

    def report_type(self):
        sound = OUE(self.k, self.epsilon).report_type
        return cls(self.k, sound.p, sound.q)

    return mutant(report_type=property(report_type))


@dataclass
class Loose(FrequencyOracle):
    k: int
    epsilon: float
    name, perturb = "Loose", UnaryEncoding.perturb
    report_type = property(lambda self: IndependentBits(self.k, 0.5, 0.25))


@dataclass(frozen=True, eq=False)
class Lonely(OUE):
    __eq__, __hash__ = object.__eq__, object.__hash__


class Loyal(Repeated):
    def read(self, reports):
        rounds = reports if isinstance(reports, list) else self.mechanism.read(reports)
        return [self.mechanism.read(r) for r in rounds]


class Apart(Loyal):
    def read(self, reports):
        if isinstance(reports, list) and len(reports) != self.tau:
            raise ValueError("too few")
        return super().read(reports)


def bits(self, values, rng):
    """The client of unary encoding, for the mutants to spoil."""
    return OUE.perturb(self, values, rng)


def scribbled(self, values, rng):
    reports = bits(self, values, rng)
    values[:] = 0
    return reports


def one_coin(self, values, rng):
    """All users of a call share their noise."""
    own = np.arange(self.k) == values[:, None]
    return np.where(own, rng.random() < self.p, rng.random(self.k) < self.q).astype(np.uint8)


CALLS = []


def wearing(self, values, rng):
    """A client that makes other noise in every call."""
    CALLS.append(len(values))
    return bits(self, values, np.random.default_rng([len(CALLS), int(rng.integers(2**32))]))


def steep(self):
    grown = np.exp(np.float64(30 * self.epsilon))
    return float(grown / (1 + grown))


class Louder(GRR):
    """Whatever it does, it does with twice the budget."""

    def perturb(self, values, rng):
        return GRR(self.k, 2 * self.epsilon).perturb(values, rng)

    def estimate(self, reports):
        return GRR(self.k, 2 * self.epsilon).estimate(reports)

    def variance(self, n, frequency=0.0):
        return GRR(self.k, 2 * self.epsilon).variance(n, frequency)


def curt(self):
    if self.k != 3 or self.epsilon != 1:
        raise ValueError("bad")


MUTANTS = [
    ("value", Loose(3, 1.0), "it must be frozen, but k can be set"),
    ("value", Lonely(3, 1.0), "a copy made from its fields differs"),
    ("value", mutant(__reduce__=lambda self: (OUE, (3, 2.0))), "its parameters change on the way to a process"),
    ("parameters", mutant(__post_init__=lambda self: None), "k = nan must be refused by a ValueError, it is accepted"),
    ("parameters", mutant(__post_init__=curt), "the error that refuses k = nan must name k and nan: bad"),
    ("generator", mutant(perturb=lambda self, v, rng: bits(self, v, np.random.default_rng())), "different reports with the same generator"),
    ("generator", mutant(perturb=lambda self, v, rng: bits(self, v, np.random.default_rng(1))), "it takes nothing from the generator"),
    ("generator", mutant(perturb=lambda self, v, rng: bits(self, v, rng) ^ (np.random.rand() < 0)), "draws from a global random state"),  # noqa: NPY002
    ("inputs", mutant(perturb=scribbled), "it changes the array of values that it was given"),
    ("inputs", mutant(GRR, perturb=lambda self, v, rng: np.squeeze(GRR.perturb(self, v, rng))), "it raises ValueError"),
    ("read", mutant(read=lambda self, reports: reports), "None instead of reports must be refused by a ValueError, it is accepted"),
    ("read", mutant(read=lambda self, reports: 1 - OUE.read(self, reports)), "reports that were read differ when they are read again"),
    ("read", mutant(SHE, read=lambda self, reports: shaped(reports, (None, 3), "it")), "an array of another type must be refused"),
    ("read", mutant(lib.OLH, read=lambda self, reports: shaped(reports, (None,), "it", HASH_REPORT)), "an entry out of range must be refused"),
    ("read", Loyal(GRR(3, 1.0), 3), "a list with one array too few must be refused by a ValueError, it is accepted"),
    ("read", Apart(GRR(3, 1.0), 3), "a list about different users must be refused by a ValueError, it is accepted"),
    ("pair", mutant(pair=lambda self, pair=None: pair or (0, 2)), "the pair (0, 0) must be refused by a ValueError, it is accepted"),
    ("pair", mutant(pair=lambda self, pair=None: tuple(sorted(OUE.pair(self, pair)))), "does not accept its own pair as (2, 0)"),
    ("rates", spoilt(guess_rates=lambda self, pair: (0.5, 0.5)), "guesses about 0 have probabilities that sum to 1.5"),
    ("rates", spoilt(score_rates=lambda self, t, pair: (1.5, 0.1)), "which are no probabilities"),
    ("rates", spoilt(score_rates=lambda self, t, pair: (0.1, 0.2)), "likelier under the second input"),
    ("budget", FaultyUE(3, 1.0), "epsilon 1 is claimed, (0, 1) lose 1.68027"),
    ("budget", spoilt(loss=lambda self, pair: 0.9), "the loss between (0, 1) is stated as 0.9, an event has more"),
    ("routes", spoilt(distribution=lambda self, v, p=None: np.full(8, 1 / 7)), "the listed probabilities of (0, 1) sum to 1.14285714"),
    ("budget", mutant(GRR, delta=1e-3, report_type=lib.AGRR(3, 1.0, 0.1).report_type), "an event between (0, 1) exceeds epsilon by 0.1, delta is 0.001"),
    ("routes", spoilt(reports=property(lambda self: OUE(3, 1.0).report_type.reports[::-1])), "its listed reports"),
    ("routes", spoilt(success=lambda self: 0.5), "attack guess on (0, 1) has the rates (0.5, "),
    ("routes", spoilt(rounds_success=lambda self, tau: IndependentBits(self.k, self.p**tau, self.q).rounds_success(tau)), "attack guess on two rounds has the rates"),
    ("routes", spoilt(states=lambda self, pair: [(1.0, 0.9 * self.p, 0.9 * self.q, 1 - 0.9 * (self.p + self.q))]), "attack tight on two rounds has the rates"),
    ("routes", spoilt(loss=lambda self, pair: 1.1), "the loss between (0, 1) is stated as 1.1, reports have"),
    ("client", mutant(perturb=lambda self, v, rng: FaultyUE.perturb(FaultyUE(self.k, self.epsilon, "OUE"), v, rng)), "accepts"),
    ("client", mutant(perturb=lambda self, v, rng: bits(self, np.roll(v, 1), rng)), "accepts"),
    ("client", mutant(GRR, perturb=lambda self, v, rng: np.where(rng.random(len(v)) < self.p, v, 0)), "accepts"),
    ("rounds", spoilt(states=lambda self, pair: IndependentBits(self.k, 0.6, self.q).states(pair)), "one round loses"),
    ("rounds", spoilt(rounds_success=lambda self, tau: IndependentBits.rounds_success(self, tau + 1)), "one round has the rates"),
    ("estimate", mutant(estimate=lambda self, r: OUE.estimate(self, r) + 0.05), "by chance"),
    ("estimate", mutant(estimate=lambda self, r: np.clip(OUE.estimate(self, r), 0, 1)), "by chance"),
    ("estimate", mutant(variance=lambda self, n, f=0.0: 1.5 * OUE.variance(self, n, f)), "times what is stated"),
    ("extremes", mutant(report_type=property(lambda self: IndependentBits(self.k, 0.5, 1 / (math.exp(30 * self.epsilon) + 1)))), "it raises OverflowError"),
    ("extremes", mutant(report_type=property(lambda self: IndependentBits(self.k, steep(self), 0.1))), "it raises RuntimeWarning"),
    ("extremes", spoilt(loss=lambda self, pair: math.log(self.k) if self.k < 9 else math.nan), "no number"),
    ("claim", Louder(5, 1.0), "8000 real reports per input and attack guess prove 1."),
    ("null", mutant(perturb=one_coin), "two groups of 8000 reports of"),
    ("null", Client(lambda v, rng: np.full(len(v), rng.integers(5)), 5, "value", 1.0), "two groups of 8000 reports of 0 are told apart"),
    ("power", mutant(perturb=lambda self, v, rng: bits(self, rng.integers(0, self.k, len(v)), rng)), "its exact rates imply more than half"),
    ("repeats", mutant(perturb=wearing), "an audit by attack guess does not repeat"),
]  # fmt: skip


def test_a_mutant_fails_the_check_of_what_it_breaks(few):
    wrong = []
    for name, broken, sentence in MUTANTS:
        try:
            next(check for check in checks(broken) if str(check) == name)()
            wrong.append((name, sentence, "passed"))
        except AssertionError as error:
            if sentence not in str(error):
                wrong.append((name, sentence, str(error)))
    assert wrong == []
    assert {name for name, _, _ in MUTANTS} == set(CHECKS)
    for check in CHECKS.values():  # each says what it asks for
        assert (check.__doc__ or "").strip() and "\n" not in check.__doc__


def test_several_rounds_that_do_not_begin_with_one_are_found(monkeypatch):
    for name, changed, sentence in [
        ("variance", lambda self, n, frequency=0.0: 2.0, "estimates from one round have another variance"),
        ("delta", property(lambda self: 0.1), "one round costs another epsilon or delta"),
        ("perturb", lambda self, values, rng: [1 - self.mechanism.perturb(values, rng)] * self.tau,
         "one round differs from one report"),
    ]:  # fmt: skip
        with monkeypatch.context() as patch, pytest.raises(AssertionError, match=sentence):
            patch.setattr(Repeated, name, changed)
            CHECKS["rounds"](Case(OUE(3, 1.0), 1, None, None))


def test_an_audit_that_depends_on_its_threads_is_found(monkeypatch):
    monkeypatch.setattr(suite, "audit", lambda **given: audit(**given | {"seed": given["threads"]}))
    with pytest.raises(AssertionError, match="attack guess depends on the number of threads"):
        CHECKS["repeats"](Case(OUE(3, 1.0), 1, None, None))


def test_all_failures_come_in_one_error():
    broken = mutant(perturb=scribbled, estimate=lambda self, r: OUE.estimate(self, r) + 0.05)
    with pytest.raises(AssertionError) as error:
        check_mechanism(broken)
    lines = str(error.value).splitlines()
    assert lines[0] == "Mutant(k=3, epsilon=1.0) fails 2 of 17 checks"
    assert [line.strip().split(":")[0] for line in lines[1:]] == ["inputs", "estimate"]


def test_an_expected_failure_that_passes_is_reported():
    for mechanism, sentence in [
        (GRR(3, 1.0), "budget: passed, but it was expected to fail: I thought so"),
        (lib.LHO(3, 3), "budget: does not apply: no epsilon is claimed, but it was expected to fail: I thought so"),
    ]:  # fmt: skip
        with pytest.raises(AssertionError, match=sentence):
            check_mechanism(mechanism, expected_failures={"budget": "I thought so"})


def test_the_outcome_shows_as_a_table():
    expected = {"budget": TWICE, "claim": TWICE}
    lines = repr(check_mechanism(FaultyUE(3, 1.0), expected_failures=expected)).splitlines()
    assert lines[:2] == ["FaultyUE(k=3, epsilon=1.0, protocol='SUE')", "  value       passed"]
    assert f"  budget      fails as expected: {TWICE}" in lines and len(lines) == 1 + len(CHECKS)


def test_checks_can_be_run_one_by_one():
    assert [check() for check in checks(lib.HR(3, 1.0))] == [None] * len(CHECKS)


def test_the_tails_of_counts_are_exact():
    ways = sum(math.comb(10, i) for i in (7, 8, 9, 10))
    assert tail(7, 10, 0.5) == pytest.approx(2 * ways / 1024)
    assert tail(10, 10, 1 + 1e-16) == 1.0 and tail(9, 10, 1.0) == 0.0


def test_the_share_is_divided_by_the_number_of_comparisons():
    judge = Case(GRR(3, 1.0), 1, None, None).judge
    least = FALSE_ALARM / 5 / 100
    assert judge([(1.01 * least, "rare")] + [(1.0, "")] * 99) is None
    with pytest.raises(AssertionError, match="rare"):
        judge([(0.99 * least, "rare")] + [(1.0, "")] * 99)


def test_the_example_in_the_book_prints_what_the_page_shows(capsys):
    page = (Path(__file__).parents[2] / "book" / "api" / "testing.md").read_text()
    codes, shown = (re.findall(rf"```{kind}\n(.*?)```", page, re.S) for kind in ("python", "text"))
    names = {"__name__": __name__}
    with pytest.raises(AssertionError) as error:
        exec(codes[0], names)
    exec(codes[1], names)
    assert [f"AssertionError: {error.value}\n", capsys.readouterr().out] == shown
