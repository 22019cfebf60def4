"""Options of the command line for approximate guarantees, several collections and attributes, and
key-value mechanisms. Counts are those of Python's audit of the same seed."""

import itertools
import json

from commands import REST, one_line

from ldpkit import audit
from ldpkit import mechanisms as lib
from ldpkit.auditors import KVAudit
from ldpkit.mechanisms.composite import BASES
from ldpkit.stats import down

ROUNDS, CHAIN = ["k", "tau", "memoise"], ["k", "first", "tau", "protocol"]
CASES = [
    ("GM --epsilon 0.5 --delta 0.01", lib.GM(5, 0.5, 0.01), ["k"]),
    ("AGM --epsilon 2 --delta 1e-5", lib.AGM(5, 2.0, 1e-5), ["k"]),
    ("AGRR --epsilon 2 --delta 1e-5", lib.make("AGRR", k=5, epsilon=2.0, delta=1e-5), ["k"]),
    ("ASS --epsilon 1 --omega 2", lib.ASS(5, 1.0, 2), ["k", "omega"]),
    ("AUE --epsilon 1 --p 0.7", lib.AUE(5, 1.0, 0.7), ["k", "p"]),
    ("ALH --epsilon 1 --g 3", lib.ALH(5, 1.0, 3), ["k", "g"]),
    ("ATHE --epsilon 1 --theta 0.6", lib.ATHE(5, 1.0, 0.6), ["k", "theta"]),
    ("ATHE --epsilon 1 --theta 0 --tau 2", lib.Repeated(lib.ATHE(5, 1.0, 0.0), 2), ["k", "theta", "tau", "memoise"]),
    ("SUE --epsilon 0.5 --tau 3", lib.Repeated(lib.SUE(5, 0.5), 3), ROUNDS),
    ("SUE --epsilon 0.5 --tau 3 --memoise", lib.Repeated(lib.SUE(5, 0.5), 3, True), ROUNDS),
    ("SUE --epsilon 0.5 --memoise", lib.Repeated(lib.SUE(5, 0.5), 1, True), ROUNDS),
    ("AGM --epsilon 1 --delta 0.01 --tau 2", lib.Repeated(lib.AGM(5, 1.0, 0.01), 2), ROUNDS),
    ("L-SUE --epsilon 2 --first 1", lib.Chained(5, 2.0, 1.0), CHAIN),
    ("L-OSUE --epsilon 2 --first 1 --tau 4", lib.Chained(5, 2.0, 1.0, 4, "OSUE"), CHAIN),
    ("L-GRR --epsilon 2 --first 1 --tau 1e1", lib.Chained(5, 2.0, 1.0, 10, "GRR"), CHAIN),
    ("dBitFlipPM --k 24 --epsilon 2 --buckets 12 --bits 4", lib.BucketFlip(24, 2.0, 12, 4), ["k", "buckets", "bits"]),
    *((f"RSFD[{b}] --d 3 --epsilon 2", lib.RSFD(5, 3, 2.0, b), ["k", "d", "base"]) for b in BASES),
]  # fmt: skip


def test_every_option_reaches_the_audit_and_appears_in_the_json(call):
    for (text, mechanism, named), attack in itertools.product(CASES, ("guess", "tight")):
        domain = "" if "--k" in text else "--k 5"
        more = f"{domain} --attack {attack} --trials 3000 --seed 9 --json"
        status, out, err = call(f"audit --mechanism {text} {more}")
        result = audit(mechanism, attack, trials=3000, seed=9)
        printed = json.loads(out)
        assert (status, err) == (int(result.violated), "") and out.count("\n") == 1, text
        own = json.loads(result.to_json())
        assert printed | {"seconds": 0} == own | {"seconds": 0}, text
        assert list(printed) == ["mechanism", *named, *REST], text
        assert printed["mechanism"] == text.split()[0]
        assert [printed[key] for key in named] == [mechanism.parameters[key] for key in named], text


def test_the_table_names_the_further_parameters(call):
    out = call("audit --mechanism SUE --k 5 --epsilon 0.5 --tau 3 --trials 1000")[1]
    assert "SUE (k = 5, tau = 3, memoise = False)" in out and "epsilon = 1.5, delta = 0" in out
    out = call("audit --mechanism RSFD[OUE-r] --k 5 --d 2 --epsilon 1 --trials 1000")[1]
    assert "RSFD[OUE-r] (k = 5, d = 2, base = OUE-r)" in out


def test_several_collections_of_any_mechanism_are_audited_or_refused_in_one_line(call):
    given = {"g": 3, "delta": 0.01, "first": 0.3, "d": 2, "buckets": 3, "bits": 2, "omega": 2, "p": 0.6, "theta": 0.7,
             "epsilon": 0.7}  # fmt: skip
    ways = [("--tau 3", "guess"), ("--tau 3", "tight --faithful"), ("--tau 3 --memoise", "guess"),
            ("--memoise", "tight --faithful")]  # fmt: skip
    wrong = []
    for name, (options, attack) in itertools.product(lib.MECHANISMS, ways):
        own = "".join(f" --{key} {value}" for key, value in given.items() if lib.takes(name, key))
        text = f"audit --mechanism {name} --k 6{own} {options} --attack {attack} --trials 500"
        status, _, err = call(text)
        inside = "broadcast" in err or "must have shape" in err  # the words of a failure inside
        if inside or not ((status in (0, 1) and err == "") or (status == 2 and one_line(err))):
            wrong.append((text, status, err))
    assert wrong == []


def test_the_strongest_test_on_several_binary_collections_is_audited(call):
    for epsilon in (0.3, 0.7, 1.1, 2):
        given = f"GRR --k 2 --epsilon {epsilon} --tau 3 --attack tight --trials 500"
        status, _, err = call(f"audit --mechanism {given}")
        assert (status, err) == (0, ""), epsilon


KEY_VALUES = [
    ("pckv-ue --epsilon 1.6", lib.PCKVUE(4, 1.6, 1, 0.5), "hkv", {}),
    ("pckv-ue --epsilon 1.6 --keys 3 --padding 2 --share 1 --eta floor", lib.PCKVUE(3, 1.6, 2, 1.0, "floor"), "hkv", {}),
    ("pckv-grr --epsilon 2 --keys 1e2 --auditor vkv", lib.PCKVGRR(100, 2.0, 1, 0.5), "vkv", {}),
    ("cpp-ue --epsilon 1.6 --auditor skv", lib.CPPUE(1, 1.6), "skv", {"trials": 5 * 10**7}),
    ("cpp-ue --epsilon 1 --buckets 8 --rounds 2 --auditor vkv --alpha 0.1", lib.CPPUE(1, 1.0, 8, 2), "vkv", {"alpha": 0.1}),
    ("cpp-grr --epsilon 3 --ownership 1 --minimum 9", lib.CPPGRR(1, 3.0), "hkv", {"ownership": 1.0, "minimum": 9}),
    ("privkv --epsilon 1 --users 1e12 --estimator split", lib.PrivKV(1, 1.0), "hkv", {"trials": 10**12, "estimator": "split"}),
    ("privkv --epsilon 1 --rounds 3 --seed 7 --estimator valid", lib.PrivKV(1, 1.0, 3), "hkv", {"estimator": "valid"}),
]  # fmt: skip


def test_json_and_table_of_key_values_are_the_audit_of_python(call):
    for text, mechanism, auditor, given in KEY_VALUES:
        asked = KVAudit(mechanism, auditor, last=True, **{"alpha": 0.05} | given)
        result = asked.run(7 if "--seed 7" in text else 1)[-1]
        status, out, err = call(f"audit-kv --mechanism {text} --json")
        assert (status, err) == (0, "") and out.count("\n") == 1, text
        own = json.loads(result.to_json())
        assert json.loads(out) | {"seconds": 0} == own | {"seconds": 0}, text
        status, out, err = call(f"audit-kv --mechanism {text}")
        assert (status, err) == (0, "") and out.splitlines()[-1] == result.verdict, text
        for number in (f"{result.epsilon_emp:.4f}", f"{result.limit:.4f}", down(result.lower)):
            assert number in out, text
