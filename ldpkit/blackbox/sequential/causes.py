"""The cause of a leak, found by taking suspects away and auditing again.

A cause is named only if the refutation ends without it: three times as many reports as refuted the
claim show nothing, with two seeds. That other places could be dropped without an end of the
refutation is part of the search. If nothing ends it, no cause is named.
"""

import copy
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...jit import clock
from ...mechanisms.base import ClientError
from ...types import Array, Rng, Row
from ..clients import Client
from ..clients.anything import plain, rows
from ..clients.arrivals import ARRIVAL
from ..clients.recordings import Recordings
from . import removals
from .bettor import Bettor, repeated
from .removals import Change, Path, Removal, changed, dropped, forms, named, orders, places

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["SECONDS", "Cause", "found"]

SECONDS = 20.0
"""Seconds for the search of a cause."""
TIMES, FEWEST, SEEDS = 3, 60, 2
"""A refutation ends if so many times the reports that refuted, at least so many, show nothing, for
each of so many seeds."""
SAMPLE = 64  # reports that show what can be removed
DEEPEST, GROUPS = 3, 8  # levels of places, and parts into which many places are divided
MOST_TOGETHER, MOST_ALONE = 8, 4  # more places than these are no cause that helps anybody
ALIKE = 0.01
"""Equal reports of each input are a cause if randomised response at the claim has so many of them
with at most this probability."""
_RETRIES = 100  # calls until one does not fail


class Cause(NamedTuple):
    """A cause in a sentence, empty if none was found, and what was tried."""

    sentence: str = ""
    tried: tuple[Row, ...] = ()


class _Late(Exception):
    """The time for the search is over."""


def found(run: "Run", seconds: float) -> Cause:
    """Return the cause of a refutation.

    Parameters
    ----------
    run : Run
        A run that has refuted its claim.
    seconds : float
        The search ends after so much time.
    """
    search = _Search(run, clock() + seconds)
    try:
        sentence = search.sentence()
    except (_Late, ClientError):
        sentence = ""
    return Cause(sentence, tuple(search.tried))


class _Search:
    """Audits of a client whose reports lack something."""

    def __init__(self, run: "Run", until: float) -> None:
        self.run, self.until, self.tried = run, until, list[Row]()
        self.sample = [x for x in run.main.memory if x is not None][-SAMPLE:]
        self.most = max(FEWEST, -(-run.rounds // run.cycle))
        self.same = [_constant(run.main)]  # of this audit and of those with nothing removed
        self.after: dict[str, int] = {}  # reports of an audit that did not refute, by removal
        self.rng = np.random.default_rng(run.seed)

    def sentence(self) -> str:
        """Return the cause in a sentence."""
        for seed in range(1, 1 + SEEDS):
            reports, refuted = self._again(_same, seed)
            self.tried.append({"removed": "nothing", "reports": reports, "ended": not refuted})
            if not refuted:
                return ""
            self.most = max(self.most, reports)
        what = "failed calls" if any(map(_raised, self.sample)) else "calls without an answer"
        failed = Removal(what, f"Asking again after {what}", f"without {what}", lambda x: x)
        if any(map(_failed, self.sample)) and self._ends(failed, retry=True):
            return self._said(failed)
        memory = Removal(
            "what the client remembers from earlier reports",
            "Forgetting what the client remembers from earlier reports",
            "of a client without memory", lambda x: x,
        )  # fmt: skip
        pristine = self.run.pristine
        known = pristine is not None and pristine.known
        slow = pristine is not None and pristine.program  # each report is a start of the program
        if known and not slow and self._ends(memory, fresh=True):
            return self._said(memory)
        same = min(self.same)
        if same * math.log1p(math.exp(-self.run.audit.claim[0])) >= -math.log(ALIKE):
            return (
                f"All of the first {same:,} reports of an input are the same, so that no noise"
                " hides it. Cause: a repeated report."
            )
        light = next((form for form in forms(self.sample) if self._ends(form)), None)
        where = self._innermost(())
        if light is not None:
            return self._said(light, named(where) if len(where) == 1 else "")
        if where:
            few = len(where) <= MOST_TOGETHER and (len(where) == 1 or self._joint(where[0]))
            return self._said(self._without(where)) if few else ""
        length, order = orders(self.sample, self.rng)
        if length is not None and self._ends(length):
            return self._said(length)
        several = self._smallest()
        if several:
            each = f"{named(several)}, each of which alone refutes the claim"
            return self._said(self._without(several)._replace(name=each))
        if order is not None and self._ends(order):
            return self._said(order)
        return self._said(memory) if slow and self._ends(memory, fresh=True) else ""

    def _said(self, removal: Removal, place: str = "") -> str:
        before = -(-self.run.rounds // self.run.cycle)
        ended = [row["reports"] for row in self.tried if row["ended"] and row["reports"]]
        after = self.after.get(removal.name, min(ended))
        of = f" of {place}" if place else ""
        return (
            f"{removal.doing}{of} ends the leak: {before:,} reports per input refute the claim,"
            f" {after:,} reports {removal.done} do not. Cause: {removal.name}{of}."
        )

    def _without(self, paths: Sequence[Path]) -> Removal:
        what = named(paths) + (" together" if len(paths) > 1 else "")
        return Removal(what, f"Dropping {what}", f"without {named(paths)}", dropped(paths))

    # --- audits -----------------------------------------------------------------------------------

    def _ends(
        self, removal: Removal, fresh: bool = False, retry: bool = False, moved: Path = ()
    ) -> bool:
        """Return whether the refutation ends, and note it."""
        least = 0
        for seed in range(SEEDS):
            reports, refuted = self._again(removal.change, 10 + seed, fresh, retry, moved)
            least = reports if not seed else min(least, reports)
            if refuted:
                break
        self.tried.append({"removed": removal.name, "reports": reports, "ended": not refuted})
        self.after[removal.name] = least
        return not refuted

    def _again(
        self, change: Change, seed: int, fresh: bool = False, retry: bool = False, moved: Path = ()
    ) -> tuple[int, bool]:
        """Audit with changed reports; return the reports per input, and whether they refute."""
        from .loop import Run  # which imports this module

        audit, mechanism = self.run.audit, self.run.mechanism
        if isinstance(mechanism, Recordings):
            target: Any = copy.copy(mechanism)
            target.__dict__.update(change=change, at=-1)
            target.__class__ = _Changed
            inputs = audit.inputs
        else:
            reports = functools.partial(self._reports, change, fresh, retry, moved)
            inputs = range(len(audit.inputs))
            target = Client(reports, len(inputs), "any", mechanism.epsilon, audit.delta)
        trials = max(FEWEST, TIMES * self.most)
        run = Run(
            replace(
                audit, mechanism=target, attack="learned", pair=None, inputs=inputs, trials=trials,
                within=None, max_time=None, explain=0.0,
            ),
            seed,
        )  # fmt: skip
        for _ in run.pieces():
            if clock() > self.until and not run.refuted:
                raise _Late
        if change is _same:
            self.same.append(_constant(run.main))
        return -(-run.rounds // run.cycle), run.refuted

    def _reports(
        self, change: Change, fresh: bool, retry: bool, moved: Path, values: Array, rng: Rng
    ) -> list[Any]:
        """Return changed reports about inputs, which are named by their positions."""
        if clock() > self.until:
            raise _Late
        mechanism, inputs = self.run.mechanism, self.run.audit.inputs
        users = np.stack([mechanism.inputs(x, len(values)) for x in inputs])
        real = users[values, np.arange(len(values))]
        made = self.run.pristine.perturb if fresh and self.run.pristine else mechanism.perturb
        out = [plain(x) for x in rows(made(real, rng))]
        for i in [i for i, x in enumerate(out) if retry and _failed(x)]:
            for _ in range(_RETRIES):
                out[i] = plain(rows(mechanism.perturb(real[i : i + 1], rng))[0])
                if not _failed(out[i]):
                    break
        if moved:
            others = [removals.parsed(plain(x)) for x in rows(made(real, rng))]
            change_of = functools.partial(functools.partial, removals.mixed, moved)
            return [changed(x, change_of(other)) for x, other in zip(out, others)]
        return [changed(x, change) for x in out]

    # --- places -----------------------------------------------------------------------------------

    def _innermost(self, path: Path, depth: int = DEEPEST) -> list[Path]:
        """Return the places whose removal alone ends the refutation, as deep as one still does."""
        below = places(self.sample, path) if depth else []
        gone = self._singles(below) if len(below) > 1 or path else []
        inner = [q for p in gone for q in self._innermost(p, depth - 1)]
        return inner or ([path] if path else [])

    def _singles(self, paths: list[Path]) -> list[Path]:
        """Return those of some places whose removal alone ends the refutation."""
        if len(paths) <= GROUPS:
            return [p for p in paths if self._ends(self._without([p]))]
        parts = [paths[i::GROUPS] for i in range(GROUPS)]
        left = [part for part in parts if self._ends(self._group(part))]
        return [p for part in left for p in self._singles(part)]

    def _joint(self, path: Path) -> bool:
        """Return whether a place leaks only with others of its own report; otherwise the leak is
        a sum of what places tell independently. Recordings are not asked."""
        what = f"{named([path])} for that of another report"
        return isinstance(self.run.mechanism, Recordings) or self._ends(
            Removal(what, "", "", _same), moved=path
        )

    def _group(self, paths: Sequence[Path]) -> Removal:
        return Removal(f"{len(paths)} places", "", "", dropped(paths))

    def _smallest(self) -> list[Path]:
        """Return a smallest set of places that each suffice to refute, which go only jointly."""
        every = places(self.sample, ())
        if len(every) < 3:
            return []
        need = functools.partial(self._needed, every)
        found = self._quickest([], every, need)
        few = 1 < len(found) <= min(MOST_ALONE, len(every) - 1)
        return found if few and all(self._suffices(p, every) for p in found) else []

    def _suffices(self, path: Path, every: list[Path]) -> bool:
        """Return whether a place refutes the claim without the others."""
        rest = dropped([p for p in every if p != path])
        return not self._ends(Removal(f"all but {named([path])}", "", "", rest))

    def _needed(self, every: list[Path], gone: list[Path]) -> bool:
        return len(gone) < len(every) and self._ends(self._group(gone))

    def _quickest(
        self, gone: list[Path], some: list[Path], ends: Callable[[list[Path]], bool]
    ) -> list[Path]:
        """Return the smallest part of some places whose removal, with `gone`, ends it."""
        if gone and ends(gone):
            return []
        if len(some) == 1:
            return some
        half = len(some) // 2
        second = self._quickest(gone + some[:half], some[half:], ends)
        first = self._quickest(gone + second, some[:half], ends)
        return first + second


def _constant(bettor: Bettor) -> int:
    """Return how many reports of an input are the same if each input has only one; 0 otherwise."""
    return repeated(bettor) if bettor.alike.all() else 0


def _same(report: Any) -> Any:
    return report


def _raised(report: Any) -> bool:
    return isinstance(report, dict) and report.keys() == {"error", "said"}


def _failed(report: Any) -> bool:
    return _raised(report) or (isinstance(report, dict) and report.keys() == {ARRIVAL})


class _Changed(Recordings):
    """Recordings whose reports are changed."""

    change: Change

    def draw(self, inputs: Sequence[Any], n: int, rng: Rng) -> list[Array]:
        drawn = super().draw(inputs, n, rng)
        out = []
        for own in drawn:
            new = np.empty(len(own), object)
            new[:] = [changed(plain(x), self.__dict__["change"]) for x in rows(own)]
            out.append(new)
        return out
