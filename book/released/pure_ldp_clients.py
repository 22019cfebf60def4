"""Describe the clients of pure-ldp 1.2.0, and the unary encoding of 1.1.2, whose fault that release repairs."""

import functools
import math
import pkgutil
import zlib

from clients import BITS, CELL, VALUE, E, Released, bit, cell_law, hashed, in_cell, made, unary_law, unary_rates, value_law

BOTH = "Python's and NumPy's global generators"
STATED = "docstring of the constructor: privacy budget"
ORACLES, HITTERS = "pure_ldp.frequency_oracles", "pure_ldp.heavy_hitters"


def _same(value):
    return value


def _oracle(place, *arguments, **named):
    return made(f"{ORACLES}.{place}", 1.0, *arguments, call="privatise", index_mapper=_same, **named)


HASHES = [lambda text, j=j: zlib.crc32(f"{j} {text}".encode()) % 64 for j in range(16)]
SIGNS = [(h, lambda text, j=j: zlib.crc32(f"sign {j} {text}".encode()) % 2) for j, h in enumerate(HASHES)]
APART = sum(h("0") != h("1") for h in HASHES) / len(HASHES)  # share of the hash functions that tell the two inputs apart


def _cells(y):
    h = HASHES[y[1]]
    return y[0][h("0")] == 1 and y[0][h("1")] == -1


def _hadamard_sign(row, column):
    return 1 - 2 * (bin(row & column).count("1") % 2)


def _sketch_sign(y):
    sign, j, row = y
    return sign == _hadamard_sign(row, HASHES[j]("0")) != _hadamard_sign(row, HASHES[j]("1"))


def _count_sketch(y):
    bits, j = y
    h, g = SIGNS[j]
    return bits[h("0")] == 2 * g("0") - 1 and bits[h("1")] == 1 - 2 * g("1")


def _sketch_response(y):
    report, j = y
    return hashed(4, HASHES[j](0), HASHES[j](1))(report)


def _responds(y):
    return bin(y & 1).count("1") % 2 == 0 and bin(y & 2).count("1") % 2 == 1  # rows 1 and 2 of the Hadamard matrix


def model_unary(value, rng, optimal=True, mended=False, k=10):
    """Return a report of the released unary encoding.

    The client draws the bit of its value like the others and only then sets it. If mended, the bit is cleared before.
    """
    p, q = unary_rates(optimal)
    bits = rng.random(k) < q
    bits[value] = (bits[value] and not mended) or rng.random() < p
    return bits.astype(int)


def unary(version, optimal):
    faulty = version == "1.1.2"
    return Released(
        "pure-ldp", version, f"UEClient, {'OUE' if optimal else 'SUE'}", _oracle("unary_encoding:UEClient", 10, use_oue=optimal),
        bit, BITS, stated=STATED, law=unary_law(optimal, faulty), randomness=BOTH,
        source="ue_client.py, lines 54-57: the own bit is drawn like the others, then set, never cleared" if faulty else "",
        fixed_in="1.2.0" if faulty else "", thread="pure-LDP issue 11; LDP-Auditor, Figure 8" if faulty else "", model=functools.partial(model_unary, optimal=optimal) if faulty else None,
    )  # fmt: skip


sue_faulty, oue_faulty = unary("1.1.2", False), unary("1.1.2", True)
sue, oue = unary("1.2.0", False), unary("1.2.0", True)


_entry = functools.partial(Released, "pure-ldp", "1.2.0", stated=STATED, randomness=BOTH)
direct = _entry("DEClient", _oracle("direct_encoding:DEClient", 10), lambda y: y == 0, VALUE, law=value_law(10), trials=40_000)
hash_two = _entry("LHClient, g = 2", _oracle("local_hashing:LHClient", 10, g=2), hashed(2), CELL, law=cell_law(2))
hash_best = _entry("LHClient, OLH", _oracle("local_hashing:LHClient", 10, use_olh=True), hashed(4), CELL, law=cell_law(4))
fast_two = _entry("FastLHClient, g = 2, 100 seeds", _oracle("local_hashing:FastLHClient", 10, 100), hashed(2), CELL)
fast_best = _entry("FastLHClient, OLH, 100 seeds", _oracle("local_hashing:FastLHClient", 10, 100, use_olh=True), hashed(4), CELL)
response = _entry("HadamardResponseClient, epsilon <= 1", _oracle("hadamard_response:HadamardResponseClient", 10, None),
                  _responds, "in the row of 0 and not of 1", law=cell_law(2))  # fmt: skip
_sketch = functools.partial(made, f"{ORACLES}.apple_cms:CMSClient", 1.0, HASHES, 64, call="privatise")
sketch = _entry("CMSClient, m = 64", _sketch(), _cells, "own cell of 0 is +, of 1 is -",
                law=(APART / (1 + math.exp(-0.5)) ** 2, APART / (1 + math.exp(0.5)) ** 2), trials=10_000)  # fmt: skip
sketch_bit = _entry("CMSClient, Hadamard, m = 64", _sketch(is_hadamard=True), _sketch_sign,
                    "the sign agrees with 0 and not with 1", law=(APART / 2 * E / (1 + E), APART / 2 / (1 + E)))  # fmt: skip
count_sketch = _entry("PCSClient, w = 64", made(f"{ORACLES}.priv_count_sketch:PCSClient", 1.0, 16, 64, SIGNS, call="privatise"), _count_sketch,
                      "cell of 0 has its sign, cell of 1 has not", trials=10_000)  # fmt: skip
sketch_response = _entry("SketchResponseClient, m = 64",
                         _oracle("sketch_response:SketchResponseClient", 64, [lambda v, h=h: h(v) for h in HASHES]),
                         _sketch_response, CELL)  # fmt: skip


def _response_general():
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    client = HadamardResponseClient(2.0, 10, HadamardResponseServer(2.0, 10).get_hash_funcs(), index_mapper=_same)
    return lambda value: (client.privatise(value), client.hr)  # the order of the values, which is public, is in hr


def _answers(y):
    report, hr = y
    in_set = []
    for value in (0, 1):
        block, place = divmod(int(hr.permute[value]), hr.partsz - 1)
        in_set.append(not hr.entry_check((block << hr.tailbit) + place + 1, int(report)))
    return in_set == [True, False]


response_general = _entry(
    "HadamardResponseClient, epsilon = 2", _response_general, _answers, "in the set of 0 and not of 1", claim=2.0, exact=2.0
)


WORDS, STRINGS = ("0" * 8, "1" * 8), "(00000000 against 11111111)"


def _prefix(y):
    report, group = y
    return hashed(4, 0, 2 ** (4 + 2 * group) - 1)(report)


def _tree(y):
    """Return whether word and prefix, of unknown length, both support the first word and no part of the second."""
    prefix, word = y
    return hashed(3, 0, 255)(word) and in_cell(0, *prefix, 3) and not any(in_cell(2**n - 1, *prefix, 3) for n in (2, 4, 6, 8))


def _word(y):
    _, (signs, j), _ = y
    first, second = (HASHES[j](word) for word in WORDS)
    return signs[first] == 1 and signs[second] == -1


def _puzzle():
    oracle = pkgutil.resolve_name(f"{ORACLES}.apple_cms:CMSClient")(1.0, HASHES, 64)
    return pkgutil.resolve_name(f"{HITTERS}.apple_sfp:SFPClient")(1.0, 2, 8, fo_client=oracle).privatise


HALVED = math.exp(0.5)  # two reports share the budget
prefixes = _entry("PEMClient", made(f"{HITTERS}.prefix_extending:PEMClient", 1.0, 2, 8, 2, call="privatise"), _prefix, f"the cell is that of the first prefix only {STRINGS}",
                  law=cell_law(4), inputs=WORDS)  # fmt: skip
tree = _entry("TreeHistClient", made(f"{HITTERS}.treehistogram:TreeHistClient", 1.0, 2, 8, call="privatise"), _tree, f"both cells speak for the first word only {STRINGS}",
              law=tuple((2 / 3) ** 5 * (kept / (HALVED + 2)) ** 2 for kept in (HALVED, 1)), inputs=WORDS, trials=40_000)  # fmt: skip
puzzle = _entry("SFPClient, of CMSClient: the word", _puzzle, _word,
                f"own cell of the first word is +, of the second is - {STRINGS}", inputs=WORDS, trials=10_000)  # fmt: skip
