"""Several attributes: random sampling plus fake data (RS+FD) over GRR and over unary encodings.

Exact rates are compared with the specification's vectors and the oracle tables (half a unit of
their last digit, or 1e-8), the strongest test and the guarantee with an enumeration of all tuples.
Simulated counts and estimates give fewer than 400 p-values, each judged by `laws.P_MIN`; the
certified bounds fail with probability below 0.01 each for a wrong reason, and their seeds are
fixed. A correct package fails this file with probability below 5e-5.
"""

import itertools
import math

import numpy as np
import pytest
from laws import P_MIN, chi_square_p, estimation_p, least_p, table, unit

from ldpkit import attacks
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import audit, expected
from ldpkit.mechanisms import GRR, OUE, RSFD, SUE, make
from ldpkit.mechanisms.multidimensional import BASES

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
ROWS = [row for row in table("exact_more") if row["mechanism"].startswith("RS+FD")]
EVENTS = [row for row in table("tight_more") if row["mechanism"].startswith("RS+FD")]
MIXED = (3, 2, 7)


def rng(*seed):
    return np.random.default_rng(seed or 1)


def variants(row):
    """The mechanisms that a row of a table is about: `RS+FD[SUE-z|-r]` means both ways to fake."""
    name = row["mechanism"].removeprefix("RS+FD[").removesuffix("]")
    bases = [name.split("|")[0], name.split("-")[0] + "-r"] if "|" in name else [name]
    return [RSFD(int(row["k"]), int(row["d"]), float(row["eps"]), base) for base in bases]


# --- exact laws of the guess ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "k, d, epsilon, base, tpr, population",
    [
        (2, 2, 1, "GRR", 0.6580301397, 0.654528),
        (2, 2, 1, "SUE", 0.5890375830, 0.359988),
        (2, 2, 1, "OUE", 0.5790150699, 0.318731),
        (100, 10, 4, "GRR", 0.0934335095, 2.322706),
        (100, 10, 4, "SUE", 0.0318345392, 1.180269),
        (100, 10, 4, "OUE", 0.0550825504, 1.752855),
    ],
)
def test_exact_rates_equal_the_test_vectors(k, d, epsilon, base, tpr, population):
    for fake in [""] if base == "GRR" else ["-z", "-r"]:
        one, two = GUESS.rates(RSFD(k, d, epsilon, base + fake))
        assert one == pytest.approx(tpr, abs=0.501e-10) and two == pytest.approx(
            (1 - one) / (k - 1), rel=1e-12
        )
        assert math.log(one / two) == pytest.approx(population, abs=0.501e-6)


def test_exact_rates_of_the_guess_equal_the_oracle():
    assert len(ROWS) == 192
    for row in ROWS:
        for mechanism in variants(row):
            found = GUESS.rates(mechanism)
            assert found == pytest.approx((float(row["TPR"]), float(row["FPR"])), rel=1e-8), row


def test_the_expected_statistic_of_the_guess_equals_the_oracle():
    for row in ROWS[::4]:
        found, printed = expected(variants(row)[0])[0], float(row["eps_emp_mean"])
        assert found == pytest.approx(printed, abs=0.51 * unit(printed, 5)), row


@pytest.mark.parametrize(
    "k, d, plateau", [(2, 2, 1.0986), (2, 10, 0.2007), (100, 2, 4.6151), (100, 10, 2.4941)]
)
def test_the_guess_on_grr_levels_off_because_the_adversary_does_not_know_the_attribute(
    k, d, plateau
):
    assert math.log(1 + k / (d - 1)) == pytest.approx(plateau, abs=0.501e-4)
    found = [
        math.log(one / two) for one, two in (GUESS.rates(RSFD(k, d, e)) for e in (1, 4, 10, 20, 27))
    ]
    assert found == sorted(found) and found[-1] == pytest.approx(
        math.log(1 + k / (d - 1)), abs=1e-8
    )


@pytest.mark.parametrize("base", ["SUE", "OUE"])
@pytest.mark.parametrize("k, d", [(2, 2), (7, 3), (100, 10), (MIXED, 3)])
def test_the_guess_cannot_tell_how_the_other_attributes_are_faked(base, k, d):
    for epsilon in (0.1, 1, 10):
        assert GUESS.rates(RSFD(k, d, epsilon, f"{base}-z")) == GUESS.rates(
            RSFD(k, d, epsilon, f"{base}-r")
        )


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1, 10, 27])
@pytest.mark.parametrize("d", [2, 10])
def test_the_sampled_attribute_is_reported_at_the_amplified_budget(d, epsilon):
    mechanism = RSFD(5, d, epsilon, "SUE-z")
    assert math.expm1(mechanism.amplified) == pytest.approx(d * math.expm1(epsilon), rel=1e-12)
    assert mechanism.attribute(1) == SUE(5, mechanism.amplified)
    assert RSFD(5, d, epsilon, "OUE-r").attribute(0) == OUE(5, mechanism.amplified)
    assert RSFD(MIXED, 3, 1.0).attribute(2) == GRR(7, RSFD(MIXED, 3, 1.0).amplified)


# --- the guarantee and the strongest test, by enumeration -----------------------------------------


def components(mechanism, j):
    """Reports of attribute j as rows of bits, their law for every value if sampled, and their law
    if fake."""
    size, base = mechanism.sizes[j], mechanism.attribute(j)
    if mechanism.base == "GRR":
        reports = np.eye(size, dtype=int)
        real = np.where(reports, base.p, base.q)  # row: value, column: report
        return reports, real, np.full(size, 1 / size)
    reports = np.array(list(itertools.product([0, 1], repeat=size)))
    chances = np.where(np.eye(size, dtype=bool), base.p, base.q)
    real = np.array([np.prod(np.where(reports, row, 1 - row), axis=1) for row in chances])
    empty = np.prod(np.where(reports, base.q, 1 - base.q), axis=1)
    return reports, real, empty if mechanism.base.endswith("z") else real.mean(axis=0)


def law_of(mechanism, record):
    """Probability of every tuple of reports for one record."""
    parts = [components(mechanism, j) for j in range(mechanism.d)]
    total = 0.0
    for sampled in range(mechanism.d):
        shape = [
            real[record[j]] if j == sampled else fake for j, (_, real, fake) in enumerate(parts)
        ]
        product = shape[0]
        for factor in shape[1:]:
            product = np.multiply.outer(product, factor)
        total = total + product / mechanism.d
    return total.ravel()


SMALL = [RSFD(k, d, 1.0) for k in (2, 3) for d in (2, 3)]
SMALL += [
    RSFD(k, d, e, base)
    for k, d, e in ((2, 2, 1.0), (3, 2, 0.5), (2, 3, 2.0), (3, 3, 1.0))
    for base in BASES[1:]
]


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_only_the_amplified_budget_holds_if_all_attributes_change(mechanism):
    k, d = mechanism.k, mechanism.d
    first, last = (law_of(mechanism, [value] * d) for value in (0, k - 1))
    assert first.sum() == pytest.approx(1, rel=1e-12)
    assert np.log(first / last).max() == pytest.approx(mechanism.amplified, rel=1e-10)
    assert mechanism.amplified > mechanism.epsilon


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_epsilon_holds_if_one_attribute_changes_except_for_random_fake_bits_on_three_values_or_more(
    mechanism,
):
    start, other = (law_of(mechanism, [value] + [0] * (mechanism.d - 1)) for value in (0, 1))
    found = np.abs(np.log(start / other)).max()
    if mechanism.base.endswith("r"):
        # a bit vector with a single one, at the true value, is far likelier if sampled than one
        # without it is if faked
        k, d, odds = mechanism.k, mechanism.d, math.exp(mechanism.amplified)
        least = 1 / (
            1 + (k - 1) * odds
        )  # of the sampled law over the fake one: all ones but at the true value
        up, down = odds / (odds + k - 1), 1 / (odds + k - 1)
        assert found == pytest.approx(
            math.log((up + (d - 1) * least) / (down + (d - 1) * least)), rel=1e-10
        )
        assert k == 2 or found > 1.05 * mechanism.epsilon
    if mechanism.k == 2 or not mechanism.base.endswith("r"):
        assert found == pytest.approx(mechanism.epsilon, rel=1e-10)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_the_strongest_test_equals_the_enumeration_of_all_tuples(mechanism):
    k, d = mechanism.k, mechanism.d
    one, two = law_of(mechanism, [0] * d), law_of(mechanism, [k - 1] * d)
    parts = [components(mechanism, j)[0] for j in range(d)]
    index = np.array(list(itertools.product(*(range(len(p)) for p in parts))))
    bits = np.stack([p[index[:, j]] for j, p in enumerate(parts)])
    reports = [r.argmax(axis=1) for r in bits] if mechanism.base == "GRR" else list(bits)
    # the test reads the two audited values of every attribute: add up the tuples that agree there
    seen = bits[:, :, [0, k - 1]].swapaxes(0, 1).reshape(len(one), -1)
    view = np.unique(seen, axis=0, return_inverse=True)[1].ravel()
    ratio = (np.bincount(view, one) / np.bincount(view, two))[view]
    for level in np.unique(np.round(ratio, 9)):
        inside = ratio >= level - 1e-8
        test = TwoValueTest(float(level) - 1e-8)
        assert test.rates(mechanism) == pytest.approx(
            (one[inside].sum(), two[inside].sum()), rel=1e-10
        )
        assert (test.accepts(mechanism, reports, (0, k - 1)) == inside).all()


def test_exact_rates_of_the_strongest_test_equal_the_oracle_at_its_threshold():
    assert len(EVENTS) == 320
    for row in EVENTS:
        threshold = float(row["event"].split(">= ")[1])
        threshold -= 0.501 * unit(threshold, 5)  # printed with five digits
        rates = TwoValueTest(threshold).rates(variants(row)[0])
        for found, printed in zip(rates, (float(row["P1"]), float(row["P2"]))):
            assert found == pytest.approx(printed, abs=0.501 * unit(printed, 6)), row


@pytest.mark.parametrize("base", BASES)
def test_the_chosen_threshold_is_as_good_as_that_of_the_oracle(base):
    rows = [
        row for row in EVENTS if row["mechanism"] == f"RS+FD[{base}]" and row["k"] in ("2", "100")
    ]
    for row in [row for row in rows if row["eps"] in ("1", "4")]:
        found, printed = expected(variants(row)[0], "tight")[0], float(row["eps_emp_mean_T1e6"])
        assert printed - 3e-3 < found < printed + 1e-3, row


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("k, d", [(2, 2), (100, 10)])
def test_the_certified_bound_exceeds_the_claim_and_never_the_amplified_budget(base, k, d):
    for epsilon in (0.5, 1.0):
        mechanism = RSFD(k, d, epsilon, base)
        result = audit(mechanism, "tight", trials=300_000)
        assert (
            result.claim == epsilon
            and result.violated
            and epsilon < result.lower < mechanism.amplified
        )
        assert audit(mechanism, "guess", trials=300_000).lower < mechanism.amplified


# --- simulation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("k, d", [(2, 2), (3, 4), (10, 3)])
def test_fast_samples_real_reports_and_exact_rates_agree(base, k, d):
    mechanism = RSFD(k, d, 0.9, base)
    for number, attack in enumerate(
        (GUESS, TIGHT.declare(mechanism, 10_000, 0.0025), TwoValueTest(1.01))
    ):
        assert least_p(attack, mechanism, 10 * d + number, real=15_000) > P_MIN, attack


@pytest.mark.parametrize("base", BASES)
def test_a_tuple_of_reports_follows_its_whole_law(base):
    mechanism, n = RSFD((2, 3), 2, 0.9, base), 40_000
    reports = mechanism.perturb(np.tile([1, 2], (n, 1)), rng(2))
    parts = [components(mechanism, j)[0] for j in (0, 1)]
    code = 0
    for j, (part, seen) in enumerate(zip(parts, reports)):
        bits = part if base != "GRR" else np.arange(len(part))[:, None]
        seen = seen if base != "GRR" else seen[:, None]
        code = code * len(part) + (seen[:, None, :] == bits).all(axis=2).argmax(axis=1)
    law = law_of(mechanism, [1, 2])
    assert chi_square_p(np.bincount(code, minlength=law.size), law) > P_MIN


@pytest.mark.parametrize("base", BASES)
def test_domains_of_different_sizes_are_perturbed_and_guessed_as_their_laws_say(base):
    mechanism = RSFD(MIXED, 3, 0.9, base)
    reports = mechanism.perturb(np.array([[0, 1, 6], [2, 0, 3]]), rng(3))
    assert [r.shape for r in reports] == [(2,) if base == "GRR" else (2, size) for size in MIXED]
    assert (mechanism.sizes, mechanism.kind.domain, mechanism.width) == (MIXED, 2, 12)
    assert least_p(GUESS, mechanism, 4, real=60_000) > P_MIN
    assert audit(mechanism, trials=5000, faithful=True).exact == audit(mechanism, trials=5000).exact


@pytest.mark.parametrize("base", BASES)
def test_the_strongest_test_refuses_domains_of_different_sizes(base):
    with pytest.raises(
        ValueError,
        match=r"tight test needs equal domain sizes of all attributes, got k = \(3, 2, 7\)",
    ):
        audit(RSFD(MIXED, 3, 1.0, base), "tight", trials=1000)
    same = RSFD((4, 4), 2, 1.0, base)
    assert expected(same, "tight") == expected(RSFD(4, 2, 1.0, base), "tight")


@pytest.mark.parametrize("base", BASES)
def test_estimates_are_unbiased_in_every_attribute_and_vary_as_their_formula_says(base):
    mechanism, n, repeats = RSFD((4, 3), 2, 2.0, base), 400, 800
    truth = [np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.9, 0.0])]
    given = [
        np.tile(np.repeat(np.arange(len(f)), np.rint(n * f).astype(int)), repeats) for f in truth
    ]
    values = np.stack(given, axis=1)
    parts = zip(*(np.split(r, repeats) for r in mechanism.perturb(values, rng(6))))
    estimates = [mechanism.estimate(list(part)) for part in parts]
    assert (
        estimation_p([e[0] for e in estimates], truth[0], mechanism.variance(n, truth[0])) > P_MIN
    )
    second = np.array([e[1] for e in estimates])
    assert estimation_p(second, truth[1], second.var(axis=0, ddof=1)) > P_MIN


@pytest.mark.parametrize("base", BASES)
def test_estimates_of_given_users_vary_as_those_of_every_other_mechanism(base):
    mechanism, n, f = RSFD(4, 2, 4.0, base), 100, 0.5
    p, q = mechanism.support(
        0
    )  # each user's report supports the value with chance p or q, independently
    wanted = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)
    assert mechanism.variance(n) == pytest.approx(q * (1 - q) / (n * (p - q) ** 2), rel=1e-12)
    assert mechanism.variance(n, f) == pytest.approx(wanted, rel=1e-12)


# --- making one, and bad input --------------------------------------------------------------------


def test_it_is_made_by_its_name():
    for base in BASES:
        assert make(f"RSFD[{base}]", k=5, d=3, epsilon=1.0) == RSFD(5, 3, 1.0, base)
        assert RSFD(5, 3, 1.0, base).name == f"RSFD[{base}]"
    assert RSFD([2, 3], 2, 1.0) == RSFD((2, 3), 2, 1.0) and hash(RSFD([2, 3], 2, 1.0))


@pytest.mark.parametrize(
    "given, message",
    [
        ({"d": 1}, "d must be an integer >= 2, got 1"),
        ({"d": 2.0}, "d must be an integer >= 2, got 2.0"),
        ({"k": 1}, r"k must be an integer in \[2, "),
        ({"k": (3, 1, 2)}, r"k must be an integer in \[2, .* got 1"),
        ({"k": (3, 2)}, "k must be one integer or 3 of them, one per attribute, got 2"),
        ({"k": (3, 2, 4.0)}, "k must be an integer in"),
        ({"base": "SUE"}, "base must be one of GRR, SUE-z, SUE-r, OUE-z, OUE-r, got 'SUE'"),
        ({"epsilon": 0}, r"epsilon must be a number in \[1e-06, "),
        ({"epsilon": 28}, r"epsilon must be a number in \[1e-06, 27\], got 28"),
        ({"k": (3, 2, 4), "epsilon": math.nan}, "epsilon must be a number in"),
    ],
)
def test_bad_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        RSFD(**({"k": 5, "d": 3, "epsilon": 1.0} | given))


@pytest.mark.parametrize("base", BASES)
def test_records_and_tuples_of_a_wrong_shape_or_range_are_refused(base):
    mechanism = RSFD(MIXED, 3, 1.0, base)
    for values in ([0, 1, 2], [[0, 1]], [[0, 1, 2, 0]]):
        with pytest.raises(ValueError, match=r"values must have shape \(n, 3\), got"):
            mechanism.perturb(values, rng())
    for values in ([[0, 2, 0]], [[3, 0, 0]], [[0, -1, 0]], [[0.0, 1.0, 2.0]]):
        with pytest.raises(ValueError, match="values must"):
            mechanism.perturb(values, rng())
    with pytest.raises(ValueError, match=r"reports of RSFD\[.*\] must have 3 components, got 2"):
        mechanism.estimate(mechanism.perturb([[0, 1, 2]], rng())[:2])
    with pytest.raises(ValueError, match=r"pair must be an integer in \[0, 1\], got 2"):
        audit(mechanism, pair=(0, 2), trials=10)
