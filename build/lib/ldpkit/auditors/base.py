"""The base classes of all audits: a frozen object that is checked when it is made.

An audit draws random numbers only when it is run.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Self

from .. import checks, mechanisms, stats
from ..mechanisms.base import build
from ..rng import derive
from ..types import Pair, Row, Word
from .result import AuditResult

__all__ = ["ALPHA", "Alpha", "Auditor", "PairAudit", "Seed", "makeable"]

ALPHA = 0.01
"""Significance of every audit unless another one is given."""

Alpha = Annotated[
    float, lambda _, alpha: stats.significance(alpha), "Significance, in [1e-100, 1)."
]
"""The significance of an audit, as the type of a field."""

Seed = Annotated[int, "Seed of all random numbers, non-negative."]
"""The seed of an audit, as the type of an argument."""

_WIDEST = 2**26  # coordinates of a real report


@dataclass(frozen=True)
class Auditor(checks.Checked, ABC):
    """Base of all audits, whose fields are the parameters of the audit.

    Every audit has the fields `attack`, `trials` (reports per input) and `alpha`.
    """

    _: KW_ONLY
    trials: Annotated[
        int,
        checks.rule(checks.integer, 1, 10**12),
        "Reports per input, at least 1 (the paper uses 10^6).",
    ] = 10**6
    alpha: Alpha = ALPHA

    names: ClassVar[Mapping[str, Callable[..., Any]]]
    """Of audits with a field `mechanism`: the mechanisms that words name."""

    @abstractmethod
    def run(self, seed: int = 1) -> Sequence[AuditResult]:
        """Make or sample the counts, and return one result per attack or round."""

    @classmethod
    def of(cls, **words: Word) -> Self:
        """Return the audit that words describe: in Python, in a grid or on the command line.

        Parameters
        ----------
        **words
            Fields of the audit by name. The field `mechanism` may be a name. Then all words that
            are no fields of the audit are parameters of that mechanism, and so is ``delta``.

        Raises
        ------
        ValueError
            If a field without default is missing, or if a word is unknown or out of range.
        """
        own = {f.name: f.default for f in fields(cls) if f.init}
        for name, default in own.items():
            checks.need(
                name in words or default is not MISSING,
                f"audit needs {name}; its parameters are {', '.join(own)}",
            )
        if isinstance(words.get("mechanism"), str):
            given = {name: words.pop(name) for name in own if name in words and name != "delta"}
            words = given | {"mechanism": cls.target(given["mechanism"], **words)}
        for name in words:
            checks.one_of("option", name, own)
        return cls(**words)

    @classmethod
    def target(cls, name: str, **parameters: Word) -> Any:
        """Return the mechanism of a name with these parameters."""
        return build(name, cls.names[checks.one_of("mechanism", name, cls.names)], **parameters)

    @classmethod
    def cell(cls, *, runs: int = 1, seed: int = 1, **words: Word) -> list[Row]:
        """Compute one cell of a grid: run an audit several times, each time on its own stream.

        Parameters
        ----------
        runs : int
            Independent repetitions, at least 1.
        seed : int
        **words
            See `of`.

        Returns
        -------
        list of dict
            One `AuditResult.plain` per result, with the number of the `run`. Given `trials` are
            those of one input. The same seed gives the same rows to the last digit.
        """
        audit, given = cls.of(**words), {name: words[name] for name in ("trials",) if name in words}
        return [
            result.plain() | {"run": run} | given
            for run in range(checks.integer("runs", runs, 1))
            for result in audit.run(derive(seed, "run", run))
        ]


@dataclass(frozen=True)
class PairAudit(Auditor):
    """Base of the audits that tell two inputs apart with one or several attacks."""

    mechanism: Any
    attack: Any = "guess"
    _: KW_ONLY
    delta: Annotated[float | None, checks.rule(checks.real, 0, 1, closed="[)")] = None
    faithful: Annotated[
        checks.Flag,
        "Make every report in full, instead of sampling the counts from their exact distribution.",
    ] = False
    pair: Pair | None = None
    both: checks.Flag = True

    @property
    def named(self) -> Sequence[Any]:
        """The attacks, at least one."""
        several = self.attack if isinstance(self.attack, (list, tuple)) else [self.attack]
        checks.need(several, f"attack must name at least one attack, got {self.attack!r}")
        return several

    @classmethod
    def target(cls, name: str, **parameters: Word) -> mechanisms.Mechanism:
        """Return the mechanism of a name, or the client of a ``"module:function"``.

        The parameters are those of the mechanism or client.
        """
        if ":" not in name:
            return mechanisms.make(name, **parameters)
        from .. import Client  # by the front page, because no audit of ours needs clients

        client: mechanisms.Mechanism = Client.imported(name, **parameters)
        return client


def makeable(mechanism: mechanisms.Mechanism) -> None:
    """Refuse a mechanism whose single report does not fit into memory."""
    checks.need(
        mechanism.width <= _WIDEST,
        f"real reports must have at most {_WIDEST:,} coordinates, got {mechanism.width:,} of"
        f" {mechanism.name}: sample from its exact distribution, or take fewer values",
    )
