"""The worked examples of CONTRIBUTING.md, executed as they stand and audited with: 12 counts, each
fails correct code with probability 1e-6 at most."""

import json
import math
import re
from pathlib import Path

import pytest
import scipy

from ldpbook import execute, parameters
from ldpkit import Client, audit, auditors
from ldpkit.attacks import Attack
from ldpkit.auditors import AuditResult, RADAudit
from ldpkit.mechanisms import GRR, OUE, SS, Repeated
from ldpkit.testing import check_mechanism

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
MECHANISM, ATTACK, AUDITOR, PAGE = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.M | re.S)


@pytest.fixture(scope="module")
def example():
    """Every class of the examples, each made by the lines of its own block alone."""
    found = {}
    for lines in (MECHANISM, ATTACK, AUDITOR):
        names = {"__name__": "example"}
        exec(compile(lines, "CONTRIBUTING.md", "exec"), names)
        found |= names
    return found


def unlikely(count, trials, rate):
    """Whether a count contradicts a rate."""
    below, above = scipy.stats.binom.cdf, scipy.stats.binom.sf
    return min(below(count, trials, rate), above(count - 1, trials, rate)) < 5e-7


@pytest.mark.parametrize("k, epsilon", [(24, 1.0), (5, 0.5), (2, 3.0)])
def test_the_mechanism_keeps_every_promise_that_can_be_checked(example, k, epsilon):
    clock, attacks = example["Clock"](k, epsilon), ["guess", "tight", example["Majority"]()]
    outcomes = check_mechanism(clock, attacks=attacks).outcomes
    asked = "parameters read pair rates budget client extremes null claim power repeats"
    assert {outcomes[name] for name in asked.split()} == {"passed"}


def test_the_rates_of_the_report_type_are_those_of_all_its_windows(example):
    form = example["Clock"](7, 1.0).report_type
    odds = math.e
    assert form.length == round(7 / (odds + 1)) == 2
    windows = [{start % 7, (start + 1) % 7} for start in range(7)]
    total = 2 * odds + 5
    for pair in [(0, 1), (0, 6), (2, 5)]:
        event = [window for window in windows if pair[0] in window and pair[1] not in window]
        rates = [sum(odds if value in w else 1 for w in event) / total for value in pair]
        assert form.score_rates(1, pair) == pytest.approx(rates)
    assert form.loss((0, 1)) == pytest.approx(1.0)


def test_a_flag_and_a_known_rate_decide_whether_reports_are_made(example):
    class Unsure(example["Clock"]):
        pass

    clock = example["Clock"](24, 1.0)
    assert not audit(clock, "tight", trials=100).faithful
    assert audit(clock, "guess", trials=100).faithful  # its rates are not stated
    assert audit(Unsure(24, 1.0), "tight", trials=100).faithful


def test_the_attack_has_the_rates_that_its_answers_show(example):
    majority, n = example["Majority"](), 20_000
    assert isinstance(majority, Attack)
    for mechanism in (example["Clock"](24, 2.0), Repeated(GRR(5, 1.0), 7), SS(9, 1.0), OUE(5, 1.0)):
        sampled = audit(mechanism, majority, trials=n)
        real = audit(mechanism, majority, trials=n, faithful=True)
        assert not sampled.faithful and real.faithful
        rates = majority.rates(mechanism)
        for found in (sampled, real):
            assert not unlikely(found.counts["tp"], n, rates[0])
            assert not unlikely(found.counts["fp"], n, rates[1])
    client = Client(GRR(5, 1.0).perturb, 5, "value", 1.0)
    assert (
        majority.rates(client) is None
        and audit(client, majority, trials=n, independent=True).faithful
    )


def test_the_auditor_counts_right_names_and_its_bound_is_valid(example):
    game, grr, clock = example["NamingGame"], GRR(4, 1.0), example["Clock"](24, 1.0)
    for mechanism, success in ((grr, grr.p), (clock, clock.report_type.inside)):
        (found,) = game(mechanism, trials=5000).run(seed=2)
        assert isinstance(found, AuditResult) and found.status == "none found"
        assert found.total == 5000 * mechanism.k
        assert not unlikely(found.counts["right"], found.total, success)
        assert 0 < found.lower < found.epsilon_emp < 1.1
        assert found == game(mechanism, trials=5000).run(seed=2)[0]
    # the lower end of the package's own auditor spends half of its alpha
    ours = game(grr, trials=5000).run()[0]
    theirs = auditors.rad_result(ours.counts["right"], ours.total, 4, claim=1.0, alpha=0.02)
    assert ours.lower == pytest.approx(theirs.lower, rel=1e-12)
    assert RADAudit(grr, trials=5000).attack == "reconstruction"


def test_the_auditor_refutes_a_client_that_leaks_more_than_it_claims(example):
    double = Client(GRR(4, 2.0).perturb, 4, "value", 1.0)
    (found,) = example["NamingGame"](double, trials=2000).run()
    assert found.violated and 1.5 < found.lower < 2


def test_the_bound_of_the_auditor_errs_as_rarely_as_it_says(example):
    """With alpha = 0.2 more than 110 of 400 bounds exceed the truth with probability 2e-4."""
    game = example["NamingGame"](GRR(2, 1.0), trials=100, alpha=0.2)
    wrong = sum(game.run(seed)[0].lower > 1.0 for seed in range(400))
    assert 20 < wrong <= 110


def test_fields_of_the_auditor_are_checked(example):
    for wrong in ({"trials": 0}, {"alpha": 2.0}, {"attack": "tight"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            example["NamingGame"](GRR(4, 1.0), **wrong)


@pytest.mark.parametrize("given, odds", [("{}", math.e), ("book/clock: {epsilon: 2.0}", math.e**2)])
def test_the_page_is_executed_and_says_what_its_parameter_allows(
    given, odds, tmp_path, monkeypatch
):
    (tmp_path / "book" / "scales").mkdir(parents=True)
    (tmp_path / "book" / "scales" / "other.yml").write_text(f"{given}\n")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/clock\n")
    with monkeypatch.context() as there:
        there.chdir(tmp_path)
        exec(PAGE, {})
    written = json.loads((tmp_path / "book" / "clock.ipynb").read_text())
    (one,) = parameters.of(written).values()
    assert one.name == "epsilon" and one.literal == "1.0"
    assert execute.run(tmp_path, "other", jobs=1) == 0
    cells = json.loads(execute.Project(tmp_path).executed("book/clock").read_text())["cells"]
    said = "".join("".join(o.get("text", "")) for c in cells for o in c.get("outputs", []))
    omega = round(24 / (odds + 1))
    assert float(said) == pytest.approx(omega * odds / (omega * odds + 24 - omega))


def test_the_readme_and_the_book_have_one_import_and_one_contract_of_a_client(capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (lines,) = re.findall(r"^```python\n(.*?)^```$", readme, flags=re.M | re.S)
    cells = json.loads((Path(__file__).parents[2] / "book" / "your_own.ipynb").read_text())["cells"]
    book = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    for text in (lines, book):
        assert "from ldpkit import Client, audit" in text and "ldpkit.auditors import" not in text
        # `recorded` is no client: it makes one
        assert set(re.findall(r"^def (?!recorded)\w+\((.*?)\)", text, flags=re.M)) == {
            "values, rng"
        }
    exec(compile(lines, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("VIOLATION: epsilon = 1 is refuted")
