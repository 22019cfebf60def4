"""Describe the clients of multi-freq-ldpy for one report, for one report of several rounds, and for several attributes."""

import importlib
import math

import numpy as np
from clients import Released

BOTH = "Numba's generator and NumPy's global one"
STATED = "docstring: privacy guarantee"
E = math.e


def _client(module, *arguments):
    """Return a function that imports a module and returns its ``<name>_Client``, with the arguments that follow the value."""

    def make():
        folder, _, name = module.partition(":")
        where = importlib.import_module(f"multi_freq_ldpy.{folder}")
        return lambda value: getattr(where, f"{name}_Client")(value, *arguments)

    return make


def _cell(value, seed, g):
    import xxhash

    return xxhash.xxh32_intdigest(str(value).encode(), int(seed)) % g


def hashed(g):
    return lambda y: _cell(0, y[1], g) == y[0] != _cell(1, y[1], g)


def bits(y):
    return y[0] == 1 and y[1] == 0


def equal(y):
    return y == 0


def entry(name, module, arguments, event, said, epsilon=1.0, law=None, inputs=(0, 1), stated=STATED, **more):
    return Released("multi-freq-ldpy", "0.2.5", name, _client(module, *arguments), inputs, event, said, epsilon, stated=stated, law=law,
                    randomness=BOTH, **more)  # fmt: skip


def cell_law(g, grown=E):
    return (1 - 1 / g) * grown / (grown + g - 1), (1 - 1 / g) / (grown + g - 1)


PURE, LONG, MANY = "pure_frequency_oracles", "long_freq_est", "mdim_freq_est"
VALUE, BITS, CELL = (
    "the report is the value",
    "bit of 0 set, bit of 1 clear (0 against 1)",
    "the reported cell is that of 0 and not of 1",
)
ROOT = math.exp(0.5)
SUE, OUE = ((ROOT / (ROOT + 1)) ** 2, (1 / (ROOT + 1)) ** 2), (0.5 * E / (E + 1), 0.5 / (E + 1))

grr = entry("GRR_Client", f"{PURE}.GRR:GRR", (10, 1.0), equal, VALUE, law=(E / (E + 9), 1 / (E + 9)), trials=40_000)
sue = entry("UE_Client, SUE", f"{PURE}.UE:UE", (10, 1.0, False), bits, BITS, law=SUE)
oue = entry("UE_Client, OUE", f"{PURE}.UE:UE", (10, 1.0, True), bits, BITS, law=OUE)
blh = entry("LH_Client, BLH", f"{PURE}.LH:LH", (10, 1.0, False), hashed(2), CELL, law=cell_law(2))
olh = entry("LH_Client, OLH", f"{PURE}.LH:LH", (10, 1.0, True), hashed(4), CELL, law=cell_law(4))
K, W = 100, 27  # domain and subset at epsilon = 1
INSIDE = W * E / (W * E + K - W)


def model_subset(value, rng, mended=False):
    """Return a report of the released subset selection, which puts the value first; if mended, the report is sorted."""
    others = rng.permutation(np.delete(np.arange(K), value))
    chosen = np.append(value, others[: W - 1]) if rng.random() <= INSIDE else others[:W]
    return np.sort(chosen) if mended else chosen


order = entry("SS_Client, k = 100", f"{PURE}.SS:SS", (K, 1.0), lambda y: y[0] == 0, "the first element is 0 (0 against 1)",
              law=(INSIDE, (1 - INSIDE) / (K - 1)), source="SS.py, lines 39-40: the value is written to place 0, the rest behind it",
              thread="this book, ldp_auditor/packages", model=model_subset, mend=np.sort)  # fmt: skip
subset = entry("SS_Client, k = 100, read as a set", f"{PURE}.SS:SS", (K, 1.0), lambda y: 0 in y and 1 not in y, "holds 0 and not 1 (0 against 1)",
               law=(INSIDE * (K - W) / (K - 1), (1 - INSIDE) * W / (K - 1)))  # fmt: skip
adaptive_value = entry("ADP_Client, k = 4", f"{PURE}.ADP:ADP", (4, 2.0), equal, VALUE, 2.0, (E**2 / (E**2 + 3), 1 / (E**2 + 3)))
adaptive_bits = entry("ADP_Client, k = 20", f"{PURE}.ADP:ADP", (20, 1.0), bits, BITS, law=OUE)
ONE = "docstring: eps_1, of one report"
long_grr = entry("L_GRR_Client", f"{LONG}.L_GRR:L_GRR", (4, 2.0, 1.0), equal, VALUE, stated=ONE)
long_sue = entry("L_SUE_Client", f"{LONG}.L_SUE:L_SUE", (4, 2.0, 1.0), bits, BITS, stated=ONE)
long_oue = entry("L_OUE_Client", f"{LONG}.L_OUE:L_OUE", (4, 2.0, 1.0), bits, BITS, stated=ONE)
long_osue = entry("L_OSUE_Client", f"{LONG}.L_OSUE:L_OSUE", (4, 2.0, 1.0), bits, BITS, stated=ONE)
long_soue = entry("L_SOUE_Client", f"{LONG}.L_SOUE:L_SOUE", (4, 2.0, 1.0), bits, BITS, stated=ONE)
long_adaptive = entry("L_ADP_Client", f"{LONG}.L_ADP:L_ADP", (4, 2.0, 1.0), equal, VALUE, stated=ONE)
long_blh = entry("L_LH_Client, BLH", f"{LONG}.L_LH:L_LH", (4, 2.0, 1.0, False), hashed(2), CELL, stated=ONE)
HALF = (ROOT / (1 + ROOT), 1 / (1 + ROOT))
long_buckets = entry("dBitFlipPM_Client, 2 of 4 bits", f"{LONG}.dBitFlipPM:dBitFlipPM", (4, 4, 2, 1.0), bits, BITS,
                     law=tuple(rate**2 / 6 for rate in HALF), stated="docstring: eps_perm", trials=40_000)  # fmt: skip
TUPLES = {"inputs": ((0, 0), (1, 1))}
WHOLE = "every attribute agrees with (0, 0) and none with (1, 1)"
HOW = {"weak": "neighbours that differ in the whole record are not excluded, and lose ln(d (exp(ε) - 1) + 1)", "exact": math.log(2 * (E - 1) + 1),
       "thread": "this book, errata", **TUPLES}  # fmt: skip


def _all_equal(y):
    return all(one == 0 for one in y)


def _all_bits(y):
    return all(one[0] == 1 and one[1] == 0 for one in y)


def whole(name, *more, event=_all_bits):
    module = name.partition(",")[0].removesuffix("_Client")
    return entry(name, f"{MANY}.RSpFD_solution:{module}", ([2, 2], 2, 1.0, *more), event, WHOLE, **HOW)


fake_grr = whole("RSpFD_GRR_Client", event=_all_equal)
fake_zero_sue, fake_zero_oue = whole("RSpFD_UE_zero_Client, SUE", False), whole("RSpFD_UE_zero_Client, OUE", True)
fake_rnd_sue, fake_rnd_oue = whole("RSpFD_UE_rnd_Client, SUE", False), whole("RSpFD_UE_rnd_Client, OUE", True)
fake_adaptive = whole("RSpFD_ADP_Client", event=_all_equal)
sampled_grr = entry("SMP_GRR_Client", f"{MANY}.SMP_solution:SMP_GRR", ([2, 2], 2, 1.0), lambda y: y[1] == 0, "the value is 0 (0 against 1)",
                    law=(E / (1 + E), 1 / (1 + E)), **TUPLES)  # fmt: skip
sampled_bits = entry(
    "SMP_UE_Client", f"{MANY}.SMP_solution:SMP_UE", ([4, 4], 2, 1.0), lambda y: bits(y[1]), BITS, law=OUE, **TUPLES
)
sampled_cell = entry(
    "SMP_LH_Client", f"{MANY}.SMP_solution:SMP_LH", ([4, 4], 2, 1.0), lambda y: hashed(4)(y[1]), CELL, law=cell_law(4), **TUPLES
)
split_grr = entry("SPL_GRR_Client", f"{MANY}.SPL_solution:SPL_GRR", ([2, 2], 2, 1.0), _all_equal, "all values are 0 (0 against 1)",
                  law=((ROOT / (1 + ROOT)) ** 2, (1 / (1 + ROOT)) ** 2), **TUPLES)  # fmt: skip
