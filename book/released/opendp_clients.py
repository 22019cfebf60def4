"""Describe randomised response and noise of OpenDP, a library in Rust, through its Python package."""

import atexit
import dataclasses
import functools
import math

import numpy as np
from clients import VALUE, Released, lattice, value_law

RUST = "compiled Rust, cannot be seeded"


def _prelude():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _bits():
    dp = _prelude()
    return dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)


def _bool_old():
    np.bool8 = np.bool_  # the name that NumPy 1 had and this release asks for
    from opendp.meas import make_randomized_response_bool
    from opendp.mod import enable_features

    enable_features("contrib")
    atexit.register(bool_old.__dict__.pop, "real", None)  # the library reports an error if this is freed later
    return make_randomized_response_bool(0.75)


def _noise(name, kind, **newer):
    dp = _prelude()
    return getattr(dp.m, name)(dp.atom_domain(T=kind, **newer), dp.absolute_distance(T=kind), scale=1.0)


def model_bits(value, rng, mended=False):
    """Return a report of the released client on one byte, which redraws a bit with probability 1/2, but never the last one."""
    kept = 8 if mended else 7
    flips = np.append(rng.random(kept) < 0.25, np.zeros(8 - kept, bool))
    return bytes([value[0] ^ int(sum(1 << i for i in range(8) if flips[i]))])


def model_bool(value, rng, mended=False):
    """Return a report of the released response, restated from its four rates; the mended one treats both answers alike."""
    keep = 3 / 4 if mended else (15 / 16 if value else 13 / 16)
    return value if rng.random() < keep else not value


bool_old = Released(
    package="opendp",
    version="0.4.0",
    name="make_randomized_response_bool(.75)",
    make=_bool_old,
    inputs=(False, True),
    event=lambda report: not report,
    said="the report is False (False against True)",
    claim=math.log(3),
    stated="its privacy relation: check(1, 1.0987) is true, check(1, 1.0985) is not",
    law=(13 / 16, 1 / 16),
    source="four rates that fit 15/16, 1/16, 3/16 and 13/16, which no symmetric response has",
    fixed_in="0.5.0",
    randomness=RUST,
    model=model_bool,
)
bits = Released(
    package="opendp",
    version="0.11.1",
    name="make_randomized_response_bitvec(f=.5)",
    make=_bits,
    inputs=(b"\x80", b"\x00"),
    event=lambda report: bool(report[-1] & 0x80),
    said="the highest bit of the last byte is 1 (0x80 against 0x00)",
    claim=2 * math.log(3),
    stated="its privacy map: 2 max_weight ln((2 - f)/f)",
    law=(1.0, 0.0),
    source="opendp issue 2707, where the maintainers describe a mask that is one position short",
    fixed_in="0.15.0",
    thread="opendp, issue 2707 and pull request 2708",
    randomness=RUST,
    model=model_bits,
)
bits_between, bits_last = (dataclasses.replace(bits, version=version) for version in ("0.14.1", "0.14.2"))
bits_mended, bits_newest = (
    dataclasses.replace(bits, version=version, law=(0.75, 0.25), exact=2 * math.log(3), source="")
    for version in ("0.15.0", "0.16.0")
)
boolean = Released("opendp", "0.11.1", "make_randomized_response_bool(.75)", lambda: _prelude().m.make_randomized_response_bool(0.75), lambda y: y,
                   "the report is True (True against False)", (True, False), math.log(3), stated="its privacy map", law=(0.75, 0.25), randomness=RUST)  # fmt: skip
value = Released("opendp", "0.11.1", "make_randomized_response([0, 1, 2, 3], .75)",
                 lambda: _prelude().m.make_randomized_response([0, 1, 2, 3], prob=0.75), lambda y: y == 0,
                 VALUE, claim=math.log(9), stated="its privacy map", law=(0.75, 0.25 / 3), randomness=RUST,
                 trials=40_000)  # fmt: skip
geometric = Released("opendp", "0.11.1", "make_geometric(scale=1)", functools.partial(_noise, "make_geometric", int), lambda y: y >= 1,
                     "the report is at least 1 (1 against 0)",
                     (1, 0), stated="its privacy map", law=value_law(2), randomness=RUST)  # fmt: skip
laplace = Released("opendp", "0.11.1", "make_laplace(scale=1), float", functools.partial(_noise, "make_laplace", float), lambda y: y >= 1,
                   "the report is at least 1 (1 against 0)", (1.0, 0.0), stated="its privacy map", law=(0.5, 0.5 / math.e), randomness=RUST,
                   trials=10_000)  # fmt: skip
boolean_newest, value_newest, geometric_newest = (
    dataclasses.replace(client, version="0.16.0") for client in (boolean, value, geometric)
)
laplace_newest = dataclasses.replace(laplace, version="0.15.0", make=functools.partial(_noise, "make_laplace", float, nan=False))
laplace_digits = Released("opendp", "0.14.2", "make_laplace(scale=1), float: its digits", laplace_newest.make, lattice,
                          "|y| < 1/4 and 2⁵³ y is not whole (0 against 1)", (0.0, 1.0), stated="its privacy map", randomness=RUST, trials=10_000)  # fmt: skip
lengths = Released("opendp", "0.16.0", "make_randomized_response_bitvec(f=.5), two lengths", _bits, lambda y: len(y) == 1,
                   "the report has one byte (one byte of zeros against two)", (b"\x00", b"\x00\x00"), 2 * math.log(3), stated=bits.stated, law=(1.0, 0.0),
                   weak="vectors of different lengths are not excluded, and the report keeps the length", thread="opendp, issue 2930", randomness=RUST,
                   trials=2000)  # fmt: skip
