"""Causes of a leak, tested by taking them away (placeholder)."""
from typing import Any, NamedTuple

class Cause(NamedTuple):
    sentence: str = ""
    tried: tuple[Any, ...] = ()

class Pristine:
    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
