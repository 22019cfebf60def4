"""Reconstruction games that are small enough to enumerate: the optimal attack, every bound, every
closed form. Seeds only choose which games are enumerated."""

import itertools
import math

import numpy as np
import pytest
from chance import RAD
from gaussian_accounting import gaussian_epsilon, gaussian_sigma, gdp_mu
from rad_checks import estimate_sd, rero_epsilon
from scipy import stats

from ldpbook.datasets import adult_hours
from ldpkit.attacks import reconstruct
from ldpkit.attacks.reconstruct import attack_value, finite_distribution, optimal_attack, rad_exact
from ldpkit.auditors import rad_bounds as bounds
from ldpkit.auditors.rad import calibrate, invert_blackbox, rad_uniform
from ldpkit.mechanisms import GRR, OUE, FloorSS

near = pytest.approx


def games(count, m, outputs, seed, epsilon=None):
    """Random mechanisms, priors, success matrices and side knowledge; epsilon-LDP if asked."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rows = rng.dirichlet(np.full(outputs, 0.7), m)
        if epsilon is not None:
            rows = rng.dirichlet(np.ones(outputs)) * np.exp(epsilon * rng.random((m, outputs)) / 2)
            rows /= rows.sum(1, keepdims=True)
        success = np.maximum(np.eye(m), rng.random((m, m)) < rng.choice([0, 0.3]))
        yield rows, rng.dirichlet(np.ones(m)), success, rng.integers(0, rng.integers(1, m + 1), m)


def test_no_deterministic_attack_beats_algorithm_1_and_it_is_attained():
    for seed in range(2):
        for rows, prior, success, side in games(12, 3, 3, seed):
            game, labels = (rows, prior, success, side), np.unique(side).size
            best = rad_exact(*game)
            assert attack_value(optimal_attack(*game), *game)[1] == near(best)
            if labels < 3:
                tables = itertools.product(range(3), repeat=3 * labels)
                attacks = (np.eye(3)[np.reshape(t, (labels, 3))].transpose(0, 2, 1) for t in tables)
                reros, rads = zip(*(attack_value(attack, *game) for attack in attacks))
                assert max(rads) == near(best, abs=1e-14)
                bayes = optimal_attack(*game, maximise="rero")
                assert attack_value(bayes, *game)[0] == near(max(reros), abs=1e-14)


def test_membership_inference_is_the_mean_total_variation_if_every_record_has_a_failing_guess():
    def variation(rows, prior):
        return prior @ np.maximum(rows - prior @ rows, 0).sum(1)

    for rows, prior, _, _ in games(20, 5, 7, 1):
        found = rad_exact(rows, prior, side=np.arange(5))
        assert found == near(variation(rows, prior), abs=1e-14)
    rows, uniform = finite_distribution(GRR(4, 1.0)), np.full(4, 0.25)
    assert rad_exact(rows, uniform, np.ones((4, 4)), np.arange(4)) == near(0, abs=1e-15)
    assert variation(rows, uniform) == near(0.225, abs=5e-4)  # what Eq. 5 says


def test_ties_are_shared_equally():
    law, uniform = finite_distribution(OUE(4, 1.0)), np.full(4, 0.25)
    attack = optimal_attack(law, uniform)
    assert attack[0, :, 0].tolist() == [0.25] * 4
    assert attack[0, :, 0b1010].tolist() == [0.5, 0, 0.5, 0]


def test_closed_forms_equal_enumeration():
    sizes = (2, 0.3), (3, 1.0), (5, 0.4), (6, 2.5), (8, 5.0)
    for make, (k, epsilon) in itertools.product((GRR, OUE, FloorSS), sizes):
        m, rng = make(k, epsilon), np.random.default_rng(k)
        rows, uniform = finite_distribution(m), np.full(k, 1 / k)
        assert rows.sum(1) == near(np.ones(k)), m
        assert rad_uniform(m) == near(rad_exact(rows, uniform), abs=1e-13), m
        tv = bounds.total_variation(bounds.tradeoff_support(m))
        assert tv == near(np.abs(rows[0] - rows[1]).sum() / 2, abs=1e-9), m
        for prior in [uniform, *rng.dirichlet(np.ones(k), 4)]:
            most = bounds.rad_thm42(tv, reconstruct.kappa(prior)[0])
            assert rad_exact(rows, prior, side=np.arange(k)) == near(most, abs=1e-9), m
            success = np.maximum(np.eye(k), rng.random((k, k)) < 0.3)
            if make is GRR:
                exact = rad_exact(rows, prior, success)
                assert bounds.grr_ex44(m, prior, success) == near(exact, abs=1e-13), m
                assert bounds.grr_ex44(m, prior, success, printed=True) == near(0, abs=1e-15), m
            if make is OUE:
                exact = rad_exact(rows, prior)
                assert bounds.oue_ex45(m, prior) == near(exact, abs=1e-13), m


def test_oue_needs_the_ascending_order():
    prior = np.array([0.7, 0.2, 0.1])
    exact = rad_exact(finite_distribution(OUE(3, 3.0)), prior)
    assert bounds.oue_ex45(OUE(3, 3.0), prior) == near(exact, abs=1e-14)
    assert abs(bounds.oue_ex45(OUE(3, 3.0), prior, printed=True) - exact) > 0.005
    m, e = 9, math.exp(2.0)
    wanted = (e - 1) / (2 * m) * (1 - (e / (1 + e)) ** (m - 1))
    assert rad_uniform(OUE(m, 2.0)) == near(wanted, rel=1e-12)


def test_trade_off_functions_equal_the_neyman_pearson_curve():
    at = np.linspace(0, 1, 101)
    for m in (GRR(6, 1.3), OUE(6, 1.3), FloorSS(6, 1.3)):
        rows = finite_distribution(m)
        order = np.argsort(-rows[1] / rows[0])
        alpha, power = (np.append(0, row[order].cumsum()) for row in rows[:2])
        wanted = np.interp(at, alpha, 1 - power)
        assert bounds.tradeoff_support(m)(at) == near(wanted, abs=1e-12), m


def test_trade_off_functions_of_noise_equal_their_tests():
    at, epsilon, mu = np.linspace(0.001, 0.999, 97), 1.7, 0.8
    laplace, gaussian = bounds.tradeoff_laplace(epsilon), bounds.tradeoff_gdp(mu)
    threshold = stats.laplace.isf(at, scale=1 / epsilon)
    assert laplace(at) == near(stats.laplace.cdf(threshold - 1, scale=1 / epsilon), abs=1e-12)
    assert gaussian(at) == near(stats.norm.cdf(stats.norm.isf(at) - mu), abs=1e-12)
    tv = bounds.total_variation
    assert tv(laplace) == near(1 - math.exp(-epsilon / 2), abs=1e-12)
    assert tv(gaussian) == near(2 * stats.norm.cdf(mu / 2) - 1, abs=1e-12)
    for delta in (0.0, 0.1):
        wanted = bounds.tv_dp(epsilon, delta)
        assert tv(bounds.tradeoff_dp(epsilon, delta)) == near(wanted, abs=1e-9)


def test_no_bound_is_ever_exceeded():
    """Random epsilon-LDP mechanisms; the corrected bounds hold for each of 600 games."""
    epsilon = 1.2
    f, tv = bounds.tradeoff_dp(epsilon), bounds.tv_dp(epsilon)
    for seed in range(3):
        printed_fails = 0
        for rows, prior, success, side in games(200, 4, 6, 10 + seed, epsilon):
            mass, plus, minus = reconstruct.kappa(prior, success)
            any_side, none = rad_exact(rows, prior, success, side), rad_exact(rows, prior, success)
            assert any_side <= bounds.rad_thm42(tv, mass) + 1e-12
            assert none <= min(bounds.rad_thm51(f, mass, plus, minus)) + 1e-9
            assert none <= bounds.rad_prop52(epsilon, 0, mass, plus, minus) + 1e-12
            assert rad_exact(rows, prior, side=side) <= bounds.rad_thm53(prior, epsilon) + 1e-12
            guess = optimal_attack(rows, prior, success, maximise="rero")
            assert attack_value(guess, rows, prior, success)[0] <= bounds.rero_eq3(f, plus) + 1e-9
            printed = bounds.rad_prop52(epsilon, 0, mass, plus, minus, printed=True)
            printed_fails += none > printed + 1e-12
        assert printed_fails > 0, seed
    reached = rad_exact(finite_distribution(GRR(4, epsilon)), np.full(4, 0.25))
    assert reached == near(bounds.rad_cor54(4, epsilon), abs=1e-14)


def test_corollary_54_is_attained_with_delta_and_the_printed_theorem_53_is_not_a_bound():
    """By who publishes the record (marked) with probability delta, and sends GRR else."""
    for m, epsilon, delta in ((2, 0.7, 0.1), (8, 0.5, 0.05), (5, 2.0, 0.0), (11, 1.0, 0.3)):
        uniform = np.full(m, 1 / m)
        law = np.hstack([delta * np.eye(m), (1 - delta) * finite_distribution(GRR(m, epsilon))])
        reached = rad_exact(law, uniform)
        assert reached == near(bounds.rad_cor54(m, epsilon, delta), abs=1e-13), m
        assert bounds.rad_thm53(uniform, epsilon, delta) == near(reached, abs=1e-13), m
        printed = bounds.rad_thm53(uniform, epsilon, delta, printed=True)
        assert (printed < reached - 1e-9) == (m > 2 and delta > 0), m
        if m == 8:
            assert (round(reached, 4), round(printed, 4)) == (0.1061, 0.0757)


def test_theorem_53_between_the_uniform_and_the_two_point_prior():
    assert round(bounds.rad_thm53([0.4, 0.3, 0.2, 0.1], 0.5), 4) == 0.1303
    wanted = bounds.rad_thm42(bounds.tv_dp(0.5), 0.5)
    assert bounds.rad_thm53([0.5, 0.5, 0, 0], 0.5) == near(wanted, abs=1e-14)


def test_the_composed_total_variation_holds_and_is_loose():
    rows = finite_distribution(GRR(3, 1.0))
    twice = (rows[:, :, None] * rows[:, None, :]).reshape(3, -1)
    exact = np.abs(twice[0] - twice[1]).sum() / 2
    bound = bounds.tv_composed(bounds.total_variation(bounds.tradeoff_support(GRR(3, 1.0))), 2)
    assert (round(exact, 3), round(bound, 3)) == (0.441, 0.596)


def test_noise_behind_unequal_gaps_and_the_worst_spacing():
    gaps, grid = np.random.default_rng(3).dirichlet(np.ones(5)), np.linspace(-60, 60, 600_001)
    edges = np.r_[0, gaps.cumsum()][:, None]
    forms = (bounds.laplace_ex47, stats.laplace), (bounds.gaussian_ex48, stats.norm)
    for scale, (form, noise) in itertools.product((0.3, 2.0), forms):
        # maximum likelihood at a uniform prior
        success = noise.pdf(grid - edges, scale=scale).max(0).sum() * (grid[1] - grid[0]) / 6
        assert form(gaps, scale) == near(success - 1 / 6, abs=1e-4), (form, scale)
        assert form(gaps, scale) < form(np.full(5, 0.2), scale), (form, scale)


PROTOCOLS = {"GRR": GRR, "SS": FloorSS, "OUE": OUE}
HOURS = adult_hours().to_numpy() / adult_hours().sum()
TWO = np.r_[0.5, np.zeros(99), 0.5]
PRIORS = {"empirical": HOURS, "uniform": np.full(101, 1 / 101), "two-point": TWO}


def fig1(series, epsilon):
    name, what = series.split("_", 1)
    if name in PROTOCOLS:
        mechanism = PROTOCOLS[name](11, epsilon)
        tv = bounds.total_variation(bounds.tradeoff_support(mechanism))
        return rad_uniform(mechanism) if what == "Thm4.3" else bounds.rad_thm42(tv, 1 / 11)
    gaps = np.full(10, 0.1)
    if name == "Laplace":
        tv = bounds.total_variation(bounds.tradeoff_laplace(epsilon))
        exact = bounds.laplace_ex47(gaps, 1 / epsilon)
        return exact if what == "Thm4.3" else bounds.rad_thm42(tv, 1 / 11)
    sigma = gaussian_sigma(epsilon, accounting="rdp" if "RDP" in what else "exact")
    if what.startswith("sigma"):
        return sigma
    exact, any_side = bounds.gaussian_ex48(gaps, sigma), 2 * stats.norm.cdf(0.5 / sigma) - 1
    return exact if "4.3" in what else 10 / 11 * any_side


def fig2(series, gamma):
    epsilon = {
        "alpha_RAD_Thm4.3": lambda: calibrate("laplace", gamma, 10).epsilon,
        "alpha_RAD_Thm4.2": lambda: calibrate("laplace", gamma, 10, knowledge="any").epsilon,
        "alpha_exact_ReRo": lambda: calibrate("laplace", gamma - 0.1, 10).epsilon,
        "alpha_ReRo_Eq3": lambda: rero_epsilon(gamma, 10),
    }[series]()
    return math.log(20) / epsilon


def fig3(series, sigma):
    mu, prior, f = gdp_mu(sigma, 100), reconstruct.kappa(np.full(8, 1 / 8)), bounds.tradeoff_gdp
    tv = bounds.total_variation
    return {
        "eps_RDP": lambda: gaussian_epsilon(sigma, 100, accounting="rdp"),
        "eps_exact_addremove": lambda: gaussian_epsilon(sigma, 100),
        "eps_exact_replacement": lambda: gaussian_epsilon(sigma, 100, adjacency="replace"),
        "ReRo_bound_Eq3": lambda: bounds.rero_eq3(f(mu), 1 / 8),
        "Thm4.2_printed(mu)": lambda: bounds.rad_thm42(tv(f(mu)), 1 / 8),
        "Thm4.2_replacement(2mu)": lambda: bounds.rad_thm42(tv(f(2 * mu)), 1 / 8),
        "Thm5.1_discrete_printed(mu)": lambda: bounds.rad_thm51(f(mu), *prior)[1],
        "Eq3_minus_1/8": lambda: bounds.rero_eq3(f(mu), 1 / 8) - 1 / 8,
    }[series]()


def fig4(series, epsilon):
    name, eta, what = series.replace("_eta", "_", 1).split("_", 2)
    aim = "rero" if "bayes" in what else "rad"
    rero, rad = reconstruct.laplace_sum_exact(PRIORS[name], int(eta), epsilon, maximise=aim)
    return {"RAD": rad, "RAD_of_bayes": rad, "corr_radopt": rero - rad}.get(what, rero)


def large(m):
    def value(series, epsilon):
        rad = rad_uniform(PROTOCOLS[series.partition("_")[0]](m, epsilon))
        return rad if series.endswith("_RAD") else invert_blackbox(rad, m)

    return value


ITEMS = {
    "fig1": fig1, "fig2": fig2, "fig3": fig3, "fig4": fig4, "fig5": large(3052), "fig6": large(3052),
    "fig5_geolife": large(5356), "fig6_geolife": large(5356),
}  # fmt: skip


def test_exact_rows_of_the_oracle():
    exact = [r for r in RAD if r["note"].startswith(("exact", "closed form"))]
    for item, value in ITEMS.items():
        rows = [r for r in exact if r["item"] == item]
        assert len(rows) >= 36, item
        for row in rows:
            half = 0.50001 * 10 ** -len(row["value"].partition(".")[2])
            found = value(row["series"], float(row["x"]))
            assert found == near(float(row["value"]), abs=half), row


def test_first_order_deviations_of_the_oracle():
    """But for one row, whose finite difference crosses a leap of the subset size."""
    for item, m in ("fig5", 3052), ("fig5_geolife", 5356):
        rows = [r for r in RAD if r["item"] == item and "delta method" in r["series"]]
        assert len(rows) == 57, item
        for row in rows:
            name, epsilon = row["series"].partition("_")[0], float(row["x"])
            value = float(row["value"])
            found = estimate_sd(PROTOCOLS[name](m, epsilon), int(row["note"].removeprefix("N=")))
            if (m, name, epsilon) == (5356, "SS", 3.0):
                assert found / value > 10 and FloorSS(m, 2.999).omega > FloorSS(m, 3.001).omega
            else:
                assert found == near(value, abs=0.51e-4, rel=1e-4), row


def test_the_attribute_advantage_is_that_of_guesses_with_the_right_attribute():
    """Definition 2.2 by its double sum over an own and an independent record; the attacker knows the label."""
    rng, m, outputs = np.random.default_rng(22), 6, 5
    attribute, side = np.arange(m) % 2, np.array([0, 0, 1, 1, 2, 2])
    alike = (attribute[:, None] == attribute).astype(int)
    for _ in range(20):
        law, prior = rng.dirichlet(np.ones(outputs), m), rng.dirichlet(np.ones(m))
        attack = optimal_attack(law, prior, alike, side)
        names = [[alike[z] @ attack[side[z], :, y] for y in range(outputs)] for z in range(m)]
        own = sum(prior[z] * law[z, y] * names[z][y] for z in range(m) for y in range(outputs))
        other = sum(
            prior[z] * prior[w] * law[w, y] * names[z][y]
            for z, w, y in itertools.product(range(m), range(m), range(outputs))
        )
        assert attack_value(attack, law, prior, alike, side) == near((own, own - other), abs=1e-12)
