"""From counts to epsilon, from risk to noise, and the two commands.

False alarms: counts are judged by exact binomial tails against `P_MIN`; the coverage test states
its own. Everything else is exact.
"""

import json
import math

import numpy as np
import pytest
from laws import P_MIN, RAD, binomial_p, same_rate_p
from scipy import stats

from ldpkit import cli
from ldpkit.auditors import audit, calibrate, expected, rad_audit, rad_result
from ldpkit.auditors.calibrate import CALIBRATED
from ldpkit.auditors.rad import (
    PROTOCOLS,
    epsilon_interval,
    invert_blackbox,
    invert_known,
    rad_uniform,
)
from ldpkit.auditors.rad_bounds import (
    gaussian_ex48,
    laplace_ex47,
    rad_cor54,
    total_variation,
    tradeoff_gdp,
    tradeoff_support,
)
from ldpkit.mechanisms import OUE, SS, FloorSS


@pytest.mark.parametrize("delta", [0.0, 1e-4, 0.05])
@pytest.mark.parametrize("m", [2, 11, 3052])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 9.0])
def test_equation_12_inverts_corollary_54(epsilon, m, delta):
    rad = rad_cor54(m, epsilon, delta)
    assert invert_blackbox(rad, m, delta) == pytest.approx(epsilon, abs=1e-6)
    printed = invert_blackbox(rad, m, delta, printed=True)
    assert (printed > epsilon + 1e-6) == (delta > 0)


@pytest.mark.parametrize("m", [2, 8, 3052])
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0, 9.5])
def test_a_known_mechanism_is_inverted(protocol, epsilon, m):
    rad = rad_uniform(PROTOCOLS[protocol](m, epsilon))
    assert invert_known(protocol, rad, m) == pytest.approx(epsilon, abs=1e-6)


def test_ends_of_the_inversion():
    m = 3052
    assert invert_blackbox((m - 1) / m, m) == math.inf and invert_blackbox(-1 / m, m) == 0
    assert (
        invert_known("OUE", (m - 1) / (2 * m), m) == math.inf and invert_known("OUE", 0.0, m) == 0
    )
    assert invert_known("GRR", (m - 1) / m, m) == math.inf
    inside = (
        0.249672 + 0.332935
    ) / 2  # SS leaps over this where its subset shrinks from 2 values to 1
    assert invert_known("SS", inside, m) == pytest.approx(math.log(m / 2 - 1), abs=1e-6)


def test_the_papers_subset_size_is_rounded_down():
    assert (SS(25, 2.0).omega, FloorSS(25, 2.0).omega) == (3, 2)
    for k, epsilon in ((11, 0.1), (11, 1.5), (11, 1.51), (3052, 5.0), (2, 1.0)):
        assert FloorSS(k, epsilon).omega == max(1, math.floor(k / (math.exp(epsilon) + 1)))
    assert (
        FloorSS(11, math.log(4.5) - 1e-9).omega == 2
        and FloorSS(11, math.log(4.5) + 1e-9).omega == 1
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("m, epsilon, reports", [(8, 1.0, 40_000), (3052, 5.0, 9_156)])
def test_real_reports_and_draws_from_the_law_agree(protocol, m, epsilon, reports):
    mechanism = PROTOCOLS[protocol](m, epsilon)
    real = rad_audit(protocol, m, epsilon, reports=reports, seed=3, faithful=True)
    law = rad_audit(protocol, m, epsilon, reports=reports, seed=3)
    rate, found = rad_uniform(mechanism) + 1 / m, real.counts["successes"]
    assert (
        min(binomial_p(found, reports, rate), binomial_p(law.counts["successes"], reports, rate))
        > P_MIN
    )
    assert same_rate_p(found, reports, law.counts["successes"], reports) > P_MIN
    assert real.faithful and not law.faithful and real.total == reports


def test_an_audit_repeats_and_uses_equally_many_reports_of_every_record():
    one, two = (rad_audit("GRR", 3052, 5.0, seed=7) for _ in range(2))
    assert one == two and one.total == 3052 * (10**6 // 3052) == 998_004
    assert rad_audit("GRR", 3052, 5.0, seed=8) != one
    assert one.limit == 5.0 and one.interval[0] < one.epsilon_emp < one.interval[1]


@pytest.mark.parametrize(
    "protocol, m, epsilon",
    [
        ("GRR", 3052, 1.0),
        ("GRR", 3052, 12.0),
        ("SS", 3052, 4.0),
        ("OUE", 5356, 9.0),
        ("OUE", 5356, 13.0),
    ],
)
def test_intervals_cover_and_the_blackbox_bound_holds(protocol, m, epsilon):
    """Misses are at most Binomial(400, 0.02); more than 24 happen with probability below 1e-5."""
    runs = [rad_audit(protocol, m, epsilon, seed=i) for i in range(400)]
    assert stats.binom.sf(24, 400, 0.02) < 1e-5
    assert sum(not r.interval[0] <= epsilon <= r.interval[1] for r in runs) <= 24
    assert sum(r.lower > epsilon for r in runs) <= 24
    assert all(r.lower <= r.interval[0] + 1e-6 for r in runs)


def test_golden_intervals():
    """Medians of the 98 % interval at m = 3052, within one step of a count."""

    def middle(protocol, epsilon):
        mechanism = PROTOCOLS[protocol](3052, epsilon)
        return epsilon_interval(
            round(998_004 * (rad_uniform(mechanism) + 1 / 3052)), 998_004, 3052, protocol
        )

    assert middle("GRR", 1.0) == pytest.approx((0.920, 1.077), abs=2e-3)
    assert middle("GRR", 10.0) == pytest.approx((9.993, 10.007), abs=1e-3)
    assert middle("OUE", 12.0) == pytest.approx((11.77, 12.28), abs=1e-2)
    assert middle("OUE", 14.0) == (pytest.approx(12.96, abs=2e-2), math.inf)


def test_ldp_auditor_expects_what_the_oracle_simulated():
    """The exact expectation against means of 400 audits: 4 standard errors, 114 comparisons, false
    alarm below 1 %."""
    rows = [r for r in RAD if "LDPAuditor_mean" in r["series"]]
    assert len(rows) == 114
    for row in rows:
        m = 3052 if row["item"] == "fig5" else 5356
        mean, sd = expected(PROTOCOLS[row["series"].partition("_")[0]](m, float(row["x"])))
        assert abs(mean - float(row["value"])) <= 4 * sd / 20 + 6e-4, row


def test_too_good_reconstruction_proves_a_violation():
    result = rad_result(400, 20_000, 3052, claim=1.0)
    assert (
        result.violated
        and result.lower > 3.9
        and result.interval is None
        and result.mechanism == "unknown"
    )
    assert not rad_result(10, 20_000, 3052, claim=1.0).violated
    assert rad_result(400, 20_000, 3052, claim=1.0, delta=0.1).lower == 0


def test_fields_of_other_auditors_are_unchanged():
    row = audit(OUE(4, 1.0), trials=1000).row()
    assert "limit" not in row and "interval_low" not in row


# --- noise for an accepted risk -----------------------------------------------------------------


def risk_of(found, sensitivity=1.0):
    """The exact advantage (or the proven bound) that a calibration leads to."""
    m, none = found.m, found.knowledge == "none"
    gaps = np.full(m - 1, sensitivity / (m - 1)) if none else np.array([sensitivity])
    whole = 1 if none else (m - 1) / m * 2
    if found.mechanism == "laplace":
        return laplace_ex47(gaps, found.noise) * whole
    if found.mechanism == "gaussian":
        return gaussian_ex48(gaps, found.noise) * whole
    mechanism = PROTOCOLS[found.mechanism.upper()](m, found.epsilon)
    return (
        rad_uniform(mechanism)
        if none
        else total_variation(tradeoff_support(mechanism)) * (m - 1) / m
    )


@pytest.mark.parametrize("knowledge", ["none", "any"])
@pytest.mark.parametrize("mechanism", [m for m in CALIBRATED if m != "dpsgd"])
@pytest.mark.parametrize("m, risk", [(2, 0.2), (3, 0.3), (10, 0.05), (11, 0.2), (300, 0.02)])
def test_the_calibrated_risk_is_kept_and_not_wasted(mechanism, m, risk, knowledge):
    found = calibrate(mechanism, risk, m, sensitivity=2.5, knowledge=knowledge)
    assert risk_of(found, 2.5) <= risk + 1e-9
    if mechanism != "ss":
        assert risk_of(found, 2.5) == pytest.approx(risk, abs=1e-8)
    else:  # a leap may lie between this risk and the next
        assert risk_of(type(found)(**found.row() | {"epsilon": found.epsilon + 1e-6})) > risk


def test_printed_noise_of_dp_sgd_and_the_noise_that_suffices():
    for m, risk, printed in ((10, 0.1, 21.933), (8, 0.1, 24.074), (8, 0.5, 6.122)):
        found = calibrate("dpsgd", risk, m)
        assert found.printed == pytest.approx(printed, abs=5e-4)
        f = tradeoff_gdp(10 / found.noise)
        assert 1 - f(1 / m) - 1 / m == pytest.approx(
            risk, abs=1e-12
        )  # Eq. 3 for one record more or less
        assert found.printed < found.noise < 2 * found.printed
    for m, risk in (
        (2, 0.4),
        (8, 0.8),
    ):  # first branch: the printed expression leaves the domain of the quantile
        anything = calibrate("dpsgd", risk, m, knowledge="any")
        assert anything.printed == pytest.approx(calibrate("dpsgd", risk, m).printed)
        assert total_variation(tradeoff_gdp(2 * 10 / anything.noise)) * (
            m - 1
        ) / m == pytest.approx(risk, abs=1e-9)
        assert anything.noise == pytest.approx(2 * anything.printed)
    assert calibrate("dpsgd", 0.1, 10, steps=400).noise == pytest.approx(
        2 * calibrate("dpsgd", 0.1, 10).noise
    )


def test_two_opposite_gradients_exceed_the_printed_guarantee():
    """One step sends the sum plus or minus one clipping norm: with two records RAD is half the
    total variation."""
    found = calibrate("dpsgd", 0.1, 2)
    exact = {noise: gaussian_ex48([2.0], noise / 10) for noise in (found.noise, found.printed)}
    assert exact[found.noise] == pytest.approx(0.1, abs=1e-9) and exact[found.printed] > 0.19
    assert (round(gaussian_ex48([2.0], 7.5), 4), round(gaussian_ex48([1.0], 7.5), 4)) == (
        0.0530,
        0.0266,
    )


def test_a_mechanism_that_cannot_reach_the_risk_needs_no_noise():
    assert (
        calibrate("oue", 0.46, 10).epsilon == math.inf
        and calibrate("oue", 0.46, 10).row()["epsilon"] is None
    )


@pytest.mark.parametrize(
    "given, message",
    [
        ({"risk": 0.9}, r"risk must be a number in \(0, 0.9\), got 0.9"),
        ({"risk": 0.0}, "risk"),
        ({"risk": math.nan}, "risk"),
        ({"m": 1}, "m must be an integer >= 2"),
        ({"sensitivity": 0}, "sensitivity must be a finite number > 0"),
        ({"steps": 0}, "steps must be an integer >= 1"),
        ({"knowledge": "all"}, "knowledge must be one of none, any"),
        ({"mechanism": "GRRR"}, "did you mean 'grr'"),
    ],
)
def test_bad_requests_for_noise(given, message):
    with pytest.raises(ValueError, match=message):
        calibrate(**{"mechanism": "laplace", "risk": 0.1, "m": 10} | given)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: epsilon_interval(3, 2, 5), r"successes must be an integer in \[0, 2\], got 3"),
        (lambda: epsilon_interval(1, 2, 5, alpha=1.0), "alpha"),
        (lambda: epsilon_interval(1, 2, 5, "SUE"), "mechanism must be one of"),
        (lambda: invert_blackbox(0.81, 5), "advantage must be a number in"),
        (lambda: invert_known("GRR", 2.0, 5), "advantage"),
        (lambda: rad_audit("GRR", 3052, 1.0, reports=3051), "reports must be an integer >= 3052"),
        (lambda: rad_audit("GRR", 3052, -1.0), "epsilon"),
    ],
)
def test_bad_counts(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- the commands ---------------------------------------------------------------------------------


def ldpkit(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return stop.value.code, out, err


def test_rad_prints_the_exact_advantage(capsys):
    status, out, _ = ldpkit(
        capsys, "rad", "--mechanism", "GRR", "--m", "3052", "--epsilon", "5", "--json"
    )
    found = json.loads(out)
    assert status == 0 and found["rad"] == pytest.approx(rad_uniform(PROTOCOLS["GRR"](3052, 5.0)))
    assert (
        "0.04605997"
        in ldpkit(capsys, "rad", "--mechanism", "GRR", "--m", "3052", "--epsilon", "5")[1]
    )


def test_rad_reads_counts_and_its_status_says_whether_they_prove_a_violation(capsys):
    given = ["rad", "--m", "3052", "--successes", "25000", "--reports", "998004"]
    status, out, _ = ldpkit(
        capsys, *given, "--mechanism", "OUE", "--epsilon", "5", "--alpha", ".02", "--json"
    )
    found = json.loads(out)
    assert status == 0 and not found["violated"]
    assert (found["interval_low"], found["interval_high"]) == epsilon_interval(
        25_000, 998_004, 3052, "OUE"
    )
    assert found["lower"] == epsilon_interval(25_000, 998_004, 3052)[0]
    status, out, _ = ldpkit(capsys, *given, "--epsilon", "1")
    assert status == 1 and "VIOLATION" in out
    assert ldpkit(capsys, *given)[0] == 0


def test_calibrate_prints_what_python_returns(capsys):
    for mechanism in CALIBRATED:
        status, out, _ = ldpkit(
            capsys, "calibrate", "--risk", "0.1", "--mechanism", mechanism, "--m", "10", "--json"
        )
        assert status == 0 and json.loads(out) == calibrate(mechanism, 0.1, 10).row()
    status, out, _ = ldpkit(
        capsys, "calibrate", "--risk", "0.1", "--mechanism", "dpsgd", "--m", "10", "--steps", "100"
    )
    assert status == 0 and "22.730872" in out and "21.933159" in out


@pytest.mark.parametrize(
    "arguments",
    [
        "rad --m 5",
        "rad --m 5 --successes 3",
        "rad --m 5 --mechanism GRR",
        "rad --m 5 --mechanism SUE --epsilon 1",
        "rad --m 5 --successes 4 --reports 3",
        "rad --m 1 --successes 1 --reports 3",
        "rad --mechanism GRR --epsilon 1",
        "calibrate --risk 0.95 --mechanism laplace --m 10",
        "calibrate --risk x --mechanism laplace --m 10",
        "calibrate --risk 0.1 --mechanism magic --m 10",
        "calibrate --risk 0.1 --mechanism laplace --m 10 --sensitivity -1",
        "data mnits",
    ],
)
def test_bad_commands_give_one_line_and_status_2(capsys, arguments):
    status, out, err = ldpkit(capsys, *arguments.split())
    assert status == 2 and not out and err.startswith("ldpkit: ") and err.count("\n") == 1
