"""Attack-aware refinement: closed forms, what is chosen, and what the paper's code gave
(``tests/data/refinement.csv``). Exact references are sums over all reports in fractions and closed
forms in many decimal digits."""

import decimal
import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from chance import table
from pytest import approx

import ldpkit
from ldpkit.attacks import Guess, MaximalGain
from ldpkit.mechanisms import ALH, ASS, ATHE, BLH, GRR, LHO, OLH, OUE, SHE, SS, SUE, THE, make
from ldpkit.mechanisms.base import MAX_DOMAIN, MAX_EPSILON, MIN_EPSILON
from ldpkit.refine import FAMILIES, STRATEGIES, build, front, refine, scores, select, success

DOMAINS = [25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000]
BUDGETS = np.arange(0.5, 10.1, 0.25).tolist()
PROTOCOLS = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "ASS", "AUE", "ALH", "ATHE"]
PAPER = {"grid": "published", "asr": "published"}
NAMED = {"SS": "omega", "SUE": "p", "OUE": "p", "BLH": "g", "OLH": "g", "THE": "theta"}
NAMED |= {kind.adaptive.name: kind.parameter for kind in FAMILIES.values()}


@functools.cache
def everything(law, grid):
    """Scores of all protocols over the paper's domains and budgets, by (mechanism, k, epsilon)."""
    rows = ldpkit.refine.table(PROTOCOLS, DOMAINS, BUDGETS, asr=law, grid=grid)
    return rows.set_index(["mechanism", "k", "epsilon"]).sort_index()


def test_scores_and_chosen_parameters_equal_those_of_the_papers_code():
    rows = table("refinement")
    assert len(rows) == 144
    for row in rows:
        name = row["mechanism"]
        m = build(name, int(row["k"]), float(row["epsilon"]), **PAPER)
        found = scores(m, "published")
        # the code integrates SHE to 2e-11; Brent's search knows its minimiser to sqrt(rounding)
        assert found["asr"] == approx(float(row["asr"]), rel=3e-11 if name == "SHE" else 1e-12), row
        assert found["mse"] == approx(float(row["mse"]), rel=1e-12), row
        if row["parameter"]:
            wanted = approx(float(row["parameter"]), rel=1e-8 if name == "THE" else 1e-12)
            assert getattr(m, NAMED[name]) == wanted, row


def test_the_published_success_of_local_hashing_at_its_ends_and_with_a_delta():
    assert success(ALH(5, 1, 9), "published") == ALH(5, 1, 9).p  # more cells than values
    for name, delta in (("ABLH", 0.1), ("AOLH", 0.01)):
        m = make(name, k=20, epsilon=1.0, delta=delta)
        assert success(m, "published") == approx(m.p * m.g / 20, rel=1e-14)
    for m in (GRR(9, 1.0), SS(60, 4.0), SHE(9, 1.0), SUE(60, 4.0), THE(9, 1.0)):
        assert success(m, "published") == success(m)
    assert success(LHO(50, 5), "published") == approx(5 / 50)  # without noise too
    assert success(LHO(50, 5)) == Guess().success(LHO(50, 5))


def test_the_exact_success_differs_from_the_published_one_as_far_as_known_and_has_its_limits():
    assert success(BLH(2, 1.0), "published") == approx(0.731, abs=5e-4)
    assert success(BLH(2, 1.0)) == approx(0.616, abs=5e-4)
    assert success(OLH(100, 4.0)) == approx(0.2337876755, abs=0.501e-10)
    laws = [everything(law, None)["asr"] for law in ("published", "exact")]
    olh, blh = (laws[0].loc[name] - laws[1].loc[name] for name in ("OLH", "BLH"))
    assert olh.idxmax() == (10_000, 9.25) and olh.max() == approx(0.179, abs=5e-4)
    adult = olh.loc[100].loc[2:]
    assert adult.idxmax() == 4.75 and adult.max() == approx(0.161, abs=5e-4)
    assert blh.abs().max() < 1e-8
    for k, epsilon in itertools.product([25, 100, 1000], (2, 4, 6, 8)):  # both choose one range
        assert refine("lh", k, epsilon) == refine("lh", k, epsilon, asr="published"), (k, epsilon)
    for epsilon in (0.5, 2.0, 4.0):
        k, grown = 10**9, math.exp(epsilon)
        assert success(SUE(k, epsilon)) == approx(math.exp(epsilon / 2) / k, rel=1e-6)
        assert success(SHE(k, epsilon)) == approx(math.exp(epsilon / 2) / k, rel=1e-6)
        assert success(OUE(k, epsilon)) == approx((grown + 1) / (2 * k), rel=1e-6)


def decimal_success(p, q, k):
    """Success on independent supports in 80 digits."""
    p, q = decimal.Decimal(p), decimal.Decimal(q)
    none = ((1 - q).ln() * k).exp()
    return p * (1 - none) / (k * q) + (1 - p) * none / (1 - q) / k


def test_success_rates_along_a_grid_equal_many_digits():
    grids = {"ue": None, "lh": [2, 3, 60, 10**5, 2**32], "he": [0.0, 0.5, 0.77, 1.0]}
    domains = [2, 100, 10_000, 10**6, MAX_DOMAIN]
    budgets = (MIN_EPSILON, 0.5, 4.0, 12.0, MAX_EPSILON)
    with decimal.localcontext(prec=80):
        for family, k, epsilon in itertools.product(grids, domains, budgets):
            found = front(family, k, epsilon, grid=grids[family])
            rates = FAMILIES[family].rates(k, epsilon, found.parameter)
            for i in range(0, len(found.asr), 250 if family == "ue" else 1):
                value = float(decimal_success(*(float(rate[i]) for rate in rates), k))
                # rounding of (1 - q)^k: one part in 2^53 of its exponent
                assert found.asr[i] == approx(value, rel=2e-14), (family, k, epsilon, i)


def laplace_reference(k, epsilon):
    """Chance that the raised one of k Laplace variables is the largest, in many digits."""
    c = (-decimal.Decimal(epsilon) / 2).exp()
    low, high = c / 2, decimal.Decimal("0.5")
    total = 1 / low - 1 / high  # of (1 - u)^(k - 1) / u^2, expanded in powers of u
    k_choose = -decimal.Decimal(k - 1)
    total += k_choose * (high / low).ln()
    above, below = high, low
    for j in range(2, k):
        k_choose = -k_choose * (k - j) / j
        total += k_choose * (above - below) / (j - 1)
        above, below = above * high, below * low
    first = (1 - (1 - low) ** k) / (k * low)
    return first / 2 + c * total / 4 + c * high**k / k


def test_the_success_on_noisy_histograms_equals_its_expansion():
    for k, digits in [(2, 60), (25, 60), (1000, 450)]:
        with decimal.localcontext(prec=digits):
            for epsilon in (0.01, 0.5, 2.0, 10.0, MAX_EPSILON):
                value = float(laplace_reference(k, epsilon))
                assert success(SHE(k, epsilon)) == approx(value, rel=2e-14)


@pytest.mark.filterwarnings("error")
def test_a_front_holds_the_scores_of_its_mechanisms():
    budgets = ((3, 0.2), (10, 1.0), (60, 4.0), (1000, 8.0))
    for family, (k, epsilon) in itertools.product(FAMILIES, budgets):
        attack = MaximalGain(0.1, 3, 0.2)
        found = front(family, k, epsilon, poisoning=attack)
        rest = front(family, k, epsilon, asr="published")
        rel = 1e-9 if family == "ue" else 1e-13  # p next to 1 rounds in the last place
        for i in {0, 1 % len(found.asr), len(found.asr) // 2, len(found.asr) - 1}:
            m = FAMILIES[family].adaptive(k, epsilon, found.parameter[i].item())
            own = scores(m, poisoning=attack)
            seen = [found.asr[i], found.mse[i], found.epg[i], rest.asr[i], rest.epg[i]]
            wanted = [own["asr"], own["mse"], own["epg"], success(m, "published")]
            wanted.append(MaximalGain(targets=min(10, k)).expected(m))
            assert seen == approx(wanted, abs=0, rel=rel), m


@pytest.mark.filterwarnings("error")
def test_extreme_domains_and_budgets_give_sound_numbers_or_one_clear_error():
    budgets, grids = (MIN_EPSILON, 0.01, 1.0, 11.0, 20.0, MAX_EPSILON), (None, "published")
    space = itertools.product(FAMILIES, [2, 3, 100, 10_000, MAX_DOMAIN], budgets, grids)
    for family, k, epsilon, grid in space:
        label = family, k, epsilon, grid
        try:
            found = front(family, k, epsilon, grid=grid)
        except ValueError as error:
            end = k - 2 if family == "ss" else max(k - 1, round(math.exp(epsilon)) + 1)
            small = family == "ss" and k == 2
            assert family in ("ss", "lh") and (small or end > 2**21), label
            said = "k must be at least 3" if small else f"must end at 2097152 or before, got {end}"
            assert said in str(error), label
            continue
        assert k <= 10_000 or family in ("ue", "he"), label
        for objective in (found.asr, found.mse, found.epg):
            assert np.isfinite(objective).all(), label
            assert objective.shape == found.parameter.shape, label
        assert (found.asr > 0).all() and (found.asr <= 1).all() and (found.mse > 0).all(), label
        p, q = FAMILIES[family].rates(k, epsilon, found.parameter)
        assert (q > 0).all() and (q < p).all() and (p <= 1).all(), label
        for strategy in STRATEGIES if k <= 100 else ("weighted", "elbow"):
            found = scores(refine(family, k, epsilon, strategy=strategy, grid=grid))
            assert all(0 < found[key] < math.inf for key in ("asr", "mse")), (label, strategy)


def test_the_published_grids_and_the_log_odds_of_the_own_one():
    for k, epsilon in ((3, 1.0), (25, 1.0), (100, 10.0), (1000, 6.0)):
        end = max(k - 1, round(math.exp(epsilon)) + 1)
        wanted = {"ss": range(1, k - 1), "lh": range(2, end + 1), "he": np.linspace(0.5, 1, 100)}
        for family, points in wanted.items():
            for grid in ("published", None):  # the own grid is the same
                assert front(family, k, epsilon, grid=grid).parameter.tolist() == [*points]
        found = front("ue", k, epsilon, grid="published").parameter
        assert found.tolist() == np.linspace(0.5, 0.999999, 100).tolist()
    for epsilon, end in ((0.5, 12.5), (10, 22), (24, 36), (MAX_EPSILON, 36)):
        p = front("ue", 100, epsilon).parameter
        assert p[0] == 0.5 and p.size == 2001 and (np.diff(p) >= 0).all() and p[-1] < 1
        odds = np.log(p / (1 - p))
        inner = 1 - p > 1e-9  # above, p itself is rounded
        assert odds[inner] == approx(np.linspace(0, end, 2001)[inner], abs=1e-6)
        assert 1 - p[-1] == approx(1 / (1 + math.exp(end)), rel=1e-6 if epsilon <= 10 else 0.1)


def test_the_weighted_sum_takes_the_first_minimiser_and_only_the_ratio_of_weights_matters():
    for family, weights in itertools.product(FAMILIES, ((0.5, 0.5), (0.9, 0.1), (0, 1), (1, 0))):
        found = front(family, 60, 3.0)
        at = np.argmin(weights[0] * found.asr + weights[1] * found.mse)
        chosen = refine(family, 60, 3.0, weights=(*weights, 0))
        assert getattr(chosen, FAMILIES[family].parameter) == found.parameter[at], weights
    assert select([[1, 2], [2, 1], [0, 3]]) == 0 and select([[9, 9], [2, 1], [1, 2]]) == 1
    ends = [[0, 9], [5, 5], [8, 1]]
    assert select(ends, weights=(1, 0)) == 0 and select(ends, weights=(0, 1)) == 2
    points = front("ss", 60, 3.0).objectives()
    for strategy, weights in itertools.product(STRATEGIES, ((0.3, 0.7), (0.9, 0.1))):
        chosen = select(points, strategy, weights)
        for scale in (1e-300, 1e-3, 10, 1.2e308):
            assert select(points, strategy, np.multiply(weights, scale)) == chosen
    with np.errstate(all="raise"):
        assert select(points, weights=(1.7e308, 1.7e308)) == select(points)
    for weights in ((3, 3, 0), [1, 1, 0]):
        assert refine("ss", 60, 3.0, weights=weights) == refine("ss", 60, 3.0)


ORDER = ("utopia", "weighted", "elbow", "epsilon-constraint", "hypervolume", "chebyshev")


def test_cells_where_a_strategy_has_nothing_to_choose():
    assert refine("lh", 100, 1, strategy="hypervolume", **PAPER).g == 2  # every variance exceeds 1
    assert refine("ue", 100, 1, strategy="hypervolume", **PAPER).p == 0.5
    last = refine("ue", 100, 8, strategy="epsilon-constraint", **PAPER)
    assert last.p == approx(0.999999, abs=1e-12)  # only the last point of the grid is allowed
    assert last.variance(1) == approx(335.7, abs=0.05)
    # none is allowed: nearest to zero
    assert select([[0.2, 3], [0.3, 1], [0.9, 0.6]], "epsilon-constraint") == 1
    assert select([[0.2, 3], [0.3, 1]], "elbow") == 1  # two points: nearest to zero
    assert [select([[0.4, 0.2]], strategy) for strategy in STRATEGIES] == [0] * 6
    three = [[0, 1.5], [0.6, 0.6], [1.5, 0]]  # the weighted sum is the default
    assert select(three) == select(three, "weighted") == 1
    # equal largest weighted objectives, exactly 3/16 twice, are told apart by the sum
    weights = (0.25, 0.75)
    assert select([[0.75, 0.1875], [0.375, 0.25]], "chebyshev", weights) == 1
    assert select([[0.375, 0.25], [0.75, 0.1875]], "chebyshev", weights) == 0
    assert select([[0.75, 0.1875], [0.375, 0.25 + 1e-4]], "chebyshev", weights) == 0


def test_the_limit_of_the_epsilon_constraint_belongs_to_it_and_only_there_matters():
    points, limits = [[0.1, 9.0], [0.2, 5.0], [0.3, 1.0]], (0.0, 0.05, 0.1, 0.19, 0.2, 1)
    found = [select(points, "epsilon-constraint", limit=limit) for limit in limits]
    assert found == [2, 2, 0, 0, 1, 2] and select(points, "epsilon-constraint") == 0
    for strategy in set(STRATEGIES) - {"epsilon-constraint"}:
        assert select(points, strategy, limit=0) == select(points, strategy, limit=1)
    assert refine("ss", 100, 4, strategy="epsilon-constraint", limit=0.05) == ASS(100, 4, 19)
    assert success(ASS(100, 4, 19)) <= 0.05 < success(ASS(100, 4, 18))


def beaten(points, i):
    """Whether another point is nowhere larger and different, or equal and earlier."""
    below = ((p <= points[i]).all() and ((p < points[i]).any() or j < i)
             for j, p in enumerate(points) if j != i)  # fmt: skip
    return any(below)


def by_hand(points, strategy, weights, limit):
    """A slow reading of `select`, one point at a time."""
    d = points.shape[1]
    weights = [w / sum(weights) for w in weights]
    kept = [i for i in range(len(points)) if not beaten(points, i)]
    near = {i: math.dist(points[i], [0] * d) for i in kept}
    parts = {i: [w * x for w, x in zip(weights, points[i])] for i in range(len(points))}
    if strategy == "weighted":
        return {i: sum(part) for i, part in parts.items()}
    if strategy == "epsilon-constraint":
        return {i: sum(points[i][1:]) for i in kept if points[i][0] <= limit} or near
    if strategy == "hypervolume":
        return {i: -math.prod(max(0, 1 - x) for x in points[i]) for i in kept}
    if strategy == "chebyshev":
        return {i: max(parts[i]) + 1e-6 * sum(parts[i]) for i in kept}
    if strategy == "elbow" and len(kept) > 2:
        line = sorted(kept, key=lambda i: points[i][0])
        a, b = (np.append(points[i], [0] * (3 - d)) for i in (line[0], line[-1]))
        lift = {i: np.append(points[i], [0] * (3 - d)) for i in kept}  # into space
        return {i: -math.hypot(*np.cross(b - a, at - a)) for i, at in lift.items()}
    return near


def test_select_equals_a_reading_by_hand():
    for strategy, d in itertools.product(ORDER, [2, 3]):
        generator = np.random.default_rng([d, ORDER.index(strategy)])
        for n in [1, 2, 3, 5, 12, 40] * 8:
            points = generator.random((n, d)) ** 2 * generator.choice([0.5, 1.0, 3.0])
            points[generator.integers(n)] = points[0]  # a point twice
            weights, limit = generator.random(d) + 0.01, generator.choice([0.0, 0.05, 0.4, 1.0])
            score = by_hand(points, strategy, weights, limit)
            found, best = select(points, strategy, weights, limit), min(score.values())
            wanted = min(i for i, s in score.items() if s <= best + 1e-12 * abs(best))
            assert found == wanted, (strategy, d, n)
            assert strategy != "weighted" or not beaten(points, found)


def test_the_front_equals_the_comparison_of_all_pairs():
    for d in (2, 3):
        generator = np.random.default_rng(d)
        sizes = [1, 2, 3, 10, 60] * 20
        tied = [generator.integers(0, generator.integers(2, 12), (n, d)) for n in sizes]
        for points in [*map(np.float64, tied), np.random.default_rng(5).random((300, d))]:
            wanted = [i for i in range(len(points)) if not beaten(points, i)]
            assert ldpkit.refine.nondominated(points).tolist() == wanted
    ramp = np.arange(300_000.0)  # comparing all pairs would take 10^11 steps
    assert ldpkit.refine.nondominated(np.column_stack([ramp, ramp[::-1], ramp])).size == ramp.size
    assert ldpkit.refine.nondominated(np.column_stack([ramp, ramp, -ramp])).size == ramp.size
    assert ldpkit.refine.nondominated(np.column_stack([ramp, ramp, ramp])).tolist() == [0]


def test_the_poisoning_gain_counts_only_with_a_positive_weight():
    for family, strategy in itertools.product(FAMILIES, STRATEGIES):
        found, parameter = front(family, 60, 3.0), FAMILIES[family].parameter
        for weights, count in (((0.4, 0.6, 0.0), 2), ((0.2, 0.3, 0.5), 3)):
            at = select(found.objectives(count), strategy, weights[:count])
            chosen = refine(family, 60, 3.0, weights=weights, strategy=strategy)
            assert getattr(chosen, parameter) == found.parameter[at], (family, strategy)
    assert found.objectives().shape[1] == 2
    assert ([found.asr, found.mse, found.epg] == found.objectives(3).T).all()
    for family in FAMILIES:
        least = scores(refine(family, 60, 3.0, weights=(0, 0, 1)))["epg"]
        assert least == approx(front(family, 60, 3.0).epg.min(), rel=1e-9), family


def test_the_poisoning_attack_is_the_one_that_is_given():
    def gain(family, k, epsilon, r):
        return front(family, k, epsilon, poisoning=MaximalGain(targets=r)).epg

    for family in FAMILIES:
        assert (gain(family, 60, 3.0, 1) != gain(family, 60, 3.0, 20)).all(), family
        assert (gain(family, 60, 3.0, 10) == front(family, 60, 3.0).epg).all(), family
    assert (front("ss", 5, 1.0).epg == gain("ss", 5, 1.0, 5)).all()  # all of a small domain
    with pytest.raises(ValueError, match="targets must"):
        scores(OUE(5, 1.0), poisoning=MaximalGain(targets=6))
    one = {"weights": (0.2, 0.3, 0.5), "poisoning": MaximalGain(0.4, 40, 0.0)}
    assert refine("ue", 60, 3.0, **one) != refine("ue", 60, 3.0, weights=(0.2, 0.3, 0.5))
    assert scores(SHE(60, 3.0))["epg"] == math.inf


def test_subset_selection_has_its_closed_forms_and_weights_seldom_give_classical_protocols():
    for k, epsilon, w in [(50, 1, 13), (100, 4, 2), (100, 4, 7), (1000, 2, 119)]:
        m, grown = ASS(k, epsilon, w), math.exp(epsilon)
        assert success(m) == approx(grown / (w * grown + k - w), rel=1e-14)
        # equation 24 prints this as the success
        assert m.p == approx(w * grown / (w * grown + k - w), rel=1e-14)
        both = (grown * (w - 1) + k - w) * (w * grown + k - w - 1)
        assert m.variance(1) == approx(both / (w * (k - w) * (grown - 1) ** 2), rel=1e-12)
    only = {"weights": (0, 1, 0), **PAPER}
    assert (refine("ss", 100, 4, **only).omega, SS(100, 4).omega) == (1, 2)
    assert (refine("ss", 100, 3, **only).omega, SS(100, 3).omega) == (4, 5)
    he = refine("he", 100, 4, **only)
    assert (he.theta, THE(100, 4).theta) == approx((0.818, 0.816), abs=5e-4)
    assert refine("ue", 100, 4, **only).p == 0.5
    # thousands of users do: the variance of an estimate is n times smaller, its weight with it
    many = {"weights": (1 / 10_000, 1, 0)}
    assert refine("ue", 100, 2, **many).p == approx(0.5, abs=0.005)
    assert refine("lh", 100, 2, **many) == ALH(100, 2, OLH(100, 2).g)
    assert refine("ss", 100, 2, **many) == ASS(100, 2, SS(100, 2).omega)


def test_refine_returns_an_ordinary_mechanism_with_plain_numbers():
    for family, kind in FAMILIES.items():
        m = refine(family, 20, 2)
        assert type(m) is kind.adaptive and m == make(m.name, **m.parameters)
        assert type(getattr(m, kind.parameter)) is (int if family in ("ss", "lh") else float)
    assert repr(refine("ss", 100, 4)) == "ASS(k=100, epsilon=4.0, omega=7)"
    assert build("ASS", 100, 4) == ASS(100, 4, 7)
    aue = build("AUE", 100, 4, strategy="chebyshev", grid="published")
    assert aue.p == approx(0.7980, abs=5e-5)
    assert build("OLH", 100, 4, strategy="elbow") == OLH(100, 4)
    records = make("RSFD[GRR]", k=9, d=2, epsilon=1.0)
    assert success(records) == Guess().rates(records)[0]
    with pytest.raises(ValueError, match="mechanism must have a known success rate"):
        success(make("SS", k=9, epsilon=1.0, tau=3))


def test_a_given_grid_is_searched_and_nothing_else():
    assert refine("ss", 100, 4, grid=[3, 50]) == ASS(100, 4, 3)
    assert refine("ss", 100, 4, grid=[99]) == ASS(100, 4, 99)
    assert refine("ue", 100, 4, grid=np.float32([0.25, 0.75])).p in (0.25, 0.75)
    assert refine("he", 100, 4, grid=[0, 1]) == ATHE(100, 4, 1)
    wanted = front("ss", 1000, 4, grid=[5, 1, 120])
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        short = front("ss", 1000, 4, grid=np.array([5, 1, 120], kind))
        assert np.array_equal(short.mse, wanted.mse), kind
        assert short.parameter.tolist() == [5, 1, 120], kind
    # family, epsilon, what is no grid of its parameter
    for family, epsilon, grid, name in (
        ("ss", 1, 5, "grid"), ("ss", 1, [[1, 2]], "grid"), ("ss", 1, ["1"], "grid"),
        ("ss", 1, [True, False], "grid"), ("ss", 1, [1j], "grid"), ("ss", 1, [1, 10], "omega"),
        ("ss", 1, [0, 3], "omega"), ("ss", 1, [1.5, 3.0], "omega"), ("lh", 1, [1, 5], "g"),
        ("lh", 15, None, "the grid of g must end at"), ("ue", 1, [0.0, 0.5], "p"),
        ("ue", 30, [1e-300, 0.5], "p must exceed q"), ("he", 1, [0.5, 1.1], "theta"),
    ):  # fmt: skip
        for call in (front, refine):
            with pytest.raises(ValueError, match=f"^{name} "):
                call(family, 10, epsilon, grid=grid)


def test_a_table_has_one_row_for_each_protocol_domain_and_budget():
    attack = MaximalGain(0.2, 4, 0.0)
    given = {"asr": "published", "poisoning": attack, "weights": (0.3, 0.3, 0.4)}
    rows = ldpkit.refine.table(["OLH", "ALH"], [9, 50], [1, 2.5], **given)
    assert rows.columns.tolist() == ["mechanism", "k", "epsilon", "parameter", "asr", "mse", "epg"]
    cells = list(itertools.product(("OLH", "ALH"), (9, 50), (1, 2.5)))
    assert [*map(tuple, rows[["mechanism", "k", "epsilon"]].to_numpy().tolist())] == cells
    for row in rows.itertuples():
        chosen = row.mechanism == "ALH"
        m = refine("lh", row.k, row.epsilon, **given) if chosen else OLH(row.k, row.epsilon)
        wanted = success(m, "published"), m.variance(1), attack.expected(m)
        assert (row.asr, row.mse, row.epg) == wanted
        assert row.parameter == m.g if chosen else pd.isna(row.parameter), row
    found = ldpkit.refine.table(["BLH"], [9], [1])["asr"][0]
    assert found == success(BLH(9, 1)) != success(BLH(9, 1), "published")
