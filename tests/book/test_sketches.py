"""Pages of the papers' sketches: what is drawn and listed there is computed, and equals the module's own numbers."""

import itertools
import json
import subprocess
from pathlib import Path

import games
import kv_drawings
import numpy as np
import pandas as pd
import playwright
import pytest
import sgd_pages
import symbols
from pytest import approx

from ldpbook import plots
from ldpbook.paths import ROOT
from ldpkit import audit
from ldpkit.attacks.gradient import RULES, dummy
from ldpkit.auditors import KVAudit
from ldpkit.mechanisms import CPPUE, GRR, LDPSGD, OUE, PCKVUE, RSFD, SS, FaultyUE, Repeated


def test_the_test_of_figure_1_errs_as_often_as_the_exact_rule():
    """Six standard errors of 20,000 trials: false alarm below 1e-8."""
    client, pair, trials = LDPSGD(10, 2.0), dummy(10), 20_000
    played = sgd_pages.game(client, pair, trials, 1)
    assert (played["truth"] == "first").sum() == trials / 2
    rate = RULES["cosine"].rates(client, pair)[0]
    wrong = (played["guess"] != played["truth"]).mean()
    assert abs(wrong - rate) < 6 * (rate * (1 - rate) / trials) ** 0.5
    assert ((played["along"] > 0) == (played["guess"] == "first")).all()


@pytest.mark.parametrize("make", [lambda e: GRR(4, e), lambda e: SS(5, e), lambda e: OUE(3, e)])
def test_theorem_1_of_ldp_sgd_holds_for_every_test_and_one_reaches_it(make):
    for epsilon in (0.3, 2.0):
        tests, smallest, broken = sgd_pages.every_test(make(epsilon), epsilon)
        assert tests > 10 and smallest == approx(1, abs=1e-12) and broken > 0
        assert (
            sgd_pages.every_test(make(epsilon), epsilon / 0.9)[2] == 0
        )  # all obey a larger budget, and their own
        assert sgd_pages.every_test(make(epsilon), 0.9 * epsilon)[1] < 1 - 1e-3


def test_adversaries_of_table_2_rise_to_the_budget():
    found = sgd_pages.table2(2.0, 1, pairs=50)
    exact = found["exact"].to_numpy()
    assert np.all(np.diff(exact[:4]) > 0.05) and exact[3:] == approx([2, 2], abs=1e-9)
    assert exact == approx(sgd_pages.table2(2.0, 1, pairs=50)["exact"].to_numpy())


def test_reports_of_figure_2_choose_their_half_as_often_as_stated():
    """20,000 reports per panel, six standard errors: false alarm below 1e-8 each."""
    for length in (0.5, 1.0):
        found = sgd_pages.directions([0.5, 4.0], 20_000, length, 1)
        assert np.linalg.norm(found[["x", "y", "z"]].fillna(0), axis=1) == approx(1, abs=1e-9)
        for (_, epsilon), own in found.groupby(["d", "epsilon"]):
            share = 0.5 + length * np.tanh(epsilon / 2) / 2
            assert abs((own["side"] > 0).mean() - share) < 6 * (share * (1 - share) / 20_000) ** 0.5
            within = own.loc[own["side"] > 0, "y"]  # uniform in its half: no side of the other axis
            assert abs((within > 0).mean() - 0.5) < 3 / len(within) ** 0.5


def test_related_work_has_the_rows_of_the_paper():
    found = sgd_pages.related()
    assert found["setting"].value_counts().to_dict() == {
        "central": 5,
        "federated": 2,
        "federated, local and shuffled": 1,
    }


def test_symbols_of_table_1_are_nineteen_and_each_name_exists():
    client = GRR(25, 2.0)
    result = audit(client, trials=1000, seed=1)
    found = symbols.table(client, result, Repeated(client, 5), RSFD(25, 2, 2.0)).set_index("symbol")
    code = "".join(path.read_text() for path in (ROOT / "ldpkit").rglob("*.py"))
    assert len(found) == 19 and found["meaning"].str.endswith(".").all()
    assert [
        name for name in found["in code"] if name.partition("[")[0].partition("(")[0] not in code
    ] == []
    assert found.loc["ε", "in this audit"] == "2" and found.loc["k", "in this audit"] == 25
    assert float(found.loc["ε_emp", "in this audit"]) == approx(result.epsilon_emp, abs=5e-4)
    assert found.loc[["ε_emp", "T", "τ"], "pages"].min() >= 2  # many pages use them


def test_bounds_of_figure_1_lie_below_the_truth():
    """A bound is wrong with probability 0.001, and a claim is marked as refuted only if a bound exceeds it."""
    rows = []
    for client in (GRR(10, 1.0), FaultyUE(10, 1.0, "OUE")):
        result = audit(client, "tight", trials=10**6, alpha=0.001, seed=1)
        rows.append((client.name, result.lower, client.report_type.loss((0, 1)), result.claim))
    cases = pd.DataFrame(rows, columns=["client", "bound", "truth", "claim"])
    assert (cases["bound"] < cases["truth"]).all() and (
        cases["truth"] - cases["bound"] < 0.05
    ).all()
    figure = kv_drawings.draw_axis(cases, ["because"])
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == ["", "refuted", "because"] and len(plots.data(figure)) == 6
    assert figure.axes[0].texts[-1].xy == (cases["bound"][0], 0)


def test_steps_of_figure_2_are_those_of_real_clients():
    """A million users: the means that the server sends are within 0.01 of their expectation, ten deviations."""
    rows, means, expected = kv_drawings.journeys(4.0, 0.6, -0.8, 10**6, 1)
    assert [title for title, _ in rows] == [
        "PCKV-UE",
        "PCKV-GRR",
        "CPP-UE, round 1",
        "CPP-UE, round 2",
    ]
    assert np.abs(means - expected).max() < 0.05 and 0.5 < expected[0, 1] < 0.6
    law = CPPUE(1, 4.0, 4, 2).distribution([(0, 0.6)]) + CPPUE(1, 4.0, 4, 2).distribution([])
    assert expected == approx(
        CPPUE(1, 4.0, 4, 2).broadcast(*CPPUE(1, 4.0, 4, 2).tally_counts(law / 2))
    )
    for title, boxes in rows[:2]:
        shown = dict(boxes)
        assert shown["sampled pair"] in shown["set of pairs"]
        assert shown["its sign"].partition(",")[0] == shown["sampled pair"].partition(",")[0], title
    assert (
        kv_drawings.journeys(4.0, 0.6, -0.8, 10**4, 1)[0]
        == kv_drawings.journeys(4.0, 0.6, -0.8, 10**4, 1)[0]
    )


def test_outputs_of_figure_3_are_those_of_the_audit():
    client = PCKVUE(2, 4.0, share=0.5)
    found = kv_drawings.compared(client, 10**6, 1)
    assert len(found) == 3**client.d and found["exact_ratio"].is_monotonic_decreasing
    assert found[["exact1", "exact2", "share1", "share2"]].sum().to_numpy() == approx(np.ones(4))
    assert found["exact_ratio"].max() == approx(
        KVAudit(client, trials=100).run()[0].limit, abs=1e-12
    )
    noise = (
        found["exact1"] * (1 - found["exact1"]) / 10**6
    ) ** 0.5  # 81 outputs in two groups: false alarm below 1e-6
    assert ((found["share1"] - found["exact1"]).abs() < 6 * noise).all()


def test_pairs_of_figure_5_are_sums_over_records():
    """Distributions of pairs by a loop over all records; two groups mirror each other in CPP-UE."""
    clients = {"PCKV-UE": PCKVUE(3, 4.0), "CPP-UE": CPPUE(1, 4.0, 4, 1)}
    found = kv_drawings.pair_tables(clients, 0.5, 10**6, 1).set_index(["client", "pair"])
    for name, client in clients.items():
        base, length = (3, client.d) if name == "PCKV-UE" else (2, 4)
        ends, unset = ((0, 1), 1) if name == "PCKV-UE" else ((0, 3), 0)
        for group, law in enumerate(kv_drawings.groups(client, 0.5), 1):
            sums = dict.fromkeys(("00", "01", "10", "11"), 0.0)
            for chance, record in zip(
                law, itertools.product(range(base), repeat=length), strict=True
            ):
                sums["".join("0" if record[at] == unset else "1" for at in ends)] += chance
            assert found.loc[name][f"exact{group}"].to_dict() == approx(sums, abs=1e-12)
            shares = found.loc[name][f"share{group}"]
            assert (shares - found.loc[name][f"exact{group}"]).abs().max() < 6 * 0.5 / 1000
    mirrored = found.loc["CPP-UE"]
    assert mirrored["exact1"][["01", "10"]].to_list() == approx(
        mirrored["exact2"][["10", "01"]].to_list()
    )


def test_odds_of_the_privacy_game_are_those_of_all_reports():
    """The best answer to each report of GRR, and an integral over the noisy count."""
    for k, epsilon in ((2, 0.5), (4, 1.0), (50, 3.0)):
        client, found = GRR(k, epsilon), games.odds(GRR(k, epsilon))
        best = sum(max(client.p if y == v else client.q for v in (0, 1)) for y in range(k)) / 2
        x = np.linspace(-60 / epsilon, 60 / epsilon, 400_001)
        density = [epsilon / 2 * np.exp(-epsilon * np.abs(x - i)) for i in (0, 1)]
        assert found["local"] == approx(best, abs=1e-9)
        assert found["central"] == approx(np.trapezoid(np.maximum(*density), x) / 2, abs=1e-4)
        assert found["most"] == approx(np.exp(epsilon) / (1 + np.exp(epsilon)), abs=1e-12)
        assert max(found.values()) == found["most"] and (
            k > 2 or found["local"] == approx(found["most"])
        )


def test_the_script_of_the_game_has_the_same_odds_and_its_reports_reach_them():
    """20,000 rounds of each game with the script's own draws, six standard errors: false alarm below 1e-8."""
    script = f"""
    globalThis.document = {{ querySelectorAll: () => [] }};
    globalThis.ldpkit = {{ base: {{}} }};
    require({json.dumps(str(ROOT / "book" / "_static" / "game.js"))});
    let state = 1; // a stream of its own, so that the test always draws the same numbers
    const next = () => (state = (state * 48271) % 2147483647) / 2147483647, found = {{}};
    for (const [name, game] of Object.entries(ldpkit.games)) {{
      let right = 0;
      for (let i = 0; i < 20000; i++) {{
        const first = next() < 0.5;
        right += +(game.best(game.draw(first, 1, next).seen, next) === first);
      }}
      found[name] = [game.odds(1), right / 20000];
    }}
    console.log(JSON.stringify(found));"""
    node = Path(playwright.__file__).with_name("driver") / "node"
    answer = json.loads(
        subprocess.run([node, "-e", script], capture_output=True, text=True, check=True).stdout
    )
    for name, (stated, share) in answer.items():
        wanted = games.odds(GRR(4, 1.0))[name]
        assert stated == approx(wanted, abs=1e-6)
        assert abs(share - wanted) < 6 * (wanted * (1 - wanted) / 20_000) ** 0.5
