"""Audit a reader's own client with the real auditor, and tell the page how far the audit is."""

import json
import math
import re
import time
import traceback
from dataclasses import dataclass, field
from typing import Any

import ldpkit
from ldpkit import checks, progress, stats
from ldpkit.auditors.result import against
from ldpkit.blackbox.sequential.sentence import UNSEEN
from ldpkit.mechanisms.base import ClientError

from . import compiled, shell

_SECONDS = 0.2  # between two messages
_NAME = "<your client>"
_CLEAR = "Every report is the input itself. A function of two arguments is given a list of inputs at a time: does yours take it for one input?"
_LACKS = "A function that returns nothing returns None: does yours lack a return?"
_STRANGE = "No report is one of the inputs, although both are of one type: are these inputs that your client takes?"
_LIST = "A function of two arguments gets the inputs as a list: np.array(values) makes an array of it"
LARGEST = 1_000
"""Characters of a report: the auditor takes minutes over larger ones, and says nothing meanwhile."""


def _told(add: Any) -> Any:
    last, audit = 0.0, None  # later audits take a suspect away

    def call(self: progress.Progress, *given: Any, **named: Any) -> None:
        nonlocal last, audit
        add(self, *given, **named)
        audit = audit or self
        if self is progress.running[0] and time.monotonic() - last > _SECONDS:
            last, unit = time.monotonic(), self.unit if self is audit else "reports that test a cause"
            compiled.ask(
                kind="say", type="stream", content={"name": "progress", "text": json.dumps([self.finished, self.total, unit])}
            )

    return call


@dataclass(frozen=True)
class Watched(ldpkit.Client):
    """A client of small reports.

    It remembers whether one of them was more than None, and whether one was not its input.
    It also remembers whether one was among the inputs, or was of another type than these.
    """

    returned: set[bool] = field(default_factory=set, compare=False)
    hidden: set[bool] = field(default_factory=set, compare=False)
    known: set[bool] = field(default_factory=set, compare=False)

    def perturb(self, values: Any, rng: Any) -> Any:
        reports = super().perturb(values, rng)
        self.returned.update(report is not None for report in reports)
        self.hidden.update(report != self.values[v] for report, v in zip(reports, values, strict=True))  # type: ignore[index]
        kinds = {type(value) for value in self.values}  # type: ignore[union-attr]
        self.known.update(type(report) not in kinds or report in self.values for report in reports)  # type: ignore[operator]
        largest = max(len(json.dumps(report, default=str)) for report in reports)
        checks.need(
            largest <= LARGEST,
            f"your client must return reports of at most {LARGEST:,} characters here, got {largest:,}: audit it as a program",
            ClientError,
        )
        return reports


def client(code: str) -> Any:
    """Return the last function that the reader's code defines."""
    names: dict[str, Any] = {"__name__": "client"}
    exec(compile(code, _NAME, "exec"), names)
    made = [f for f in names.values() if getattr(f, "__module__", "") == "client" and callable(f) and not isinstance(f, type)]
    if not made:
        raise ValueError("the code must define a function: client(values, rng) for many users, or client(value) for one")
    return made[-1]


def explained(error: Exception) -> str:
    """Return what went wrong in the reader's code, and in which of its lines; nothing if that code is not to blame."""
    cause = error.__cause__ or error
    lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == _NAME]
    words = f"client raised {type(error).__name__}: {error}" if lines else ""
    if isinstance(error, ClientError):
        words = str(error).partition("; --on-error")[0]
    remark = f". {shell.MEMORY}" if isinstance(cause, MemoryError) else f". {_LACKS}" if "NoneType" in words else ""
    as_array = isinstance(cause, TypeError | AttributeError) and re.search(r"\blist\b|scalar arrays|sequence", words)
    remark += f". {_LIST}" if as_array else ""
    return words.rstrip(": ") + remark + (f" (line {lines[-1]} of your code)" if lines else "")


def brief(found: Any) -> str:
    """Return the verdict for somebody who decides."""
    if found.violated:
        return (
            f"The client tells more about its input than its claim of ε = {found.claim:g} allows. About {found.reports:,} reports per input"
            f" show it, and this is wrong with probability at most {found.alpha:g}."
        )
    if found.status != "none found":
        return "The audit came to no result."
    return f"{found.reports:,} reports per input show no violation of the claim of ε = {found.claim:g}, which does not prove the claim."


def parts(found: Any) -> tuple[str, dict[str, str]]:
    """Return the conclusion of an audit, and what else a reader is shown of it, by name."""
    cause = found.cause or "No single cause was found." * bool(found.tried)
    head = found.sentence.removesuffix(f" {cause}").strip() if found.violated else found.conclusion
    would, _, unseen = ("" if found.violated else found.sentence.removeprefix(head)).partition("Not looked at: ")
    least, counts = found.lines()["lower"].partition(" ")[0], found.counts
    one, other = (against(found.parameters, [x]) for x in found.pair)
    shown = "." if not counts else (
        f". Seen in {counts['tp']:,} of {counts['first']:,} reports of {one}, and in {counts['fp']:,} of {counts['second']:,} of {other}."
    )  # fmt: skip
    proven = (
        f"ε is above {least}, wrong with probability at most {found.alpha:g}."
        + " The audit stopped as soon as it was sure, and more may leak: audit again with a larger claim to learn how much."
        * found.violated
        if found.lower > 0
        else "Nothing is proven about ε."
    )
    often, seldom = (counts["tp"] / counts["first"], counts["fp"] / counts["second"]) if counts else (0.0, 0.0)
    most = math.exp(found.claim)
    if found.violated and seldom and often > most * seldom:
        shown += f" That is {often / seldom:.3g} times as often, and a claim of ε = {found.claim:g} allows {most:.3g} times."
    elif found.violated and counts and seldom:
        shown += " The claim allows that: the bets weighed it together with others, and only all of them refute the claim."
    elif not found.violated and often > most * seldom + found.delta:
        shown += " That is more than the claim allows, but this event was chosen among many, so that chance can do it. More reports decide."
    bets = found.violated and (
        f"Bets against the claim have turned 1 into {stats.down(found.e_value, 2)}, which is called the e-value. If the claim is true,"
        f" they reach {1 / found.alpha:g} with probability at most {found.alpha:g}."
    )
    first = {"In one sentence": brief(found)}
    if found.violated:  # plain words before the auditor's
        head, first = f"VIOLATION: {brief(found)}", {"In the auditor's words": head}
    told = first | {
        "Bound": proven,
        "E-value": bets,
        "Event": found.event + shown,
        "Cause": cause,
        "It would have found": would.strip(),
        "Not looked at": unseen or f"{UNSEEN}.",
        "Inputs": found.about,
    }
    return head, {name: text for name, text in told.items() if text}


def judge(code: str, values: list[Any], epsilon: float, trials: int, alpha: float, seed: int) -> None:
    """Audit the client, and show the verdict, what explains it, and all facts of the result."""
    progress.Progress.add = _told(progress.Progress.add)  # type: ignore[method-assign]
    try:
        asked = Watched(client(code), values=values, epsilon=epsilon)
        found = ldpkit.audit(asked, trials=trials, alpha=alpha, seed=seed)
    except Exception as error:
        if words := explained(error):
            raise ClientError(words) from None
        raise
    facts = {"cause": found.cause, **found.row()}
    plain = {key: str(x) if isinstance(x, float) and not math.isfinite(x) else x for key, x in facts.items()}
    data = json.loads(json.dumps(plain, default=str))
    lacking = "" if True in asked.returned else f"Every report is None. {_LACKS} "
    lacking += "" if True in asked.hidden or not asked.batched else f"{_CLEAR} "
    lacking += "" if True in asked.known or not found.violated else f"{_STRANGE} "
    head, told = parts(found)
    shown = {"text/plain": lacking + head, "application/json": {"words": told, "facts": data}}
    compiled.ask(kind="say", type="display_data", content={"data": shown})
