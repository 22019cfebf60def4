"""The same coins for several inputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import checks
from ..types import Input
from .sources import Source, Tape, replaced

__all__ = ["Finding", "compared"]


@dataclass(frozen=True)
class Finding:
    """One thing that the same coins show.

    Attributes
    ----------
    kind : str
        ``"unknown"``: nothing can be said. ``"violation"``: reports are a function of the input.
        ``"defect"``: all users have the same coins. ``"draws"``: the input decides how much
        randomness is used, which is no violation. ``"constant"``: all reports are alike.
        ``"suspect"``: coins are drawn, but do not change the report.
    text : str
        The finding in words.
    """

    kind: str
    text: str


def compared(
    asker: Callable[[Source], Callable[[int], str]],
    asked: Sequence[int],
    values: Sequence[Input],
    tapes: int,
) -> list[Finding]:
    """Return what the same coins show about the inputs at some positions."""
    tape, seen, seeds, ends = Tape(), *([set[Any]() for _ in asked] for _ in range(2)), []
    ask = asker(tape)
    with replaced(tape):
        for tape.number in range(checks.integer("tapes", tapes, 1)):
            for i, at in enumerate(asked):
                reports = set()
                for _ in range(2):
                    tape.begin()
                    start = tape.position
                    try:
                        reports.add(ask(at))
                    except BaseException:
                        if not tape.reason:
                            raise
                    if tape.reason or len(reports) > 1:
                        return [Finding("unknown", tape.reason or "two reports with the same coins:"
                                        " a clock, memory or another source")]  # fmt: skip
                seen[i] |= reports
                seeds[i].add(tuple(tape.seeds))
                ends.append((tape.position, start))
    return _judged(values, tapes, seen, seeds, ends)


def _judged(
    values: Sequence[Input],
    tapes: int,
    seen: list[set[Any]],
    seeds: list[set[Any]],
    ends: list[tuple[Any, Any]],
) -> list[Finding]:
    found, rows = [], [[end for end, _ in ends[i :: len(values)]] for i in range(len(values))]
    fixed, differ = all(len(one) == 1 for one in seen), len(set().union(*seen)) > 1
    constant = [len(one) == 1 and one != {()} for one in seeds]
    undrawn = all(end == start for end, start in ends)
    if fixed and differ:
        sure = undrawn or all(constant)
        text = f"each input has one report in {2 * tapes} calls, and the reports differ"
        text += ": no coins are drawn" if undrawn else ""
        found.append(Finding("violation" if sure else "suspect", text))
    elif fixed:
        found.append(Finding("constant", "all inputs have the same report whatever the coins"))
    for value, one, same in zip(values, seeds, constant):
        if same:
            text = f"{value!r}: {', '.join(*one)} whatever the coins"
            found.append(Finding("violation" if fixed and differ else "defect", text))
    for value, row in zip(values[1:], rows[1:]):
        if row != rows[0] and not any(constant):
            text = f"{values[0]!r} and {value!r} use different amounts of randomness"
            found.append(Finding("draws", text))
            break
    return found
