"""Claims that are trade-off curves, and bets against all their lines at once. Seeds are fixed; the
false alarm of each limit stands beside it."""

import functools
import json
import math
import re

import numpy as np
import pytest
from commands import refused
from scipy.stats import norm

from ldpkit import Client, audit
from ldpkit.blackbox import curve
from ldpkit.blackbox.clients import recorded
from ldpkit.blackbox.page import page
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.mechanisms import GRR, FiniteMechanism
from ldpkit.testing import check_mechanism

Q = np.linspace(0, 1, 2001)
MADE = {
    "gdp(.3)": curve.gdp(0.3), "gdp(1)": curve.gdp(1.0), "gdp(4)": curve.gdp(4.0), "approx": curve.approx(1.0, 0.1),
    "laplace": curve.laplace(1.0), "grr": curve.grr(5, 1.0), "oue": curve.oue(1.0),
    "points": curve.points([0, 0.1, 0.4], [1, 0.7, 0.2]), "lines": curve.lines([0.0, 1.0, 3.0], [0.3, 0.05, 1e-3]),
    "laws": curve.laws([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]),
}  # fmt: skip


def laplace_curve(epsilon):
    """The exact F of Laplace noise."""
    e = math.exp(epsilon)
    middle = 1 - 1 / (4 * e * np.maximum(Q, 1e-9))
    return np.where(1 / (2 * e) > Q, e * Q, np.where(Q <= 0.5, middle, 1 - (1 - Q) / e))


@pytest.mark.parametrize("mu", [0.1, 1.0, 2.0])
def test_tangents_lie_outside_the_gaussian_curve_and_touch_it(mu):
    claim, exact = curve.gdp(mu), norm.cdf(norm.ppf(Q) + mu)
    assert (claim.F(Q) >= exact).all()
    assert (claim.F(Q) - exact).max() < 4e-3 * mu
    touched = norm.cdf(-(np.log(claim.grown) / mu + mu / 2))  # where each tangent touches
    assert claim.F(touched) == pytest.approx(norm.cdf(norm.ppf(touched) + mu), abs=3e-12)


def test_the_laplace_curve_is_that_of_laplace_noise_and_below_pure_epsilon():
    claim, exact = curve.laplace(1.0), laplace_curve(1.0)
    assert (claim.F(Q) >= exact).all()
    assert (claim.F(Q) - exact).max() < 1e-3
    assert (claim.F(Q) <= curve.approx(1.0).F(Q) + 1e-11).all()
    assert claim.F([math.exp(-1) / 2, 0.5]) == pytest.approx([0.5, 1 - math.exp(-1) / 2], abs=1e-11)


def test_randomised_response_has_the_curve_of_its_corners():
    k, q = 5, 1 / (math.e + 4)
    corners = pytest.approx([0, math.e * q, 1 - q, 1], abs=1e-11)
    assert curve.grr(k, 1.0).F([0, q, (k - 1) * q, 1]) == corners
    assert curve.grr(2, 1.0).lines == [pytest.approx(x) for x in curve.approx(1.0).lines]
    p = 1 / (1 + math.e)
    mu = 2 * norm.ppf(1 - p)  # the least mu that two values keep: the corner touches
    assert curve.gdp(mu, tangents=400).F(p) == pytest.approx(1 - p, abs=1e-5)


@pytest.mark.parametrize("name", MADE)
def test_every_curve_is_symmetric_and_above_the_diagonal(name):
    claim = MADE[name]
    f = claim.F(Q)
    assert (f >= Q).all()
    assert (np.diff(f) >= -1e-15).all()
    assert (np.diff(f, 2) <= 1e-9).all()
    inner = f < 1 - 1e-6  # at the top the other lines are as steep as the first ones are flat
    assert claim.F(1 - f[inner]) == pytest.approx(1 - Q[inner], abs=1e-6)
    again = curve.lines(np.log(claim.grown), claim.deltas)
    assert again.F(Q) == pytest.approx(f, abs=1e-10)
    alphas, betas = claim.drawn()
    assert np.interp(Q, alphas, betas) == pytest.approx(1 - f, abs=1e-11)


@pytest.mark.parametrize("name", MADE)
def test_delta_is_the_conjugate_of_the_curve(name):
    claim, grid = MADE[name], np.linspace(0, 1, 40_001)
    for epsilon in (-1.0, 0.0, 0.7, 2.0):
        most = (claim.F(grid) - math.exp(epsilon) * grid).max()
        assert claim.delta(epsilon) == pytest.approx(max(most, 0), abs=3e-4)
        assert claim.delta(epsilon) >= most - 1e-15
        if claim.delta(epsilon) <= 1 and epsilon >= 0 and claim.delta(epsilon) > claim.deltas.min():
            assert claim.epsilon(float(claim.delta(epsilon))) == pytest.approx(epsilon, abs=1e-9)
    epsilon, delta = claim.implied
    assert delta == max(1e-4, claim.deltas.min())
    assert claim.delta(epsilon) <= delta + 1e-15


def test_published_conversion_of_gdp():
    assert curve.gdp_delta(1.0, 4.3772) == pytest.approx(1e-5, rel=1e-4)
    assert curve.gdp_delta(1.0, 0.0) == pytest.approx(2 * norm.cdf(0.5) - 1, abs=1e-15)
    assert 0 <= curve.gdp_delta(0.1, 50.0) < 1e-300  # both terms are below what a float resolves
    assert curve.approx(1.0, 0.1).epsilon(0.01) == math.inf


def test_one_direction_only_is_weaker():
    ordered = curve.lines([1.0], [0.0], both=False)
    assert ordered.lines == [[math.e], [pytest.approx(1e-12)]]
    assert ordered.F(0.5) == 1.0 > curve.approx(1.0).F(0.5)
    drawn = curve.laws([0.9, 0.1], [0.5, 0.5], both=False)
    assert drawn.F(0.1) == pytest.approx(0.5)


@pytest.mark.parametrize(("text", "message"), [
    ("gdp(0)", "mu must be a number in (0, 20], got 0"),
    ("gdp(1.0, tangents=3)", "tangents must be an integer >= 8, got 3"),
    ("approx(-1)", "epsilon must be a number in [0, 700], got -1"),
    ("laplace(0)", "epsilon must be a number in (0, 700], got 0"),
    ("grr(1, 1.0)", "k must be an integer >= 2, got 1"),
    ("points([0, .5], [1, .6])", "betas must lie on a convex, falling curve below 1 - alpha"),
    ("points([.5, .2], [.3, .6])", "alphas must rise and stay below 1"),
    ("points([.5], [.3, .6])", "alphas and betas must be lists of one length"),
    ("lines([-1.], [.1])", "deltas must be at least 1 - e^epsilon, got [0.1]"),
    ("laws([.5, .4], [.5, .5])", "p0 must have the sum 1, got 0.9"),
    ("make('gdb', mu=1)", "claim must be one of gdp, approx, laplace, grr, oue, got 'gdb'"),
    ("audit(claim='gdp', mu=1.0, until='counted')", "claim needs until='sure', got until='counted'"),
    ("audit(claim='gdp', mu=1.0, until='sure', attack='guess')", "attack must be learned"),
    ("audit(claim='gdp', mu=1.0, epsilon=1.0, until='sure')", "claim gdp must get its own"),
    ("audit(until='sure', band=[1.0])", "band needs one"),
    ("audit(until='sure', curve=3)", "curve must be a Curve, got 3"),
    ("audit(until='sure', curve=MADE['gdp(1)'], band=[30.0])", "band must be a number in [0, 20]"),
    ("FiniteMechanism([[0.5, 0.5], [0.5, 0.4]])", "row 1 with the sum 0.9"),
    ("FiniteMechanism([[1.5, -0.5], [0.5, 0.5]])", "row 0 with the sum 1 and the smallest entry -0.5"),
    ("FiniteMechanism([[0.5, 0.5], [0.5, 0.5]])", "two different rows"),
    ("FiniteMechanism([0.5, 0.5])", "at least two rows and two columns, got shape (2,)"),
    ("FiniteMechanism([['a', 'b'], ['c', 'd']])", "matrix must be made of numbers"),
    ("FiniteMechanism([[0.5, 0.5], [math.nan, 1]])", "matrix must be a finite number everywhere, got nan"),
])  # fmt: skip
def test_wrong_curves_claims_and_matrices_are_refused(text, message):
    learned = functools.partial(audit, client(1.0), attack="learned")
    names = vars(curve) | globals() | {"audit": learned}
    with pytest.raises(ValueError) as error:
        eval(text, names)
    assert message in str(error.value)


def noisy(mu, values, rng):
    """Gaussian noise. Without rounding the last bits of a float reveal the input."""
    return np.round(np.asarray(values) * mu + rng.normal(size=len(values)), 3).tolist()


def client(mu, inputs=(0, 1)):
    given = {"values": list(inputs), "report": "any", "epsilon": 4.0, "delta": 1e-4}
    return Client(functools.partial(noisy, mu), **given)


def test_an_audit_refutes_too_little_noise():
    given = {"until": "sure", "alpha": 0.05, "seed": 3}
    result = audit(client(1.5), "learned", claim="gdp", mu=1.0, trials=3000, **given)
    assert result.violated
    assert result.curve == {"kind": "gdp", "mu": 1.0, "lines": 53}
    assert (result.claim, result.delta) == (pytest.approx(3.91, abs=0.01), 1e-4)
    assert result.lower == 0.0 and result.mu_lower >= 1.0
    assert result.tangent["shown"] > result.tangent["delta"]
    assert result.verdict.startswith("VIOLATION: gdp with mu = 1 is refuted with")
    assert "no bound of epsilon" in result.verdict
    row = json.loads(json.dumps(result.row()))
    assert row["curve"]["mu"] == 1.0 and row["mu_lower"] == result.mu_lower
    assert "mu: " not in result._repr_html_() and "lower bound of mu" in page(result)


def test_an_audit_of_enough_noise_bounds_mu_from_below():
    """A bound above the truth has a probability of at most alpha; one that is far below it tells nothing."""
    given = {"curve": curve.gdp(1.0), "band": [0.0, 1.0, 2.0], "trials": 4000, "alpha": 0.01}
    result = SequentialAudit(client(1.0), "learned", **given).run(2)[0]
    assert not result.violated
    assert 0.7 < result.mu_lower <= 1.0
    for epsilon, bound, allowed in result.band:
        assert bound <= curve.gdp_delta(1.0, epsilon) + 0.01
        assert allowed == pytest.approx(curve.gdp_delta(1.0, epsilon), abs=2e-3)
    assert result.band[0][1] > 0.25
    assert "No mu below" in result.verdict


@pytest.mark.parametrize("claim", ["laplace", "approx", "grr", "oue"])
def test_other_curves_are_refuted_too(claim):
    given = {"epsilon": 0.5} | ({"k": 3} if claim == "grr" else {})
    asked = client(2.0 if claim == "laplace" else 2.5)
    result = audit(asked, "learned", claim=claim, until="sure", trials=1000, **given)
    assert result.violated and result.mu_lower is None and result.curve["epsilon"] == 0.5


def test_three_inputs_and_recordings(tmp_path):
    given = {"attack": "learned", "curve": curve.gdp(1.0), "alpha": 0.05}
    asked = client(1.5, (0, 0.1, 1.5))
    assert SequentialAudit(asked, trials=2000, **given).run(1)[0].violated
    paths = [tmp_path / f"{x}.jsonl" for x in (0, 1)]
    for x, path in enumerate(paths):
        reports = noisy(2.0, [x] * 400, np.random.default_rng(x))
        path.write_text("\n".join(map(json.dumps, reports)))
    for independent in (True, False):
        source = recorded(*paths, "any", 4.0)
        assert SequentialAudit(source, independent=independent, **given).run()[0].violated


MATRIX = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]]


def test_a_finite_mechanism_is_known_exactly():
    m = FiniteMechanism(MATRIX)
    assert m.epsilon == pytest.approx(math.log(2.5)) and m.pair() == (0, 1)
    assert m.report_type.guess_rates((0, 1)) == pytest.approx((0.5, 0.2))
    assert m.report_type.guess_rates((2, 0)) == pytest.approx((0.4, 0.3))
    assert curve.of(m).epsilon(0.0 + 1e-11) == pytest.approx(m.epsilon, abs=1e-6)
    assert curve.of(m, (2, 1)).F(0.2) == pytest.approx(0.3)
    same = GRR(4, 1.0)
    response = FiniteMechanism(np.where(np.eye(4) == 1, same.p, same.q))
    assert response.epsilon == pytest.approx(1.0)
    assert curve.of(response).F(Q) == pytest.approx(curve.grr(4, 1.0).F(Q), abs=1e-11)
    assert FiniteMechanism([[0.9, 0.1, 0], [0.4, 0.5, 0.1]]).epsilon == math.inf
    tied = FiniteMechanism([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    assert tied.report_type.guess_rates((0, 2)) == pytest.approx((0.25, 0.1))


@pytest.mark.parametrize("matrix", [MATRIX, [[0.9, 0.1, 0], [0.4, 0.5, 0.1]]])
def test_a_finite_mechanism_keeps_all_promises(matrix):
    check_mechanism(FiniteMechanism(matrix))


CLIENT = "import random\ndef client(v):\n    return round(1.5 * v + random.gauss(0, 1), 3)\n"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine_curve.py").write_text(CLIENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "audit --client mine_curve:client --report any --inputs [0,1] --until-sure --trials 1500"


def test_the_command_line_takes_curves(mine, call, tmp_path):
    code, text, _ = call(f"{mine} --mu 1 --save kept --html page.html")
    assert code == 1 and "gdp with mu = 1 is refuted" in text
    assert "implies epsilon = 3.91" in text  # the client draws its own coins, so its bound varies
    assert float(re.search(r"lower +mu = ([\d.]+) at level", text)[1]) >= 1
    code, text, _ = call("resume kept --client mine_curve:client --trials 1600")
    assert code == 1
    assert call(f"{mine} --claim gdp --mu 1 --json")[0] == 1
    (tmp_path / "p.csv").write_text("alpha,beta\n0,1\n0.2,0.5\n")
    (tmp_path / "l.csv").write_text("epsilon,delta\n0,0.2\n1,0.01\n")
    for file in ("--claim-points p.csv", "--claim-lines l.csv", "--claim laplace --epsilon .5"):
        assert call(f"{mine} {file}")[0] == 1, file


@pytest.mark.parametrize(("more", "message"), [
    ("--mu 1 --claim-lines l.csv", "give one of --claim, --claim-points and --claim-lines"),
    ("--claim-points l.csv", "l.csv must begin with alpha,beta and hold two numbers a line"),
    ("--claim-lines bad.csv", "could not convert string to float: 'x'"),
    ("--claim-lines none.csv", "does not exist"),
])  # fmt: skip
def test_wrong_claims_are_one_line(mine, call, tmp_path, more, message):
    (tmp_path / "l.csv").write_text("epsilon,delta\n0,0.2\n")
    (tmp_path / "bad.csv").write_text("epsilon,delta\n0,x\n")
    assert refused(call, [(f"{mine} {more}", message)]) == []
