"""Removals of parts of a report: places, order, forms, digits, lengths."""

import itertools
import json
import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..clients.anything import Line

__all__ = [
    "Change", "Path", "Removal", "changed", "dropped", "forms", "mixed", "named", "orders",
    "parsed", "places",
]  # fmt: skip

Change = Callable[[Any], Any]
Path = tuple[Any, ...]

DIGITS = 3
"""Significant digits of rounded numbers."""
_WHOLE = 2**53  # integers up to here are real numbers, too
_PLACES = 4096  # most places of a level that are listed
_WRITERS = [
    json.JSONEncoder(ensure_ascii=ascii, separators=(comma, colon)).encode
    for ascii, comma, colon in itertools.product((True, False), (", ", ","), (": ", ":"))
]  # the ways in which most programs write a value


class Removal(NamedTuple):
    """Something that is taken out of reports.

    Parameters
    ----------
    name : str
        The name of the removed part, such as ``order of keys``.
    doing, done : str
        How a sentence begins that says so, and what reports without it are called.
    change : callable
        Returns a report without it.
    """

    name: str
    doing: str
    done: str
    change: Change


def _over(change: Change) -> Change:
    """Return a change of every part of a report, inner parts first."""

    def whole(x: Any) -> Any:
        if isinstance(x, dict):
            x = {key: whole(value) for key, value in x.items()}
        elif isinstance(x, list):
            x = [whole(value) for value in x]
        return change(x)

    return whole


def _one_form(x: Any) -> Any:
    if isinstance(x, (bool, int)):
        return float(x) if abs(x) < _WHOLE else x
    return (math.nan if x != x else x + 0.0) if isinstance(x, float) else x


def _rounded(x: Any) -> Any:
    return float(f"{x:.{DIGITS}g}") if isinstance(x, float) and math.isfinite(x) else x


def _written(x: Any) -> Any:
    if not isinstance(x, str):
        return x
    return " ".join(unicodedata.normalize("NFKC", x).casefold().split())


def _keys(x: Any) -> Any:
    return dict(sorted(x.items())) if isinstance(x, dict) else x


def _sizes(x: Any, of: Any) -> Iterator[int]:
    if isinstance(x, of):
        yield len(x)
    for part in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        yield from _sizes(part, of)


def forms(sample: Sequence[Any]) -> list[Removal]:
    """Return the removals that keep what reports say, as far as they alter one of the sample."""
    every = [
        Removal("form of numbers", "Writing all numbers in one form", "with numbers in one form",
                _over(_one_form)),
        Removal("order of keys", "Sorting the keys", "with the keys sorted", _over(_keys)),
        Removal("last digits", "Rounding off the last digits", f"with {DIGITS} digits a number",
                _over(_rounded)),
        Removal("form of text", "Writing text in one form", "with text in one form",
                _over(_written)),
    ]  # fmt: skip
    found = [removal for removal in every if _alters(removal.change, sample)]
    if any(isinstance(x, Line) for x in sample):
        found.append(Removal("form of text", "Parsing the lines", "without their lines", parsed))
    return found


def orders(sample: Sequence[Any], rng: np.random.Generator) -> list[Removal | None]:
    """Return the removals of lengths and of the order of lists; ``None`` if they alter nothing.

    The order of a list is what it shows only if its entries are different things, not numbers that
    their positions name.
    """
    least = {of: min((n for x in sample for n in _sizes(_value(x), of)), default=0)
             for of in (str, list)}  # fmt: skip

    def cut(x: Any) -> Any:
        return x[: least[type(x)]] if type(x) in least else x

    def shuffled(x: Any) -> Any:
        if not isinstance(x, list) or any(isinstance(e, float) for e in x):
            return x
        if len({repr(e) for e in x}) < len(x):
            return x
        return [x[i] for i in rng.permutation(len(x))]

    every = [
        Removal("length", "Cutting all texts and lists to one length", "of one length", _over(cut)),
        Removal("order of the list", "Shuffling the list", "with the list shuffled",
                _over(shuffled)),
    ]  # fmt: skip
    return [removal if _alters(removal.change, sample) else None for removal in every]


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Line) else x


def _alters(change: Change, sample: Sequence[Any]) -> bool:
    return any(repr(change(_value(x))) != repr(_value(x)) for x in sample)


def changed(report: Any, change: Change) -> Any:
    """Return a changed report; a program's line keeps how it is written, unless that is removed."""
    if not isinstance(report, Line) or change is parsed:
        return change(report)
    value = change(report.value)
    ways = (write for write in _WRITERS if write(report.value) == report.text)
    return Line(next(ways, lambda _: report.text)(value), value)


# --- places ---------------------------------------------------------------------------------------
def places(sample: Sequence[Any], path: Path) -> list[Path]:
    """Return the places one step below a place."""
    found: dict[Path, None] = {}
    for x in map(_value, sample):
        for step in path:
            inside = (
                x.keys() if isinstance(x, dict) else range(len(x) if isinstance(x, list) else 0)
            )
            x = x[step] if step in inside else None
        for key in x if isinstance(x, dict) else range(len(x)) if isinstance(x, list) else ():
            found[(*path, key)] = None
    return list(found)[:_PLACES]


def dropped(paths: Sequence[Path]) -> Change:
    """Return the change that drops places: fields vanish, and entries of lists become null."""
    gone = {path[0] for path in paths if len(path) == 1}
    inner: dict[Any, list[Path]] = {}
    for path in paths:
        if len(path) > 1:
            inner.setdefault(path[0], []).append(path[1:])
    deeper = {key: dropped(some) for key, some in inner.items()}

    def change(x: Any) -> Any:
        if isinstance(x, dict):
            return {k: deeper[k](v) if k in deeper else v for k, v in x.items() if k not in gone}
        if isinstance(x, list):
            return [None if i in gone else deeper[i](v) if i in deeper else v
                    for i, v in enumerate(x)]  # fmt: skip
        return x

    return change


def mixed(path: Path, other: Any, x: Any) -> Any:
    """Return a report with a place of another one, if both have it."""
    if not path:
        return other
    if type(x) is not type(other) or not isinstance(x, (dict, list)):
        return x
    if not all(path[0] in (v if isinstance(v, dict) else range(len(v))) for v in (x, other)):
        return x
    copy = x.copy()
    copy[path[0]] = mixed(path[1:], other[path[0]], x[path[0]])
    return copy


def named(paths: Sequence[Path]) -> str:
    """Return places in words, such as ``entries 1, 2 and 3`` or ``field a, entry 3``."""
    steps = [[_step(step) for step in path] for path in paths]
    kinds = {path[0][0] for path in steps}
    if len(kinds) == 1 and all(len(path) == 1 for path in steps) and len(steps) > 1:
        words = [path[0][1] for path in steps]
        kind = {"entry": "entries", "field": "fields"}[kinds.pop()] + " "
    else:
        words, kind = [", ".join(" ".join(step) for step in path) for path in steps], ""
    return kind + (words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}")


def _step(step: Any) -> tuple[str, str]:
    return ("entry", str(step + 1)) if isinstance(step, int) else ("field", str(step))


def parsed(line: Any) -> Any:
    """Return the value of a line, without how it is written."""
    return _value(line)
