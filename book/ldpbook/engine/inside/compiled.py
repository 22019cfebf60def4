"""Call kernels that were compiled ahead of time, in the memory of this Python; a kernel without code for its types is interpreted.

The keys of the table are those of `ldpbook.engine.compile`: a kernel's name and the types of its arguments.
"""

import functools
import json
import struct
import sys
from collections.abc import Callable
from typing import Any

import _host  # type: ignore[import-not-found]  # the worker's
import numpy as np

from ldpkit import jit

MISSED: set[str] = set()
"""Kernels that were interpreted, with the types of their arguments."""
TABLE: dict[str, Any] = {}
DOUBLE, WHOLE = struct.Struct("<d"), struct.Struct("<q")
SCALARS: dict[str, Callable[[Any], Any]] = {
    "i8": int,
    "u8": lambda x: np.uint64(int(x)),
    "f8": lambda x: DOUBLE.unpack(WHOLE.pack(int(x)))[0],
    "b1": bool,
}
"""Functions that read a number in the worker's words."""


def ask(**message: object) -> Any:
    """Send a message to the worker, and return its answer."""
    answer = json.loads(_host.call(json.dumps(message).encode()))
    if isinstance(answer, dict) and "failed" in answer:
        raise RuntimeError(answer["failed"])
    return answer


def word(x: object) -> Any:
    """Return the type of an argument in the words of the list of signatures."""
    if isinstance(x, np.ndarray):
        layout = "C" if x.flags.c_contiguous else "F" if x.flags.f_contiguous else "A"
        return f"{x.dtype.str} {x.ndim}{layout}"
    if isinstance(x, tuple):
        return [type(x).__name__ if hasattr(x, "_fields") else "", *map(word, x)]
    if isinstance(x, (bool, np.bool_)):
        return "b1"
    if isinstance(x, (int, np.signedinteger)):
        return "i8"
    return {np.uint64: "u8", float: "f8", np.float64: "f8"}.get(type(x), "?")


def flat(x: Any) -> list[Any]:
    """Return an argument as numba passes it: of an array its size, its place, its shape and its strides."""
    if isinstance(x, np.ndarray):
        return [0, 0, str(x.size), str(x.itemsize), x.__array_interface__["data"][0], *map(str, x.shape + x.strides)]
    if isinstance(x, tuple):
        return [y for part in x for y in flat(part)]
    if isinstance(x, (bool, np.bool_)):
        return [int(x)]
    if isinstance(x, float):
        return [f"d{WHOLE.unpack(DOUBLE.pack(x))[0]}"]
    return [str(int(x))]


def made(answer: Any, kind: Any) -> Any:
    """Return what a kernel returned; an array is copied from the memory of the call."""
    if isinstance(kind, list):
        return tuple(map(made, answer, kind[1:]))
    if kind is None:
        return None
    if kind in SCALARS:
        return SCALARS[kind](answer)
    array = np.empty(answer["shape"], np.dtype(kind.split()[0]))
    ask(kind="copy", **{"from": answer["data"]}, to=array.__array_interface__["data"][0], bytes=array.nbytes)
    return array


def fits(given: Any, wanted: Any) -> bool:
    """Return whether arguments of one type become those of another one if some integers are widened."""
    if isinstance(given, list) and isinstance(wanted, list):
        return len(given) == len(wanted) and all(map(fits, given, wanted))
    return bool(given == wanted or str(given).replace("<i4", "<i8") == wanted)


def widened(x: Any, wanted: Any) -> Any:
    """Return an argument with the integers of a type that it fits."""
    if isinstance(x, tuple):
        parts = [*map(widened, x, wanted[1:])]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x.astype(np.int64) if isinstance(x, np.ndarray) and word(x) != wanted else x


def write_back(given: Any, wide: Any) -> None:
    """Write what a kernel wrote into widened arrays into those that were given."""
    if isinstance(given, tuple):
        for one, other in zip(given, wide):
            write_back(one, other)
    elif given is not wide and given.flags.writeable:
        given[...] = wide


def substitute(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is called in place of a kernel.

    Integers have 32 bits here by default, and 64 where the kernels were compiled. Therefore a kernel is called that fits.
    """
    name, plain = f"{function.__module__}.{function.__qualname__}", jit.interpreted(function)
    rows = [(json.loads(key.removeprefix(name)), row) for key, row in TABLE.items() if key.startswith(f"{name}[")]
    known: dict[str, Any] = {}

    @functools.wraps(function)
    def call(*given: Any) -> Any:
        words = [word(x) for x in given]
        key = name + json.dumps(words)
        if key not in known:
            fitting = [(wanted != words, wanted, row) for wanted, row in rows if fits(words, wanted)]
            known[key] = min(fitting, key=lambda one: one[0], default=None)
        if known[key] is None:
            if key not in MISSED:
                print(f"{key} was not compiled for browsers and is interpreted, which is slow.", file=sys.stderr)
            MISSED.add(key)
            return plain(*given)
        other, wanted, row = known[key]
        wide = [*map(widened, given, wanted)] if other else given
        flattened = [y for x in wide for y in flat(x)]
        answer = made(ask(kind="kernel", symbol=row["symbol"], words=flattened, result=row["result"]), row["result"])
        write_back(given, wide)
        return answer

    return call


def repeat(a: Any, repeats: Any, axis: int | None = None, *, plain: Any = np.repeat) -> Any:
    """Repeat elements as numpy does; where its integers have 32 bits, numpy refuses numbers of repeats that have 64."""
    return plain(a, np.asarray(repeats).astype(np.intp), axis)


def choose(a: Any, choices: Any, *more: Any, plain: Any = np.choose, **named: Any) -> Any:
    """Choose elements as numpy does, which refuses indices of 64 bits there, too."""
    return plain(np.asarray(a).astype(np.intp), choices, *more, **named)


def begin() -> None:
    """Use the kernels of the worker from now on."""
    np.repeat, np.choose = repeat, choose  # type: ignore[assignment]
    TABLE.update(ask(kind="kernels"))
    jit.substitute = substitute
