"""The result that all auditors return, in words and as JSON."""

import bisect
import importlib.metadata
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Annotated, Any

import scipy

from .. import checks, digests, stats
from ..progress import shown
from ..stats import down
from ..types import Pair, Rates, Row

# fmt: off
__all__ = [
    "CLEAR", "Claim", "LEAST", "STATUSES", "AuditResult", "PairResult", "Row", "against", "finite",
    "in_the_clear", "json_line", "restarted", "table", "titled", "too_few"
]
# fmt: on

Claim = Annotated[
    float, lambda name, claim: claim if claim == math.inf else checks.real(name, claim, 0)
]
"""A claimed epsilon, as the type of a field or argument that is checked; infinite if none is."""

STATUSES = ("none found", "violation", "inconclusive", "not valid")
"""The values of `AuditResult.status`."""

SCHEMA = 2
"""Version of the form of `AuditResult.to_dict`; it rises if a key changes its meaning or goes."""


def finite(x: object) -> object:
    """Return `x`, or ``None`` if it is an infinite number or NaN, which JSON cannot write."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


def json_line(row: Row) -> str:
    """Return JSON on one line of ASCII, in which all control characters are escaped."""
    return json.dumps(row, allow_nan=False).replace("\x7f", "\\u007f")


def titled(name: str, parameters: Mapping[str, object]) -> str:
    """Return a mechanism with its parameters in one line."""
    named = [f"{key} = {x}" for key, x in parameters.items() if key not in ("epsilon", "delta")]
    return f"{name} ({', '.join(named)})" if named else name


def against(parameters: Row, pair: Sequence[Any]) -> str:
    """Return the two inputs of a pair as they were given; *the others* stay words."""
    values = parameters.get("values")
    return " against ".join(
        str(values[v] if values and not isinstance(v, str) else v) for v in pair
    )


def table(lines: Mapping[str, object]) -> str:
    """Return names and values as an HTML table."""
    cells = (
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>'
        for name, value in lines.items()
    )
    return f"<table>{''.join(cells)}</table>"


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Claim, evidence and conclusion of an audit, whichever auditor made it.

    The fields up to `claim` are those of every audit. An auditor adds entries of its own to the
    JSON by `evidence`, and lines of its own to the text by `words`.

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
    lower : float
        Lower bound of the true epsilon, valid at level ``1 - alpha``. It is at least 0, and 0 if
        the audit is not valid.
    claim : float
        Claimed epsilon, ``inf`` if none is claimed.
    delta : float
        Delta of the claimed guarantee.
    total : int or None
        Reports of all inputs together, if the paper counts them so. Then they are the ``trials``
        of `row`, which has the reports per input as ``per_input``.
    epsilon_emp : float or None
        The statistic exactly as the paper computes it. It is ``-inf`` if the counts imply no bound,
        and ``None`` if the auditor has none.
    exact, exact_sd : float or None
        Exact expectation and standard deviation of `epsilon_emp`, or ``None`` if the exact
        distribution of the reports is unknown.
    exact_rates : (float, float) or None
        Exact rates of the event of the first direction under both inputs, if they are known.
    limit : float or None
        Value of `epsilon_emp` without sampling noise, if the auditor computes it.
    interval : (float, float) or None
        Interval of epsilon at level ``1 - alpha`` that trusts the mechanism's distribution, if the
        auditor computes it.
    pair : (input, input) or None
        The two inputs that were told apart, if there are two.
    directions : tuple of dict
        One entry per direction or bet: ``pair`` (first the input that the event names), counts and
        rates, and what they prove. The counts of a result are those of its first direction, or of
        the bet that won most.
    questions : int
        Number of questions among which alpha is divided for `lower`.
    evidence : mapping
        Further entries of the JSON by key, which the auditor describes. They are attributes, too.
    refuted : bool or None
        Whether the evidence refutes the claim. By default it does if `lower` exceeds the claim.
    warnings : tuple of str
        Facts that limit how far the result can be trusted, one clause each.
    inconclusive : str
        The reason why the audit could hardly have found a violation; empty if it could.
    invalid : str
        The reason why these reports prove nothing; empty if they are sound.
    scope : str
        Sentence that a violation adds to the verdict, see `ldpkit.mechanisms.Mechanism.scope`.
    about : str
        Sentences about users and assumptions, with which every verdict ends.
    sentence : str
        The conclusion in words; empty if `conclusion` has them.
    words : mapping
        Lines of `lines` that the auditor writes itself, by name.
    meaning : str
        Sentences that tell people why such evidence counts.
    cause : str
        The property of reports that shows the input, if the claim is refuted and it is known.
    trajectory : tuple of (int, float, float)
        Reports per input, logarithm of the wealth and bound, of an audit that bets. Equality
        ignores them, the words, the time and the digest.
    seconds : float
        Wall time of the counting in seconds.
    digest : str
        Digest of the code, program or files of a client.
    """

    mechanism: str
    parameters: Row
    attack: str
    trials: int
    alpha: float
    seed: int | None
    faithful: bool
    counts: Mapping[str, int]
    rates: Mapping[str, float]
    lower: float
    claim: float
    delta: float = 0.0
    total: int | None = None
    epsilon_emp: float | None = None
    exact: float | None = None
    exact_sd: float | None = None
    exact_rates: Rates | None = None
    limit: float | None = None
    interval: tuple[float, float] | None = None
    pair: Pair | None = None
    directions: tuple[Row, ...] = ()
    questions: int = 1
    evidence: Row = field(default_factory=dict)
    refuted: bool | None = None
    warnings: tuple[str, ...] = ()
    inconclusive: str = ""
    invalid: str = ""
    scope: str = ""
    about: str = ""
    sentence: str = ""
    words: Mapping[str, str] = field(default_factory=dict, compare=False)
    meaning: str = ""
    cause: str = ""
    trajectory: tuple[tuple[int, float, float], ...] = field(default=(), compare=False)
    seconds: float = field(default=0.0, compare=False)
    digest: str = field(default="", compare=False)

    def __getattr__(self, name: str) -> Any:
        """Return an entry of `evidence`."""
        try:
            return vars(self)["evidence"][name]
        except KeyError:
            raise AttributeError(f"the result of this audit has no {name}") from None

    def __str__(self) -> str:
        """Return the verdict, as a terminal may show it."""
        return shown(self.verdict)

    @property
    def status(self) -> str:
        """One of `STATUSES`: ``violation``, ``none found``, ``inconclusive`` or ``not valid``."""
        if self.invalid:
            return "not valid"
        if self.lower > self.claim if self.refuted is None else self.refuted:
            return "violation"
        return "inconclusive" if self.inconclusive else "none found"

    @property
    def violated(self) -> bool:
        """Whether the audit proves that the claim is false."""
        return self.status == "violation"

    @property
    def how(self) -> str:
        """Origin of the counts: ``real reports``, or the ``exact distribution``."""
        return "real reports" if self.faithful else "exact distribution"

    @property
    def reports(self) -> int:
        """Reports per input."""
        return self.trials

    @property
    def level(self) -> str:
        """The level of `lower`, ``1 - alpha``, as text."""
        return stats.confidence(self.alpha, share=False)

    # --- words ------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The conclusion of the audit in sentences for people.

        It ends with `about`, and with a remark if no report was made.
        """
        of = f"from the exact distribution of {self.mechanism}"
        sampled = "" if self.faithful else f"The counts were sampled {of}: no report was made."
        return " ".join(filter(None, [self.sentence or self.conclusion, self.about, sampled]))

    @property
    def conclusion(self) -> str:
        """The conclusion that follows from the status and the bound."""
        confident = f"with {stats.confidence(self.alpha)} confidence"
        least = down(self.lower, claim=self.claim)
        leak = f"{confident} the reports leak at least epsilon = {least}"
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

    def lines(self) -> dict[str, str]:
        """Return the lines that describe the result, by their names.

        They are the table of the command line, of notebooks and of pages.
        """
        claim = "none" if self.claim == math.inf else f"epsilon = {self.claim:g}"
        origin = "all real" if self.faithful else "sampled from the exact distribution"
        found = {
            "mechanism": titled(self.mechanism, self.parameters),
            "claim": f"{claim}, delta = {self.delta:g}",
            "attack": f"{self.attack}, {self.trials:,} reports per input, {origin}",
            "pair": against(self.parameters, self.pair or ()),
            "counts": ", ".join(f"{key} = {value:,}" for key, value in self.counts.items()),
            "rates": ", ".join(f"{key} = {value:.6f}" for key, value in self.rates.items()),
            "epsilon_emp": "" if self.epsilon_emp is None else f"{self.epsilon_emp:.4f}",
            "exact": ""
            if self.exact is None
            else f"{self.exact:.4f} (sd {self.exact_sd:.4f}) is its expectation",
            "limit": "" if self.limit is None else f"{self.limit:.4f} without sampling noise",
        }
        shared = f", shared by {self.questions} questions" if self.questions > 1 else ""
        least = f"{down(self.lower, claim=self.claim)} at level {self.level}{shared}"
        last = {"lower": least, "seconds": f"{self.seconds:.2f}"}
        kept = found | dict(self.words) | {name: self.words.get(name, last[name]) for name in last}
        return {name: text for name, text in kept.items() if text}

    def _repr_html_(self) -> str:
        """Return verdict and lines as a table, for notebooks."""
        notes = {"warning": "; ".join(self.warnings)} if self.warnings else {}
        return table({"verdict": self.verdict} | notes | self.lines())

    # --- JSON -------------------------------------------------------------------------------------

    def row(self) -> Row:
        """Flatten into a dictionary with the keys of the command line's JSON.

        ``epsilon`` and ``delta`` are the mechanism's parameters. ``claim`` is the claimed epsilon
        of all reports of a user together, which differs from ``epsilon`` for repeated collections.

        Infinite values become ``None``, because JSON cannot write them. They mean "nothing is
        claimed" or "the counts imply nothing". Entries that an auditor does not have are left out.
        """
        parameters = {"epsilon": self.claim, "delta": self.delta, **self.parameters}
        named = [key for key in parameters if key not in ("epsilon", "delta")]
        optional = {"epsilon_emp": self.epsilon_emp, "limit": self.limit}
        pair = {} if self.pair is None else {"pair": list(self.pair), "questions": self.questions}
        directions = [
            {key: finite(value) for key, value in one.items()} | {"pair": list(one["pair"])}
            for one in self.directions
        ]
        row = {
            "mechanism": self.mechanism,
            **{key: parameters[key] for key in (*named, "epsilon", "delta")},
            "trials": self.total or self.trials,
            "alpha": self.alpha,
            "seed": self.seed,
            "attack": self.attack,
            "faithful": self.faithful,
            "how": self.how,
            **pair,
            **self.counts,
            **self.rates,
            **{name: x for name, x in optional.items() if x is not None},
            "lower": self.lower,
            "exact_epsilon_emp": self.exact,
            "exact_sd": self.exact_sd,
            **self.evidence,
            **dict(zip(("interval_low", "interval_high"), self.interval or ())),
            "claim": self.claim,
            "violated": self.violated,
            "status": self.status,
            "verdict": self.verdict,
            "warnings": list(self.warnings),
            **({"directions": directions} if pair else {}),
            "seconds": self.seconds,
            **({} if self.total is None else {"per_input": self.trials}),
        }
        return {key: finite(value) for key, value in row.items()}

    def plain(self) -> Row:
        """Return `row` without its time, and without entries that are no plain number or name.

        A result of a pair also has `exact_rates`. The same seed gives the same dictionary to the
        last digit.
        """
        left_out = ("pair", "questions", "directions", "warnings", "verdict", "seconds", "how")
        plain = {key: value for key, value in self.row().items() if key not in left_out}
        exact = zip(("exact_tpr", "exact_fpr"), self.exact_rates or (None, None))
        return plain if self.pair is None else plain | dict(exact)

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


PairResult = AuditResult
"""The result of an audit that tells two inputs apart, which once had a class of its own."""


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
