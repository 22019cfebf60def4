"""A client that is imported and called in a process of its own."""

import functools
from dataclasses import dataclass
from typing import Any

from ..types import Array, ArrayLike, Rng, Word
from .client import Client, named
from .process import Process

__all__ = ["SeparateClient"]


@dataclass(frozen=True)
class SeparateClient(Client):
    """A client whose `function` is the process that imports and calls it."""

    function: Process

    @classmethod
    def of(cls, path: str, threads: int = 1, **fields: Word) -> "SeparateClient":
        """Return the client ``"module:function"``, of which so many `threads` may ask at a time;
        the other `fields` are those of `Client`.

        Raises
        ------
        ClientError
            If the client cannot be imported.
        """
        make = functools.partial(named, path, **fields)
        return cls(Process(f"client {path}", make, threads), name=path, **fields)

    @functools.cached_property
    def batched(self) -> bool:
        return self.function.batched

    def perturb(self, values: ArrayLike, rng: Rng) -> Array:
        """Return the client's reports; the generator goes on from where the client left it."""
        if not self.batched:  # such a client gets no generator
            return self.function(Client.perturb, values, None)
        reports, rng.bit_generator.state = self.function(_perturb, values, rng)
        return reports

    def afresh(self, values: Array, seed: int) -> Array | None:
        return self.function(Client.afresh, values, seed)


def _perturb(client: Client, values: ArrayLike, rng: Rng) -> tuple[Array, Any]:
    return client.perturb(values, rng), rng.bit_generator.state
