"""Options of the command line for approximate guarantees, several collections and several
attributes.

Every call runs inside this process. Nothing here is judged by chance: counts are compared with
Python's audit of the same seed.
"""

import itertools
import json

import pytest

from ldpkit.auditors import audit
from ldpkit.mechanisms import (
    AGM,
    ALH,
    ASS,
    ATHE,
    AUE,
    GM,
    MECHANISMS,
    RSFD,
    SUE,
    BucketFlip,
    Chained,
    Repeated,
    make,
    takes,  # fmt: skip
)
from ldpkit.mechanisms.multidimensional import BASES

REST = (
    "epsilon delta trials alpha seed attack faithful how pair questions tp fp tpr fpr epsilon_emp"
    " lower exact_epsilon_emp exact_sd claim violated status verdict warnings directions seconds"
).split()


CASES = [
    ("GM --k 5 --epsilon 0.5 --delta 0.01", GM(5, 0.5, 0.01), ["k"]),
    ("AGM --k 5 --epsilon 2 --delta 1e-5", AGM(5, 2.0, 1e-5), ["k"]),
    ("AGRR --k 5 --epsilon 2 --delta 1e-5", make("AGRR", k=5, epsilon=2.0, delta=1e-5), ["k"]),
    ("ASS --k 5 --epsilon 1 --omega 2", ASS(5, 1.0, 2), ["k", "omega"]),
    ("AUE --k 5 --epsilon 1 --p 0.7", AUE(5, 1.0, 0.7), ["k", "p"]),
    ("ALH --k 5 --epsilon 1 --g 3", ALH(5, 1.0, 3), ["k", "g"]),
    ("ATHE --k 5 --epsilon 1 --theta 0.6", ATHE(5, 1.0, 0.6), ["k", "theta"]),
    (
        "ATHE --k 5 --epsilon 1 --theta 0 --tau 2",
        Repeated(ATHE(5, 1.0, 0.0), 2),
        ["k", "theta", "tau", "memoise"],
    ),
    ("SUE --k 5 --epsilon 0.5 --tau 3", Repeated(SUE(5, 0.5), 3), ["k", "tau", "memoise"]),
    (
        "SUE --k 5 --epsilon 0.5 --tau 3 --memoise",
        Repeated(SUE(5, 0.5), 3, True),
        ["k", "tau", "memoise"],
    ),
    ("SUE --k 5 --epsilon 0.5 --memoise", Repeated(SUE(5, 0.5), 1, True), ["k", "tau", "memoise"]),
    (
        "AGM --k 5 --epsilon 1 --delta 0.01 --tau 2",
        Repeated(AGM(5, 1.0, 0.01), 2),
        ["k", "tau", "memoise"],
    ),
    ("L-SUE --k 5 --epsilon 2 --first 1", Chained(5, 2.0, 1.0), ["k", "first", "tau", "protocol"]),
    (
        "L-OSUE --k 5 --epsilon 2 --first 1 --tau 4",
        Chained(5, 2.0, 1.0, 4, "OSUE"),
        ["k", "first", "tau", "protocol"],
    ),
    (
        "L-GRR --k 5 --epsilon 2 --first 1 --tau 1e1",
        Chained(5, 2.0, 1.0, 10, "GRR"),
        ["k", "first", "tau", "protocol"],
    ),
    (
        "dBitFlipPM --k 24 --epsilon 2 --buckets 12 --bits 4",
        BucketFlip(24, 2.0, 12, 4),
        ["k", "buckets", "bits"],
    ),
    *(
        (f"RSFD[{b}] --k 4 --d 3 --epsilon 2", RSFD(4, 3, 2.0, b), ["k", "d", "base"])
        for b in BASES
    ),
]


@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize("text, mechanism, named", CASES, ids=[case[0] for case in CASES])
def test_every_option_reaches_the_audit_and_appears_in_the_json(
    call, text, mechanism, named, attack
):
    status, out, err = call(
        f"audit --mechanism {text} --attack {attack} --trials 3000 --seed 9 --json"
    )
    result = audit(mechanism, attack, trials=3000, seed=9)
    printed = json.loads(out)
    assert (status, err) == (int(result.violated), "") and out.count("\n") == 1
    assert printed | {"seconds": 0} == json.loads(json.dumps(result.row())) | {"seconds": 0}
    assert list(printed) == ["mechanism", *named, *REST] and printed["mechanism"] == text.split()[0]
    assert all(printed[key] == mechanism.parameters[key] for key in named)


def test_the_json_of_several_collections_carries_the_parameters_and_the_total_claim(call):
    for options, claim in (("", 4.0), (" --memoise", 1.0)):
        text = (
            f"audit --mechanism AGM --k 5 --epsilon 1 --delta 0.01 --tau 4{options} --trials 1000"
            " --json"
        )
        row = json.loads(call(text)[1])
        assert (row["tau"], row["memoise"]) == (4, bool(options))
        assert (row["epsilon"], row["delta"], row["claim"]) == (1.0, 0.01, claim)


def test_real_reports_of_rounds_and_tuples_are_audited_too(call):
    for text, mechanism in (
        ("SUE --tau 3", Repeated(SUE(4, 1.0), 3)),
        ("RSFD[GRR] --d 3", RSFD(4, 3, 1.0)),
    ):
        status, out, _ = call(
            f"audit --mechanism {text} --k 4 --epsilon 1 --faithful --trials 2000 --json"
        )
        own = audit(mechanism, trials=2000, faithful=True)
        assert json.loads(out) | {"seconds": 0} == json.loads(json.dumps(own.row())) | {
            "seconds": 0
        }
        assert status == int(own.violated)


def test_the_table_names_the_further_parameters(call):
    out = call("audit --mechanism SUE --k 5 --epsilon 0.5 --tau 3 --trials 1000")[1]
    assert "SUE (k = 5, tau = 3, memoise = False)" in out and "epsilon = 1.5, delta = 0" in out
    out = call("audit --mechanism RSFD[OUE-r] --k 5 --d 2 --epsilon 1 --trials 1000")[1]
    assert "RSFD[OUE-r] (k = 5, d = 2, base = OUE-r)" in out


def test_a_claim_for_one_changed_attribute_is_refuted_for_all_of_them(call):
    status, out, err = call(
        "audit --mechanism RSFD[SUE-z] --k 100 --d 10 --epsilon 1 --attack tight --trials 3e5"
    )
    assert (status, err) == (1, "") and out.splitlines()[-1].startswith(
        "VIOLATION: with 99 % confidence"
    )


def test_the_help_names_every_option(call):
    out = call("audit --help")[1]
    assert all(
        f"--{name}" in out
        for name in "tau memoise first d buckets bits delta g omega p theta".split()
    )


BAD = [
    ("GM --k 5 --epsilon 1.5 --delta 1e-5", "epsilon must be a number in [1e-06, 1], got 1.5"),
    ("GM --k 5 --epsilon 0.5", "delta must be a number in (0, 1), got 0"),
    ("AGM --k 5 --epsilon 1", "delta must be a number in (0, 1), got 0"),
    ("AGM --k 5 --epsilon 1 --delta 0", "delta must be a number in (0, 1), got 0"),
    ("AGM --k 5 --epsilon 1 --delta 1", "delta must be a number in (0, 1), got 1"),
    ("AGM --k 5 --epsilon 1 --delta nan", "delta must be a number in (0, 1), got nan"),
    (
        "AOLH --k 5 --epsilon 0.5 --delta 0.2",
        "delta must be smaller for AOLH at epsilon = 0.5, got 0.2",
    ),
    ("SUE --k 5 --epsilon 1 --tau 0", "tau must be an integer in [1, 1000000], got 0"),
    ("SUE --k 5 --epsilon 1 --tau 1.5", "'--tau': '1.5' is not a whole number"),
    ("L-SUE --k 5 --epsilon 2 --first 1 --tau 0", "tau must be an integer in [1, 1000000], got 0"),
    (
        "L-SUE --k 5 --epsilon 2",
        "mechanism L-SUE needs first; its parameters are k, epsilon, first, tau, protocol",
    ),
    ("L-SUE --k 5 --epsilon 2 --first 3", "first must be a number in [1e-06, 2), got 3"),
    ("L-GRR --k 5 --epsilon 2 --first 2", "first must be a number in [1e-06, 2), got 2"),
    ("SUE --k 5 --epsilon 2 --first 1", "mechanism SUE does not take first"),
    ("RSFD[GRR] --k 5 --epsilon 1 --d 1", "d must be an integer >= 2, got 1"),
    (
        "RSFD[GRR] --k 5 --epsilon 1",
        "mechanism RSFD[GRR] needs d; its parameters are k, d, epsilon, base",
    ),
    ("RSFD[GRR] --k 5 --epsilon 28 --d 2", "epsilon must be a number in [1e-06, 27], got 28"),
    ("RSFD[SUE] --k 5 --epsilon 1 --d 2", "got 'RSFD[SUE]'; did you mean 'RSFD[SUE-"),
    ("RSFD[GR] --k 5 --epsilon 1 --d 2", "got 'RSFD[GR]'; did you mean 'RSFD[GRR]'?"),
    ("SUE --k 5 --epsilon 1 --d 3", "mechanism SUE does not take d; its parameters are k, epsilon"),
    (
        "SUE --k 5 --epsilon 1 --tau 2 --d 3",
        "mechanism SUE does not take d; its parameters are k, epsilon",
    ),
    ("LHO --k 5 --g 1", "g must be an integer in [2, 4294967296], got 1"),
    ("LHO --k 5 --g 1 --tau 3", "g must be an integer in [2, 4294967296], got 1"),
    ("dBitFlipPM --k 24 --epsilon 1 --buckets 5 --bits 2", "buckets must divide k = 24, got 5"),
    (
        "dBitFlipPM --k 24 --epsilon 1 --buckets 4 --bits 5",
        "bits must be an integer in [1, 4], got 5",
    ),
    ("dBitFlipPM --k 24 --epsilon 1 --buckets 4", "mechanism dBitFlipPM needs bits"),
    ("ASS --k 5 --epsilon 1", "mechanism ASS needs omega; its parameters are k, epsilon, omega"),
    ("ASS --k 5 --epsilon 1 --omega 0", "omega must be an integer in [1, 4], got 0"),
    ("ASS --k 5 --epsilon 1 --omega 5", "omega must be an integer in [1, 4], got 5"),
    ("ASS --k 5 --epsilon 1 --omega 1.5", "'--omega': '1.5' is not a whole number"),
    ("AUE --k 5 --epsilon 1", "mechanism AUE needs p; its parameters are k, epsilon, p"),
    ("AUE --k 5 --epsilon 1 --p 0", "p must be a number in (0, 1), got 0.0"),
    ("AUE --k 5 --epsilon 1 --p nan", "p must be a number in (0, 1), got nan"),
    ("AUE --k 5 --epsilon 1e-6 --p 0.9999999999999999", "p must exceed q = 1 by at least 1e-12"),
    (
        "AUE --k 5 --epsilon 30 --p 5e-324",
        "p must exceed q = 0 by at least 1e-12 at epsilon = 30, got 5e-324",
    ),
    ("ALH --k 5 --epsilon 1", "mechanism ALH needs g; its parameters are k, epsilon, g"),
    ("ALH --k 5 --epsilon 1 --g 1", "g must be an integer in [2, 4294967296], got 1"),
    ("ATHE --k 5 --epsilon 1", "mechanism ATHE needs theta; its parameters are k, epsilon, theta"),
    ("ATHE --k 5 --epsilon 1 --theta 1.1", "theta must be a number in [0, 1], got 1.1"),
    (
        "SS --k 5 --epsilon 1 --omega 2",
        "mechanism SS does not take omega; its parameters are k, epsilon",
    ),
    (
        "OUE --k 5 --epsilon 1 --p 0.5",
        "mechanism OUE does not take p; its parameters are k, epsilon",
    ),
    (
        "THE --k 5 --epsilon 1 --theta 0",
        "mechanism THE does not take theta; its parameters are k, epsilon",
    ),
    ("L-SUI --k 5 --epsilon 2 --first 1", "got 'L-SUI'; did you mean 'L-SUE'?"),
]


@pytest.mark.parametrize("text, message", BAD, ids=[text for text, _ in BAD])
def test_bad_input_gives_status_two_and_one_line(call, text, message):
    status, out, err = call(f"audit --mechanism {text} --trials 10")
    assert (status, out) == (2, "") and err.startswith("ldpkit: ") and err.count("\n") == 1, err
    assert message in err


OWN = (
    "--tau 3, --d 2, --first 1, --buckets 2, --bits 1, --g 3, --memoise, --omega 2, --p 0.5,"
    " --theta 0.5, --theta 0"
)


@pytest.mark.parametrize("option", OWN.split(", "))
def test_a_client_takes_no_parameters_of_mechanisms(call, option):
    status, out, err = call(
        f"audit --client m:f --report bits --k 5 --epsilon 1 --trials 10 {option}"
    )
    assert (status, out) == (2, "") and err.startswith("ldpkit: ") and err.count("\n") == 1
    assert f"takes no {option.split()[0]}" in err


@pytest.mark.parametrize("name", MECHANISMS)
def test_several_collections_of_any_mechanism_are_audited_or_refused_in_one_line(call, name):
    wanted = {
        "g": 3,
        "delta": 0.01,
        "first": 0.3,
        "d": 2,
        "buckets": 3,
        "bits": 2,
        "omega": 2,
        "p": 0.6,
        "theta": 0.7,
    }
    own = "".join(f" --{key} {value}" for key, value in wanted.items() if takes(name, key))
    own += " --epsilon 0.7" if takes(name, "epsilon") else ""
    again, how = ("--tau 3", "--tau 3 --memoise", "--memoise"), ("guess", "tight --faithful")
    for options, attack in itertools.product(again, how):
        status, _out, err = call(
            f"audit --mechanism {name} --k 6{own} {options} --attack {attack} --trials 500"
        )
        assert (status in (0, 1) and err == "") or (
            status == 2 and err.startswith("ldpkit: ") and err.count("\n") == 1
        )
        assert (
            "broadcast" not in err and "must have shape" not in err
        )  # not the words of a failure inside


def test_the_strongest_test_on_several_binary_collections_is_audited(call):
    for epsilon in (0.3, 0.7, 1.1, 2):
        status, _, err = call(
            f"audit --mechanism GRR --k 2 --epsilon {epsilon} --tau 3 --attack tight --trials 500"
        )
        assert (status, err) == (0, "")
