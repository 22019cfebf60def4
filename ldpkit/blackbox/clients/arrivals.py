"""Arrival time and number of the answers of a client, as parts of its report.

A bet on an arrival time is valid as any other bet is. The coin of an input is independent of
everything before it. Therefore a slow start, a clock that drifts, a busy machine or the order of
the calls change the times of all inputs alike, and refute no claim. A correct client could only be
refuted by work of the audit itself that takes longer for one input. For this reason the clock runs
during the call alone. All inputs were copied, or written as JSON, before it starts. Answers are
read after it stops. Python collects no garbage meanwhile. A call that takes longer because its
input is longer is the client's own work, and shows the input.
"""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .anything import Line

__all__ = ["ARRIVAL", "arrived", "timed"]

ARRIVAL = "seconds until the answer"
"""Name of the time in a report."""


def timed(call: Callable[[], Any], several: bool) -> tuple[Any, float]:
    """Return the answers to a call, and the seconds that it took.

    A call that does not return `several` answers returns one of them, or an iterator of answers.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        begun = time.perf_counter()
        answer = call()
        answers = [*answer] if isinstance(answer, Iterator) else answer if several else [answer]
        return answers, time.perf_counter() - begun
    finally:
        if collects:
            gc.enable()


def arrived(answers: Sequence[Any], seconds: float, late: int = 0) -> Any:
    """Return all answers to one call, by number, with their time, as one report.

    Parameters
    ----------
    answers
        The first ones may be so many `late` answers to the call before.
    """
    names = [f"late answer {i + 1}" for i in range(late)]
    names += [f"answer {i + 1}" for i in range(len(answers) - late)]
    values = [x.value if isinstance(x, Line) else x for x in answers]
    report = {**dict(zip(names, values)), ARRIVAL: seconds}
    lines = [x.text for x in answers if isinstance(x, Line)]
    return Line("\n".join(lines), report) if lines else report
