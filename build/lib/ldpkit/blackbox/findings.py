"""Findings of audits for other programs: SARIF, JUnit, a baseline, and results without values."""

import datetime
import json
import urllib.parse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import click

from .. import __version__
from ..auditors.result import AuditResult, Row
from ..digests import digest
from ..progress import shown
from .clients.anything import parsed

__all__ = [
    "HIDDEN",
    "JUNIT",
    "SARIF",
    "Finding",
    "baseline_of",
    "judged",
    "junit_of",
    "sarif_of",
    "without_values",
]

HIDDEN = "not shown"
"""Stands for what `without_values` leaves out."""
SARIF, JUNIT = '{"$schema": "https://json.schemastore.org/sarif-2.1.0.json"', '<testsuites name="ld'
"""Beginnings of the files, by which they are recognised."""

_RULE = {
    "id": "refuted-claim",
    "name": "RefutedClaim",
    "shortDescription": {"text": "Reports reveal more about the input than the client claims."},
    "help": {
        "text": "An audit refuted the claimed epsilon. The event is the part of a report that"
        " separates the inputs. The claim would be refuted wrongly with probability at most alpha."
    },
    "defaultConfiguration": {"level": "error"},
    "properties": {"tags": ["security", "privacy"]},
}
_TAGS = {"violation": "failure", "inconclusive": "skipped", "not valid": "error"}
_DETAILS = "event", "cause", "pair", "counts", "lower"


class Finding(NamedTuple):
    """Outcome of an audit for one claim.

    Parameters
    ----------
    client, claim, status, verdict : str
        Client, its claim, the value of `AuditResult.status`, and the conclusion.
    details : str
        Lines about the evidence.
    file : str
        File of the client's code, empty if there is none. A file below the working directory is
        named relative to it.
    line : int
        Line at which the client begins.
    seconds : float
    accepted : str
        Reason and date with which a baseline accepts a violation, otherwise empty.
    """

    client: str
    claim: str
    status: str
    verdict: str
    details: str
    file: str
    line: int
    seconds: float
    accepted: str

    @classmethod
    def of(cls, result: AuditResult, place: tuple[str, int]) -> "Finding":
        """Return the finding of a result about a client whose code is at a `place`."""
        lines = result.lines()
        pair = "" if "event" in result.evidence else f", {lines.get('pair', '')}"
        claim = shown(f"{lines['claim']}, {result.attack}{pair}")
        details = "\n".join(shown(f"{name}: {lines[name]}") for name in _DETAILS if name in lines)
        accepted, (file, line) = str(result.evidence.get("accepted", "")), place
        file = _uri(Path(file).resolve()) if file else ""
        return cls(shown(result.mechanism), claim, result.status, str(result), details, file,
                   max(1, line), result.seconds, accepted)  # fmt: skip


def sarif_of(findings: Sequence[Finding]) -> str:
    """Return a log in SARIF 2.1.0 with one result for each refuted claim.

    An accepted finding is suppressed.
    """
    results = []
    for found in findings:
        if found.status == "violation":
            result: Row = {
                "ruleId": _RULE["id"],
                "level": "error",
                "message": {"text": f"{found.client}: {found.verdict}\n{found.details}"},
                "partialFingerprints": {"claim/v1": digest([found.client, found.claim])},
            }
            if found.file:
                place = {
                    "artifactLocation": {"uri": found.file},
                    "region": {"startLine": found.line},
                }
                result["locations"] = [{"physicalLocation": place}]
            if found.accepted:
                result["suppressions"] = [{"kind": "external", "justification": found.accepted}]
            results.append(result)
    tool = {"driver": {"name": "ldpkit", "version": __version__, "rules": [_RULE]}}
    schema = json.loads(SARIF + "}")
    return json.dumps(schema | {"version": "2.1.0", "runs": [{"tool": tool, "results": results}]})


def _uri(path: Path) -> str:
    here = Path.cwd()
    inside = path.is_relative_to(here)
    return urllib.parse.quote(path.relative_to(here).as_posix()) if inside else path.as_uri()


def junit_of(findings: Sequence[Finding]) -> str:
    """Return a report in the form of JUnit with one test for each claim.

    A refuted claim is a failure, an audit that is not valid is an error, and one that is
    inconclusive is skipped, as is an accepted finding.
    """
    tags = ["skipped" if found.accepted else _TAGS.get(found.status, "") for found in findings]
    root, each = ElementTree.Element("testsuites", name="ldpkit"), [f.seconds for f in findings]
    numbers = {"tests": str(len(tags)), "time": f"{sum(each):.3f}"}
    for name in ("failures", "errors", "skipped"):
        numbers[name] = str(sum(tag in (name, name[:-1]) for tag in tags))
    suite = ElementTree.SubElement(root, "testsuite", {"name": "ldpkit", **numbers})
    for found, tag in zip(findings, tags):
        place = {"file": found.file, "line": str(found.line), "time": f"{found.seconds:.3f}"}
        named = {"classname": found.client, "name": found.claim, **place}
        case = ElementTree.SubElement(suite, "testcase", named)
        if tag:
            said = found.accepted or found.verdict
            why = ElementTree.SubElement(case, tag, {"type": found.status, "message": said})
            why.text = f"{found.verdict}\n{found.details}"
    return ElementTree.tostring(root, encoding="unicode")


def baseline_of(file: str) -> list[Row]:
    """Return the entries of a file of accepted findings, a list of objects in JSON.

    An entry has a ``client``, its claim ``epsilon`` (and ``delta``, 0 by default), the ``reason``
    and the ``date`` of its acceptance. If it has a ``digest``, it accepts only code with this
    digest.

    Raises
    ------
    click.UsageError
        If the file holds anything else.
    """
    try:
        entries = parsed(Path(file).read_text(encoding="utf-8"))
        for entry in entries:
            unknown = entry.keys() - {"client", "epsilon", "delta", "reason", "date", "digest"}
            texts = entry["client"], entry["reason"], entry.get("digest", "any")
            sound = all(isinstance(text, str) and text.strip() for text in texts) and not unknown
            if not sound or min(float(entry["epsilon"]), float(entry.get("delta", 0))) < 0:
                raise ValueError(f"got {entry}")
            datetime.date.fromisoformat(entry["date"])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise click.UsageError(
            f"{file} must be a JSON list of accepted findings, each with client, epsilon, reason"
            f" and date (YYYY-MM-DD): {type(error).__name__} {error}"
        ) from None
    return list(entries)


def judged(result: AuditResult, baseline: Sequence[Row]) -> AuditResult:
    """Return a result, to which is added that the baseline accepts the violation."""
    for entry in baseline if result.violated else ():
        claim = entry["client"], float(entry["epsilon"]), float(entry.get("delta", 0))
        same = entry.get("digest", result.digest) == result.digest
        if same and claim == (result.mechanism, result.claim, result.delta):
            text = f"{entry['reason']} ({entry['date']})"
            words = {**result.words, "accepted": text}
            return replace(result, words=words, evidence={**result.evidence, "accepted": text})
    return result


def without_values(result: AuditResult) -> AuditResult:
    """Return a result that shows neither inputs nor parts of reports; inputs are numbered."""
    values, hidden = result.parameters.get("values"), {"event": HIDDEN}
    numbered = {"values": [f"input {i}" for i in range(len(values))]} if values else {}
    words = {
        k: text for k, text in result.words.items() if k not in ("event", "cause", "pair", "asked")
    }
    kept = {name: x for name, x in result.evidence.items() if name != "tried"}
    return replace(
        result,
        parameters={**result.parameters, **numbered},
        sentence=result.sentence.replace(f" {result.cause}", "")
        if result.cause
        else result.sentence,
        cause=HIDDEN if result.cause else "",
        words=words,
        evidence=kept | (hidden if "event" in kept else {}),
        directions=tuple(row | (hidden if "event" in row else {}) for row in result.directions),
    )
