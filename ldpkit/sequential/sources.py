"""Sources of reports: live mechanisms and clients, programs, and recordings."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..mechanisms import Client, LocalRandomizer
from ..mechanisms.base import distribution_known
from ..mechanisms.identity import identity
from ..types import Array, Reports, Rng

__all__ = ["Source", "Live", "identity"]


@runtime_checkable
class Source(Protocol):
    """Reports of several inputs that cannot be asked for one by one, such as recordings.

    Attributes
    ----------
    name : str
    parameters : dict
    epsilon, delta : float
        The claim.
    repeats : bool
        Whether the same generator gives the same reports.
    independent : bool
        Whether reports of different inputs are known to be independent.
    """

    name: str
    parameters: dict[str, Any]
    epsilon: float
    delta: float
    repeats: bool
    independent: bool

    def draw(self, inputs: Sequence[Any], n: int, rng: Rng) -> list[Reports]:
        """Return n reports of every input; fewer of each if there are no more."""


class Live:
    """A mechanism or client that makes one report after the other."""

    def __init__(self, mechanism: LocalRandomizer) -> None:
        self.mechanism, self.name = mechanism, mechanism.name
        self.parameters, self.epsilon = mechanism.parameters, mechanism.epsilon
        self.delta = mechanism.delta
        self.repeats = not isinstance(mechanism, Client) or mechanism.batched
        self.exact = distribution_known(mechanism)

    def ask(self, inputs: Sequence[Any], chosen: Array, rng: Rng) -> Reports:
        """Return a report of each input that `chosen`, int array (n,), names by its position."""
        sides = [self.mechanism.inputs(value, len(chosen)) for value in inputs]
        values = np.stack(sides)[chosen, np.arange(len(chosen))]
        return self.mechanism.perturb(values, rng)
