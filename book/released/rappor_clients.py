"""Describe RAPPOR in Java as Android ships it, through a program that answers line by line (`RapporAudit.java`).

Only `python -m ldpbook released` installs it.
"""

import math
from pathlib import Path

from clients import BITS, Released

from ldpbook import paths
from ldpkit.blackbox.clients import Program

HERE = Path(__file__).parent
STATED = "parameters f, p, q and h, by the formula of the RAPPOR paper"
HALF = math.log(3)  # the loss of one bit at f = 1/2


def _encoder(what, bits=8, f=0.5, p=0.0, q=1.0, hashes=1):
    def make():
        jars = paths.PACKAGES / rappor("", 1.0).folder / "usr" / "share" / "java"
        return Program(["java", "-cp", f"{jars / 'rappor-aosp.jar'}:{jars / 'guava.jar'}", str(HERE / "RapporAudit.java"),
                        what, *map(str, (bits, f, p, q, hashes))], limit=60)  # fmt: skip

    return make


def rappor(name, claim, make=None, event=None, said="", **more):
    return Released("librappor-aosp-java", "9.0.0+r35", name, make, event=event, said=said, claim=claim, stated=STATED,
                    randomness="an HMAC generator keyed with the user's secret, and java.security.SecureRandom", **more)  # fmt: skip


def bits(own, others):
    """Return the event that all bits of the first input are set and all bits of the second are clear."""
    return lambda y: all(y[i] for i in own) and not any(y[i] for i in others)


ordinal = rappor("Encoder.encodeOrdinal, permanent", 2 * HALF, _encoder("ordinal"), bits([0], [1]), BITS, law=(0.75**2, 0.25**2))
P, Q = 0.5 * 1.25 / 2 + 0.5 * 0.5, 0.5 * 1.25 / 2 + 0.5 * 0.75  # a clear and a set bit after both steps
again = rappor("Encoder.encodeOrdinal, instantaneous, p = .5, q = .75", math.log(Q * (1 - P) / (P * (1 - Q))),
               _encoder("ordinal", p=0.5, q=0.75), bits([0], [1]), BITS, law=(Q * (1 - P), P * (1 - Q)))  # fmt: skip
flag = rappor("Encoder.encodeBoolean", 2 * HALF, _encoder("boolean", bits=1), bits([], [0]), "the bit is clear (False against True)",
              inputs=(False, True), law=(0.75, 0.25))  # fmt: skip
OWN = "own bits of a set, of b clear; {} (a against b)"
text = rappor("Encoder.encodeString, h = 2, 8 bits", 4 * HALF, _encoder("string", hashes=2), bits([2], [3]), OWN.format("the third is shared"),
              inputs=("a", "b"), law=(0.75**2, 0.25**2))  # fmt: skip
apart = rappor("Encoder.encodeString, h = 2, 32 bits", 4 * HALF, _encoder("string", 32, hashes=2), bits([2, 7], [19, 23]),
               OWN.format("none is shared"), inputs=("a", "b"), law=(0.75**4, 0.25**4))  # fmt: skip
