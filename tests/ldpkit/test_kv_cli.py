"""`ldpkit audit-kv`: its output is Python's audit of the same seed, and every bad input is one line
and status 2."""

import json

from ldpkit.auditors import audit_kv
from ldpkit.mechanisms import CPPGRR, CPPUE, PCKVGRR, PCKVUE, PrivKV

CASES = [
    ("pckv-ue --epsilon 1.6", PCKVUE(4, 1.6, 1, 0.5), "hkv", {}),
    ("pckv-ue --epsilon 1.6 --keys 3 --padding 2 --share 1 --eta floor", PCKVUE(3, 1.6, 2, 1.0, "floor"), "hkv", {}),
    ("pckv-grr --epsilon 2 --keys 1e2 --auditor vkv", PCKVGRR(100, 2.0, 1, 0.5), "vkv", {}),
    ("cpp-ue --epsilon 1.6 --auditor skv", CPPUE(1, 1.6), "skv", {"trials": 5 * 10**7}),
    ("cpp-ue --epsilon 1 --buckets 8 --rounds 2 --auditor vkv --alpha 0.1", CPPUE(1, 1.0, 8, 2), "vkv", {"alpha": 0.1}),
    ("cpp-grr --epsilon 3 --ownership 1 --minimum 9", CPPGRR(1, 3.0), "hkv", {"ownership": 1.0, "minimum": 9}),
    ("privkv --epsilon 1 --users 1e12 --estimator split", PrivKV(1, 1.0), "hkv", {"trials": 10**12, "estimator": "split"}),
    ("privkv --epsilon 1 --rounds 3 --seed 7 --estimator valid", PrivKV(1, 1.0, 3), "hkv", {"seed": 7, "estimator": "valid"}),
]  # fmt: skip


def test_json_and_table_are_the_audit_of_python(call):
    for text, mechanism, auditor, given in CASES:
        result = audit_kv(mechanism, auditor, last=True, **{"alpha": 0.05} | given)[-1]
        status, out, err = call(f"audit-kv --mechanism {text} --json")
        assert (status, err) == (0, "") and out.count("\n") == 1, text
        own = json.loads(result.to_json())
        assert json.loads(out) | {"seconds": 0} == own | {"seconds": 0}, text
        status, out, err = call(f"audit-kv --mechanism {text}")
        assert (status, err) == (0, "") and out.splitlines()[-1] == result.verdict, text
        for number in (result.epsilon_emp, result.limit, result.lower):
            assert f"{number:.4f}" in out, text
