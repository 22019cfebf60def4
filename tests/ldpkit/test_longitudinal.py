"""Repeated collections of one value, with fresh and with permanent noise: oracle tables (1e-8, their own rounding), enumerations of
all outcomes, quadrature. Simulated oracle rates are met within the normal quantile
of `chance.P_MIN`; fewer than 1,000 p-values."""

import itertools
import math

import numpy as np
from chance import P_MIN, binomial_p, build, mechanism_of, rng, table, unit
from pytest import approx
from scipy import integrate, stats

from ldpkit import attacks, audit
from ldpkit.attacks import TwoValueTest
from ldpkit.auditors import expected
from ldpkit.guess_success import count_wins, laplace_sum, laplace_sum_success, response_wins
from ldpkit.mechanisms import AGM, GRR, OUE, SS, SUE, BucketFlip, Chained, Repeated, make
from ldpkit.stats import epsilon_lower

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]
TEN = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "GM", "AGM"]
ROWS = [row for row in table("exact_more") if row["tau"] != "1"]
EVENTS = [row for row in table("tight_more") if row["tau"] != "1"]


def repeated(label, k, epsilon, tau, memoise=False, delta=1e-3):
    return Repeated(build(label, k, epsilon, delta), tau, memoise)


def test_rates_and_the_expected_statistic_of_the_guess_equal_the_oracle():
    for label in TEN:
        rows = [row for row in ROWS if row["mechanism"] == label and row["method"] == "exact"]
        assert len(rows) == (32 if label == "SS" else 128)
        for row in rows[:: 4 if label == "SHE" else 2]:  # its integral takes a while
            tpr, fpr = GUESS.rates(mechanism_of(row))
            assert tpr == approx(float(row["TPR"]), rel=1e-8), row
            # a success next to 1 is known to a few roundings, here and in the oracle
            assert fpr == approx(float(row["FPR"]), rel=1e-8, abs=2e-13), row
        for row in rows[::8]:
            found, printed = expected(mechanism_of(row))[0], float(row["eps_emp_mean"])
            assert found == approx(printed, abs=0.51 * unit(printed, 5)), row
    for row in [row for row in ROWS if row["method"] == "mc"]:  # subset selection, simulated
        m, error = mechanism_of(row), stats.norm.isf(P_MIN / 2) * float(row["TPR_se"])
        assert GUESS.rates(m) is None and m.mechanism.omega > 1, row
        trials = max(200, int(2e6 / (m.tau * (m.mechanism.omega + 2) + m.k)))
        count, tpr = GUESS.sample(m, trials, True, rng(1)), float(row["TPR"])
        # 10^5 trials without a failure leave room for a small rate
        low = tpr - max(error, -math.log(P_MIN) / 1e5)
        nearest = min(max(count / trials, low), tpr + error, 1.0)
        assert binomial_p(count, trials, nearest) > P_MIN, row


def test_wins_equal_the_enumeration():
    rows = [(2, 1), (2, 5), (2, 6), (3, 1), (3, 4), (3, 7), (4, 5), (5, 5), (7, 3)]
    for k, tau in rows:  # against a multinomial rest
        for own, found in enumerate(response_wins(k, tau)):
            total = 0.0
            for others in itertools.product(range(k - 1), repeat=tau - own):
                counts = np.bincount(np.array(others, int), minlength=k - 1)
                total += (own >= counts.max()) / (1 + np.count_nonzero(counts == own))
            total /= (k - 1) ** (tau - own)
            assert found == approx(total, rel=1e-12, abs=1e-15), (k, tau, own)
    # 500 rounds of three values: no chance exceeds 1, or a rate of the other values would be negative
    assert response_wins(3, 500).max() <= 1
    for tau in [1, 2, 7, 50, 501]:  # among two values: a majority
        wanted = np.sign(2 * np.arange(tau + 1) - tau) / 2 + 0.5
        assert response_wins(2, tau) == approx(wanted, abs=1e-12)
        law = stats.binom(tau, GRR(2, 0.3).p)
        majority = law.sf(tau // 2) + (0 if tau % 2 else law.pmf(tau // 2) / 2)
        assert GUESS.rates(Repeated(GRR(2, 0.3), tau))[0] == approx(majority, rel=1e-12)
    rows = [[0.5, 0.3, 0.2], [0.0, 1.0], [0.9, 0.0, 0.1, 0.0], [1 - 1e-12, 1e-12], [0.25] * 4]
    for k, mass in itertools.product([2, 3, 5], rows):  # against independent counts
        found = count_wins(np.array(mass), k)
        for own in range(len(mass)):
            total = 0.0
            for others in itertools.product(range(len(mass)), repeat=k - 1):
                won = (own >= max(others)) / (1 + others.count(own))
                total += won * math.prod(mass[c] for c in others)
            assert found[own] == approx(total, rel=1e-11, abs=1e-300), (k, mass, own)
        assert np.array(mass) @ found == approx(1 / k, rel=1e-11)  # nobody is favoured


def test_the_table_of_a_laplace_sum_is_its_law():
    for tau, survival, density in (
        (1, lambda x: np.exp(-x) / 2, lambda x: np.exp(-x) / 2),
        (2, lambda x: (2 + x) * np.exp(-x) / 4, lambda x: (1 + x) * np.exp(-x) / 4),
    ):
        x, log_survival, log_density = laplace_sum(tau)
        assert log_survival == approx(np.log(survival(x)), abs=1e-12)
        assert log_density == approx(np.log(density(x)), abs=1e-12)
    for tau in [3, 10, 40]:  # the density is the inverse transform, and integrates to the survival
        x, log_survival, log_density = laplace_sum(tau)
        for at in (0, 50, 200, 400):  # |characteristic function| = (1 + t^2)^-tau
            given = {"weight": "cos", "wvar": x[at], "limit": 2000, "epsabs": 1e-12}
            whole, _ = integrate.quad(lambda t: (1 + t**2) ** -tau, 0, 200, **given)
            found = whole / math.pi
            assert math.exp(log_density[at]) == approx(found, rel=1e-7, abs=1e-9), (tau, at)
        assert math.exp(log_survival[0]) == approx(0.5, rel=1e-13), tau
        lost = integrate.simpson(np.exp(log_density[:401]), x=x[:401])
        assert 0.5 - lost == approx(math.exp(log_survival[400]), abs=1e-7), tau
    for tau in [1, 5, 60]:
        x, log_survival, _ = laplace_sum(tau)
        drawn = rng(2, tau).laplace(size=(20_000, tau)).sum(axis=1)
        tail = np.exp(np.interp(np.abs(drawn), x, log_survival))
        assert stats.kstest(np.where(drawn > 0, 1 - tail, tail), "uniform").pvalue > P_MIN, tau


def test_the_success_of_sums_of_noise_equals_quadrature_and_closed_forms():
    def below(x):
        return 1 - (2 + x) * math.exp(-x) / 4 if x >= 0 else (2 - x) * math.exp(x) / 4

    def density(s, k, shift):
        return (1 + abs(s)) * math.exp(-abs(s)) / 4 * below(s + shift) ** (k - 1)

    for k, shift in itertools.product([2, 3, 100], [0.1, 1.0, 5.0]):
        knots = sorted({-50.0, -shift, 0.0, 5.0, 60.0})
        total = 0.0
        for ends in itertools.pairwise(knots):
            total += integrate.quad(density, *ends, (k, shift), epsabs=0, epsrel=1e-11)[0]
        assert laplace_sum_success(2, k, shift) == approx(total, rel=1e-8)
    for label, tau in itertools.product(["GM", "AGM"], [1, 4, 100]):
        mechanism = repeated(label, 2, 0.5, tau)
        wanted = stats.norm.cdf(math.sqrt(tau / 2) / mechanism.mechanism.scale)
        assert GUESS.rates(mechanism)[0] == approx(wanted, rel=1e-12)
        assert TwoValueTest(0.0).rates(mechanism) == approx((wanted, 1 - wanted), rel=1e-12)


def test_rates_and_the_chosen_threshold_of_the_tight_event_equal_the_oracle():
    assert len(EVENTS) == 416
    chosen = [("5", "0.25"), ("25", "1"), ("50", "0.5"), ("100", "0.25")]
    for row in EVENTS:
        mechanism, threshold = mechanism_of(row), float(row["event"].removeprefix("D>="))
        for found, side in zip(TwoValueTest(threshold).rates(mechanism), ("P1", "P2")):
            printed = float(row[side])
            assert found == approx(printed, abs=0.501 * unit(printed, 6)), row
        if (row["tau"], row["eps"]) in chosen and row["k"] in ("any", "100"):
            test, printed = TIGHT.choose(mechanism, 10**6, 0.0025), float(row["eps_emp_mean_T1e6"])
            found = expected(mechanism, test)[0]
            assert printed - 3e-3 < found < printed + 1e-3, row
            if test.threshold == threshold:
                assert found == approx(printed, abs=0.51 * unit(printed, 5)), row


def test_a_remembered_report_is_worth_one_report():
    for label in TEN:
        base, kept = build(label, 10, 0.7), repeated(label, 10, 0.7, 6, memoise=True, delta=0.02)
        claims = [(m.epsilon, m.delta) for m in (kept, base)]
        assert claims[0] == claims[1] and kept.published_delta == base.delta, label
        rounds = kept.perturb(np.zeros(50, int), rng(3))
        assert len(rounds) == 6 and all((r == rounds[0]).all() for r in rounds), label
        assert kept.estimate(rounds) == approx(base.estimate(rounds[0]), rel=1e-12), label
        assert kept.variance(50, 0.3) == base.variance(50, 0.3), label
        tests = [TIGHT.choose(m, 10**4, 0.0025) for m in (base, kept)]
        assert [test.threshold for test in tests].count(None) in (0, 2), label
        for attack in (GUESS, tests[0]):
            assert attack.rates(kept) == attack.rates(base), label
            for truth in (True, False):
                counts = [attack.sample(m, 1000, truth, rng(4)) for m in (kept, base)]
                assert counts[0] == counts[1], label
            read = ((kept, rounds), (base, rounds[0]))
            seen = [attack.accepts(m, r, (0, 9), rng(5)).tolist() for m, r in read]
            assert seen[0] == seen[1], label


def test_the_audited_code_subtracts_one_delta_and_a_bound_must_subtract_all_of_them():
    mechanism, tail = Repeated(AGM(10, 1.0, 0.01), 5), {"published": 0.0025, "valid": 0.005}
    assert (mechanism.epsilon, mechanism.delta, mechanism.published_delta) == (5.0, 0.05, 0.01)
    result = audit(mechanism, "tight", trials=50_000)
    counts = result.counts["tp"], result.counts["fp"], 50_000
    assert result.epsilon_emp == float(epsilon_lower(*counts, 0.01, tail=tail["published"]))
    assert result.lower == max(0.0, float(epsilon_lower(*counts, 0.05, tail=tail["valid"])))
    assert (result.delta, result.claim, result.violated) == (0.05, 5.0, False)
    assert expected(mechanism, trials=50_000) == expected(mechanism, trials=50_000, delta=0.01)


def test_make_wraps_a_mechanism_when_a_number_of_collections_is_given():
    assert make("SUE", k=5, epsilon=1.0, tau=3) == Repeated(SUE(5, 1.0), 3)
    assert make("SUE", k=5, epsilon=1.0, tau=3, memoise=True) == Repeated(SUE(5, 1.0), 3, True)
    assert make("SUE", k=5, epsilon=1.0, memoise=True) == Repeated(SUE(5, 1.0), 1, True)
    assert make("SUE", k=5, epsilon=1.0, memoise=False) == SUE(5, 1.0)
    mechanism = Repeated(SS(5, 1.0), 3)
    assert mechanism.name == "SS" and make("SS", **mechanism.parameters) == mechanism
    assert mechanism.parameters == {"k": 5, "epsilon": 1.0, "tau": 3, "memoise": False}


# --- noise drawn once: two chained rounds of noise, and flipped bits of buckets

PROTOCOLS = ["SUE", "OSUE", "OUE", "GRR"]


def test_one_report_has_exactly_its_epsilon():
    budgets, shares = (0.1, 1, 2, 5, 10), (0.01, 0.5, 0.9, 0.999)
    permanent = {"SUE": SUE, "OSUE": OUE, "OUE": OUE, "GRR": GRR}
    for k, name, epsilon, share in itertools.product([2, 3, 25, 1000], PROTOCOLS, budgets, shares):
        most = math.log((2 * math.exp(epsilon) + 1) / 3) if name == "OUE" else epsilon
        m = Chained(k, epsilon, share * most, 1, name)
        odds = m.p / m.q if name == "GRR" else m.p * (1 - m.q) / ((1 - m.p) * m.q)
        assert math.log(odds) == approx(m.first, rel=1e-8, abs=1e-12), m
        keep, flip = m.second
        rest = {"GRR": (k - 1) * flip, "OUE": 0.5}.get(name, flip)
        assert 0 < flip < keep < 1 and keep + rest == approx(1), m
        assert m.permanent == permanent[name](k, epsilon)


def test_rates_run_from_those_of_the_first_report_to_those_of_the_permanent_round():
    for tau, tpr in ((1, 0.0659485538), (10, 0.1085986770), (100, 0.1086939476)):
        assert GUESS.rates(Chained(25, 2.0, 1.0, tau))[0] == approx(tpr, abs=0.501e-10)
    assert GUESS.rates(SUE(25, 2.0))[0] == approx(0.1086939476, abs=0.501e-10)
    for k, protocol in itertools.product([2, 25], PROTOCOLS):
        chain = [Chained(k, 2.0, 1.0, tau, protocol) for tau in (1, 4, 16, 64, 500)]
        found = [GUESS.rates(m)[0] for m in chain]
        assert found == sorted(found), (k, protocol)
        if protocol in ("SUE", "GRR"):  # with two such rounds, one report is again SUE or GRR
            single = {"SUE": SUE, "GRR": GRR}[protocol](k, 1.0)
            assert found[0] == approx(GUESS.rates(single)[0], rel=1e-10)
        assert found[-1] == approx(GUESS.rates(chain[0].permanent)[0], rel=1e-8), (k, protocol)
    printed = (0.0903041078, 0.0372450811)
    assert GUESS.rates(BucketFlip(24, 2.0, 12, 4)) == approx(printed, abs=0.501e-10)
