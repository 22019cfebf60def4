"""What explorers say at several settings, beside the real code; where the page says that a reader can recompute with it.

`test_laws.py` compares the formulas themselves, `tests/book/test_explore.py` a sample of the stored grids.
"""

import functools
import math
import re

import numpy as np
import pytest

from browser.steps import drawn, opened, said
from ldpbook.engine import parts
from ldpkit import attacks, mechanisms, refine, stats
from ldpkit.auditors import KVAudit, expected, rad, rad_bounds, shuffle
from ldpkit.auditors.kv import AUDITORS

K = 100  # values of the protocols in the plane of rates


def digits(*numbers):
    """Numbers with the three digits that explorers show."""
    return [float(f"{x:.3g}") for x in numbers]


def read(words, *patterns):
    """The numbers behind patterns of what an explorer says, each up to its end."""
    found = [re.search(pattern + r" ?([\d.,]+\d|\d)", words) for pattern in patterns]
    assert all(found), (words, patterns)
    return [float(one[1].replace(",", "")) for one in found]


def audit(words, start, epsilon, trials, confidence=0.99, delta=0.0):
    """The bound at the protocol's own rates and, if it refutes, the least number of reports."""
    protocol, attack = start.split("/")
    own = {"protocol": "SUE"} if protocol == "FaultyUE" else {}
    rates = attacks.make(attack).rates(mechanisms.make(protocol, k=K, epsilon=epsilon, **own))

    def bound(n):
        tail = stats.tail_mass(round(1 - confidence, 9), "valid")
        return stats.epsilon_lower(*(round(rate * n) for rate in rates), n, delta, tail=tail)

    assert read(words, r"prove ε >") == [
        math.floor(100 * bound(trials)) / 100
    ]  # a proven bound is rounded down
    assert ("Claim refuted" in words) == (bound(trials) > epsilon)
    if "Claim refuted" in words:
        [least] = map(int, read(words, r"confidence\)\."))
        assert bound(int(1.01 * least)) > epsilon >= bound(int(0.9 * least))


def promise(words, protocol, k, epsilon, attack):
    """What the question can show at most; the wealth of bets is compared in `test_laws.py`."""
    target = mechanisms.make(protocol, k=k, epsilon=epsilon)
    tpr, fpr = attacks.make(attack).rates(target)
    assert read(words, "shows at most") == [float(f"{math.log(tpr / fpr):.2f}")]


def reconstruction(words, epsilon, m, skew):
    prior = np.arange(1.0, m + 1) ** -skew
    prior /= prior.sum()
    names = ("GRR", "OUE") if skew else ("GRR", "SS", "OUE")
    targets = {name: rad.PROTOCOLS[name](m, epsilon) for name in names}
    exact = {"GRR": rad_bounds.grr_ex44, "OUE": rad_bounds.oue_ex45}
    values = [exact[n](t, prior) if skew else rad.rad_uniform(t) for n, t in targets.items()]
    most = rad_bounds.rad_thm42(rad_bounds.tv_dp(epsilon), prior @ prior) if skew else max(values)
    found = read(words, *names, "allows more than", "Before the report:")
    assert found == digits(*(100 * x for x in (*values, most, prior[0])))


def rounds(words, protocol, attack, tau, epsilon, k):
    def proves(n, name=protocol, **more):
        target = mechanisms.make(name, k=k, epsilon=epsilon, tau=n, **more)
        return expected(target, attack, trials=10**6)[0]

    chain = {"SUE": "L-SUE", "GRR": "L-GRR"}[protocol]
    found = read(words, "proves about", "no more than one:", rf"noise \({chain}\):")
    assert found == digits(proves(tau), proves(1), proves(tau, chain, first=epsilon / 2))


def shuffled(words, clients, epsilon, delta):
    delta = float(delta)  # as the address spells it
    laws = (shuffle.blanket_delta, shuffle.pair_delta)
    upper, tight = (
        shuffle.solve(functools.partial(law, clients, epsilon), delta, epsilon) for law in laws
    )
    assert read(words, "keeps ε ≤", "at least") == digits(upper, tight)
    if clients >= shuffle.least_clients(epsilon, delta):
        closed = shuffle.closed_bound(clients, epsilon, delta)
        assert read(words, "closed form allows") == digits(closed)
    else:
        assert "needs more clients" in words


def keyvalue(words, mechanism, epsilon, ownership, round):
    own = {"k": 4, "share": 0.5} if mechanism.startswith("PCKV") else {"k": 1}
    seen = {}
    for name in AUDITORS:
        try:
            made = KVAudit.of(
                mechanism=mechanism, attack=name, epsilon=epsilon, ownership=ownership, **own
            )
        except ValueError:  # this auditor does not read such reports
            continue
        seen[name] = made.limits[min(round, len(made.limits)) - 1]
    assert read(words, rf"of {mechanism}:") == digits(max(seen.values()))


def utility(words, success, gain, k, epsilon, users):
    weights = [success * (1 - gain), (1 - success) * (1 - gain) / users, gain]
    chosen = {
        family: refine.refine(family, k, epsilon, weights=weights) for family in refine.FAMILIES
    }
    scores = {family: refine.scores(made) for family, made in chosen.items()}
    best = min(scores, key=lambda f: np.dot(weights, [scores[f][s] for s in ("asr", "mse", "epg")]))
    parameter = getattr(chosen[best], refine.FAMILIES[best].parameter)
    rivals = [mechanisms.make(n, k=k, epsilon=epsilon) for n in ("SS", "SUE", "OUE", "BLH", "OLH")]
    rival = min(rivals, key=lambda made: float(made.variance(1)))
    assert words.startswith(chosen[best].name)
    found = read(words, "with . =", "attackers name", "the variance is", f"{rival.name}:", "% and")
    own = [100 * scores[best]["asr"], scores[best]["mse"] / users]
    other = [100 * refine.success(rival), float(rival.variance(1)) / users]
    assert found == [float(f"{parameter:.4g}"), *digits(*own, *other)]


CASES = {
    "audit": (audit, [
        {"start": "SUE/tight", "epsilon": 1, "trials": 1000},
        {"start": "OUE/guess", "epsilon": 2, "trials": 50000, "confidence": 0.9},
        {"start": "GRR/tight", "epsilon": 3, "trials": 200000, "delta": 0.001},
        {"start": "FaultyUE/tight", "epsilon": 1, "trials": 100000},
        {"start": "FaultyUE/tight", "epsilon": 4, "trials": 1000000, "confidence": 0.999},
    ]),
    "promise": (promise, [
        {"protocol": "SUE", "k": 8, "epsilon": 1, "attack": "tight"},
        {"protocol": "OLH", "k": 20, "epsilon": 2.5, "attack": "guess"},
        {"protocol": "SS", "k": 13, "epsilon": 0.7, "attack": "guess"},
    ]),
    "reconstruction": (reconstruction, [
        {"epsilon": 2, "m": 20, "skew": 0},
        {"epsilon": 0.5, "m": 300, "skew": 0},
        {"epsilon": 4.2, "m": 7, "skew": 1.3},
        {"epsilon": 1, "m": 100, "skew": 0.4},
    ]),
    "rounds": (rounds, [
        {"protocol": "SUE", "attack": "guess", "tau": 10, "epsilon": 1, "k": 100},
        {"protocol": "GRR", "attack": "tight", "tau": 50, "epsilon": 0.5, "k": 10},
        {"protocol": "SUE", "attack": "tight", "tau": 3, "epsilon": 4, "k": 10},
    ]),
    "shuffle": (shuffled, [
        {"clients": 1000, "epsilon": 2, "delta": "0.000001"},
        {"clients": 5000, "epsilon": 1, "delta": "0.0001"},
        {"clients": 200, "epsilon": 4, "delta": "1e-8"},
    ]),
    "keyvalue": (keyvalue, [
        {"mechanism": "PCKV-UE", "epsilon": 1, "ownership": 0.5, "round": 1},
        {"mechanism": "PCKV-GRR", "epsilon": 4, "ownership": 1, "round": 1},
        {"mechanism": "CPP-UE", "epsilon": 2, "ownership": 0.75, "round": 3},
        {"mechanism": "CPP-UE", "epsilon": 8, "ownership": 0.25, "round": 1},
    ]),
    "utility": (utility, [
        {"success": 0.5, "gain": 0, "k": 100, "epsilon": 4, "users": 1},
        {"success": 0.9, "gain": 0.2, "k": 25, "epsilon": 2, "users": 100},
        {"success": 0.2, "gain": 0, "k": 1000, "epsilon": 7.5, "users": 1},
        {"success": 1, "gain": 0, "k": 10, "epsilon": 1, "users": 1},
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_explorer_says_what_the_package_computes(page, site, name):
    compare, cases = CASES[name]
    runs = {row["page"] for row in parts.pages() if row["runs"]}
    for case in cases:
        page.goto("about:blank")
        given = "&".join(f"{key}={value}" for key, value in case.items())
        opened(page, f"{site}/book/explore/{name}.html#{name}:{given}")
        assert page.locator(".ex-problem").is_hidden(), page.locator(".ex-problem").inner_text()
        if name == "promise":
            page.get_by_role("button", name="One pair").click()  # a first result names no limit
            drawn(page)
        compare(said(page).replace("\N{MINUS SIGN}", "-"), **case)
    sentence = page.locator("p", has_text="recomputes with the real code")
    target = sentence.get_by_role("link").get_attribute("href")
    assert re.search(r"\.\./(.*)\.html", target)[1] in runs
    assert page.errors == []
