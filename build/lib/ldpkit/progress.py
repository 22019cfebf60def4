"""Progress of long computations, as a bar on a terminal and as a text after an interrupt; and text
that a terminal may show."""

import multiprocessing
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import Any, Self

__all__ = ["Progress", "count_begun", "running", "shown"]

# C0, DEL and C1; marks, separators and orders of bidirectional text; halves and no characters
_CONTROLS = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def shown(text: str) -> str:
    """Return a text in which control characters are escaped, for example as ``\\x1b``.

    All text of somebody else passes here before it reaches a terminal, which obeys such characters:
    fields of reports, messages of clients, and names of files. A line stays one line.
    """
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


running: list["Progress"] = []
"""The running computations, the outermost first, which alone is shown."""


class Progress:
    """Count finished units of a computation while a ``with`` statement runs.

    Parameters
    ----------
    total : int
        Number of units.
    unit : str
        Name of the units, in the plural.
    label : str, optional
        Text of the bar.
    start : int
        Number of units that were finished before.
    notebook : bool
        Show the bar in a notebook too, unless ``TQDM_DISABLE`` is set. By default it is shown on
        terminals only.
    more : callable, optional
        Returns a text that is appended to the numbers.
    """

    def __init__(
        self,
        total: int,
        unit: str,
        label: str | None = None,
        *,
        start: int = 0,
        notebook: bool = False,
        more: Callable[[], str] | None = None,
    ) -> None:
        self.total, self.unit, self.finished, self.begun = total, unit, start, start
        self._seen: dict[str, list[int]] = {}
        self._more, self._lock = more, threading.Lock()
        self._label, self._notebook = label, notebook
        self._bar: Any = None  # of tqdm

    def __enter__(self) -> Self:
        watched = sys.stderr.isatty() or (
            self._notebook and type(sys.stderr).__module__ == "ipykernel.iostream"
        )
        # A worker process shares the terminal of its caller, so it must not draw a bar. Moreover, a
        # worker that is killed would keep the lock of its bar.
        alone = not running and multiprocessing.parent_process() is None
        many = self.total >= 10**5  # whether some units are skipped on the bar
        running.append(self)  # before the bar, because an interrupt may read it at once
        if watched and alone:
            from tqdm import tqdm  # imported here, because most processes show no bar

            self._bar = tqdm(
                total=self.total,
                # asked now, because tqdm reads it when it is imported, perhaps by a parent process
                disable=bool(os.environ.get("TQDM_DISABLE")),
                initial=self.begun,
                unit=f" {self.unit}",
                unit_scale=many,
                mininterval=0.1 * many,
                miniters=None if many else 1,
                desc=self._label and shown(self._label),
                leave=False,
            )
        return self

    def __exit__(self, *_: object) -> None:
        running.remove(self)
        if self._bar is not None:
            self._bar.close()

    def add(self, count: int = 1, name: str = "", *hits: int) -> None:
        """Count `count` units as finished.

        If they have a `name`, `hits` of them are added to the hits of that name.
        """
        with self._lock:
            self.finished += count
            if name:
                before = self._seen.get(name, [0] * (1 + len(hits)))
                self._seen[name] = [a + b for a, b in zip(before, (count, *hits))]
            if self._bar is not None:
                self._bar.update(max(self.begun, self.finished) - self._bar.n)

    def begin(self, count: int = 1) -> None:
        """Count units as begun, if they will be finished together with others."""
        with self._lock:
            self.begun += count
        self.add(0)

    def say(self, text: str) -> None:
        """Show a text on the bar, and when the computation is interrupted."""
        with self._lock:
            self._more = lambda: f", {text}"
            if self._bar is not None:
                self._bar.set_postfix_str(shown(text), refresh=False)

    def __str__(self) -> str:
        seen = [
            f"{name} = {' and '.join(f'{x:,}' for x in hits)} of {n:,}"
            for name, (n, *hits) in self._seen.items()
        ]
        text = f"{max(self.begun, self.finished):,} of {self.total:,} {self.unit}" + (
            self._more() if self._more else ""
        )
        return shown(": ".join([text, ", ".join(seen)] if seen else [text]))


def count_begun(count: int = 1) -> None:
    """Count units of the innermost running computation as begun, if there is one."""
    if running:
        running[-1].begin(count)
