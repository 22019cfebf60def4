"""Reconstruction games that are small enough to enumerate: the optimal attack, every bound, every
closed form.

Nothing is judged by chance: seeds only choose which games are enumerated, and the comparisons are
exact to rounding.
"""

import itertools
import math

import numpy as np
import pytest
from laws import RAD
from scipy import stats

from ldpbook.datasets import adult_hours
from ldpkit.attacks.aggregate import laplace_sum_exact
from ldpkit.attacks.reconstruct import attack_value, finite_law, kappa, optimal_attack, rad_exact
from ldpkit.auditors import rad_bounds as bounds
from ldpkit.auditors.rad import estimate_sd, invert_blackbox, rad_uniform
from ldpkit.mechanisms import GRR, OUE, FloorSS
from ldpkit.mechanisms.central import gaussian_epsilon, gaussian_sigma, gdp_mu


def games(count, m, outputs, seed, epsilon=None):
    """Random mechanisms, priors, success matrices and side knowledge; epsilon-LDP if one is
    given."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rows = rng.dirichlet(np.full(outputs, 0.7), m)
        if epsilon is not None:
            rows = rng.dirichlet(np.ones(outputs)) * np.exp(epsilon * rng.random((m, outputs)) / 2)
            rows /= rows.sum(1, keepdims=True)
        success = np.maximum(np.eye(m), rng.random((m, m)) < rng.choice([0, 0.3]))
        yield rows, rng.dirichlet(np.ones(m)), success, rng.integers(0, rng.integers(1, m + 1), m)


@pytest.mark.parametrize("seed", range(4))
def test_no_deterministic_attack_beats_algorithm_1_and_it_is_attained(seed):
    for rows, prior, success, side in games(12, 3, 3, seed):
        labels = np.unique(side).size
        values = (
            [
                attack_value(
                    np.eye(3)[np.reshape(table, (labels, 3))].transpose(0, 2, 1),
                    rows,
                    prior,
                    success,
                    side,
                )
                for table in itertools.product(range(3), repeat=3 * labels)
            ]
            if labels < 3
            else []
        )
        best = rad_exact(rows, prior, success, side)
        assert attack_value(optimal_attack(rows, prior, success, side), rows, prior, success, side)[
            1
        ] == pytest.approx(best)
        if values:
            assert max(rad for _, rad in values) == pytest.approx(best, abs=1e-14)
            bayes = optimal_attack(rows, prior, success, side, maximise="rero")
            rero = attack_value(bayes, rows, prior, success, side)[0]
            assert rero == pytest.approx(max(rero for rero, _ in values), abs=1e-14)


def test_membership_inference_is_the_mean_total_variation_if_every_record_has_a_failing_guess():
    for rows, prior, _, _ in games(20, 5, 7, 1):
        mixture = prior @ rows
        wanted = prior @ np.maximum(rows - mixture, 0).sum(1)
        assert rad_exact(rows, prior, side=np.arange(5)) == pytest.approx(wanted, abs=1e-14)
    everything, uniform = np.ones((4, 4)), np.full(4, 0.25)
    rows = finite_law(GRR(4, 1.0))
    assert rad_exact(rows, uniform, everything, np.arange(4)) == pytest.approx(0, abs=1e-15)
    assert uniform @ np.maximum(rows - uniform @ rows, 0).sum(1) == pytest.approx(
        0.225, abs=5e-4
    )  # what Eq. 5 says


def test_ties_are_shared_equally():
    attack = optimal_attack(finite_law(OUE(4, 1.0)), np.full(4, 0.25))
    assert attack[0, :, 0].tolist() == [0.25] * 4 and attack[0, :, 0b1010].tolist() == [
        0.5,
        0,
        0.5,
        0,
    ]
    with pytest.raises(
        ValueError, match=r"attack must hold probabilities of shape \(1, 4, 16\), got \(1, 16\)"
    ):
        attack_value(attack.argmax(1), finite_law(OUE(4, 1.0)), np.full(4, 0.25))


@pytest.mark.parametrize("make", [GRR, OUE, FloorSS])
@pytest.mark.parametrize("k, epsilon", [(2, 0.3), (3, 1.0), (5, 0.4), (6, 2.5), (8, 5.0)])
def test_closed_forms_equal_enumeration(make, k, epsilon):
    mechanism, rng = make(k, epsilon), np.random.default_rng(k)
    rows, uniform = finite_law(mechanism), np.full(k, 1 / k)
    assert rows.sum(1) == pytest.approx(np.ones(k))
    assert rad_uniform(mechanism) == pytest.approx(rad_exact(rows, uniform), abs=1e-13)
    tv = bounds.total_variation(bounds.tradeoff_support(mechanism))
    assert tv == pytest.approx(np.abs(rows[0] - rows[1]).sum() / 2, abs=1e-9)
    for prior in [uniform, *rng.dirichlet(np.ones(k), 4)]:
        mass = kappa(prior)[0]
        assert rad_exact(rows, prior, side=np.arange(k)) == pytest.approx(
            bounds.rad_thm42(tv, mass), abs=1e-9
        )
        success = np.maximum(np.eye(k), rng.random((k, k)) < 0.3)
        if make is GRR:
            assert bounds.grr_ex44(mechanism, prior, success) == pytest.approx(
                rad_exact(rows, prior, success), abs=1e-13
            )
            assert bounds.grr_ex44(mechanism, prior, success, printed=True) == pytest.approx(
                0, abs=1e-15
            )
        if make is OUE:
            assert bounds.oue_ex45(mechanism, prior) == pytest.approx(
                rad_exact(rows, prior), abs=1e-13
            )


@pytest.mark.parametrize("make", [GRR, OUE, FloorSS])
def test_listed_reports_have_the_law_of_real_ones(make):
    """Chi-square of 20,000 real reports of one value; false alarm 1e-6."""
    mechanism, n = make(5, 0.4), 20_000
    reports = mechanism.perturb(np.full(n, 3), np.random.default_rng(2))
    if mechanism.report == "value":
        index = reports
    elif mechanism.report == "bits":
        index = reports @ 2 ** np.arange(4, -1, -1)
    else:
        sets = {s: i for i, s in enumerate(itertools.combinations(range(5), mechanism.omega))}
        index = [sets[tuple(sorted(r))] for r in reports.tolist()]
    rows = finite_law(mechanism)
    assert rows.sum(1) == pytest.approx(np.ones(5), abs=1e-13)
    assert stats.chisquare(np.bincount(index, minlength=rows.shape[1]), n * rows[3]).pvalue > 1e-6
    with pytest.raises(ValueError, match="at most 65,536 reports"):
        finite_law(OUE(17, 1.0))


def test_oue_needs_the_ascending_order():
    prior = np.array([0.7, 0.2, 0.1])
    exact = rad_exact(finite_law(OUE(3, 3.0)), prior)
    assert bounds.oue_ex45(OUE(3, 3.0), prior) == pytest.approx(exact, abs=1e-14)
    assert abs(bounds.oue_ex45(OUE(3, 3.0), prior, printed=True) - exact) > 0.005
    m, e = 9, math.exp(2.0)
    assert rad_uniform(OUE(m, 2.0)) == pytest.approx(
        (e - 1) / (2 * m) * (1 - (e / (1 + e)) ** (m - 1)), rel=1e-12
    )


@pytest.mark.parametrize("make", [GRR, OUE, FloorSS])
def test_trade_off_functions_equal_the_neyman_pearson_curve(make):
    rows = finite_law(make(6, 1.3))
    order = np.argsort(-rows[1] / rows[0])
    alpha, beta = np.append(0, rows[0][order].cumsum()), 1 - np.append(0, rows[1][order].cumsum())
    at = np.linspace(0, 1, 101)
    assert bounds.tradeoff_support(make(6, 1.3))(at) == pytest.approx(
        np.interp(at, alpha, beta), abs=1e-12
    )


def test_trade_off_functions_of_noise_equal_their_tests():
    at, epsilon, mu = np.linspace(0.001, 0.999, 97), 1.7, 0.8
    threshold = stats.laplace.isf(at, scale=1 / epsilon)
    assert bounds.tradeoff_laplace(epsilon)(at) == pytest.approx(
        stats.laplace.cdf(threshold - 1, scale=1 / epsilon), abs=1e-12
    )
    assert bounds.tradeoff_gdp(mu)(at) == pytest.approx(
        stats.norm.cdf(stats.norm.isf(at) - mu), abs=1e-12
    )
    assert bounds.total_variation(bounds.tradeoff_laplace(epsilon)) == pytest.approx(
        1 - math.exp(-epsilon / 2), abs=1e-12
    )
    assert bounds.total_variation(bounds.tradeoff_gdp(mu)) == pytest.approx(
        2 * stats.norm.cdf(mu / 2) - 1, abs=1e-12
    )
    for delta in (0.0, 0.1):
        assert bounds.total_variation(bounds.tradeoff_dp(epsilon, delta)) == pytest.approx(
            bounds.tv_dp(epsilon, delta), abs=1e-9
        )


@pytest.mark.parametrize("seed", range(3))
def test_no_bound_is_ever_exceeded(seed):
    """Random epsilon-LDP mechanisms; the corrected bounds hold for each of 600 games."""
    epsilon, printed_fails = 1.2, 0
    f, tv = bounds.tradeoff_dp(epsilon), bounds.tv_dp(epsilon)
    for rows, prior, success, side in games(200, 4, 6, 10 + seed, epsilon):
        mass, plus, minus = kappa(prior, success)
        any_side, none = rad_exact(rows, prior, success, side), rad_exact(rows, prior, success)
        assert any_side <= bounds.rad_thm42(tv, mass) + 1e-12
        assert none <= min(bounds.rad_thm51(f, mass, plus, minus)) + 1e-9
        assert none <= bounds.rad_prop52(epsilon, 0, mass, plus, minus) + 1e-12
        assert rad_exact(rows, prior, side=side) <= bounds.rad_thm53(prior, epsilon) + 1e-12
        guess = optimal_attack(rows, prior, success, maximise="rero")
        assert attack_value(guess, rows, prior, success)[0] <= bounds.rero_eq3(f, plus) + 1e-9
        printed_fails += (
            none > bounds.rad_prop52(epsilon, 0, mass, plus, minus, printed=True) + 1e-12
        )
    assert printed_fails > 0
    assert rad_exact(finite_law(GRR(4, epsilon)), np.full(4, 0.25)) == pytest.approx(
        bounds.rad_cor54(4, epsilon), abs=1e-14
    )


def test_counterexample_to_proposition_52():
    prior = np.array([0.9, 0.1])
    exact = rad_exact(finite_law(GRR(2, 5.0)), prior)
    kappas = kappa(prior)
    assert (round(exact, 4), round(bounds.rad_prop52(5.0, 0, *kappas, printed=True), 4)) == (
        0.1776,
        0.0993,
    )
    assert bounds.rad_prop52(5.0, 0, *kappas) == pytest.approx(exact, abs=1e-14)


def publish_or_grr(m, epsilon, delta):
    """Law of: with probability delta publish the record (marked), else GRR."""
    return np.hstack([delta * np.eye(m), (1 - delta) * finite_law(GRR(m, epsilon))])


@pytest.mark.parametrize(
    "m, epsilon, delta", [(2, 0.7, 0.1), (8, 0.5, 0.05), (5, 2.0, 0.0), (11, 1.0, 0.3)]
)
def test_corollary_54_is_attained_with_delta_and_the_printed_theorem_53_is_not_a_bound(
    m, epsilon, delta
):
    uniform = np.full(m, 1 / m)
    reached = rad_exact(publish_or_grr(m, epsilon, delta), uniform)
    assert reached == pytest.approx(bounds.rad_cor54(m, epsilon, delta), abs=1e-13)
    assert bounds.rad_thm53(uniform, epsilon, delta) == pytest.approx(reached, abs=1e-13)
    printed = bounds.rad_thm53(uniform, epsilon, delta, printed=True)
    assert (printed < reached - 1e-9) == (m > 2 and delta > 0)
    if m == 8:
        assert (round(reached, 4), round(printed, 4)) == (0.1061, 0.0757)


def test_theorem_53_between_the_uniform_and_the_two_point_prior():
    prior = [0.4, 0.3, 0.2, 0.1]
    assert round(bounds.rad_thm53(prior, 0.5), 4) == 0.1303
    assert bounds.rad_thm53([0.5, 0.5, 0, 0], 0.5) == pytest.approx(
        bounds.rad_thm42(bounds.tv_dp(0.5), 0.5), abs=1e-14
    )


def test_the_composed_total_variation_holds_and_is_loose():
    rows = finite_law(GRR(3, 1.0))
    twice = (rows[:, :, None] * rows[:, None, :]).reshape(3, -1)
    exact = np.abs(twice[0] - twice[1]).sum() / 2
    bound = bounds.tv_composed(bounds.total_variation(bounds.tradeoff_support(GRR(3, 1.0))), 2)
    assert (round(exact, 3), round(bound, 3)) == (0.441, 0.596)


def test_the_worst_prior_depends_on_the_mechanism_and_the_budget():
    two, eight = np.r_[0.5, 0.5, np.zeros(6)], np.full(8, 1 / 8)
    found = [
        [round(rad_exact(finite_law(m), p), 3) for p in (two, eight)]
        for m in (GRR(8, 1.0), OUE(8, 1.0), OUE(8, 5.0), FloorSS(8, 5.0))
    ]
    assert found == [[0.088, 0.155], [0.116, 0.095], [0.247, 0.423], [0.474, 0.830]]


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_noise_behind_unequal_gaps_and_the_worst_spacing(scale):
    rng = np.random.default_rng(3)
    gaps = rng.dirichlet(np.ones(5))
    edges = np.r_[0, gaps.cumsum()]
    grid = np.linspace(-60, 60, 600_001)
    for form, noise in ((bounds.laplace_ex47, stats.laplace), (bounds.gaussian_ex48, stats.norm)):
        density = noise.pdf(grid - edges[:, None], scale=scale)
        # maximum likelihood at a uniform prior
        success = density.max(0).sum() * (grid[1] - grid[0]) / 6
        assert form(gaps, scale) == pytest.approx(success - 1 / 6, abs=1e-4)
        assert form(gaps, scale) < form(np.full(5, 0.2), scale)


@pytest.mark.parametrize(
    "prior, message",
    [
        ([0.5, 0.4], "prior must sum to 1, got 0.9"),
        ([1.2, -0.2], "prior must have no negative mass, got -0.2 at record 1"),
        ([1.0], "at least two"),
        ([[0.5, 0.5]], "shape"),
        ([0.5, math.nan], "finite"),
    ],
)
def test_a_prior_that_is_none_is_refused(prior, message):
    for call in (
        kappa,
        lambda p: rad_exact(np.eye(2), p),
        lambda p: bounds.rad_thm53(p, 1.0),
        lambda p: laplace_sum_exact(p, 0, 1.0),
    ):
        with pytest.raises(ValueError, match=message):
            call(prior)


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"success": np.eye(3)},
            r"success must be a matrix of 0 and 1 of shape \(2, 2\), got shape \(3, 3\)",
        ),
        ({"success": np.full((2, 2), 0.5)}, "success must be a matrix of 0 and 1"),
        ({"side": [0, 1, 2]}, "side must hold one label for each of the 2 records"),
        ({"law": np.full((2, 2), 0.4)}, "law must have 2 rows of probabilities"),
        ({"law": np.eye(3)}, "law must have 2 rows"),
    ],
)
def test_a_game_that_does_not_fit_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        rad_exact(**{"law": np.eye(2), "prior": [0.5, 0.5]} | given)


# --- every exact and closed-form row of the oracle, to its printed digits -------------------------

PROTOCOLS = {"GRR": GRR, "SS": FloorSS, "OUE": OUE}
HOURS = adult_hours().to_numpy() / adult_hours().sum()
PRIORS = {
    "empirical": HOURS,
    "uniform": np.full(101, 1 / 101),
    "two-point": np.r_[0.5, np.zeros(99), 0.5],
}


def fig1(series, epsilon):
    name, what = series.split("_", 1)
    if name in PROTOCOLS:
        mechanism = PROTOCOLS[name](11, epsilon)
        tv = bounds.total_variation(bounds.tradeoff_support(mechanism))
        return rad_uniform(mechanism) if what == "Thm4.3" else bounds.rad_thm42(tv, 1 / 11)
    if name == "Laplace":
        return (
            bounds.laplace_ex47(np.full(10, 0.1), 1 / epsilon)
            if what == "Thm4.3"
            else (
                bounds.rad_thm42(bounds.total_variation(bounds.tradeoff_laplace(epsilon)), 1 / 11)
            )
        )
    sigma = gaussian_sigma(epsilon, accounting="rdp" if "RDP" in what else "exact")
    if what.startswith("sigma"):
        return sigma
    return (
        bounds.gaussian_ex48(np.full(10, 0.1), sigma)
        if "4.3" in what
        else 10 / 11 * (2 * stats.norm.cdf(0.5 / sigma) - 1)
    )


def fig2(series, gamma):
    from ldpkit.auditors.calibrate import calibrate, rero_epsilon

    epsilon = {
        "alpha_RAD_Thm4.3": lambda: calibrate("laplace", gamma, 10).epsilon,
        "alpha_RAD_Thm4.2": lambda: calibrate("laplace", gamma, 10, knowledge="any").epsilon,
        "alpha_exact_ReRo": lambda: calibrate("laplace", gamma - 0.1, 10).epsilon,
        "alpha_ReRo_Eq3": lambda: rero_epsilon(gamma, 10),
    }[series]()  # fmt: skip
    return math.log(20) / epsilon


def fig3(series, sigma):
    mu, prior = gdp_mu(sigma, 100), kappa(np.full(8, 1 / 8))
    return {
        "eps_RDP": lambda: gaussian_epsilon(sigma, 100, accounting="rdp"),
        "eps_exact_addremove": lambda: gaussian_epsilon(sigma, 100),
        "eps_exact_replacement": lambda: gaussian_epsilon(sigma, 100, adjacency="replace"),
        "ReRo_bound_Eq3": lambda: bounds.rero_eq3(bounds.tradeoff_gdp(mu), 1 / 8),
        "Thm4.2_printed(mu)": lambda: bounds.rad_thm42(
            bounds.total_variation(bounds.tradeoff_gdp(mu)), 1 / 8
        ),
        "Thm4.2_replacement(2mu)": lambda: bounds.rad_thm42(
            bounds.total_variation(bounds.tradeoff_gdp(2 * mu)), 1 / 8
        ),
        "Thm5.1_discrete_printed(mu)": lambda: bounds.rad_thm51(bounds.tradeoff_gdp(mu), *prior)[1],
        "Eq3_minus_1/8": lambda: bounds.rero_eq3(bounds.tradeoff_gdp(mu), 1 / 8) - 1 / 8,
    }[series]()


def fig4(series, epsilon):
    name, eta, what = series.replace("_eta", "_", 1).split("_", 2)
    rero, rad = laplace_sum_exact(
        PRIORS[name], int(eta), epsilon, maximise="rero" if "bayes" in what else "rad"
    )
    return (
        {"R": rad, "c": rero - rad}[what[0]]
        if what in ("RAD", "RAD_of_bayes", "corr_radopt")
        else rero
    )


def large(m):
    def value(series, epsilon):
        mechanism = PROTOCOLS[series.partition("_")[0]](m, epsilon)
        rad = rad_uniform(mechanism)
        return rad if series.endswith("_RAD") else invert_blackbox(rad, m)

    return value


ITEMS = {
    "fig1": fig1,
    "fig2": fig2,
    "fig3": fig3,
    "fig4": fig4,
    "fig5": large(3052),
    "fig6": large(3052),
    "fig5_geolife": large(5356),
    "fig6_geolife": large(5356),
}


@pytest.mark.parametrize("item", ITEMS)
def test_exact_rows_of_the_oracle(item):
    rows = [r for r in RAD if r["item"] == item and r["note"].startswith(("exact", "closed form"))]
    assert len(rows) >= 36
    for row in rows:
        digits = len(row["value"].partition(".")[2])
        assert ITEMS[item](row["series"], float(row["x"])) == pytest.approx(
            float(row["value"]), abs=0.50001 * 10**-digits
        ), row


@pytest.mark.parametrize("item", ["fig5", "fig5_geolife"])
def test_first_order_deviations_of_the_oracle(item):
    """One row is left out: the finite difference behind it crosses a leap of the subset size, 254
    to 253 at epsilon 3."""
    m = 3052 if item == "fig5" else 5356
    rows = [r for r in RAD if r["item"] == item and "delta method" in r["series"]]
    assert len(rows) == 57
    for row in rows:
        name, epsilon = row["series"].partition("_")[0], float(row["x"])
        found = estimate_sd(PROTOCOLS[name](m, epsilon), int(row["note"].removeprefix("N=")))
        if (m, name, epsilon) == (5356, "SS", 3.0):
            assert (
                found / float(row["value"]) > 10
                and PROTOCOLS[name](m, 2.999).omega > PROTOCOLS[name](m, 3.001).omega
            )
        else:
            assert found == pytest.approx(float(row["value"]), abs=0.51e-4, rel=1e-4)
