"""``ldpkit refine``: its table, its JSON, its exit statuses, and one line for every bad input.

Every call runs inside this process. Numbers are compared with `ldpkit.optimize`.
"""

import itertools
import json
import math

import pytest

from ldpkit import optimize
from ldpkit.attacks import MaximalGain
from ldpkit.optimize import FAMILIES, STRATEGIES

KEYS = "family k epsilon strategy weights mechanism parameter asr mse epg classical".split()


def finite(x):
    return x if math.isfinite(x) else None


def compare(printed, chosen, family, law="exact", attack=None):
    """Check the numbers of a JSON object against Python's."""
    kind = FAMILIES[family]
    assert list(printed) == [kind.parameter if key == "parameter" else key for key in KEYS]
    rows = [
        {key: printed[key] for key in ("mechanism", kind.parameter, "asr", "mse", "epg")},
        *printed["classical"],
    ]
    for row, m in zip(
        rows, [chosen, *(c(chosen.k, chosen.epsilon) for c in kind.classical)], strict=True
    ):
        own = optimize.scores(m, law, attack)
        assert row == {"mechanism": m.name, kind.parameter: getattr(m, kind.parameter, None)} | {
            key: finite(value) for key, value in own.items()
        }


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_json_holds_what_python_chooses(call, family, strategy):
    for text, options in (
        ("", {}),
        (" --w-asr 0.2 --w-mse 0.3 --w-epg 0.5", {"weights": (0.2, 0.3, 0.5)}),
    ):
        status, out, err = call(
            f"refine --family {family} --k 50 --epsilon 3 --strategy {strategy}{text} --json"
        )
        assert (status, err) == (0, "") and out.count("\n") == 1
        printed = json.loads(out)
        compare(printed, optimize.refine(family, 50, 3.0, strategy=strategy, **options), family)
        assert [printed[key] for key in ("family", "k", "epsilon", "strategy")] == [
            family,
            50,
            3.0,
            strategy,
        ]
        assert printed["weights"] == list(options.get("weights", (0.5, 0.5, 0.0)))


@pytest.mark.parametrize("family", FAMILIES)
def test_published_means_the_papers_grid_and_law(call, family):
    printed = json.loads(
        call(f"refine --family {family} --k 1e2 --epsilon 4 --published --json")[1]
    )
    chosen = optimize.refine(family, 100, 4.0, grid="published", law="published")
    compare(printed, chosen, family, "published")
    assert printed[FAMILIES[family].parameter] == pytest.approx(
        {"ss": 7, "ue": 0.81818, "lh": 13, "he": 0.78283}[family], abs=1e-5
    )
    if family == "lh":
        assert printed["classical"][1]["asr"] == pytest.approx(0.2779907502, abs=1e-9)


def test_the_attack_and_the_limit_are_passed_on(call):
    attack = MaximalGain(0.2, 7, 0.3)
    own = "--share 0.2 --targets 7 --frequency 0.3"
    printed = json.loads(call(f"refine --family ue --k 50 --epsilon 2 --w-epg 0.5 {own} --json")[1])
    compare(
        printed,
        optimize.refine("ue", 50, 2, weights=(0.5, 0.5, 0.5), poisoning=attack),
        "ue",
        attack=attack,
    )
    for option in ("--share 0.2", "--targets 7", "--frequency 0.3"):
        assert json.loads(call(f"refine --family ue --k 50 --epsilon 2 {option} --json")[1])[
            "epg"
        ] != pytest.approx(printed["epg"])
    printed = json.loads(
        call(
            "refine --family ss --k 100 --epsilon 4 --strategy epsilon-constraint --limit 0.05"
            " --json"
        )[1]
    )
    assert printed["omega"] == 19
    printed = json.loads(
        call("refine --family lh --k 5 --epsilon 1 --json")[1]
    )  # fewer values than ten: all are targets
    assert printed["epg"] == MaximalGain(targets=5).expected(optimize.refine("lh", 5, 1))


def test_json_has_no_number_for_an_unlimited_gain(call):
    printed = json.loads(call("refine --family he --k 50 --epsilon 2 --json")[1])
    assert [row["mechanism"] for row in printed["classical"]] == ["SHE", "THE"]
    assert printed["classical"][0]["epg"] is None and printed["classical"][0]["theta"] is None
    assert 0.5 < printed["classical"][1]["theta"] < 1 and printed["classical"][1]["epg"] > 0


def test_the_table_has_the_chosen_protocol_above_the_classical_ones(call):
    status, out, err = call("refine --family ss --k 100 --epsilon 4")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "protocol     omega       ASR         MSE         EPG",
        "ASS          7           0.114898    0.106642    0.429197",
        "SS           2           0.263509    0.0558823   0.180233",
        (
            "ASS is refined by strategy weighted; MSE is the variance per user, EPG the gain of"
            " 0.05 fake users on 10 targets."
        ),
    ]
    lines = call("refine --family he --k 100 --epsilon 4 --share 0.1 --targets 3 --strategy elbow")[
        1
    ].splitlines()
    assert lines[2].split() == ["SHE", "-", "0.073877", "0.5", "unlimited"] and lines[3].split()[
        :2
    ] == ["THE", "0.815677"]
    assert "by strategy elbow;" in lines[-1] and lines[-1].endswith(
        "the gain of 0.1 fake users on 3 targets."
    )
    lines = call("refine --family ue --k 5 --epsilon 4")[1].splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["AUE", "SUE", "OUE"] and lines[3].split()[
        1
    ] == "0.5"
    assert lines[-1].endswith("on 5 targets.")


EMPTY = "every hypervolume is 0 and the front's first point was taken."


def test_the_table_says_when_the_hypervolume_has_nothing_to_choose(call):
    for text, empty in (
        ("ue --epsilon 1", True),
        ("lh --epsilon 1", True),
        ("ue --epsilon 4", False),
        ("ue --epsilon 4 --w-epg 1", False),
        ("ue --epsilon 4 --w-epg 1 --targets 50", True),  # every gain is at least 1
        ("ue --epsilon 4 --targets 50", False),
    ):
        out = call(f"refine --k 100 --strategy hypervolume --family {text}")[1]
        assert (EMPTY in out) == empty, text
    for strategy in set(STRATEGIES) - {"hypervolume"}:
        assert EMPTY not in call(f"refine --k 100 --family ue --epsilon 1 --strategy {strategy}")[1]


def test_extreme_budgets_and_domains_are_refined_or_refused_in_one_line(call):
    for family, k, epsilon in itertools.product(
        FAMILIES, (2, 3, 10_000, "1e9"), (1e-6, 1, 12, 22, 30)
    ):
        status, out, err = call(
            f"refine --family {family} --k {k} --epsilon {epsilon} --w-epg 0.1 --strategy elbow"
            " --json"
        )
        if status == 2:
            assert (
                out == ""
                and err.startswith("ldpkit: ")
                and err.count("\n") == 1
                and "Warning" not in err
            )
            assert family in ("ss", "lh"), err
        else:
            assert (status, err) == (0, "")
            printed = json.loads(out)
            assert (
                all(0 < printed[key] < math.inf for key in ("asr", "mse", "epg"))
                and printed["asr"] <= 1
            )


def test_the_help_names_every_option_and_choice(call):
    status, out, _ = call("refine --help")
    assert status == 0
    for option in "family k epsilon w-asr w-mse w-epg strategy limit published share targets frequency json".split():
        assert f"--{option} " in out
    assert all(
        strategy in " ".join(out.split()).replace("epsilon- constraint", "epsilon-constraint")
        for strategy in STRATEGIES
    )
    assert "refine" in call("--help")[1]


GOOD = {"family": "ss", "k": "20", "epsilon": "1"}
BAD = [
    ("--family sss", "family must be one of ss, ue, lh, he, got 'sss'; did you mean 'ss'?"),
    ("--k 1", "k must be an integer in [2, 2147483647], got 1"),
    ("--k 0", "k must be an integer in [2, 2147483647], got 0"),
    ("--k -5", "k must be an integer in [2, 2147483647], got -5"),
    ("--k 2.5", "'--k': '2.5' is not a whole number"),
    ("--k nan", "'--k': 'nan' is not a whole number"),
    ("--k 1e30", "k must be an integer in [2, 2147483647], got 1000000000000000019884624838656"),
    ("--k 2", "k must be at least 3 for family ss (the paper's grid ends at k - 2), got 2"),
    ("--k 1e9", "the grid of omega would run to 999999998, past 2097152"),
    ("--epsilon 0", "epsilon must be a number in [1e-06, 30], got 0.0"),
    ("--epsilon -1", "epsilon must be a number in [1e-06, 30], got -1.0"),
    ("--epsilon nan", "epsilon must be a number in [1e-06, 30], got nan"),
    ("--epsilon inf", "epsilon must be a number in [1e-06, 30], got inf"),
    ("--epsilon 1e6", "epsilon must be a number in [1e-06, 30], got 1000000.0"),
    ("--epsilon 1e-9", "epsilon must be a number in [1e-06, 30], got 1e-09"),
    ("--epsilon one", "'--epsilon': 'one' is not a valid float"),
    ("--family lh --epsilon 20", "the grid of g would run to 485165196, past 2097152"),
    (
        "--strategy utopa",
        (
            "strategy must be one of weighted, utopia, elbow, epsilon-constraint, hypervolume,"
            " chebyshev, got 'utopa'; did you"
        ),
    ),
    ("--strategy Hypervolume", "did you mean 'hypervolume'?"),
    ("--strategy epsilon_constraint", "did you mean 'epsilon-constraint'?"),
    ("--w-asr -1", "weights[0] must be a finite number >= 0, got -1.0"),
    ("--w-mse nan", "weights[1] must be a finite number >= 0, got nan"),
    ("--w-epg inf", "weights[2] must be a finite number >= 0, got inf"),
    ("--w-asr half", "'--w-asr': 'half' is not a valid float"),
    ("--w-asr 0 --w-mse 0", "weights must be 3 numbers >= 0, not all zero, got [0.0, 0.0, 0.0]"),
    ("--limit 2", "limit must be a number in [0, 1], got 2.0"),
    ("--limit nan", "limit must be a number in [0, 1], got nan"),
    ("--share 0", "share must be a number in (0, 1), got 0.0"),
    ("--share 1", "share must be a number in (0, 1), got 1.0"),
    ("--targets 0", "targets must be an integer >= 1, got 0"),
    ("--targets 21", "targets must be an integer in [1, 20], got 21"),
    ("--targets 2.5", "'--targets': '2.5' is not a whole number"),
    ("--frequency 1.5", "frequency must be a number in [0, 1], got 1.5"),
    ("--grid 5", "No such option '--grid'"),
]


@pytest.mark.parametrize("text, message", BAD, ids=[text for text, _ in BAD])
@pytest.mark.filterwarnings("error")
def test_bad_input_gives_status_two_and_one_line(call, text, message):
    given = " ".join(
        f"--{key} {value}" for key, value in GOOD.items() if f"--{key} " not in f"{text} "
    )
    status, out, err = call(f"refine {given} {text}")
    assert (status, out) == (2, "") and err.startswith("ldpkit: ") and err.count("\n") == 1, err
    assert message in err


@pytest.mark.parametrize("missing", GOOD)
def test_a_missing_option_is_named(call, missing):
    given = " ".join(f"--{key} {value}" for key, value in GOOD.items() if key != missing)
    status, out, err = call(f"refine {given}")
    assert (status, out) == (2, "") and err.count("\n") == 1 and f"--{missing}" in err


def test_weights_of_any_size_count_by_their_ratio(call):
    one = call("refine --family ss --k 100 --epsilon 4 --json")[1]
    for weight in ("1e-300", "7", "1.7e308"):
        other = call(
            f"refine --family ss --k 100 --epsilon 4 --w-asr {weight} --w-mse {weight} --json"
        )[1]
        assert json.loads(other) | {"weights": 0} == json.loads(one) | {"weights": 0}
