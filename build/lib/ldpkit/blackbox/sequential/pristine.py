"""A client as it was before its first report, so that its memory can be taken away."""

import copy
import functools
import gc
import inspect
import random
import types
from typing import Any

import numpy as np

from ...types import Array, Rng
from ..clients import Client, Program
from ..clients.client import SeparateClient

__all__ = ["Pristine"]

_MOST = 20_000  # objects of a memory that is copied
_BYTES = 10**7  # bytes of an array in it
_COINS = np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random
_FIXED = types.ModuleType, type, types.BuiltinFunctionType
_DEEPEST = 3  # functions within functions


class Pristine:
    """Copies of everything that a client may remember in Python; its coins are not copied.

    These are variables of enclosing functions, attributes of its object, default arguments and
    global variables that its functions use.

    Parameters
    ----------
    mechanism : LocalRandomizer

    Attributes
    ----------
    known : bool
        Whether the memory could be copied, or a program can be started again.
    """

    def __init__(self, mechanism: Any) -> None:
        self.mechanism, self.kept = mechanism, list[Any]()
        function = getattr(mechanism, "function", None)
        self.program = isinstance(function, Program)
        self.apart = isinstance(mechanism, SeparateClient)
        if self.apart:
            self.known = bool(mechanism.function(_remember))
            return
        self.known = isinstance(mechanism, Client)
        if self.known and not self.program:
            try:
                self._keep(function, _DEEPEST)
            except Exception:  # a client may hold what cannot be copied
                self.known = False
            self.known &= bool(self.kept)

    def _keep(self, function: Any, depth: int) -> None:
        """Copy what a function remembers."""
        while isinstance(function, functools.partial):
            self._hold(function.keywords)
            function = function.func
        owner = getattr(function, "__self__", None if inspect.isroutine(function) else function)
        if owner is not None and hasattr(owner, "__dict__"):
            self._hold(owner.__dict__)
            function = getattr(function, "__func__", vars(type(owner)).get("__call__"))
        code = getattr(function, "__code__", None)
        if code is None:
            return
        names = {name for name in code.co_names if name in function.__globals__}
        for store, keys in [(function.__globals__, names), (function.__dict__, function.__dict__)]:
            for key in sorted(keys):
                value = store[key]
                if inspect.isfunction(value) and depth and value.__module__ == function.__module__:
                    self._keep(value, depth - 1)
                elif not isinstance(value, (*_FIXED, *_COINS)) and not callable(value):
                    self.kept.append((store, key, _copied(value)))
        for value in function.__defaults__ or ():
            self._hold(value)
        for cell in function.__closure__ or ():
            if inspect.isfunction(cell.cell_contents) and depth:
                self._keep(cell.cell_contents, depth - 1)
            elif not isinstance(cell.cell_contents, (*_FIXED, *_COINS)):
                self.kept.append((cell, None, _copied(cell.cell_contents)))

    def _hold(self, value: Any) -> None:
        """Copy the contents of a dictionary, list or set."""
        if isinstance(value, (dict, list, set)):
            self.kept.append((value, value, _copied(value)))

    def perturb(self, values: Array, rng: Rng) -> list[Any]:
        """Return one report for each value, each of a client that has no memory."""
        if self.apart:
            reports, rng.bit_generator.state = self.mechanism.function(_afresh, values, rng)
            return list(reports)
        out = []
        for i in range(len(values)):
            if self.program:
                self.mechanism.function.close()
            self._reset([copied for *_, copied in self.kept])
            out.append(self.mechanism.perturb(values[i : i + 1], rng)[0])
        return out

    def _reset(self, states: list[Any]) -> None:
        for (holder, key, _), state in zip(self.kept, states):
            new = _copied(state)
            if isinstance(holder, types.CellType):
                holder.cell_contents = new
            elif key is not holder:
                holder[key] = new
            else:
                holder.clear()
                (holder.extend if isinstance(holder, list) else holder.update)(new)


def _copied(value: Any) -> Any:
    """Return a deep copy that shares all generators of coins with the original."""
    memo: dict[int, Any] = {}
    seen, left = set(), [value]
    while left:
        x = left.pop()
        if id(x) in seen or isinstance(x, (*_FIXED, types.FunctionType)):
            continue
        seen.add(id(x))
        if len(seen) > _MOST or getattr(x, "nbytes", 0) > _BYTES:
            raise ValueError("the memory is too large")
        if isinstance(x, _COINS):
            memo[id(x)] = x
        else:
            left += gc.get_referents(x)
    return copy.deepcopy(value, memo)


def _remember(client: Any) -> bool:
    """In the process of a client: keep it as it is."""
    client.__dict__["pristine"] = Pristine(client)
    return bool(client.__dict__["pristine"].known)


def _afresh(client: Any, values: Array, rng: Rng) -> tuple[list[Any], Any]:
    return client.__dict__["pristine"].perturb(values, rng), rng.bit_generator.state
