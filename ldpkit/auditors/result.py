"""The result that all auditors return."""

import bisect
import importlib.metadata
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import scipy

from .. import checks, digests, stats
from ..progress import shown
from ..stats import down
from ..types import Pair, Row
from .report_html import Drawing, line, table

# fmt: off
__all__ = [
    "CLEAR", "Claim", "LEAST", "STATUSES", "AuditResult", "PairResult", "Row", "finite",
    "in_the_clear", "json_line", "restarted", "too_few"
]
# fmt: on

Claim = Annotated[
    float, lambda name, claim: claim if claim == math.inf else checks.real(name, claim, 0)
]
"""A claimed epsilon, as the type of a field or argument that is checked; infinite if none is."""

STATUSES = ("none found", "violation", "inconclusive", "not valid")
"""The values of `AuditResult.status`."""

SCHEMA = 1
"""Version of the form of `AuditResult.to_dict`; it rises if a key changes its meaning or goes."""


def finite(x: object) -> object:
    """Return `x`, or ``None`` if it is an infinite number or NaN, which JSON cannot write."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


def json_line(row: Row) -> str:
    """Return JSON on one line of ASCII, in which all control characters are escaped."""
    return json.dumps(row, allow_nan=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Counts of one audit, the paper's statistic, and the bound that follows from the counts.

    An auditor with further results adds fields in a subclass.

    Attributes
    ----------
    mechanism : str
        Name of the audited mechanism or client.
    parameters : mapping
        Its parameters (``k``, ``epsilon``, ...).
    attack : str
        Name of the attack or event that was counted.
    trials : int
        Reports per input.
    total : int or None
        Reports of all inputs together, if the paper counts them so. Then they are the ``trials``
        of `row`, which has the reports per input as ``per_input``.
    alpha : float
        Significance, which is the largest probability that `lower` exceeds the true epsilon. Audits
        that share alpha exceed it with this probability together.
    seed : int or None
        Seed of the random streams, or ``None`` if the counts are those of the caller.
    faithful : bool
        Whether real reports were made, which is always true for a client and for counts of the
        caller.
    counts, rates : mapping
        Counts by name (``tp``, ``fp``, ...), and the same divided by the number of trials.
    epsilon_emp : float
        The statistic exactly as the paper computes it. It is ``-inf`` if the counts imply no bound.
    lower : float
        Lower bound of the true epsilon, valid at level ``1 - alpha``. It is at least 0, and 0 if
        the audit is not valid.
    exact, exact_sd : float or None
        Exact expectation and standard deviation of `epsilon_emp`, or ``None`` if the exact
        distribution of the reports is unknown.
    claim : float
        Claimed epsilon, ``inf`` if none is claimed.
    delta : float
        Delta of the claimed guarantee.
    limit : float or None
        Value of `epsilon_emp` without sampling noise, if the auditor computes it.
    estimates : mapping
        Further estimates by name, which the auditor describes.
    warnings : tuple of str
        Facts that limit how far the result can be trusted, one clause each.
    inconclusive : str
        The reason why the audit could hardly have found a violation; empty if it could.
    invalid : str
        The reason why the counts of these reports prove nothing; empty if they are sound.
    scope : str
        Sentence that a violation adds to the verdict, see `ldpkit.mechanisms.Mechanism.scope`.
    about : str
        Sentence that names the users whom the result concerns, if it is not a single user. Every
        verdict ends with it.
    cause : str
        The property of reports that shows the input, if the claim is refuted and it is known.
    seconds : float
        Wall time of the counting in seconds, which equality ignores.
    digest : str
        Digest of the code, program or files of a client, which equality ignores.
    """

    mechanism: str
    parameters: Row
    attack: str
    trials: int
    total: int | None = None
    alpha: float
    seed: int | None
    faithful: bool
    counts: Mapping[str, int]
    rates: Mapping[str, float]
    epsilon_emp: float
    lower: float
    claim: float
    exact: float | None = None
    exact_sd: float | None = None
    delta: float = 0.0
    limit: float | None = None
    estimates: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    inconclusive: str = ""
    invalid: str = ""
    scope: str = ""
    about: str = ""
    cause: str = ""
    seconds: float = field(default=0.0, compare=False)
    digest: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Return the verdict, as a terminal may show it."""
        return shown(self.verdict)

    @property
    def violated(self) -> bool:
        """Whether the audit proves that the claim is false."""
        return self.status == "violation"

    @property
    def status(self) -> str:
        """One of `STATUSES`: ``violation``, ``none found``, ``inconclusive`` or ``not valid``."""
        if self.invalid:
            return "not valid"
        if self._refuted:
            return "violation"
        return "inconclusive" if self.inconclusive else "none found"

    @property
    def _refuted(self) -> bool:
        return self.lower > self.claim

    @property
    def how(self) -> str:
        """Origin of the counts: ``real reports``, or ``law`` if they were sampled."""
        return "real reports" if self.faithful else "law"

    @property
    def level(self) -> str:
        """The level of `lower`, ``1 - alpha``, as text."""
        return stats.confidence(self.alpha, share=False)

    @property
    def verdict(self) -> str:
        """The conclusion of the audit in sentences for people.

        It ends with `about`, and with a remark if no report was made.
        """
        of = f"from the exact distribution of {self.mechanism}"
        sampled = "" if self.faithful else f"The counts were sampled {of}: no report was made."
        return " ".join(filter(None, [self._conclusion, self.about, sampled]))

    @property
    def _conclusion(self) -> str:
        confident = f"with {stats.confidence(self.alpha)} confidence"
        shown = down(self.lower, claim=self.claim)
        leak = f"{confident} the reports leak at least epsilon = {shown}"
        if self.invalid:
            return f"Not a valid audit: {self.invalid}."
        if self.violated:
            scope = f" {self.scope}" if self.scope else ""
            return f"VIOLATION: {leak}, more than the claimed {self.claim:g}.{scope}"
        if self.inconclusive:
            return f"Inconclusive: {self.inconclusive}."
        if self.claim == math.inf:
            return f"No epsilon is claimed; {leak}."
        allowed = f"{leak}, which the claimed {self.claim:g} allows"
        if not self.claim:
            allowed = f"no difference between the inputs is proved {confident}, and 0 allows none"
        return f"No violation found: {allowed}. This does not prove the claim."

    def row(self) -> Row:
        """Flatten into a dictionary with the keys of the command line's JSON.

        ``epsilon`` and ``delta`` are the mechanism's parameters. ``claim`` is the claimed epsilon
        of all reports of a user together, which differs from ``epsilon`` for repeated collections.

        Infinite values become ``None``, because JSON cannot write them. They mean "nothing is
        claimed" or "the counts imply nothing".
        """
        more = {} if self.limit is None else {"limit": finite(self.limit)}
        each = {} if self.total is None else {"per_input": self.trials}
        named, found = self._added()
        own = {
            key: value for key, value in self.parameters.items() if key not in ("epsilon", "delta")
        }
        return {
            "mechanism": self.mechanism,
            **own,
            "epsilon": self.parameters.get("epsilon", finite(self.claim)),
            "delta": self.parameters.get("delta", self.delta),
            "trials": self.total or self.trials,
            "alpha": self.alpha,
            "seed": self.seed,
            "attack": self.attack,
            "faithful": self.faithful,
            "how": self.how,
            **named,
            **self.counts,
            **self.rates,
            "epsilon_emp": finite(self.epsilon_emp),
            "lower": self.lower,
            "exact_epsilon_emp": finite(self.exact),
            "exact_sd": finite(self.exact_sd),
            **more,
            **{key: finite(value) for key, value in self.estimates.items()},
            "claim": finite(self.claim),
            "violated": self.violated,
            "status": self.status,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            **found,
            "seconds": self.seconds,
            **each,
        }

    def _added(self) -> tuple[Row, Row]:
        """Return what an auditor adds to `row`, after ``how`` and before ``seconds``."""
        return {}, {}

    def to_dict(self) -> Row:
        """Return `row` with cause, digest, versions, and the version of this form.

        The file ``result.schema.json`` beside this module is its JSON schema.
        """
        versions = {"ldpkit": importlib.metadata.version("ldpkit"), **digests.versions()}
        added = {"cause": self.cause, "digest": self.digest, "versions": versions}
        return {**self.row(), **added, "schema_version": SCHEMA}

    def to_json(self) -> str:
        """Return `to_dict` as JSON on one line."""
        return json_line(self.to_dict())

    def plot(self) -> Drawing:
        """Draw claim, estimate, expectation and lower bound on one axis of epsilon."""
        spread = self.exact_sd or 0.0
        return line(
            {
                "claim": [self.claim],
                "epsilon_emp": [self.epsilon_emp],
                "exact, two deviations": [
                    math.nan if self.exact is None else self.exact + 2 * side * spread
                    for side in (-1, 1)
                ],
                "lower bound": [self.lower],
            }
        )

    def _repr_html_(self) -> str:
        """Return a table and the drawing, for notebooks."""
        kept = {
            key: value
            for key, value in self.row().items()
            if key not in ("verdict", "warnings", "directions") and value is not None
        }
        notes = [("warning", text) for text in self.warnings]
        return table([("verdict", self.verdict), *notes, *kept.items()]) + self.plot().svg

    def plain(self) -> Row:
        """Return `row` without its time, and without entries that are no plain number or name.

        The same seed gives the same dictionary to the last digit.
        """
        left_out = ("pair", "questions", "directions", "warnings", "verdict", "seconds", "how")
        return {key: value for key, value in self.row().items() if key not in left_out}


@dataclass(frozen=True, kw_only=True)
class PairResult(AuditResult):
    """Result of an audit that tells two inputs apart.

    Attributes
    ----------
    pair : (input, input)
        The two audited inputs.
    directions : tuple of dict
        One entry per direction: ``pair`` (first the input that the event names), counts, rates,
        ``epsilon_emp`` and ``lower``. The counts and rates of the result are those of the first
        direction.
    questions : int
        Number of questions among which alpha is divided for `lower`.
    bets : bool
        Whether the audit bet against the claim, and has the fields of a `SequentialResult`.
    """

    bets: ClassVar[bool] = False
    pair: Pair
    directions: tuple[Row, ...] = ()
    questions: int = 1

    def _added(self) -> tuple[Row, Row]:
        directions = [
            {key: finite(value) for key, value in one.items()} | {"pair": list(one["pair"])}
            for one in self.directions
        ]
        named = {"pair": list(self.pair), "questions": self.questions}
        return named, {"directions": directions}


LEAST = 10
"""An audit is inconclusive if it would overlook an input that one of this many reports states."""

CLEAR = f"a client that sends its input in the clear in one report of {LEAST}"


def in_the_clear(reports: int) -> int:
    """Return how many of so many reports show the input of a client as in `CLEAR`.

    A client shows its input at least so often with probability 0.9.
    """
    if reports > 10**9:  # an approximation, because a needed number is shown with two digits
        return int(reports / LEAST - 1.3 * math.sqrt(reports * (1 - 1 / LEAST) / LEAST))
    return max(0, math.ceil(scipy.special.bdtrik(0.1, reports, 1 / LEAST)))


def restarted(times: int) -> str:
    """Return a sentence that states how often a program was started again, if it was."""
    many = "once" if times == 1 else f"{times:,} times"
    return f"The program ended and was restarted {many}." if times else ""


def too_few(
    bound: Callable[[int], float], trials: int, claim: float, unit: str = "reports per input",
    of: str = "",
) -> str:  # fmt: skip
    """Return why so few trials could not have refuted a claim, and how many trials could.

    Parameters
    ----------
    bound : callable
        ``bound(n)`` is the largest bound of epsilon that n trials can show.
    trials : int
        Number of trials that were made.
    claim : float
        Claimed epsilon.
    unit, of : str
        Name of the trials in the text, and a phrase after it that names their client.

    Returns
    -------
    str
        Empty if the trials could have refuted the claim.
    """
    best = bound(trials)
    if best > claim or claim == math.inf:
        return ""
    doublings = range(1, 1 + max(1, (10**18 // trials).bit_length()))
    first = bisect.bisect_right(doublings, claim, key=lambda n: bound(trials << n))
    if first == len(doublings):
        return f"no number of {unit} could show more than the claimed {claim:g}"
    few, enough = trials << first, trials << (first + 1)
    while enough - few > max(1, enough // 100):
        middle = (few + enough) // 2
        few, enough = (middle, enough) if bound(middle) <= claim else (few, middle)
    size = 10 ** max(0, len(str(enough)) - 2)
    shown = f"at most epsilon = {best:.2f}" if best > 0 else "nothing"
    return (
        f"{trials:,} {unit}{of} could show {shown}, and the claim is {claim:g}; about"
        f" {-(-enough // size) * size:,} {unit} are needed"
    )
