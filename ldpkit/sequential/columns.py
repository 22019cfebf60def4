"""Columns of reports of any form: every place of a report gets a record of its content.

Every record depends on its own report alone, because each step below treats single entries, or the
entries of one list. Bets on records would not be valid otherwise. Reports are read level by level,
all entries of one depth and type at once.

A list of zeros and ones has no star path, because its sum shows as much. Compressed or encrypted
bytes, percent-encoding and base32 are not decoded; add a line to `decoded` for any of them.
"""

import base64
import contextlib
import functools
import itertools
import json
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..jit import kernel
from ..reports.anything import plain, rows
from ..types import Array
from .records import INTEGER, NONE, ODD, REAL, ROOT, TRUTH, Records, chained, token

__all__ = ["decoded", "read"]

U = np.uint64
_CODES: dict[type, int] = {
    int: INTEGER, float: REAL, bool: TRUTH, str: 3, list: 4, tuple: 4, dict: 5, type(None): 6
}  # fmt: skip
_ENTRY, _CHARACTER, _COUPLE, _STEP = (i << 48 for i in range(1, 5))  # plus a place: a token
_TAIL, _COUPLED, _STEPPED = 16, 12, 256  # last characters; most entries of lists of bits, of reals
_SHOWN = 60  # characters


Level = list[tuple[Array, Array, Array, Array, list[Any]]]
"""Entries of one depth: their reports, paths, star paths, types and values."""


def read(reports: Iterable[Any], first: int = 0, named: bool = False, size: int = 1) -> Records:
    """Return the records of reports.

    Parameters
    ----------
    reports : sequence
        As `ldpkit.reports.anything.plain` returns them, or an array.
    first : int
        Number of the first report. Reports with many numbers show their last digits only in some
        rounds, which this number decides. It must therefore not depend on the input.
    named : bool
        Whether to keep the words of paths and categories, for a single report.
    size : int
        Reports of a round.

    Returns
    -------
    Records
    """
    table = _table(reports)
    given: Any = rows(reports) if table is None else table
    root = ("the text" if type(given[0]) is str else "the report") if named else None
    out, n = Records(len(given), root), len(given)
    level: Level = []
    start = np.arange(n), np.full(n, ROOT), np.zeros(n, U)
    if table is None:
        _deeper(level, *start, given)
    else:
        sizes, flat = np.full(n, table.shape[1]), table.ravel()
        code = {"b": TRUTH, "f": REAL}.get(table.dtype.kind, INTEGER)
        codes = np.full(flat.size, code)
        of, paths, stars = _entries(out, *start, sizes, codes, flat.astype(float))
        _numbers(out, level, of, paths, stars, flat, code)
    while level:
        of, paths, stars, codes = (np.concatenate(part) for part in zip(*(e[:4] for e in level)))
        values, level = [*itertools.chain.from_iterable(e[4] for e in level)], []
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            at = np.flatnonzero(codes == code)
            some = values if at.size == len(values) else [values[i] for i in at.tolist()]
            entries = out, level, of[at], paths[at], stars[at], some
            if code <= TRUTH:
                _numbers(*entries, code)
            else:
                (_texts, _lists, _dictionaries, _nulls)[code - 3](*entries)
    out.finish(first, size)
    return out


def _table(reports: Any) -> Array | None:
    """Return rows of numbers as an array, if that loses nothing; otherwise ``None``."""
    table = reports if isinstance(reports, np.ndarray) else np.empty(0)
    if table.ndim != 2 or 0 in table.shape or table.dtype.itemsize > 8:
        return None
    small = table.dtype.kind == "u" and table.dtype.itemsize < 8
    return np.ascontiguousarray(table) if small or table.dtype.kind in "bif" else None


def _deeper(
    level: Level, of: Array, paths: Array, stars: Array, values: list[Any], codes: Any = None
) -> None:
    """Append entries to the next level."""
    level.append((of, paths, stars, _coded(values) if codes is None else codes, values))


def _coded(values: list[Any]) -> Array:
    """Return the codes of the types of values; values of other types are replaced by plain ones."""
    try:
        return np.fromiter(map(_CODES.__getitem__, map(type, values)), np.int64, len(values))
    except KeyError:
        values[:] = map(plain, values)
        return _coded(values)


def _numbers(
    out: Records, level: Level, of: Array, paths: Array, stars: Array, values: Any, code: int
) -> None:
    if code == REAL:
        x = np.array(values, float)
        out.number(of, paths, stars, np.where(np.isfinite(x), REAL, ODD), x, x.view(U))
        return
    try:
        whole = np.array(values, np.int64)
    except OverflowError:  # beyond 64 bits: the sign, then groups of 60 bits, the lowest first
        small = np.array([-(2**63) <= value < 2**63 for value in values])
        at = np.flatnonzero(small)
        _numbers(out, level, of[at], paths[at], stars[at], [values[i] for i in at], code)
        at = np.flatnonzero(~small)
        of, paths, large = of[at], paths[at], [values[i] for i in at]
        hashes = np.array([token(hex(value)) for value in large], U)
        out.category(of, paths, hashes, lambda i: hex(large[i])[:_SHOWN])
        limbs = [
            [v < 0, *(abs(v) >> i & 2**60 - 1 for i in range(0, v.bit_length(), 60))] for v in large
        ]
        _deeper(level, of, out.part(paths, "the 60-bit digits"), np.zeros(at.size, U), limbs)
    else:
        out.number(of, paths, stars, code, whole.astype(float), whole.view(U))


def _texts(
    out: Records, level: Level, of: Array, paths: Array, stars: Array, values: list[str]
) -> None:
    codes = np.frombuffer("".join(values).encode("utf-32-le", "surrogatepass"), np.uint32).astype(U)
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    ends, which, place = _places(sizes)
    hashes = chained(codes, ends)
    out.category(of, paths, hashes, lambda i: repr(values[i])[:_SHOWN])
    at = np.flatnonzero(stars)
    out.category(of[at], stars[at], hashes[at], lambda i: repr(values[at[i]])[:_SHOWN])
    out.integer(of, out.part(paths, "the length"), sizes)
    each, letter = of[which], [chr(code) for code in codes] if out.names else []
    inner = out.step(paths[which], place + _CHARACTER, lambda i: f"character {place[i] + 1:,}")
    out.number(each, inner, NONE, INTEGER, codes.astype(float), codes)
    single = out.part(paths, "one of the characters")[which]
    out.category(each, single, codes, lambda i: repr(letter[i]))
    after = np.append(codes[1:], NONE)[: codes.size]
    after[ends[sizes > 0] - 1] = 0
    double = out.part(paths, "one of the characters with the next")[which]
    both = (codes << U(32)) | after
    out.category(each, double, both, lambda i: repr(letter[i] + chr(int(after[i]))))
    last = ends[which] - np.arange(which.size)
    at = np.flatnonzero(last <= _TAIL)
    end = out.part(paths, "the end")[which[at]]
    inner = out.step(end, last[at], lambda i: f"character {last[at[i]]} from the right")
    out.category(each[at], inner, codes[at], lambda i: repr(letter[at[i]]))
    parts = [
        (i, what, value)
        for i, text in enumerate(values)
        for what, value in (_remembered if len(text) <= _TAIL else decoded)(text)
    ]
    for what in dict.fromkeys(what for _, what, _ in parts):
        at = np.array([i for i, name, _ in parts if name == what])
        new, inner = [value for _, name, value in parts if name == what], out.part(paths[at], what)
        if what == "a word":
            _words(out, of[at], inner, new)
        else:
            _deeper(level, of[at], inner, np.zeros(at.size, U), new)


def _words(out: Records, of: Array, paths: Array, texts: list[list[str]]) -> None:
    sizes, words = [len(text) for text in texts], [*itertools.chain.from_iterable(texts)]
    tokens = np.array([*map(token, words)], U)
    out.category(np.repeat(of, sizes), np.repeat(paths, sizes), tokens, lambda i: repr(words[i]))


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
_BETWEEN = re.compile(r"[^0-9A-Za-z.+-]+|(?<=[0-9A-Za-z])[-+](?=[0-9A-Za-z])")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){2,}\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}={0,2}\Z")


def decoded(text: str) -> list[tuple[str, Any]]:
    """Return what a text may encode, as pairs of a name of the part and its value."""
    out: list[tuple[str, Any]] = []
    if len(text) < 400 and _NUMBER.match(text):
        whole = text.lstrip("+-").isdigit()
        out.append(("the decoded number", int(text) if whole else float(text)))
    elif len(text) <= 4096 and not text.isalnum():
        words = [word for word in _BETWEEN.split(text) if word]
        numbers = [float(word) for word in words if len(word) < 40 and _NUMBER.match(word)]
        out += [("the numbers", numbers), ("a word", words)] * (len(words) > 1)
    if text[:1] in {"{", "[", '"'}:
        with contextlib.suppress(ValueError, RecursionError):
            out.append(("the decoded JSON", json.loads(text)))
    raw = {}
    if _HEX.match(text):
        raw["the hexadecimal bytes"] = bytes.fromhex(text)
    if _BASE64.match(text):
        standard = text.rstrip("=").replace("-", "+").replace("_", "/")
        with contextlib.suppress(ValueError):
            raw["the base64 bytes"] = base64.b64decode(standard + "=" * (-len(standard) % 4))
    for what, data in raw.items():
        out.append((what, list(data)))
        if data and data.isascii() and (inner := data.decode()).isprintable():
            out.append(("the decoded text", inner))
    return out


_remembered = functools.lru_cache(1 << 12)(decoded)  # for short texts, which often repeat


def _places(sizes: Array) -> tuple[Array, Array, Array]:
    """Return the ends of concatenated sequences; of each entry its sequence and its place there."""
    ends = np.cumsum(sizes)
    which = np.repeat(np.arange(sizes.size), sizes)
    return ends, which, np.arange(which.size) - (ends - sizes)[which]


def _lists(
    out: Records, level: Level, of: Array, paths: Array, stars: Array, values: list[Any]
) -> None:
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    entries = [*itertools.chain.from_iterable(values)]
    codes, x = _coded(entries), np.zeros(len(entries))
    at = np.flatnonzero(codes <= TRUTH)
    some = entries if at.size == len(entries) else [entries[i] for i in at.tolist()]
    try:
        x[at] = some
    except OverflowError:
        x[at] = [*map(_floating, some)]
    which, inner, members = _entries(out, of, paths, stars, sizes, codes, x)
    _deeper(level, of[which], inner, members, entries, codes)


def _floating(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _entries(
    out: Records, of: Array, paths: Array, stars: Array, sizes: Array, codes: Array, x: Array
) -> tuple[Array, Array, Array]:
    """Record lists as wholes; return for each entry its list, path and star path."""
    out.integer(of, out.part(paths, "the length"), sizes)
    ends, which, place = _places(sizes)
    inner = out.step(paths[which], place + _ENTRY, lambda i: f"entry {place[i] + 1:,}")
    base = np.where(stars != 0, stars, paths)[which]
    members = out.step(base, token("\0an entry"), lambda i: "an entry")

    def lists(of_entries: Array) -> Array:
        return np.bincount(which, of_entries, sizes.size) > 0

    bits = ~lists((codes > TRUTH) | (x != 0) & (x != 1))
    members[bits[which]] = NONE
    numeric = ~lists(codes > TRUTH) & (sizes > 0)
    x = np.where(np.isfinite(x), x, 0.0)
    at = np.flatnonzero(numeric)
    tokens = np.repeat(_WHOLE_TOKENS, at.size)
    whole = out.step(np.tile(paths[at], 7), tokens, lambda i: _AS_WHOLE[i // at.size])
    out.real(np.tile(of[at], 7), whole, _listed(x, ends, sizes, at).ravel())
    near = numeric & (sizes <= _STEPPED) & lists(x != np.floor(x))
    at = np.flatnonzero((place > 0) & near[which])
    tokens = place[at] + _STEP
    steps = out.step(paths[which[at]], tokens, lambda i: f"step {place[at[i]]}")
    out.real(of[which[at]], steps, x[at] - x[at - 1])
    short = numeric & bits & (sizes <= _COUPLED)
    later = np.flatnonzero((place > 0) & short[which])
    gap, i = np.nonzero(place[later] >= np.arange(1, _COUPLED)[:, None])
    gap, at = gap + 1, later[i]
    pair = out.step(
        paths[which[at]],
        _COUPLE + place[at] * _COUPLED + gap,
        lambda i: f"the relation of entries {place[at[i]] - gap[i] + 1} and {place[at[i]] + 1}",
    )
    differ = (x[at] != x[at - gap]).astype(U)
    out.category(of[which[at]], pair, differ, lambda i: ("equality", "inequality")[int(differ[i])])
    return which, inner, members


_AS_WHOLE = (
    "the sum", "the maximum", "the place of the maximum", "the minimum", "the place of the minimum",
    "the number of zeros at the end", "the number of ascents",
)  # fmt: skip
_WHOLE_TOKENS = np.array([token("\0" + what) for what in _AS_WHOLE], U)


@kernel
def _listed(x: Array, ends: Array, sizes: Array, lists: Array) -> Array:
    """Return the seven numbers of `_AS_WHOLE` for some lists, float array (7, lists)."""
    out = np.zeros((7, lists.size))
    for i in range(lists.size):
        b = ends[lists[i]]
        a = b - sizes[lists[i]]
        high, low, last = a, a, a - 1
        for j in range(a, b):
            out[0, i] += x[j]
            high = j if x[j] > x[high] else high
            low = j if x[j] < x[low] else low
            last = j if x[j] != 0 else last
            out[6, i] += j > a and x[j] > x[j - 1]
        out[1, i], out[2, i], out[3, i], out[4, i] = x[high], high - a, x[low], low - a
        out[5, i] = b - 1 - last
    return out


def _dictionaries(
    out: Records, level: Level, of: Array, paths: Array, stars: Array,
    values: list[dict[str, Any]],
) -> None:  # fmt: skip
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    ends, which, place = _places(sizes)
    keys = [*map(str, itertools.chain.from_iterable(values))]
    tokens = np.fromiter(map(token, keys), U, len(keys))
    inner = out.step(paths[which], tokens, lambda i: f"field {keys[i]}")
    shared = out.step(stars[which], tokens, lambda i: f"field {keys[i]}")
    shared[stars[which] == 0] = NONE
    entries = [*itertools.chain.from_iterable(table.values() for table in values)]
    _deeper(level, of[which], inner, shared, entries)
    out.integer(of, out.part(paths, "the number of keys"), sizes)
    order = out.part(paths, "the order of the keys")
    out.category(of, order, chained(tokens, ends), lambda i: ", ".join(values[i])[:_SHOWN])
    start = np.flatnonzero(place == 0)
    first = out.part(paths[which[start]], "the first key")
    out.category(of[which[start]], first, tokens[start], lambda i: repr(keys[start[i]]))
    places = out.part(inner, "the place")
    out.category(of[which], places, place.astype(U), lambda i: f"{place[i] + 1:,}")


def _nulls(
    out: Records, level: Level, of: Array, paths: Array, stars: Array, values: list[None]
) -> None:
    out.category(of, paths, np.zeros(of.size, U), lambda i: "null")
