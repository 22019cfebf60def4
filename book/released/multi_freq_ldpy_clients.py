"""Describe the clients of multi-freq-ldpy for one report, for one report of several rounds, and for several attributes."""

import math
import pkgutil

import numpy as np
from clients import BITS, CELL, INSIDE, SUBSET_LAW, VALUE, E, K, Released, W, bit, cell_law, hashed, unary_law, value_law


def equal(y):
    return y == 0


def entry(name, place, arguments, event, said, epsilon=1.0, stated="docstring: privacy guarantee", **more):
    """Return a client by its module and the first part of the name of its function, which takes `arguments` after the value."""

    def make():
        client = pkgutil.resolve_name(f"multi_freq_ldpy.{place}_Client")
        return lambda value: client(value, *arguments)

    return Released("multi-freq-ldpy", "0.2.5", name, make, event, said, claim=epsilon, stated=stated,
                    randomness="Numba's generator and NumPy's global one", **more)  # fmt: skip


PURE, LONG, MANY = "pure_frequency_oracles", "long_freq_est", "mdim_freq_est"
OUE = unary_law(True)

grr = entry("GRR_Client", f"{PURE}.GRR:GRR", (10, 1.0), equal, VALUE, law=value_law(10), trials=40_000)
sue = entry("UE_Client, SUE", f"{PURE}.UE:UE", (10, 1.0, False), bit, BITS, law=unary_law(False))
oue = entry("UE_Client, OUE", f"{PURE}.UE:UE", (10, 1.0, True), bit, BITS, law=OUE)
blh = entry("LH_Client, BLH", f"{PURE}.LH:LH", (10, 1.0, False), hashed(2), CELL, law=cell_law(2))
olh = entry("LH_Client, OLH", f"{PURE}.LH:LH", (10, 1.0, True), hashed(4), CELL, law=cell_law(4))


def model_subset(value, rng, mended=False):
    """Return a report of the released subset selection, which puts the value first; if mended, the report is sorted."""
    others = rng.permutation(np.delete(np.arange(K), value))
    chosen = np.append(value, others[: W - 1]) if rng.random() <= INSIDE else others[:W]
    return np.sort(chosen) if mended else chosen


order = entry("SS_Client, k = 100", f"{PURE}.SS:SS", (K, 1.0), lambda y: y[0] == 0, "the first element is 0 (0 against 1)",
              law=(INSIDE, (1 - INSIDE) / (K - 1)), source="SS.py, lines 39-40: the value is written to place 0, the rest behind it",
              thread="this book, ldp_auditor/packages", model=model_subset, mend=np.sort)  # fmt: skip
subset = entry("SS_Client, k = 100, read as a set", f"{PURE}.SS:SS", (K, 1.0), lambda y: 0 in y and 1 not in y, "holds 0 and not 1 (0 against 1)",
               law=SUBSET_LAW)  # fmt: skip
adaptive_value = entry("ADP_Client, k = 4", f"{PURE}.ADP:ADP", (4, 2.0), equal, VALUE, 2.0, law=value_law(4, 2.0))
adaptive_bits = entry("ADP_Client, k = 20", f"{PURE}.ADP:ADP", (20, 1.0), bit, BITS, law=OUE)
ONE = "docstring: eps_1, of one report"
long_grr = entry("L_GRR_Client", f"{LONG}.L_GRR:L_GRR", (4, 2.0, 1.0), equal, VALUE, stated=ONE)
long_sue = entry("L_SUE_Client", f"{LONG}.L_SUE:L_SUE", (4, 2.0, 1.0), bit, BITS, stated=ONE)
long_oue = entry("L_OUE_Client", f"{LONG}.L_OUE:L_OUE", (4, 2.0, 1.0), bit, BITS, stated=ONE)
long_osue = entry("L_OSUE_Client", f"{LONG}.L_OSUE:L_OSUE", (4, 2.0, 1.0), bit, BITS, stated=ONE)
long_soue = entry("L_SOUE_Client", f"{LONG}.L_SOUE:L_SOUE", (4, 2.0, 1.0), bit, BITS, stated=ONE)
long_adaptive = entry("L_ADP_Client", f"{LONG}.L_ADP:L_ADP", (4, 2.0, 1.0), equal, VALUE, stated=ONE)
long_blh = entry("L_LH_Client, BLH", f"{LONG}.L_LH:L_LH", (4, 2.0, 1.0, False), hashed(2), CELL, stated=ONE)
HALF = value_law(2, 0.5)
long_buckets = entry("dBitFlipPM_Client, 2 of 4 bits", f"{LONG}.dBitFlipPM:dBitFlipPM", (4, 4, 2, 1.0), bit, BITS,
                     law=tuple(rate**2 / 6 for rate in HALF), stated="docstring: eps_perm", trials=40_000)  # fmt: skip
TUPLES = {"inputs": ((0, 0), (1, 1))}
WHOLE = "every attribute agrees with (0, 0) and none with (1, 1)"
HOW = {"weak": "neighbours that differ in the whole record are not excluded, and lose ln(d (exp(ε) - 1) + 1)", "exact": math.log(2 * (E - 1) + 1),
       "thread": "this book, errata", **TUPLES}  # fmt: skip


def _all_equal(y):
    return all(map(equal, y))


def _all_bits(y):
    return all(map(bit, y))


def whole(name, *more, event=_all_bits):
    module = name.partition(",")[0].removesuffix("_Client")
    return entry(name, f"{MANY}.RSpFD_solution:{module}", ([2, 2], 2, 1.0, *more), event, WHOLE, **HOW)


fake_grr = whole("RSpFD_GRR_Client", event=_all_equal)
fake_zero_sue, fake_zero_oue = whole("RSpFD_UE_zero_Client, SUE", False), whole("RSpFD_UE_zero_Client, OUE", True)
fake_rnd_sue, fake_rnd_oue = whole("RSpFD_UE_rnd_Client, SUE", False), whole("RSpFD_UE_rnd_Client, OUE", True)
fake_adaptive = whole("RSpFD_ADP_Client", event=_all_equal)
sampled_grr = entry("SMP_GRR_Client", f"{MANY}.SMP_solution:SMP_GRR", ([2, 2], 2, 1.0), lambda y: y[1] == 0, "the value is 0 (0 against 1)",
                    law=value_law(2), **TUPLES)  # fmt: skip
sampled_bits = entry(
    "SMP_UE_Client", f"{MANY}.SMP_solution:SMP_UE", ([4, 4], 2, 1.0), lambda y: bit(y[1]), BITS, law=OUE, **TUPLES
)
sampled_cell = entry(
    "SMP_LH_Client", f"{MANY}.SMP_solution:SMP_LH", ([4, 4], 2, 1.0), lambda y: hashed(4)(y[1]), CELL, law=cell_law(4), **TUPLES
)
split_grr = entry("SPL_GRR_Client", f"{MANY}.SPL_solution:SPL_GRR", ([2, 2], 2, 1.0), _all_equal, "all values are 0 (0 against 1)",
                  law=tuple(rate**2 for rate in HALF), **TUPLES)  # fmt: skip
