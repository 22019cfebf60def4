"""Describe the clients of pure-ldp 1.2.0, and the unary encoding of 1.1.2, whose fault that release repairs."""

import functools
import math
import zlib

from clients import Released

BOTH = "Python's and NumPy's global generators"
STATED = "docstring of the constructor: privacy budget"
E = math.e


def same(value):
    return value


def _unary(optimal):
    def make():
        from pure_ldp.frequency_oracles.unary_encoding import UEClient

        return UEClient(1.0, 10, use_oue=optimal, index_mapper=same).privatise

    return make


def _oracle(module, name, *arguments, **named):
    """Return a function that makes the client of one frequency oracle.

    If `server` is given, it makes an argument of the client from a server of the package.
    """

    def make():
        import importlib

        parts = importlib.import_module(f"pure_ldp.frequency_oracles.{module}")
        server = named.pop("server", None)
        more = server(parts) if server else []
        return getattr(parts, name)(*arguments, *more, **named).privatise

    return make


def _hash(value, seed, g):
    import xxhash

    return xxhash.xxh32(str(value).encode(), seed=seed).intdigest() % g


def hashed(g, first=0, second=1):
    """Return the event of local hashing that the reported cell is that of the first input and not that of the second."""
    return lambda y: _hash(first, y[1], g) == y[0] != _hash(second, y[1], g)


def cell_law(g, epsilon):
    """Return the exact rates of that event; two hashes differ with probability 1 - 1/g."""
    grown = math.exp(epsilon)
    return (1 - 1 / g) * grown / (grown + g - 1), (1 - 1 / g) / (grown + g - 1)


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
    (h, g) = SIGNS[j]
    return bits[h("0")] == 2 * g("0") - 1 and bits[h("1")] == 1 - 2 * g("1")


def _sketch_response(y):
    (cell, seed), j = y
    return hashed(4, HASHES[j](0), HASHES[j](1))((cell, seed))


def _responds(y):
    return bin(y & 1).count("1") % 2 == 0 and bin(y & 2).count("1") % 2 == 1  # rows 1 and 2 of the Hadamard matrix


def unary_law(optimal, faulty, epsilon=1.0):
    """Return the exact rates of the event "bit of the first input set, bit of the second clear"."""
    p, q = (
        (0.5, 1 / (math.exp(epsilon) + 1)) if optimal else (1 - 1 / (math.exp(epsilon / 2) + 1), 1 / (math.exp(epsilon / 2) + 1))
    )
    own = p + q - p * q if faulty else p  # drawn like the others first, then set
    return own * (1 - q), q * (1 - own)


def model_unary(value, rng, optimal=True, mended=False, k=10):
    """Return a report of the released unary encoding.

    The client draws the bit of its value like the others and only then sets it. If mended, the bit is cleared before.
    """
    p, q = (0.5, 1 / (E + 1)) if optimal else (1 - 1 / (math.exp(0.5) + 1), 1 / (math.exp(0.5) + 1))
    bits = rng.random(k) < q
    bits[value] = (bits[value] and not mended) or rng.random() < p
    return bits.astype(int)


def unary(version, optimal):
    faulty = version == "1.1.2"
    return Released(
        "pure-ldp", version, f"UEClient, {'OUE' if optimal else 'SUE'}", _unary(optimal), (0, 1), lambda y: y[0] == 1 and y[1] == 0,
        "bit of 0 set, bit of 1 clear (0 against 1)", 1.0, stated=STATED, law=unary_law(optimal, faulty), randomness=BOTH,
        source="ue_client.py, lines 54-57: the own bit is drawn like the others, then set, never cleared" if faulty else "",
        fixed_in="1.2.0" if faulty else "", thread="pure-LDP issue 11; LDP-Auditor, Figure 8" if faulty else "", model=functools.partial(model_unary, optimal=optimal) if faulty else None,
    )  # fmt: skip


sue_faulty, oue_faulty = unary("1.1.2", False), unary("1.1.2", True)
sue, oue = unary("1.2.0", False), unary("1.2.0", True)


def _entry(name, make, event, said, epsilon=1.0, law=None, inputs=(0, 1), **more):
    return Released(
        "pure-ldp", "1.2.0", name, make, inputs, event, said, epsilon, stated=STATED, law=law, randomness=BOTH, **more
    )


CELL = "the reported cell is that of 0 and not of 1"
direct = _entry("DEClient", _oracle("direct_encoding", "DEClient", 1.0, 10, index_mapper=same), lambda y: y == 0,
                "the report is the value", law=(E / (E + 9), 1 / (E + 9)), trials=40_000)  # fmt: skip
hash_two = _entry(
    "LHClient, g = 2", _oracle("local_hashing", "LHClient", 1.0, 10, g=2, index_mapper=same), hashed(2), CELL, law=cell_law(2, 1)
)
hash_best = _entry("LHClient, OLH", _oracle("local_hashing", "LHClient", 1.0, 10, use_olh=True, index_mapper=same), hashed(4), CELL,
                   law=cell_law(4, 1))  # fmt: skip
fast_two = _entry(
    "FastLHClient, g = 2, 100 seeds", _oracle("local_hashing", "FastLHClient", 1.0, 10, 100, index_mapper=same), hashed(2), CELL
)
fast_best = _entry("FastLHClient, OLH, 100 seeds", _oracle("local_hashing", "FastLHClient", 1.0, 10, 100, use_olh=True, index_mapper=same),
                   hashed(4), CELL)  # fmt: skip
response = _entry("HadamardResponseClient, epsilon <= 1", _oracle("hadamard_response", "HadamardResponseClient", 1.0, 10, None, index_mapper=same),
                  _responds, "in the row of 0 and not of 1", law=(E / (2 * (1 + E)), 1 / (2 * (1 + E))))  # fmt: skip
sketch = _entry("CMSClient, m = 64", _oracle("apple_cms", "CMSClient", 1.0, HASHES, 64), _cells, "own cell of 0 is +, of 1 is -",
                law=(APART / (1 + math.exp(-0.5)) ** 2, APART / (1 + math.exp(0.5)) ** 2), trials=10_000)  # fmt: skip
sketch_bit = _entry("CMSClient, Hadamard, m = 64", _oracle("apple_cms", "CMSClient", 1.0, HASHES, 64, is_hadamard=True), _sketch_sign,
                    "the sign agrees with 0 and not with 1", law=(APART / 2 * E / (1 + E), APART / 2 / (1 + E)))  # fmt: skip
count_sketch = _entry("PCSClient, w = 64", _oracle("priv_count_sketch", "PCSClient", 1.0, 16, 64, SIGNS), _count_sketch,
                      "cell of 0 has its sign, cell of 1 has not", trials=10_000)  # fmt: skip
sketch_response = _entry("SketchResponseClient, m = 64",
                         _oracle("sketch_response", "SketchResponseClient", 1.0, 64, [lambda v, h=h: h(v) for h in HASHES], index_mapper=same),
                         _sketch_response, CELL)  # fmt: skip


def _response_general():
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    client = HadamardResponseClient(2.0, 10, HadamardResponseServer(2.0, 10).get_hash_funcs(), index_mapper=same)
    return lambda value: (client.privatise(value), client.hr)  # the order of the values, which is public, is in hr


def _answers(y):
    report, hr = y
    in_set = []
    for value in (0, 1):
        block, place = divmod(int(hr.permute[value]), hr.partsz - 1)
        in_set.append(not hr.entry_check((block << hr.tailbit) + place + 1, int(report)))
    return in_set == [True, False]


response_general = _entry(
    "HadamardResponseClient, epsilon = 2", _response_general, _answers, "in the set of 0 and not of 1", 2.0, exact=2.0
)


def _prefixes(folder, name, *arguments, **named):
    def make():
        import importlib

        given = {"fo_client": named["oracle"]()} if named else {}
        return getattr(importlib.import_module(f"pure_ldp.heavy_hitters.{folder}"), name)(1.0, *arguments, **given).privatise

    return make


WORDS, STRINGS = ("0" * 8, "1" * 8), "(00000000 against 11111111)"


def _prefix(y):
    (cell, seed), group = y
    return _hash(0, seed, 4) == cell != _hash(2 ** (4 + 2 * group) - 1, seed, 4)


def _tree(y):
    """Return whether word and prefix, of unknown length, both support the first word and no part of the second."""
    (cell, seed), word = y
    return hashed(3, 0, 255)(word) and _hash(0, seed, 3) == cell and all(_hash(2**n - 1, seed, 3) != cell for n in (2, 4, 6, 8))


def _word(y):
    _, (signs, j), _ = y
    first, second = (HASHES[j](word) for word in WORDS)
    return signs[first] == 1 and signs[second] == -1


def _sketch_client():
    from pure_ldp.frequency_oracles.apple_cms import CMSClient

    return CMSClient(1.0, HASHES, 64)


HALVED = math.exp(0.5)  # two reports share the budget
prefixes = _entry("PEMClient", _prefixes("prefix_extending", "PEMClient", 2, 8, 2), _prefix, f"the cell is that of the first prefix only {STRINGS}",
                  law=cell_law(4, 1), inputs=WORDS)  # fmt: skip
tree = _entry("TreeHistClient", _prefixes("treehistogram", "TreeHistClient", 2, 8), _tree, f"both cells speak for the first word only {STRINGS}",
              law=tuple((2 / 3) ** 5 * (kept / (HALVED + 2)) ** 2 for kept in (HALVED, 1)), inputs=WORDS, trials=40_000)  # fmt: skip
puzzle = _entry("SFPClient, of CMSClient: the word", _prefixes("apple_sfp", "SFPClient", 2, 8, oracle=_sketch_client), _word,
                f"own cell of the first word is +, of the second is - {STRINGS}", inputs=WORDS, trials=10_000)  # fmt: skip
