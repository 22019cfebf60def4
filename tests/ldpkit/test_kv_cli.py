"""`ldpkit audit-kv`: its output is Python's audit of the same seed, and every bad input is one line
and status 2."""

import json

import pytest

from ldpkit import cli
from ldpkit.auditors import audit_kv
from ldpkit.mechanisms import CPPGRR, CPPUE, PCKVGRR, PCKVUE, PrivKV


@pytest.fixture
def call(capsys):
    def call(text):
        with pytest.raises(SystemExit) as caught:
            cli.main(["audit-kv", *text.split()])
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return call


CASES = [
    ("--mechanism pckv-ue --epsilon 1.6", PCKVUE(4, 1.6, 1, 0.5), "hkv", {}),
    (
        "--mechanism pckv-ue --epsilon 1.6 --keys 3 --padding 2 --share 1 --eta floor",
        PCKVUE(3, 1.6, 2, 1.0, "floor"),
        "hkv",
        {},
    ),
    (
        "--mechanism pckv-grr --epsilon 2 --keys 1e2 --auditor vkv",
        PCKVGRR(100, 2.0, 1, 0.5),
        "vkv",
        {},
    ),
    ("--mechanism cpp-ue --epsilon 1.6 --auditor skv", CPPUE(1, 1.6), "skv", {}),
    (
        "--mechanism cpp-ue --epsilon 1 --buckets 8 --rounds 2 --auditor vkv --alpha 0.1",
        CPPUE(1, 1.0, 8, 2),
        "vkv",
        {"alpha": 0.1},
    ),
    (
        "--mechanism cpp-grr --epsilon 3 --ownership 1 --minimum 9",
        CPPGRR(1, 3.0),
        "hkv",
        {"ownership": 1.0, "minimum": 9},
    ),
    (
        "--mechanism privkv --epsilon 1 --users 1e12 --estimator split",
        PrivKV(1, 1.0),
        "hkv",
        {"users": 10**12, "estimator": "split"},
    ),
    (
        "--mechanism privkv --epsilon 1 --rounds 3 --seed 7 --estimator valid",
        PrivKV(1, 1.0, 3),
        "hkv",
        {"seed": 7, "estimator": "valid"},
    ),
]


@pytest.mark.parametrize("text, mechanism, auditor, given", CASES, ids=[case[0] for case in CASES])
def test_json_and_table_are_the_audit_of_python(call, text, mechanism, auditor, given):
    result = audit_kv(mechanism, auditor, last=True, **given)[-1]
    status, out, err = call(text + " --json")
    assert (status, err) == (0, "") and out.count("\n") == 1
    assert json.loads(out) | {"seconds": 0} == json.loads(json.dumps(result.row())) | {"seconds": 0}
    status, out, err = call(text)
    assert (status, err) == (0, "") and out.splitlines()[-1] == result.verdict
    assert (
        f"{result.epsilon_emp:.4f}" in out
        and f"{result.limit:.4f}" in out
        and f"{result.lower:.4f}" in out
    )


def test_no_valid_bound_of_a_correct_mechanism_ever_gives_status_1(call):
    for seed in range(20):
        text = f"--mechanism pckv-grr --epsilon 1 --share 1 --ownership 1 --keys 2 --seed {seed}"
        status, out, _ = call(text + " --estimator released --json")
        assert status == 0 and json.loads(out)["lower"] <= 1 < json.loads(out)["epsilon_emp"] + 0.01


@pytest.mark.parametrize(
    "text, message",
    [
        ("--mechanism pckv --epsilon 1", "Invalid value for '--mechanism': 'pckv' is not one of"),
        ("--mechanism pckv-ue", "Missing option '--epsilon'"),
        ("--mechanism pckv-ue --epsilon -1", "epsilon must be a number in [1e-06, 30], got -1.0"),
        (
            "--mechanism pckv-ue --epsilon 1 --keys 14",
            "an alphabet of 3^15 = 14348907 outputs is too large to enumerate",
        ),
        (
            "--mechanism pckv-ue --epsilon 1 --keys 14 --estimator valid",
            "look at a few `positions` of the record instead, as auditor 'vkv'",
        ),
        (
            "--mechanism cpp-ue --epsilon 1 --buckets 22",
            "an alphabet of 2^22 = 4194304 outputs is too large to enumerate",
        ),
        (
            "--mechanism cpp-ue --epsilon 1 --buckets 5",
            "buckets must be an even number of boundary points, two per bucket, got 5",
        ),
        ("--mechanism cpp-ue --epsilon 1 --keys 2", "--keys does not belong to cpp-ue"),
        ("--mechanism cpp-ue --epsilon 1 --padding 2", "--padding does not belong to cpp-ue"),
        ("--mechanism pckv-ue --epsilon 1 --rounds 2", "--rounds does not belong to pckv-ue"),
        ("--mechanism privkv --epsilon 1 --buckets 4", "--buckets does not belong to privkv"),
        (
            "--mechanism pckv-ue --epsilon 1 --ownership 1.5",
            "ownership must be a number in [0, 1], got 1.5",
        ),
        (
            "--mechanism pckv-ue --epsilon 1 --users 0",
            "users must be an integer in [1, 1000000000000], got 0",
        ),
        ("--mechanism pckv-ue --epsilon 1 --users 1.5", "'1.5' is not a whole number"),
        (
            "--mechanism pckv-ue --epsilon 1 --users 1 --estimator split",
            "users must be at least 2 here, got 1",
        ),
        (
            "--mechanism pckv-ue --epsilon 1 --auditor skv",
            "auditor of PCKV-UE must be one of hkv, vkv, got 'skv'",
        ),
        (
            "--mechanism pckv-ue --epsilon 1 --estimator best",
            "estimator must be one of released, printed, valid, split, pooled, got 'best'",
        ),
        ("--mechanism pckv-ue --epsilon 1 --share 0", "share must be a number in (0, 1], got 0.0"),
    ],
)
def test_bad_input_is_one_line_and_status_2(call, text, message):
    status, out, err = call(text)
    assert (
        (status, out) == (2, "")
        and err.startswith("ldpkit: ")
        and err.count("\n") == 1
        and message in err
    )
