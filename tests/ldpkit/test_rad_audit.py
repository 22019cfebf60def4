"""From counts to epsilon, from risk to noise, and the two commands. Counts are judged by exact
binomial tails against `P_MIN`."""

import itertools
import json
import math

import numpy as np
import pytest
from chance import P_MIN, RAD, binomial_p, same_rate_p

from ldpkit.auditors import RADAudit, calibrate, expected, rad, rad_result
from ldpkit.auditors import rad_bounds as bounds
from ldpkit.auditors.rad import CALIBRATED, PROTOCOLS, invert_blackbox, invert_known, rad_uniform
from ldpkit.mechanisms import SS, FloorSS


def test_equation_12_inverts_corollary_54():
    for epsilon, m, delta in itertools.product((0.1, 1.0, 9.0), (2, 11, 3052), (0.0, 1e-4, 0.05)):
        rad, case = bounds.rad_cor54(m, epsilon, delta), (epsilon, m, delta)
        assert invert_blackbox(rad, m, delta) == pytest.approx(epsilon, abs=1e-6), case
        printed = invert_blackbox(rad, m, delta, printed=True)
        assert (printed > epsilon + 1e-6) == (delta > 0), case


def test_a_known_mechanism_is_inverted():
    grid = itertools.product(PROTOCOLS, (2, 8, 3052), (0.2, 1.0, 4.0, 9.5))
    for protocol, m, epsilon in grid:
        rad = rad_uniform(PROTOCOLS[protocol](m, epsilon))
        found = invert_known(protocol, rad, m)
        assert found == pytest.approx(epsilon, abs=1e-6), (protocol, m, epsilon)


def test_ends_of_the_inversion():
    m = 3052
    assert invert_blackbox((m - 1) / m, m) == math.inf and invert_blackbox(-1 / m, m) == 0
    assert invert_known("OUE", (m - 1) / (2 * m), m) == math.inf
    assert invert_known("OUE", 0.0, m) == 0 and invert_known("GRR", (m - 1) / m, m) == math.inf
    # SS leaps over this where its subset shrinks from 2 values to 1
    inside = (0.249672 + 0.332935) / 2
    assert invert_known("SS", inside, m) == pytest.approx(math.log(m / 2 - 1), abs=1e-6)


def test_the_papers_subset_size_is_rounded_down():
    assert (SS(25, 2.0).omega, FloorSS(25, 2.0).omega) == (3, 2)
    for k, epsilon in ((11, 0.1), (11, 1.5), (11, 1.51), (3052, 5.0), (2, 1.0)):
        assert FloorSS(k, epsilon).omega == max(1, math.floor(k / (math.exp(epsilon) + 1)))
    assert [FloorSS(11, math.log(4.5) + step).omega for step in (-1e-9, 1e-9)] == [2, 1]


def test_real_reports_and_draws_from_the_law_agree():
    cases = (8, 1.0, 40_000), (3052, 5.0, 9_156)
    for protocol, (m, epsilon, reports) in itertools.product(PROTOCOLS, cases):
        given = {"trials": reports // m, "alpha": 0.02}
        mechanism = PROTOCOLS[protocol](m, epsilon)
        real = RADAudit(mechanism, faithful=True, **given).run(3)[0]
        law = RADAudit(mechanism, **given).run(3)[0]
        rate = rad_uniform(PROTOCOLS[protocol](m, epsilon)) + 1 / m
        one, two = (found.counts["successes"] for found in (real, law))
        assert binomial_p(one, reports, rate) > P_MIN, (protocol, m)
        assert binomial_p(two, reports, rate) > P_MIN, (protocol, m)
        assert same_rate_p(one, reports, two, reports) > P_MIN, (protocol, m)
        assert real.faithful and not law.faithful and real.total == reports


def test_golden_intervals():
    """Medians of the 98 % interval at m = 3052, within one step of a count."""

    def middle(protocol, epsilon):
        rate = rad_uniform(PROTOCOLS[protocol](3052, epsilon)) + 1 / 3052
        return rad.epsilon_interval(round(998_004 * rate), 998_004, 3052, protocol)

    assert middle("GRR", 1.0) == pytest.approx((0.920, 1.077), abs=2e-3)
    assert middle("GRR", 10.0) == pytest.approx((9.993, 10.007), abs=1e-3)
    assert middle("OUE", 12.0) == pytest.approx((11.77, 12.28), abs=1e-2)
    assert middle("OUE", 14.0) == (pytest.approx(12.96, abs=2e-2), math.inf)


def test_ldp_auditor_expects_what_the_oracle_simulated():
    """Means of 400 audits at 4 standard errors, 114 times: false alarm below 1 %."""
    rows = [r for r in RAD if "LDPAuditor_mean" in r["series"]]
    assert len(rows) == 114
    for row in rows:
        m = 3052 if row["item"] == "fig5" else 5356
        mean, sd = expected(PROTOCOLS[row["series"].partition("_")[0]](m, float(row["x"])))
        assert abs(mean - float(row["value"])) <= 4 * sd / 20 + 6e-4, row


def test_too_good_reconstruction_proves_a_violation():
    result = rad_result(400, 20_000, 3052, claim=1.0)
    assert result.violated and result.lower > 3.9
    assert result.interval is None and result.mechanism == "unknown"
    assert not rad_result(10, 20_000, 3052, claim=1.0).violated
    assert rad_result(400, 20_000, 3052, claim=1.0, delta=0.1).lower == 0


def risk_of(found, sensitivity=1.0):
    """The exact advantage (or the proven bound) that a calibration leads to."""
    m, none = found.m, found.knowledge == "none"
    gaps = np.full(m - 1, sensitivity / (m - 1)) if none else np.array([sensitivity])
    whole = 1 if none else (m - 1) / m * 2
    if found.mechanism in ("laplace", "gaussian"):
        form = bounds.laplace_ex47 if found.mechanism == "laplace" else bounds.gaussian_ex48
        return form(gaps, found.noise) * whole
    mechanism = PROTOCOLS[found.mechanism.upper()](m, found.epsilon)
    tv = bounds.total_variation(bounds.tradeoff_support(mechanism))
    return rad_uniform(mechanism) if none else tv * (m - 1) / m


def test_the_calibrated_risk_is_kept_and_not_wasted():
    risks = (2, 0.2), (3, 0.3), (10, 0.05), (11, 0.2), (300, 0.02)
    grid = itertools.product([m for m in CALIBRATED if m != "dpsgd"], risks, ("none", "any"))
    for mechanism, (m, risk), knowledge in grid:
        found = calibrate(mechanism, risk, m, sensitivity=2.5, knowledge=knowledge)
        assert risk_of(found, 2.5) <= risk + 1e-9, found
        if mechanism != "ss":
            assert risk_of(found, 2.5) == pytest.approx(risk, abs=1e-8), found
        else:  # a leap may lie between this risk and the next
            weaker = type(found)(**found.row() | {"epsilon": found.epsilon + 1e-6})
            assert risk_of(weaker, 2.5) > risk, found
    # who cannot reach the risk needs no noise
    weak = calibrate("oue", 0.46, 10)
    assert weak.epsilon == math.inf and weak.row()["epsilon"] is None


def test_printed_noise_of_dp_sgd_and_the_noise_that_suffices():
    for m, risk, printed in ((10, 0.1, 21.933), (8, 0.1, 24.074), (8, 0.5, 6.122)):
        found = calibrate("dpsgd", risk, m)
        assert found.printed == pytest.approx(printed, abs=5e-4)
        f = bounds.tradeoff_gdp(10 / found.noise)  # Eq. 3 for one record more or less
        assert 1 - f(1 / m) - 1 / m == pytest.approx(risk, abs=1e-12)
        assert found.printed < found.noise < 2 * found.printed
    # first branch: the printed expression leaves the domain of the quantile
    for m, risk in ((2, 0.4), (8, 0.8)):
        found = calibrate("dpsgd", risk, m, knowledge="any")
        assert found.printed == pytest.approx(calibrate("dpsgd", risk, m).printed)
        tv = bounds.total_variation(bounds.tradeoff_gdp(2 * 10 / found.noise))
        assert tv * (m - 1) / m == pytest.approx(risk, abs=1e-9)
        assert found.noise == pytest.approx(2 * found.printed)
    noise = calibrate("dpsgd", 0.1, 10).noise
    assert calibrate("dpsgd", 0.1, 10, steps=400).noise == pytest.approx(2 * noise)


def test_rad_prints_the_exact_advantage(call):
    given = "rad --mechanism GRR --m 3052 --epsilon 5"
    status, out, _ = call(f"{given} --json")
    wanted = rad_uniform(PROTOCOLS["GRR"](3052, 5.0))
    assert status == 0 and json.loads(out)["rad"] == pytest.approx(wanted)
    assert "0.04605997" in call(given)[1]


def test_rad_reads_counts_and_its_status_says_whether_they_prove_a_violation(call):
    given, counts = "rad --m 3052 --successes 25000 --reports 998004", (25_000, 998_004, 3052)
    status, out, _ = call(f"{given} --mechanism OUE --epsilon 5 --alpha .02 --json")
    found = json.loads(out)
    assert status == 0 and not found["violated"]
    assert (found["interval_low"], found["interval_high"]) == rad.epsilon_interval(*counts, "OUE")
    assert found["lower"] == rad.epsilon_interval(*counts)[0]
    status, out, _ = call(f"{given} --epsilon 1")
    assert status == 1 and "VIOLATION" in out
    assert call(given)[0] == 0


def test_calibrate_prints_what_python_returns(call):
    for mechanism in CALIBRATED:
        status, out, _ = call(f"calibrate --risk 0.1 --mechanism {mechanism} --m 10 --json")
        assert status == 0 and json.loads(out) == calibrate(mechanism, 0.1, 10).row(), mechanism
    status, out, _ = call("calibrate --risk 0.1 --mechanism dpsgd --m 10 --steps 100")
    assert status == 0 and "22.730872" in out and "21.933159" in out
