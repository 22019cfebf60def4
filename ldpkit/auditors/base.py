"""What every audit is: a frozen object, checked when it is made, which draws only when it is
run."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

from .. import checks, stats
from ..rng import derive
from ..types import Word
from .result import AuditResult, Row

__all__ = ["ALPHA", "Auditor"]

ALPHA = 0.01
"""Significance of every audit unless another one is given."""


@dataclass(frozen=True)
class Auditor(checks.Checked, ABC):
    """A planned audit.

    Its fields are its parameters. They say `attack`, `trials` (reports per input) and `alpha` in
    all of them.
    """

    _: KW_ONLY
    trials: Annotated[int, checks.rule(checks.integer, 1, 10**12)] = 10**6
    alpha: Annotated[float, lambda _, alpha: stats.significance(alpha)] = ALPHA

    @abstractmethod
    def run(self, seed: int = 1) -> Sequence[AuditResult]:
        """Draw, and say what was found: one result per attack or round."""

    @classmethod
    def of(cls, **words: Word) -> Self:
        """Return the audit that names and numbers describe, as grids and the command line give
        them.

        Parameters
        ----------
        **words
            Fields of the audit by name. If it has a `mechanism`, this is a name, and all other
            words are parameters of that mechanism, see `target`.
        """
        fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
        named = "mechanism" in fields
        own = [name for name in fields if not (named and name == "delta")]  # the mechanism's
        given = {name: words.pop(name) for name in own if name in words}
        for name in own:
            needed = fields[name].default is dataclasses.MISSING and name not in given
            checks.need(not needed, f"audit needs {name}; its parameters are {', '.join(own)}")
        if named:
            given["mechanism"] = cls.target(given["mechanism"], **words)
        elif words:
            checks.one_of("parameter", next(iter(words)), own)
        return cls(**given)

    @classmethod
    def target(cls, name: str, **parameters: Word) -> Any:
        """Return the mechanism of that name, with its parameters; audits of one bring this."""
        raise NotImplementedError

    def rows(self, runs: int = 1, seed: int = 1) -> list[Row]:
        """Audit several times, each time on a stream of its own.

        Parameters
        ----------
        runs : int
            Independent repetitions, at least 1.
        seed : int

        Returns
        -------
        list of dict
            One `AuditResult.row` per result, with the number of the `run`, without the time and
            what is no plain number or name: a row repeats to the last digit.
        """
        return [
            result.plain() | {"run": run}
            for run in range(checks.integer("runs", runs, 1))
            for result in self.run(derive(seed, "run", run))
        ]

    @classmethod
    def cell(cls, *, runs: int = 1, seed: int = 1, **words: Word) -> list[Row]:
        """Audit what names and numbers describe, several times: one cell of a grid.

        Parameters
        ----------
        runs, seed
            See `rows`, which also says what is returned.
        **words
            See `of`.
        """
        return cls.of(**words).rows(runs, seed)
