"""Sentences of pages that state mathematics, computed again by other means."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import rel_entr
from scipy.stats import norm

from ldpkit.attacks.gradient import Pairs
from ldpkit.attacks.reconstruct import finite_distribution, rad_exact
from ldpkit.auditors import audit_gradient, expected
from ldpkit.auditors.count_ratio import statistic
from ldpkit.mechanisms import AGM, GM, GRR, LDPSGD, RAPPOR, FaultyUE, make

BOOK = Path(__file__).parents[2] / "book"


def cells(page):
    """The sources of a notebook's cells."""
    return ["".join(c["source"]) for c in json.loads((BOOK / f"{page}.ipynb").read_text())["cells"]]


def text(page):
    """All words of a notebook, each line broken like any other space."""
    return " ".join(" ".join(cells(page)).split())


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
        lambda x: x[:4].sum() - 1,
        lambda x: x[4:].sum() - 1,
        lambda x: odds * x[4:] - x[:4],
        lambda x: odds * x[:4] - x[4:],
    ]
    nearest = minimize(
        lambda x: both @ np.log(both / x),
        np.tile((both[:4] + both[4:]) / 2, 2),
        bounds=[(1e-9, 1)] * 8,
        method="SLSQP",
        constraints=[
            {"type": kind, "fun": f} for kind, f in zip(("eq", "eq", "ineq", "ineq"), keeps)
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert round(math.log(100) / nearest.fun) == pairs
    names = {"FaultyUE": FaultyUE, "np": np, "k": 10, "alpha": 0.01, "epsilon": [claim]}
    found = {"limit": [0.0]}
    glued = run("stop_when_sure", "bits_needed", rel_entr=rel_entr, found=found, **names)
    assert glued["needs-bits"] == str(pairs)
    assert "no valid audit of **this event** needs fewer" in text("stop_when_sure")


def test_the_printed_estimator_alone_is_raised_by_rare_outputs():
    rare = np.array([[4, 4998, 4998]]), np.array([[1, 4999, 5000]])
    printed, released = (statistic(*rare, 10_000, e)[0] for e in ("printed", "released"))
    assert (round(printed, 2), round(released, 2)) == (6.0, 0.04)
    page = text("kv_auditor/lower_bound")
    assert "only over outputs that both groups sent at least five times" in page
    assert "[[4, 4998, 4998]]" in page and "which is never below the printed one" not in page


def test_a_quarter_of_the_claim_of_gm_is_not_for_any_attack():
    sigma = GM(100, 1.0, 1e-5).scale / math.sqrt(2)  # of two values that lie a root of two apart

    def spent(e):
        ends = norm.cdf(0.5 / sigma - e * sigma), norm.cdf(-0.5 / sigma - e * sigma)
        return ends[0] - math.exp(e) * ends[1]

    true = brentq(lambda e: spent(e) - 1e-5, 0.1, 1)
    glued = run("ldp_auditor/gap", '"gm-true"', GM=GM, AGM=AGM, brentq=brentq)
    assert glued == {"gm-true": f"{true:.3f}"} == {"gm-true": "0.751"}


def test_equation_5_holds_as_a_bound():
    law = finite_distribution(GRR(4, 1.0))
    stated = rad_exact(law, np.full(4, 0.25), side=range(4))
    rng = np.random.default_rng(1)
    for _ in range(50):
        success = rng.random((4, 4)) < 0.5
        assert rad_exact(law, np.full(4, 0.25), success, range(4)) <= stated + 1e-12
    page = text("rad/bounds")
    assert '"Equation 5:' not in page and "Equation 5 holds as a bound" in page


def test_gradients_in_one_direction_show_nothing():
    axes = np.eye(20)
    pairs = Pairs("longer", axes[:1], 2 * axes[:1]), Pairs("turned", axes[:1], axes[1:2])
    limits = [audit_gradient(LDPSGD(20, 4.0), pair, "lune", trials=1).limit for pair in pairs]
    assert limits == pytest.approx([0, 4], abs=1e-6)
    answer = text("ldp_sgd/stronger").partition(":::{div} answer")[2].partition(":::")[0]
    assert "different directions" in " ".join(answer.split())


def test_with_two_values_only_grr_and_ss_come_close_to_the_claim():
    names = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE"]
    share = {name: expected(make(name, k=2, epsilon=1.0), trials=10**6)[0] for name in names}
    assert all((x > 0.99) == (name in ("GRR", "SS")) for name, x in share.items())
    assert all(x > 0.99 or 0.44 < x < 0.495 for x in share.values())
    assert "Only GRR and SS reach it" in text("ldp_auditor/fig2")


def test_a_bound_can_fail_by_one_unlucky_count_alone():
    page = text("background/statistics")
    assert "would have to be unlucky at once" not in page
    assert "A single count does this only if it is very unlucky" in page
    assert "The left side can be measured" not in page


def test_the_explorer_speaks_of_percentage_points():
    page = (BOOK / "explore" / "reconstruction.md").read_text()
    points, before, after = re.search(
        r"by (\d+) percentage points, from (\d+) % to (\d+) %", page
    ).groups()
    right = GRR(20, 2.0).p
    assert (int(points), int(before), int(after)) == (round(100 * right - 5), 5, round(100 * right))
    assert "percentage points" in (BOOK / "_static" / "explore" / "reconstruction.js").read_text()


def test_a_caption_and_its_alternative_text_name_the_same_lines():
    page = json.loads((BOOK / "kv_auditor" / "fig7.ipynb").read_text())
    shown = [c["metadata"]["mystnb"] for c in page["cells"] if "mystnb" in c["metadata"]]
    caption, alt = shown[0]["figure"]["caption"], shown[0]["image"]["alt"]
    assert (
        "dashed: half of the stated epsilon in (a)" in caption
        and "dotted: all of it in (b) to (d)" in caption
    )
    assert re.search(r"In \(a\)[^.]*dashed", alt) and re.search(r"In \(d\)[^.]*dotted", alt)


def test_the_history_adds_up_what_deployments_promise():
    page = (BOOK / "background" / "history.md").read_text()
    chrome = RAPPOR(10, 2 * 2 * math.log(3), h=2, keep=0.75, flip=0.25)  # f = 1/2
    assert chrome.f == pytest.approx(0.5)
    sums = [30 * 4, 365 * 4, 17.14 + 2.47, 48 * 0.534, 4 * 0.686, chrome.epsilon, chrome.first]
    said = [
        "are 120,",
        "is 1,460.",
        "| 19.61 for",
        "| 25.6,",
        "| 2.74 |",
        "ε = 4.39",
        "2.04 for one",
    ]
    for number, words in zip(sums, said, strict=True):
        assert words in page
        digits = re.search(r"[\d,]*\d(\.\d+)?", words).group().replace(",", "")
        assert round(number, len(digits.partition(".")[2])) == float(digits), words
