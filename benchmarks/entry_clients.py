"""Define clients for the inputs 0 and 1 that claim epsilon = 1, some of which break their claim.

Some send the input in the clear at one place of the report, and some keep their claim exactly. A
client is a function of the input, a generator and the number of the report.
"""

import base64
import hashlib
import itertools
import json
import math
import urllib.parse

import numpy as np

CLEAR, CORRECT = {}, {}
E = math.e
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def kept_in(clients):
    return lambda client: clients.setdefault(client.__name__, client)


def answer(v, rng, epsilon=1.0):
    """Return the answer of binary randomised response."""
    return v if rng.random() < 1 / (1 + math.exp(-epsilon)) else 1 - v


def bits(k, rng):
    return rng.integers(0, 2, k).tolist()


def letters(rng, low, high):
    return "".join(LETTERS[i] for i in rng.integers(0, 36, rng.integers(low, high + 1)))


def fields(values):
    return {f"f{i}": value for i, value in enumerate(values)}


def unary(v, k, rng, epsilon=1.0):
    """Return a report of optimised unary encoding."""
    out = (rng.random(k) < 1 / (1 + math.exp(epsilon))).astype(int)
    out[v] = rng.random() < 0.5
    return out.tolist()


def symmetric(v, k, rng):
    """Return a report of symmetric unary encoding."""
    out = (rng.random(k) < 1 / (1 + math.exp(0.5))).astype(int)
    out[v] = rng.random() < 1 / (1 + math.exp(-0.5))
    return out.tolist()


# --- in the clear ---------------------------------------------------------------------------------
@kept_in(CLEAR)
def dict_70_fields(v, rng, t):
    return fields([*bits(69, rng), v])


@kept_in(CLEAR)
def bytes_128_place_100(v, rng, t):
    return [*rng.integers(0, 256, 99).tolist(), v, *rng.integers(0, 256, 28).tolist()]


@kept_in(CLEAR)
def bits_1024_place_1000(v, rng, t):
    return [*bits(999, rng), v, *bits(24, rng)]


@kept_in(CLEAR)
def reals_1000_place_700(v, rng, t):
    x = rng.normal(size=1000)
    x[699] += 4 * v
    return x.tolist()


@kept_in(CLEAR)
def bits_10000_place_9000(v, rng, t):
    return [*bits(8999, rng), v, *bits(1000, rng)]


@kept_in(CLEAR)
def json_list_2000_place_1990(v, rng, t):
    return [*rng.integers(0, 100, 1989).tolist(), v, *rng.integers(0, 100, 10).tolist()]


@kept_in(CLEAR)
def text_place_7(v, rng, t):
    return letters(rng, 7, 7) + "ab"[v] + letters(rng, 0, 90)


@kept_in(CLEAR)
def text_third_from_end(v, rng, t):
    return letters(rng, 5, 97) + "ab"[v] + letters(rng, 2, 2)


@kept_in(CLEAR)
def text_place_of_letter(v, rng, t):
    return letters(rng, 8, 50) + "#%"[v] + letters(rng, 8, 50)


@kept_in(CLEAR)
def in_base64(v, rng, t):
    return base64.b64encode(rng.bytes(10) + bytes([v]) + rng.bytes(13)).decode()


@kept_in(CLEAR)
def in_hex(v, rng, t):
    return (rng.bytes(10) + bytes([int(rng.integers(256)) & 0xF7 | v << 3]) + rng.bytes(13)).hex()


@kept_in(CLEAR)
def in_json_text(v, rng, t):
    a, b = rng.integers(0, 1000, 2).tolist()
    return {"log": json.dumps({"a": a, "b": [b, v]})}


@kept_in(CLEAR)
def in_base64_of_json(v, rng, t):
    return base64.b64encode(json.dumps({"a": int(rng.integers(1000)), "b": v}).encode()).decode()


@kept_in(CLEAR)
def in_query_text(v, rng, t):
    return f"/p?s={letters(rng, 4, 12)}&n={rng.integers(1000)}&x={5 + v}&q={rng.integers(1000)}"


@kept_in(CLEAR)
def depth_6(v, rng, t):
    return {"a": [{"b": {"c": [int(rng.integers(100)), {"d": v}]}}]}


@kept_in(CLEAR)
def bit_70_of_integer(v, rng, t):
    return int(rng.integers(2**29)) << 71 | v << 70 | int(rng.integers(2**62)) << 8


@kept_in(CLEAR)
def last_bit_of_double(v, rng, t):
    return float((np.float64(rng.normal()).view(np.uint64) >> 1 << 1 | np.uint64(v)).view(float))


@kept_in(CLEAR)
def mantissa_bit_30(v, rng, t):
    word = np.float64(rng.normal()).view(np.uint64) & ~np.uint64(1 << 30)
    return {"x": float((word | np.uint64(v << 30)).view(float)), "y": 1}


@kept_in(CLEAR)
def sign_of_zero(v, rng, t):
    return [rng.normal(), 0.0 if v else -0.0]


@kept_in(CLEAR)
def one_or_one_point_nought(v, rng, t):
    return {"x": int(rng.integers(10)), "y": 1.0 if v else 1}


@kept_in(CLEAR)
def missing_key(v, rng, t):
    return fields(bits(30, rng)) | ({} if v else {"z": None})


@kept_in(CLEAR)
def key_order_of_40(v, rng, t):
    items = [*fields(bits(40, rng)).items()]
    return dict(items[:20] + items[20:22][:: 1 - 2 * v] + items[22:])


@kept_in(CLEAR)
def member_of_shuffled(v, rng, t):
    return rng.permutation([*rng.integers(0, 1000, 20), 1000 + v]).tolist()


@kept_in(CLEAR)
def member_of_shuffled_objects(v, rng, t):
    kinds = rng.permutation([*rng.integers(2, 50, 9), v]).tolist()
    return {"events": [{"id": i, "kind": kind} for i, kind in enumerate(kinds)]}


@kept_in(CLEAR)
def parity_of_milliseconds(v, rng, t):
    return f"2026-01-02T03:{t % 60:02d}:{rng.integers(60):02d}.{2 * rng.integers(500) + v:03d}Z"


@kept_in(CLEAR)
def parity_of_bits(v, rng, t):
    x = symmetric(v, 8, rng)
    return [*x[:7], (sum(x[:7]) + v) % 2]


@kept_in(CLEAR)
def memoised(v, rng, t):
    return unary(v, 8, np.random.default_rng(7 + v))


@kept_in(CLEAR)
def laplace_not_clipped(v, rng, t):
    return round(4 * v + rng.laplace(), 3)


def rarely(rate):
    """Return a client that adds the input in the clear to a few of its reports."""
    return lambda v, rng, t: {"x": answer(v, rng)} | ({"debug": v} if rng.random() < rate else {})


def shares(v, rng, t):
    """Return a report in which two fields are fair bits, and equal for the input 0."""
    x = fields(bits(40, rng))
    return x | {"f30": x["f17"] ^ v}


def from_report(start, rate=1.0):
    """Return a client that keeps its claim up to a report, and from then on leaks at a rate."""

    def send(v, rng, t):
        clear = t >= start and rng.random() < rate
        own = {"x": answer(v, rng), "y": int(rng.integers(100))}
        return own | ({"debug": v} if clear else {})

    return send


def one_late():
    """Return a client that sends the previous input instead of the present one."""
    before = [0]

    def send(v, rng, t):
        now, before[0] = before[0], v
        return now

    return send


def buffering():
    """Return a client that sends each input once, by randomised response, two reports later."""
    kept = []

    def send(v, rng, t):
        kept.append(v)
        return answer(kept.pop(0), rng) if len(kept) > 2 else 0

    return send


def two_late():
    """Return a client that sends in the clear the input of two reports before."""
    kept = [0, 0]

    def send(v, rng, t):
        kept.append(v)
        return kept.pop(0)

    return send


def of_ten(v, rng, t):
    """Return a report that shows in the clear whether the input is number 3 of ten."""
    return {"x": int(rng.integers(5)), "y": int(v == 3)}


def failing(rate):
    """Return a client that fails at a rate with one input, and less often with the other."""

    def send(v, rng, t):
        if rng.random() < rate / (1, 10)[v]:
            raise RuntimeError("no memory")
        return answer(v, rng)

    return send


def three_shares(v, rng, t):
    """Return 64 bits of which three have the input as their parity."""
    x = bits(64, rng)
    x[40] = x[3] ^ x[21] ^ v
    return x


def digest(v, rng, t):
    """Return a nonce, and a hash of nonce and input."""
    nonce = rng.bytes(8)
    return {"nonce": nonce.hex(), "check": hashlib.sha256(nonce + bytes([v])).hexdigest()}


def percent(v, rng, t):
    """Return a percent-encoded text with the input behind a random number of other characters."""
    return urllib.parse.quote(letters(rng, 4, 30) + "é~"[v] + letters(rng, 4, 30))


def ignoring(v, rng, t):
    """Return a report that does not depend on the input."""
    return int(rng.integers(10))


def below(v, rng, t):
    """Return a report of randomised response that loses less than the claim."""
    return answer(v, rng, 0.5)


UNUSUAL = {
    "one report of 100 in the clear": (lambda: rarely(1e-2), 2),
    "one report of 1,000 in the clear": (lambda: rarely(1e-3), 2),
    "one report of 10,000 in the clear": (lambda: rarely(1e-4), 2),
    "from report 125,000 on": (lambda: from_report(125_000), 2),
    "one report of 100 from 50,000 on": (lambda: from_report(50_000, 0.01), 2),
    "one report late": (one_late, 2),
    "only input 3 of 10": (lambda: of_ten, 10),
    "fails once in 1,000, less for one": (lambda: failing(1e-3), 2),
    "two shares in two fields": (lambda: shares, 2),
    "three shares in 64 bits": (lambda: three_shares, 2),
    "nonce and digest": (lambda: digest, 2),
    "two reports late": (two_late, 2),
    "percent-encoded": (lambda: percent, 2),
}  # fmt: skip
"""Clients that send their input in the clear at rare times, to some inputs only, or in disguise.

Each entry has a function that makes the client, and the number of its inputs.
"""

FINITE = {"laplace_not_clipped", "fails once in 1,000, less for one"}
"""Those of them that exceed their claim without sending the input itself."""

NOT_SEEN = {
    "nonce and digest": "a hash of two entries",
    "two reports late": "an input two reports ago",
    "three shares in 64 bits": "three entries together",
}
"""Clients whose leak the auditor does not look for, with the reason."""

INNOCENT = {
    "buffers two inputs": buffering,
    "ignores its input": lambda: ignoring,
    "below its claim": lambda: below,
}


def numbered(function):
    """Return a client of one value at a time, which counts its reports."""
    rng, count = np.random.default_rng(), itertools.count()
    return lambda v: function(v, rng, next(count))


# --- at exactly their claim -----------------------------------------------------------------------
@kept_in(CORRECT)
def binary(v, rng, t):
    return answer(v, rng)


@kept_in(CORRECT)
def one_of_ten(v, rng, t):
    other = int(rng.integers(9))
    return v if rng.random() < E / (E + 9) else other + (other >= v)


@kept_in(CORRECT)
def unary_64(v, rng, t):
    return unary(v, 64, rng)


@kept_in(CORRECT)
def laplace_rounded(v, rng, t):
    return round(v + rng.laplace(), 3)


@kept_in(CORRECT)
def piecewise_real(v, rng, t):
    return rng.random() / 2 + answer(v, rng) / 2


@kept_in(CORRECT)
def padded_text(v, rng, t):
    return "yn"[answer(v, rng)] + " " * int(rng.integers(20))


@kept_in(CORRECT)
def ragged_list(v, rng, t):
    return [answer(v, rng), *bits(int(rng.integers(29)), rng)]


@kept_in(CORRECT)
def json_with_time(v, rng, t):
    at = f"2026-01-02T{t % 24:02d}:{t % 60:02d}:00Z"
    return {
        "t": 1.7e9 + t + rng.random(),
        "at": at,
        "x": answer(v, rng),
        "user": int(rng.integers(500)),
    }


@kept_in(CORRECT)
def subset_shuffled(v, rng, t, k=10, w=3):
    own = rng.random() < w * E / (w * E + k - w)
    others = rng.permutation([i for i in range(k) if i != v]).tolist()
    return rng.permutation([v, *others[: w - 1]] if own else others[:w]).tolist()


@kept_in(CORRECT)
def json_bits_any_order(v, rng, t):
    x = symmetric(v, 4, rng)
    return {f"k{i}": x[i] for i in rng.permutation(4).tolist()}


@kept_in(CORRECT)
def hex_with_answer(v, rng, t):
    return (rng.bytes(3) + bytes([answer(v, rng)]) + rng.bytes(4)).hex()


@kept_in(CORRECT)
def big_integer(v, rng, t):
    return answer(v, rng) << 70 | int(rng.integers(2**62))


@kept_in(CORRECT)
def bytes_32(v, rng, t):
    return [*rng.integers(0, 256, 20).tolist(), answer(v, rng), *rng.integers(0, 256, 11).tolist()]
