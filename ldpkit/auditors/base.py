"""What every audit is: a frozen object, checked when it is made, which draws only when it is
run."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Self

from .. import checks, stats
from ..rng import derive
from ..types import Word
from .result import AuditResult, Row

__all__ = ["ALPHA", "Auditor", "called"]

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
    def run(self, seed: int = 1) -> list[AuditResult]:
        """Draw, and say what was found: one result per attack or round."""

    @classmethod
    @abstractmethod
    def of(cls, *named: Word, **words: Word) -> Self:
        """Return the audit that names and numbers describe: the words of the command line and of
        grids."""

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
    def cell(cls, *named: Word, runs: int = 1, seed: int = 1, **words: Word) -> list[Row]:
        """Audit what names and numbers describe, several times: one cell of a grid.

        Parameters
        ----------
        *named, **words
            See `of`.
        runs, seed
            See `rows`, which also says what is returned.
        """
        return cls.of(*named, **words).rows(runs, seed)


@contextlib.contextmanager
def called(**names: str) -> Iterator[None]:
    """Let errors call a parameter by the name that the caller gave it:
    ``called(own="caller's")``."""
    try:
        yield
    except ValueError as error:
        word, space, rest = str(error).partition(" ")
        if word not in names:
            raise
        raise ValueError(names[word] + space + rest) from error
