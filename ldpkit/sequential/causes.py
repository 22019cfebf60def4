"""The cause of a leak in a few words, from the entry that won most."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanisms.recordings import Recordings
from .columns import read
from .events import Entry, happened
from .records import REAL
from .tallies import ZERO

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["why"]

FLOATS = (
    "floating-point artefact: the last bits of the number reveal the input (page Case studies,"
    " floating point)"
)
REPEATED = "a repeated report: all reports of an input are the same"
_CAUSES = {
    r"one report late: ": "memory: a report shows the input of the report before",
    r"the (exponent of the last bit|zeros at the end of the mantissa|number of decimals)": FLOATS,
    r"this very report": "a repeated report",
    r"the (order of the keys|first key|relation|number of ascents|place)": "the order of the list",
    r"the (length|number of keys|number of zeros at the end)": "the length",
    r"is (an integer|a real number|true or false|infinite or no number)": "the type of the number",
    r"is a number that was sent": "the presence of the field",
    r"is -?\d+\.\d{12,}": "a repeated number",
}
_DRIFT = 3.0  # of Kolmogorov's statistic: exceeded by chance with probability 2 exp(-18) = 3e-8
_DIGITS = 40  # binary digits below this one are the last bits of a real number
_ALIKE = 10  # so many equal reports are named as a cause
_AT_ONCE = 4096  # reports that are read again at once


def why(run: "Run", event: str) -> str:
    """Return what shows the input, in a few words; empty if it is the value that is sent."""
    found = [cause for words, cause in _CAUSES.items() if re.search(words, event)]
    counts = run.screens[0].counts if run.screens else None
    if counts and counts.reports.sum(axis=0)[counts.repeated].max(initial=0) >= _ALIKE:
        found.insert(0, REPEATED)
    if not found and _last_bits(run):
        found.append(FLOATS)
    drift = _drift(run) if isinstance(run.mechanism, Recordings) else ""
    return "; ".join(filter(None, [*found[:1], drift]))


def _last_bits(run: "Run") -> bool:
    """Return whether the event is one of the last binary digits of a real number."""
    entry = run.leading
    report = run.screens[0].report if run.screens else None
    if report is None or not isinstance(entry, Entry) or entry.kind > ZERO or entry.value > _DIGITS:
        return False
    found = read(np.array([report]) if isinstance(report, np.ndarray) else [report])
    return bool((found.types[found.paths == np.uint64(entry.paths[0])] == REAL).any())


def _drift(run: "Run") -> str:
    """Return after which report of recordings the rate of the event changed most, if it did.

    The recordings are read again from the beginning. The statistic is the largest deviation of the
    number of events from a steady rate.
    """
    event, source, rng = run.leading, run.mechanism, np.random.default_rng(run.seed)
    if event is None:
        return ""
    source.seek(0)
    parts: list[list[Any]] = [[], []]
    for start in range(0, run.rounds, _AT_ONCE):
        some = source.draw(run.audit.inputs, min(_AT_ONCE, run.rounds - start), rng)
        for part, own in zip(parts, some):
            part.append(happened(event, own, len(own), rng))
    source.seek(run.rounds)
    for shown in map(np.concatenate, parts):
        walk = np.cumsum(shown - shown.mean())
        at = int(np.argmax(abs(walk)))
        if abs(walk[at]) > _DRIFT * np.sqrt(shown.size) * shown.std():
            return f"drift: reports changed after {at + 1:,}"
    return ""
