"""``ldpkit refine``: its table and its JSON, compared with `ldpkit.refine`."""

import itertools
import json
import math

import pytest

from ldpkit import refine
from ldpkit.attacks import MaximalGain
from ldpkit.refine import FAMILIES, STRATEGIES

KEYS = "family k epsilon strategy weights mechanism parameter asr mse epg classical".split()


def compare(printed, chosen, family, law="exact", attack=None):
    """Check the numbers of a JSON object against Python's."""
    kind = FAMILIES[family]
    assert list(printed) == [kind.parameter if key == "parameter" else key for key in KEYS]
    rows = [{key: printed[key] for key in ("mechanism", kind.parameter, "asr", "mse", "epg")}]
    made = [chosen, *(c(chosen.k, chosen.epsilon) for c in kind.classical)]
    for row, m in zip(rows + printed["classical"], made, strict=True):
        own = refine.scores(m, law, attack).items()
        own = {key: x if math.isfinite(x) else None for key, x in own}
        assert row == {"mechanism": m.name, kind.parameter: getattr(m, kind.parameter, None)} | own


def test_json_holds_what_python_chooses(call):
    weighted = " --w-asr 0.2 --w-mse 0.3 --w-epg 0.5"
    ways = itertools.product(FAMILIES, STRATEGIES, (None, (0.2, 0.3, 0.5)))
    for family, strategy, weights in ways:
        text = f"refine --family {family} --k 50 --epsilon 3 --strategy {strategy} --json"
        status, out, err = call(text + (weighted if weights else ""))
        assert (status, err) == (0, "") and out.count("\n") == 1, text
        printed, options = json.loads(out), {"weights": weights} if weights else {}
        compare(printed, refine.refine(family, 50, 3.0, strategy=strategy, **options), family)
        wanted = {"family": family, "k": 50, "epsilon": 3.0, "strategy": strategy}
        assert printed | wanted | {"weights": list(weights or (0.5, 0.5, 0.0))} == printed, text


def test_published_means_the_papers_grid_and_law(call):
    for family, wanted in {"ss": 7, "ue": 0.81818, "lh": 13, "he": 0.78283}.items():
        text = f"refine --family {family} --k 1e2 --epsilon 4 --published --json"
        printed = json.loads(call(text)[1])
        chosen = refine.refine(family, 100, 4.0, grid="published", asr="published")
        compare(printed, chosen, family, "published")
        assert printed[FAMILIES[family].parameter] == pytest.approx(wanted, abs=1e-5)
        if family == "lh":
            assert printed["classical"][1]["asr"] == pytest.approx(0.2779907502, abs=1e-9)


def test_the_attack_and_the_limit_are_passed_on(call):
    def refined(text):
        return json.loads(call(f"refine --json --family {text}")[1])

    attack, ue = MaximalGain(0.2, 7, 0.3), "ue --k 50 --epsilon 2"
    printed = refined(f"{ue} --w-epg 0.5 --share 0.2 --targets 7 --frequency 0.3")
    chosen = refine.refine("ue", 50, 2, weights=(0.5, 0.5, 0.5), poisoning=attack)
    compare(printed, chosen, "ue", attack=attack)
    for option in ("--share 0.2", "--targets 7", "--frequency 0.3"):
        assert refined(f"{ue} {option}")["epg"] != pytest.approx(printed["epg"]), option
    limited = refined("ss --k 100 --epsilon 4 --strategy epsilon-constraint --limit 0.05")
    assert limited["omega"] == 19
    few = refined("lh --k 5 --epsilon 1")  # fewer values than ten: all are targets
    assert few["epg"] == MaximalGain(targets=5).expected(refine.refine("lh", 5, 1))
    rows = refined("he --k 50 --epsilon 2")["classical"]  # no number for an unlimited gain
    assert [row["mechanism"] for row in rows] == ["SHE", "THE"]
    assert rows[0]["epg"] is None and rows[0]["theta"] is None
    assert 0.5 < rows[1]["theta"] < 1 and rows[1]["epg"] > 0


def test_the_table_has_the_chosen_protocol_above_the_classical_ones(call):
    status, out, err = call("refine --family ss --k 100 --epsilon 4")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "protocol     omega       ASR         MSE         EPG",
        "ASS          7           0.114898    0.106642    0.429197",
        "SS           2           0.263509    0.0558823   0.180233",
        "ASS is refined by strategy weighted; MSE is the variance per user, EPG the gain of"
        " 0.05 fake users on 10 targets.",
    ]
    given = "--family he --k 100 --epsilon 4 --share 0.1 --targets 3 --strategy elbow"
    lines = call(f"refine {given}")[1].splitlines()
    assert lines[2].split() == ["SHE", "-", "0.073877", "0.5", "unlimited"]
    assert lines[3].split()[:2] == ["THE", "0.815677"] and "by strategy elbow;" in lines[-1]
    assert lines[-1].endswith("the gain of 0.1 fake users on 3 targets.")
    lines = call("refine --family ue --k 5 --epsilon 4")[1].splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["AUE", "SUE", "OUE"]
    assert lines[3].split()[1] == "0.5" and lines[-1].endswith("on 5 targets.")


EMPTY = "every hypervolume is 0 and the front's first point was taken."


def test_the_table_says_when_the_hypervolume_has_nothing_to_choose(call):
    for text, empty in (
        ("ue --epsilon 1", True), ("lh --epsilon 1", True), ("ue --epsilon 4", False),
        ("ue --epsilon 4 --w-epg 1", False), ("ue --epsilon 4 --targets 50", False),
        ("ue --epsilon 4 --w-epg 1 --targets 50", True),  # every gain is at least 1
    ):  # fmt: skip
        out = call(f"refine --k 100 --strategy hypervolume --family {text}")[1]
        assert (EMPTY in out) == empty, text
    for strategy in set(STRATEGIES) - {"hypervolume"}:
        assert EMPTY not in call(f"refine --k 100 --family ue --epsilon 1 --strategy {strategy}")[1]
