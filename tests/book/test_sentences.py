"""Sentences of pages that state mathematics, computed again by other means."""

import math
import re

import numpy as np
import pytest
from notebooks import ROOT, cells_of
from scipy.optimize import brentq, minimize
from scipy.special import rel_entr
from scipy.stats import norm

from ldpkit.blackbox import curve
from ldpkit.mechanisms import AGM, GM, RAPPOR, FaultyUE


def cells(page):
    """The sources of a notebook's cells."""
    return ["".join(cell["source"]) for cell in cells_of(f"book/{page}")]


def run(page, word, **names):
    """The names of the one cell that defines or glues `word`, with those that it takes."""
    glued = {}
    names |= {"glue": lambda key, value, display: glued.update({key: value})}
    exec(next(cell for cell in cells(page) if word in cell), names)
    return glued


@pytest.mark.parametrize("claim, pairs", [(0.25, 46), (0.5, 61), (1.0, 115), (2.0, 510)])
def test_an_audit_of_two_bits_needs_fewer_pairs_than_one_of_their_event(claim, pairs):
    m = FaultyUE(10, claim, "SUE")
    one = np.outer([1 - m.p, m.p], [1 - m.q, m.q]).ravel()
    both, odds = np.r_[one, one[[0, 2, 1, 3]]], math.exp(claim)
    keeps = [
        {"type": "eq", "fun": lambda x: x.reshape(2, 4).sum(axis=1) - 1},
        {"type": "ineq", "fun": lambda x: odds * np.roll(x, 4) - x},
    ]
    nearest = minimize(
        lambda x: both @ np.log(both / x),
        np.tile((both[:4] + both[4:]) / 2, 2),
        bounds=[(1e-9, 1)] * 8,
        method="SLSQP",
        constraints=keeps,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert round(math.log(100) / nearest.fun) == pairs
    names = {"FaultyUE": FaultyUE, "np": np, "k": 10, "alpha": 0.01, "epsilon": [claim]}
    glued = run("stop_when_sure", "bits_needed", rel_entr=rel_entr, found={"limit": [0.0]}, **names)
    assert glued["needs-bits"] == str(pairs)
    words = " ".join(" ".join(cells("stop_when_sure")).split())
    assert "no valid audit of **this event** needs fewer" in words


def test_a_quarter_of_the_claim_of_gm_is_not_for_any_attack():
    sigma = GM(100, 1.0, 1e-5).scale / math.sqrt(2)  # of two values that lie a root of two apart

    def spent(e):
        ends = norm.cdf(0.5 / sigma - e * sigma), norm.cdf(-0.5 / sigma - e * sigma)
        return ends[0] - math.exp(e) * ends[1]

    true = brentq(lambda e: spent(e) - 1e-5, 0.1, 1)
    glued = run("ldp_auditor/gap", '"gm-true"', GM=GM, AGM=AGM, brentq=brentq)
    assert glued == {"gm-true": f"{true:.3f}"} == {"gm-true": "0.751"}


def test_the_history_adds_up_what_deployments_promise():
    page = (ROOT / "book" / "background" / "history.md").read_text()
    chrome = RAPPOR(10, 2 * 2 * math.log(3), h=2, keep=0.75, flip=0.25)  # f = 1/2
    assert chrome.f == pytest.approx(0.5)
    sums = [30 * 4, 365 * 4, 17.14 + 2.47, 48 * 0.534, 4 * 0.686, chrome.epsilon, chrome.first]
    said = [
        "are 120,", "is 1,460.", "| 19.61 for", "| 25.6,", "| 2.74 |", "ε = 4.39", "2.04 for one",
    ]  # fmt: skip
    for number, words in zip(sums, said, strict=True):
        assert words in page
        digits = re.search(r"[\d,]*\d(\.\d+)?", words).group().replace(",", "")
        assert round(number, len(digits.partition(".")[2])) == float(digits), words


def test_a_leak_of_one_value_in_10_000_breaks_gaussian_privacy_unless_the_other_input_shares_it():
    allowed = norm.cdf(
        norm.ppf(1e-4) - 2
    )  # the point of the trade-off curve of N(0, 1) against N(2, 1)
    delta = norm.cdf(1 - 10 / 2) - math.exp(10) * norm.cdf(-1 - 10 / 2)
    glued = run("curves", "rare-rate", np=np, curve=curve)
    assert (
        glued
        == {"rare-delta": f"{1e6 * delta:.1f}", "rare-rate": f"{1e9 * allowed:.1f}"}
        == {"rare-delta": "9.9", "rare-rate": "5.4"}
    )
    words = " ".join(" ".join(cells("curves")).split())
    assert "may publish one value in 10,000 under $\\mu = 2$. The other input must" in words


def test_the_limit_of_hashing_to_one_bit_is_above_the_logarithm_of_two():
    for k, limit in ((25, "0.736"), (200, "0.698")):
        glued = run("ldp_auditor/fig1", '"limit-BLH"', k=k)
        assert (
            glued == {"limit-BLH": f"{math.log(2 * (k - 1) / (k - 2)):.3f}"} == {"limit-BLH": limit}
        )
    assert "= 0.69" not in " ".join(cells("ldp_auditor/fig1"))
