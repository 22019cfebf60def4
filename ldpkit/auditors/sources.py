"""Where reports come from: mechanisms and clients, files, programs."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..mechanisms import LocalRandomizer
from ..mechanisms.base import lawful
from ..types import Array, Reports, Rng

__all__ = ["Source", "Made", "joined", "packed", "picked", "unpacked"]


@runtime_checkable
class Source(Protocol):
    """Whatever makes reports of several inputs: mechanisms do, and so do files and programs.

    Attributes
    ----------
    name : str
    parameters : dict
    epsilon, delta : float
        The claim.
    repeats : bool
        Whether the same generator makes the same reports.
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
        """Return n reports of every input; fewer of each, if there are no more."""


class Made:
    """Reports that a mechanism or client makes."""

    def __init__(self, mechanism: LocalRandomizer) -> None:
        self.mechanism, self.name = mechanism, mechanism.name
        self.parameters, self.epsilon = mechanism.parameters, mechanism.epsilon
        self.delta, self.repeats = mechanism.delta, getattr(mechanism, "batched", True)
        self.independent = lawful(mechanism)

    def draw(self, inputs: Sequence[Any], n: int, rng: Rng) -> list[Reports]:
        """Return n reports of every input, asked for in random order within each round."""
        sides = np.stack([self.mechanism.inputs(value, n) for value in inputs], axis=1)
        order = rng.permuted(np.tile(np.arange(len(inputs)), (n, 1)), axis=1)
        rows = np.arange(n)[:, None]
        values = sides[rows, order].reshape(-1, *sides.shape[2:])
        reports = self.mechanism.perturb(values, rng)
        places = np.argsort(order, axis=1) + len(inputs) * rows
        return [picked(reports, places[:, side]) for side in range(len(inputs))]


def picked(reports: Reports, rows: Array) -> Reports:
    """Return the reports of some users, whatever the form of reports."""
    if isinstance(reports, (list, tuple)):  # one array for each part of a report
        return [picked(part, rows) for part in reports]
    return reports[rows]


def joined(pieces: Sequence[Reports]) -> Reports:
    """Return reports of several calls as those of one."""
    if isinstance(pieces[0], (list, tuple)):
        return [joined(parts) for parts in zip(*pieces)]
    if pieces[0].ndim == 1:
        return np.concatenate(pieces)
    widest = max(piece.shape[1] for piece in pieces)  # collections may differ in size; -1 fills up
    rest = ((0, 0),) * (pieces[0].ndim - 2)
    return np.concatenate(
        [
            np.pad(piece, ((0, 0), (0, widest - piece.shape[1]), *rest), constant_values=-1)
            for piece in pieces
        ]
    )


def packed(reports: Reports) -> Any:
    """Return reports as JSON can write them; `unpacked` makes them what they were."""
    if isinstance(reports, (list, tuple)):
        return {"parts": [packed(part) for part in reports]}
    if reports.dtype.names:
        return {"fields": {name: packed(reports[name]) for name in reports.dtype.names}}
    return {"type": reports.dtype.str, "shape": reports.shape, "entries": reports.ravel().tolist()}


def unpacked(kept: Any) -> Reports:
    """Return reports that were `packed`."""
    if "parts" in kept:
        return [unpacked(part) for part in kept["parts"]]
    if "fields" in kept:
        parts = [unpacked(part) for part in kept["fields"].values()]
        kinds = [(name, p.dtype, p.shape[1:]) for name, p in zip(kept["fields"], parts)]
        whole = np.empty(len(parts[0]), kinds)
        for name, part in zip(kept["fields"], parts):
            whole[name] = part
        return whole
    flat = np.empty(len(kept["entries"]), np.dtype(kept["type"]))
    for i, entry in enumerate(kept["entries"]):  # which may be a list
        flat[i] = entry
    return flat.reshape(kept["shape"])
