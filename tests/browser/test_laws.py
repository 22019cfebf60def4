"""The closed forms that the explorers use, in a real browser, against the package.

No book is needed. Settings are random with a fixed seed."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from browser.conftest import ROOT
from ldpkit import attacks, mechanisms, refine, stats
from ldpkit.auditors import KVAudit, rad, rad_bounds, shuffle
from ldpkit.blackbox import betting

LAWS = ROOT / "book" / "_static" / "laws.js"
CLOSE = 1e-10
PROTOCOLS = ["GRR", "SS", "SUE", "OUE", "BLH", "OLH", "SHE", "THE", "FaultyUE"]


def logarithmic(rng, low, high):
    return float(math.exp(rng.uniform(math.log(low), math.log(high))))


def count(rng, trials):
    """Also none, all, and few."""
    few = int(min(trials, rng.integers(0, 10)))
    return int(rng.choice([0, trials, few, rng.integers(0, trials + 1)], p=[0.1, 0.1, 0.3, 0.5]))


def some_rates(rng):
    name, own = str(rng.choice(PROTOCOLS)), {}
    sizes = {"k": int(logarithmic(rng, 2, 1001)), "epsilon": logarithmic(rng, 0.01, 20)}
    attack = str(rng.choice(["guess", "tight"]))
    if name == "FaultyUE":
        own = {"protocol": str(rng.choice(["SUE", "OUE"]))}
    target = mechanisms.make(name, **sizes, **own)
    tpr, fpr = attacks.make(attack).rates(target)
    loss = target.report_type.loss(target.pair())
    expected = {"tpr": tpr, "fpr": fpr, "epsilon": math.log(tpr / fpr), "loss": loss}
    given = {"mechanism": name, "attack": attack} | sizes | own
    return given, expected, 1e-8 if name == "THE" else CLOSE


def some_bound(rng):
    trials, alpha = int(logarithmic(rng, 1, 1e9)), logarithmic(rng, 1e-6, 0.5)
    convention = str(rng.choice(["valid", "published"]))
    delta = float(rng.choice([0.0, 0.01, 1e-6]))
    tp, fp, tail = count(rng, trials), count(rng, trials), stats.tail_mass(alpha, convention)
    given = {"tp": tp, "fp": fp, "trials": trials, "alpha": alpha, "delta": delta}
    rates = {"tpr": tp, "fpr": fp}
    expected = {name: [*stats.clopper_pearson(rates[name], trials, tail)] for name in rates}
    expected["epsilon"] = stats.epsilon_lower(tp, fp, trials, delta, tail=tail)
    if not delta:
        expected["ceiling"] = stats.epsilon_ceiling(trials, tail=tail)
    return given | {"convention": convention}, expected, CLOSE


def some_choice(rng):
    family = str(rng.choice(list(refine.FAMILIES)))
    k, epsilon = int(logarithmic(rng, 3, 400)), logarithmic(rng, 0.1, 6)
    weights = [*rng.uniform(0, 1, 2), float(rng.choice([0.0, rng.uniform()]))]
    given = {"family": family, "k": k, "epsilon": epsilon, "weights": weights}
    chosen = refine.refine(**given)
    found = refine.scores(chosen)
    expected = {"parameter": getattr(chosen, refine.FAMILIES[family].parameter)}
    return given, expected | {key: found[key] for key in ("asr", "mse", "epg")}, CLOSE


def some_shuffle(rng):
    given = {"clients": int(logarithmic(rng, 5, 20_000)), "epsilon": logarithmic(rng, 0.1, 6)}
    given["delta"] = logarithmic(rng, 1e-8, 0.01)
    exact = {name: value for name, (value, _) in shuffle._exact(**given).items()}
    enough = given["clients"] >= shuffle.least_clients(given["epsilon"], given["delta"])
    return given, exact | {"closed": shuffle.closed_bound(**given) if enough else None}, CLOSE


def some_rad(rng):
    name, m = str(rng.choice(["GRR", "OUE", "SS"])), int(logarithmic(rng, 2, 500))
    given = {"mechanism": name, "m": m, "epsilon": logarithmic(rng, 0.01, 12)}
    target = rad.PROTOCOLS[name](m, given["epsilon"])
    if name == "SS" or rng.uniform() < 0.5:
        return given, {"rad": rad.rad_uniform(target)}, CLOSE
    prior = rng.dirichlet(np.full(m, 0.5))
    exact = {"GRR": rad_bounds.grr_ex44, "OUE": rad_bounds.oue_ex45}[name](target, prior)
    expected = {"rad": exact, "total": rad_bounds.tv_dp(given["epsilon"])}
    return given | {"prior": prior.tolist()}, expected, CLOSE


def some_keyvalue(rng):
    name = str(rng.choice(["PCKV-UE", "PCKV-GRR"]))
    auditor = str(rng.choice(["hkv", "vkv"])) if name == "PCKV-UE" else "hkv"
    own = {"epsilon": logarithmic(rng, 0.05, 8), "k": int(rng.integers(3, 7))}
    own |= {"share": float(rng.choice([0.5, 1.0])), "ownership": float(rng.uniform(0, 1))}
    audit = KVAudit.of(mechanism=name, attack=auditor, **own)
    return {"mechanism": name, "auditor": auditor} | own, {"limit": audit.limits[-1]}, CLOSE


@pytest.mark.parametrize("function, make, settings", [
    ("rates", some_rates, 1000), ("bound", some_bound, 700), ("refine", some_choice, 150),
    ("shuffle", some_shuffle, 60), ("rad", some_rad, 200), ("keyvalue", some_keyvalue, 100),
])  # fmt: skip
def test_the_browser_computes_what_the_package_computes(page, function, make, settings):
    """2,210 settings; relative differences, absolute ones of logarithms below 1."""
    rng = np.random.default_rng(1)
    cases = [make(rng) for _ in range(settings)]
    page.add_script_tag(path=LAWS)
    asked = [given for given, *_ in cases]
    found = page.evaluate(f"all => all.map(given => ldpkit.{function}(given))", asked)
    wrong = []
    for (given, expected, close), got in zip(cases, found):
        for name, value in expected.items():
            least = 1.0 if name in ("epsilon", "loss", "limit", "tight", "upper") else 1e-300
            for a, b in zip(np.atleast_1d(got[name]), np.atleast_1d(value)):
                if a == b:  # which None and infinity are, too
                    continue
                if None in (a, b) or not abs(a - b) <= close * max(abs(b), least):
                    wrong.append((given, name, got[name], value))
    assert wrong == []


def test_bets_in_the_browser_are_those_of_the_package(page):
    """The same pairs give the same wealth against every claim, and the bound follows from it."""
    page.add_script_tag(path=LAWS)
    rng, claims = np.random.default_rng(1), [0.25, 0.5, 1.0, 1.5, 3.0]
    for first, second in ((0.6, 0.1), (0.3, 0.3), (0.05, 0.001)):
        pairs = np.column_stack([rng.random(3000) < first, rng.random(3000) < second])
        found = page.evaluate(
            """([claims, pairs]) => {
                const bets = new ldpkit.laws.Bets(claims, 0.01);
                for (const [a, b] of pairs) { bets.add(a, b); bets.look(); }
                return {logs: claims.map((_, i) => bets.log(i)), peaks: bets.peaks, lower: bets.lower};
            }""",
            [claims, pairs.astype(int).tolist()],
        )
        peaks = []
        for i, claim in enumerate(claims):
            gains = np.log(betting.linear(betting.STAKES, claim))[:, pairs @ [2, 1]]
            wealth = logsumexp(np.cumsum(gains, axis=1), axis=0) - math.log(len(betting.STAKES))
            peaks.append(max(0.0, wealth.max()))
            assert found["logs"][i] == pytest.approx(wealth[-1], abs=1e-9)
            assert found["peaks"][i] == pytest.approx(peaks[-1], abs=1e-9)
        refuted = np.cumprod(np.array(peaks) >= math.log(100)).astype(bool)
        assert found["lower"] == max([0, *np.array(claims)[refuted]])


@pytest.mark.parametrize("call, said", [
    ("rates({mechanism: 'XYZ', k: 5, epsilon: 1})", "mechanism must be one of"),
    ("rates({mechanism: 'GRR', k: 5.5, epsilon: 1})", "k must be a whole number in [2, 2147483647], got 5.5"),
    ("rates({mechanism: 'GRR', k: 5, epsilon: 'x'})", "epsilon must be a number in [0.000001, 30], got x"),
    ("rates({mechanism: 'GRR', k: 5, eps: 1})", "parameter must be one of"),
    ("bound({tp: 11, fp: 0, trials: 10})", "tp must be a whole number in [0, 10], got 11"),
    ("refine({family: 'ss', k: 2, epsilon: 1})", "k must be a whole number in [3, "),
    ("refine({family: 'ue', k: 5, epsilon: 1, weights: [0, 0, 0]})", "weights must not all be zero"),
    ("shuffle({clients: 0, epsilon: 1})", "clients must be"),
    ("rad({mechanism: 'GRR', m: 3, epsilon: 1, prior: [0.5, 0.5]})", "prior must hold 3"),
    ("keyvalue({mechanism: 'PCKV-GRR', epsilon: 1, auditor: 'vkv'})", "auditor must be one of hkv, got vkv"),
])  # fmt: skip
def test_bad_input_is_named(page, call, said):
    page.add_script_tag(path=LAWS)
    tried = f"try {{ ldpkit.{call}; return ''; }} catch (e) {{ return e.message; }}"
    assert said in page.evaluate(f"() => {{ {tried} }}")
