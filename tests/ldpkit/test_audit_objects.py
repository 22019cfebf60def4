"""Audits are frozen objects: made, they are checked; run with a seed, they draw; grids are doors to
them."""

import dataclasses
import math

import pytest

from ldpkit import api
from ldpkit.auditors import AUDITS, Audit, DistributionAudit, GradientAudit, ShuffleAudit
from ldpkit.auditors.base import ALPHA
from ldpkit.blackbox import curve
from ldpkit.blackbox.page import page
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.cli import commands
from ldpkit.cli.frame import options
from ldpkit.mechanisms import GRR
from ldpkit.rng import derive

WORDS = {
    "audit": {"mechanism": "OUE", "k": 9, "epsilon": 1.0, "attack": ["guess", "tight"], "trials": 100},
    "kv": {"mechanism": "CPP-UE", "k": 1, "epsilon": 1.0, "attack": "skv", "trials": 500},
    "rad": {"mechanism": "SS", "k": 7, "epsilon": 1.0, "trials": 100},
    "gradient": {"adversary": "dummy", "epsilon": 1.0, "dimension": 8, "attack": "lune", "trials": 50},
    "shuffle": {"epsilon": 1.0, "clients": 500, "trials": 50},
}  # fmt: skip


def test_all_audits_say_the_same_words():
    assert set(WORDS) == set(AUDITS)
    for cls in (*AUDITS.values(), DistributionAudit):
        fields = {f.name: f for f in dataclasses.fields(cls)}
        assert {"attack", "trials"} <= set(fields) and fields["alpha"].default == ALPHA == 0.01
        assert not set(fields) & {"users", "reports", "auditor", "rule"}


@pytest.mark.parametrize("name", AUDITS)
def test_making_an_audit_draws_nothing_and_it_stays_as_it_is_made(name, monkeypatch):
    monkeypatch.setattr("ldpkit.rng.sequence", None)  # no stream can be made
    made = AUDITS[name].of(**WORDS[name])
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.trials = 3
    more = dataclasses.replace(made, trials=made.trials + 1)
    assert (more.trials, made.trials) == (made.trials + 1, more.trials - 1)
    with pytest.raises(ValueError, match="trials must be an integer"):
        dataclasses.replace(made, trials=0)


@pytest.mark.parametrize("name", AUDITS)
def test_a_cell_is_its_audit_run_with_seeds_of_its_own(name):
    made, rows = AUDITS[name].of(**WORDS[name]), AUDITS[name].cell(**WORDS[name], runs=2, seed=5)
    given = {"trials": made.trials}  # those of one input, also where a paper counts all
    found = [result.plain() | given for run in (0, 1) for result in made.run(derive(5, "run", run))]
    assert [{key: row[key] for key in one} for one, row in zip(found, rows, strict=True)] == found
    assert [row["run"] for row in rows] == [0] * (len(rows) // 2) + [1] * (len(rows) // 2)


def test_the_json_says_reports_per_input_beside_the_trials_of_the_papers():
    for name, total, each in (("rad", 700, 100), ("gradient", 100, 50), ("shuffle", 100, 50)):
        result = AUDITS[name].of(**WORDS[name]).run(1)[0]
        row = result.row()
        assert (row["trials"], row["per_input"]) == (result.total, result.trials) == (total, each)
    assert "per_input" not in Audit(GRR(5, 1.0), trials=10).run(1)[0].row()


@pytest.mark.parametrize("name", AUDITS)
def test_a_page_leaves_out_what_is_not_known(name):
    result = AUDITS[name].of(**WORDS[name]).run(1)[0]
    unknown = dataclasses.replace(result, epsilon_emp=-math.inf, exact=None, words={})
    for shown in (page(unknown), unknown._repr_html_()):
        assert "nan" not in shown and "as the paper computes it" not in shown
    svg = page(unknown).partition("<svg")[2].partition("</svg>")[0]
    assert f"lower bound {result.lower:.3g}" in svg and "epsilon_emp" not in svg
    assert f"claim {result.claim:.3g}" in page(result) and "deviations" not in svg
    for name, text in result.lines().items():
        assert name in result._repr_html_() and text


def test_options_are_the_parameters_of_the_audits():
    fields = ("attack", "trials", "alpha", "faithful")
    sources = {
        "audit-gradient": options(GradientAudit.of) | options(GradientAudit, *fields),
        "audit-shuffle": options(ShuffleAudit, "epsilon", "clients", "delta", *fields[1:]),
    }
    for command, wanted in sources.items():
        shown = {option.name: option for option in commands().commands[command].params}
        shown |= {"attack": shown.pop("rule")} if "rule" in shown else {}
        assert set(shown) - {"as_strict", "as_json", "seed"} == set(wanted)
        for name, parameter in wanted.items():
            option = shown[name]
            assert option.required == (parameter.default is parameter.empty) and option.help
            if not option.required and parameter.default is not None:
                assert option.default == parameter.default


def test_an_editor_can_complete_every_option_of_an_audit():
    fields = {f.name for cls in (Audit, SequentialAudit) for f in dataclasses.fields(cls) if f.init}
    claims = set(curve.PARAMETERS) | {"epsilon", "delta"}
    assert api.Options.__annotations__.keys() == (fields - {"mechanism", "attack"}) | claims
