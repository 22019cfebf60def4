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
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...types import Array
from ..clients.anything import Line, plain, rows
from .records import (
    FINE,
    INTEGER,
    NONE,
    ODD,
    REAL,
    ROOT,
    TRUTH,
    WHOLE,
    Places,
    Records,
    alone,
    chained,
    listed,
    mix_all,
    parts_of_reals,
    sum_by_report,
    token,
)

__all__ = ["decoded", "read"]

U = np.uint64
_TEXT, _LIST, _TABLE, _NULL, _LINE = range(4, 9)
_CODES: dict[type, int] = {
    int: INTEGER, float: REAL, bool: TRUTH, str: _TEXT, list: _LIST, tuple: _LIST, dict: _TABLE,
    type(None): _NULL, Line: _LINE,
}  # fmt: skip
_ENTRY, _CHARACTER, _STEP = 1 << 48, 2 << 48, 4 << 48  # plus a place: a token
_TAIL, _STEPPED = 16, 256  # last characters; most entries of a list of reals with steps
_FEW, _TURN = 64, 16  # of reports with more numbers, last digits are read every 16th round
_FINE_TOKENS, _WHOLE_TOKENS = (
    np.array([token("\0" + what) for what in words], U) for words in (FINE, WHOLE)
)
_SHOWN, _LARGEST = 60, float(np.finfo(float).max)  # characters; of a real number


def read(reports: Iterable[Any], first: int = 0, named: bool = False, size: int = 1) -> Records:
    """Return the records of reports.

    Parameters
    ----------
    reports : sequence
        As `ldpkit.blackbox.clients.anything.plain` returns them, or an array.
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
    table = isinstance(reports, np.ndarray) and reports.dtype.kind in "bif" and reports.ndim < 3
    given: Any = reports if table else rows(reports)
    n, text = len(given), named and type(given[0]) is str
    reader = _Reader(n, ("the text" if text else "the report") if named else None)
    at = alone(np.arange(n), np.full(n, ROOT))
    (reader.table if table else reader.read)(at, given)
    return reader.finished(given, first, size)


def _coded(values: list[Any]) -> Array:
    """Return the codes of the types of values; values of other types are replaced by plain ones."""
    try:
        known = {of: _CODES[of] for of in set(map(type, values))}
        if len(known) == 1:
            return np.full(len(values), known.popitem()[1])
        return np.fromiter(map(known.__getitem__, map(type, values)), np.int64, len(values))
    except KeyError:
        values[:] = map(plain, values)
        return _coded(values)


def _picked(values: list[Any], at: Array) -> list[Any]:
    """Return some of the values, which are all of them most often."""
    return values if at.size == len(values) else [values[i] for i in at.tolist()]


def _places(sizes: Array) -> tuple[Array, Array, Array]:
    """Return the ends of concatenated sequences; of each entry its sequence and its place there."""
    ends = np.cumsum(sizes)
    which = np.repeat(np.arange(sizes.size), sizes)
    return ends, which, np.arange(which.size) - (ends - sizes)[which]


def _told(report: Any) -> str:
    """Return the beginning of a report, for its reader."""
    return repr(report.value if isinstance(report, Line) else report)[:_SHOWN]


def _sizes(values: list[Any]) -> Array:
    return np.fromiter(map(len, values), np.int64, len(values))


class _Reader:
    """Reader of reports, which records all entries of one depth and type at once.

    Parameters
    ----------
    reports : int
    name : str or None
        A single report in words, so that words of its paths and categories are kept.
    """

    def __init__(self, reports: int, name: str | None) -> None:
        self.reports = reports
        kinds: Any = int, U, U, int, float, U
        self._numbers = [tuple(np.empty(0, kind) for kind in kinds)]
        self._derived: list[tuple[Array, ...]] = []  # numbers that are not in the report itself
        self._categories: list[tuple[Array, Array, Array]] = []
        self.names = None if name is None else {int(ROOT): name, 0: "nothing"}
        self.events: dict[int, str] = {}

    # --- records

    def step(self, paths: Array, tokens: Any, what: Callable[[int], str]) -> Array:
        """Return paths that are longer by one token each; `what` names the part."""
        longer: Array = mix_all(paths, np.full(paths.shape, tokens, U))
        if self.names is not None:
            for i, (old, new) in enumerate(zip(paths.tolist(), longer.tolist())):
                whole = self.names[old]
                top = old == int(ROOT) and what(i).startswith(("entry ", "field "))
                self.names[new] = what(i) if top else f"{what(i)} of {whole}"
        return longer

    def part(self, paths: Array, what: str) -> Array:
        """Return paths that are longer by the name of a part."""
        return self.step(paths, token("\0" + what), lambda i: what)

    def category(self, of: Array, paths: Array, values: Array, shown: Callable[[int], str]) -> None:
        """Record categories; `shown` returns a value in words."""
        keys = mix_all(paths, values)
        self._categories.append((of, paths, keys))
        if self.names is not None:
            for i, (path, key) in enumerate(zip(paths.tolist(), keys.tolist())):
                self.events[key] = f"{self.names[path]} is {shown(i)}"

    def number(self, at: Places, types: Any, values: Array, words: Array) -> None:
        """Record numbers."""
        self._numbers.append((*at, np.broadcast_to(types, values.shape), values, words))

    def real(self, of: Array, paths: Array, values: Array) -> None:
        """Record computed numbers that are not entries of a list, as integers if they are whole."""
        x = values.astype(float)
        whole = (x == np.floor(x)) & (abs(x) < 2**62)
        types = np.where(whole, INTEGER, np.where(np.isfinite(x), REAL, ODD))
        words = np.where(whole, np.where(whole, x, 0).astype(np.int64).view(U), x.view(U))
        self._derived.append((of, paths, np.zeros(of.size, U), types, x, words))

    # --- entries by type

    def deeper(self, at: Places, values: list[Any], codes: Array | None = None) -> None:
        """Read entries later, with all others of their depth."""
        self._deeper.append((at, _coded(values) if codes is None else codes, values))

    def read(self, at: Places, values: list[Any]) -> None:
        """Read entries, and all that is inside of them."""
        kinds: list[Any] = [functools.partial(self.numbers, code=code) for code in range(_TEXT)]
        kinds += [self.texts, self.lists, self.tables, self.nulls, self.written]
        self._deeper = [(at, _coded(values), values)]
        while self._deeper:
            places, codes, parts = zip(*self._deeper)
            at, self._deeper = Places(*map(np.concatenate, zip(*places))), []
            known, values = np.concatenate(codes), [*itertools.chain.from_iterable(parts)]
            for code in np.flatnonzero(np.bincount(known)).tolist():
                some = np.flatnonzero(known == code)
                kinds[code](at.at(some), _picked(values, some))

    def table(self, at: Places, table: Array) -> None:
        """Read an array of numbers, with one row for each report."""
        code, x = {"b": TRUTH, "f": REAL}.get(table.dtype.kind, INTEGER), table.ravel()
        if table.ndim == 2:
            sizes = np.full(len(table), table.shape[1])
            at = self.entries(at, sizes, np.full(x.size, code), x.astype(float))
        self.numbers(at, x, code)

    def numbers(self, at: Places, values: Any, code: int) -> None:
        """Record numbers of one type; integers beyond 64 bits are read later, in parts."""
        try:
            x = np.array(values, np.float64 if code == REAL else np.int64)
        except OverflowError:
            small = np.array([-(2**63) <= value < 2**63 for value in values])
            some, rest = np.flatnonzero(small), np.flatnonzero(~small)
            self.numbers(at.at(some), _picked(values, some), code)
            self.large(at.at(rest), _picked(values, rest))
        else:
            types = np.where(np.isfinite(x), REAL, ODD) if code == REAL else code
            self.number(at, types, x.astype(float), x.view(U))

    def large(self, at: Places, values: list[int]) -> None:
        """Record integers beyond 64 bits, as the sign and groups of 60 bits, the lowest first."""
        named = [hex(value) for value in values]
        self.category(*at[:2], np.array([*map(token, named)], U), lambda i: named[i][:_SHOWN])
        limbs = [
            [v < 0, *(abs(v) >> i & 2**60 - 1 for i in range(0, v.bit_length(), 60))]
            for v in values
        ]
        self.deeper(alone(at.of, self.part(at.paths, "the 60-bit digits")), limbs)

    def texts(self, at: Places, values: list[str]) -> None:
        """Record texts: as wholes, by characters, and by what they may encode."""
        whole = "".join(values).encode("utf-32-le", "surrogatepass")
        codes, sizes = np.frombuffer(whole, np.uint32).astype(U), _sizes(values)
        (ends, which, place), (of, paths, stars) = _places(sizes), at
        hashes, star = chained(codes, ends), np.flatnonzero(stars)
        self.category(of, paths, hashes, lambda i: repr(values[i])[:_SHOWN])
        self.category(of[star], stars[star], hashes[star], lambda i: repr(values[star[i]])[:_SHOWN])
        self.real(of, self.part(paths, "the length"), sizes)
        after = np.append(codes[1:], NONE)[: codes.size]
        after[ends[sizes > 0] - 1] = 0
        last = ends[which] - np.arange(which.size)
        each, letter = of[which], [chr(code) for code in codes] if self.names else []
        inner = self.step(paths[which], place + _CHARACTER, lambda i: f"character {place[i] + 1:,}")
        self.number(alone(each, inner), INTEGER, codes.astype(float), codes)
        single, pair = "one of the characters", "one of the characters with the next"
        self.category(each, self.part(paths, single)[which], codes, lambda i: repr(letter[i]))
        self.category(
            each, self.part(paths, pair)[which], (codes << U(32)) | after,
            lambda i: repr(letter[i] + chr(int(after[i]))),
        )  # fmt: skip
        end = np.flatnonzero(last <= _TAIL)
        inner = self.step(
            self.part(paths, "the end")[which[end]],
            last[end],
            lambda i: f"character {last[end[i]]} from the right",
        )
        self.category(each[end], inner, codes[end], lambda i: repr(letter[end[i]]))
        parts: dict[str, list[tuple[int, Any]]] = {}
        for i, text in enumerate(values):
            for what, value in (_remembered if len(text) <= _TAIL else decoded)(text):
                parts.setdefault(what, []).append((i, value))
        for what, found in parts.items():
            some, new = np.array([i for i, _ in found]), [value for _, value in found]
            read = self.words if what == "a word" else self.deeper
            read(alone(of[some], self.part(paths[some], what)), new)

    def words(self, at: Places, texts: list[list[str]]) -> None:
        """Record the words of texts."""
        sizes, words = _sizes(texts), [*itertools.chain.from_iterable(texts)]
        of, paths = np.repeat(at.of, sizes), np.repeat(at.paths, sizes)
        self.category(of, paths, np.array([*map(token, words)], U), lambda i: repr(words[i]))

    def lists(self, at: Places, values: list[Any]) -> None:
        """Record lists as wholes, and read their entries later."""
        entries = [*itertools.chain.from_iterable(values)]
        codes, x = _coded(entries), np.zeros(len(entries))
        numbers = np.flatnonzero(codes <= TRUTH)
        some = _picked(entries, numbers)
        try:
            x[numbers] = some
        except OverflowError:
            x[numbers] = [value if abs(value) <= _LARGEST else math.inf for value in some]
        self.deeper(self.entries(at, _sizes(values), codes, x), entries, codes)

    def entries(self, at: Places, sizes: Array, codes: Array, x: Array) -> Places:
        """Record lists as wholes, and return the places of their entries."""
        of, paths, stars = at
        self.real(of, self.part(paths, "the length"), sizes)
        ends, which, place = _places(sizes)
        inner = self.step(paths[which], place + _ENTRY, lambda i: f"entry {place[i] + 1:,}")
        members = self.part(np.where(stars != 0, stars, paths)[which], "an entry")

        def lists(of_entries: Array) -> Array:
            return np.bincount(which, of_entries, sizes.size) > 0

        bits = ~lists((codes > TRUTH) | (x != 0) & (x != 1))
        members[bits[which]] = NONE
        numeric = ~lists(codes > TRUTH) & (sizes > 0)
        x = np.where(np.isfinite(x), x, 0.0)
        some = np.flatnonzero(numeric)
        whole = self.step(
            np.tile(paths[some], 7), np.repeat(_WHOLE_TOKENS, some.size),
            lambda i: WHOLE[i // some.size],
        )  # fmt: skip
        self.real(np.tile(of[some], 7), whole, listed(x, ends, sizes, some).ravel())
        near = numeric & (sizes <= _STEPPED) & lists(x != np.floor(x))
        later = np.flatnonzero((place > 0) & near[which])
        steps = self.step(
            paths[which[later]], place[later] + _STEP, lambda i: f"step {place[later[i]]}"
        )
        self.real(of[which[later]], steps, x[later] - x[later - 1])
        return Places(of[which], inner, members)

    def tables(self, at: Places, values: list[dict[str, Any]]) -> None:
        """Record dictionaries by keys and their order, and read their values later."""
        sizes, (of, paths, stars) = _sizes(values), at
        ends, which, place = _places(sizes)
        keys = [*map(str, itertools.chain.from_iterable(values))]
        tokens = np.fromiter(map(token, keys), U, len(keys))
        inner = self.step(paths[which], tokens, lambda i: f"field {keys[i]}")
        shared = self.step(stars[which], tokens, lambda i: f"field {keys[i]}")
        shared[stars[which] == 0] = NONE
        entries = itertools.chain.from_iterable(table.values() for table in values)
        self.deeper(Places(of[which], inner, shared), [*entries])
        self.real(of, self.part(paths, "the number of keys"), sizes)
        order = self.part(paths, "the order of the keys")
        self.category(of, order, chained(tokens, ends), lambda i: ", ".join(values[i])[:_SHOWN])
        start = np.flatnonzero(place == 0)
        first = self.part(paths[which[start]], "the first key")
        self.category(of[which[start]], first, tokens[start], lambda i: repr(keys[start[i]]))
        places = self.part(inner, "the place")
        self.category(of[which], places, place.astype(U), lambda i: f"{place[i] + 1:,}")

    def nulls(self, at: Places, values: list[None]) -> None:
        """Record missing values."""
        self.category(at.of, at.paths, np.zeros(len(values), U), lambda i: "null")

    def written(self, at: Places, lines: list[Line]) -> None:
        """Record how programs wrote their lines, and read the values."""
        of, paths, _ = at
        self.real(of, self.part(paths, "the length of the line"), _sizes([x.text for x in lines]))
        forms = [form(line.text) for line in lines]
        tokens = np.array([*map(token, forms)], U)
        self.category(
            of, self.part(paths, "the form of the line"), tokens, lambda i: forms[i][:_SHOWN]
        )
        self.deeper(at, [line.value for line in lines])

    # --- the whole

    def _joined(self) -> Any:
        return map(np.concatenate, zip(*self._numbers, *self._derived))

    def finished(self, given: Any, first: int, size: int) -> Records:
        """Return all records, with those that are derived from the numbers of the given reports."""
        every, root = np.arange(self.reports), np.full(self.reports, ROOT)
        rows, paths, stars, types, values, words = self._joined()
        few = np.bincount(rows, minlength=self.reports) <= _FEW
        few |= (first + every) // size % _TURN == 0  # the same for all inputs of a round
        reals = np.flatnonzero((types == REAL) & (values != 0))
        at, marks, fine, short = parts_of_reals(reals, values, words, few[rows])
        longer = self.step(paths[at], _FINE_TOKENS[marks], lambda i: FINE[marks[i]])
        ends = (marks < 2) & few[rows[at]]
        self.real(rows[at[ends]], longer[ends], fine[ends])
        other = np.flatnonzero(~ends)
        self.category(
            rows[at[other]], longer[other], fine[other].view(U), lambda i: str(fine[other[i]])
        )
        rows, paths, stars, types, values, words = self._joined()

        def shown(i: int) -> str:
            if types[i] in (REAL, ODD):
                return repr(float(values[i]))
            if self.names and self.names[int(paths[i])].startswith("character "):
                return repr(chr(int(words[i])))
            return str(bool(words[i]) if types[i] == TRUTH else int(words[i].view(np.int64)))

        exact = mix_all(words, types.astype(U))
        self.category(rows, paths, exact, shown)
        some = np.flatnonzero(stars[: short.size] * short != 0)
        self.category(rows[some], stars[some], exact[some], lambda i: shown(some[i]))
        whole = np.zeros(self.reports, U)
        for of, _, keys in self._categories:  # a sum, because it does not depend on their order
            sum_by_report(of, keys, whole)
        self.category(every, self.part(root, "the whole"), whole, lambda i: _told(given[i]))
        categories = map(np.concatenate, zip(*self._categories))
        found = rows, paths, types, values, words, *categories, whole, self.names or {}, self.events
        return Records._make(found)


_SHAPES = [
    (re.compile("[0-9]*[1-9]"), "1"),
    (re.compile("0+"), "0"),
    (re.compile("[^\\W\\d_]+"), "a"),
]


def form(line: str) -> str:
    """Return how a line is written. Digits and letters are shortened, but for zeros at the end of
    numbers, and all other characters are kept."""
    for pattern, short in _SHAPES:
        line = pattern.sub(short, line)
    return line


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
