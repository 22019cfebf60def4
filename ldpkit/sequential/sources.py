"""Where reports come from: mechanisms and clients, files, programs."""

import functools
import hashlib
import importlib.metadata
import inspect
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..types import Array, Reports, Rng

__all__ = ["Source", "Live", "identity"]

_HEAD = 2**16  # bytes of a recording by which it is known again: more reports may follow


@runtime_checkable
class Source(Protocol):
    """Reports of several inputs that nobody can ask for one by one, such as recordings.

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


class Live:
    """A mechanism or client that is asked for one report after the other."""

    def __init__(self, mechanism: LocalRandomizer) -> None:
        self.mechanism, self.name = mechanism, mechanism.name
        self.parameters, self.epsilon = mechanism.parameters, mechanism.epsilon
        self.delta, self.repeats = mechanism.delta, getattr(mechanism, "batched", True)
        self.exact = distribution_known(mechanism)

    def ask(self, inputs: Sequence[Any], chosen: Array, rng: Rng) -> Reports:
        """Return a report of each input that `chosen`, int array (n,), names by its position."""
        sides = [self.mechanism.inputs(value, len(chosen)) for value in inputs]
        values = np.stack(sides)[chosen, np.arange(len(chosen))]
        return self.mechanism.perturb(values, rng)


def identity(mechanism: Any, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What is audited, in a form that another process can compare.

    Parameters
    ----------
    known : mapping, optional
        What this function returned before: of recordings, which may have grown, as many bytes are
        compared.

    Returns
    -------
    dict
        Release of this package, name and parameters. Of a client also a digest of its source; of a
        program its command and digests of the files that it names; of recordings how they begin.
    """
    given = {"release": importlib.metadata.version("ldpkit"), "mechanism": mechanism.name}
    given["parameters"] = {name: repr(value) for name, value in mechanism.parameters.items()}
    paths = getattr(mechanism, "paths", ())
    function = getattr(mechanism, "function", None)
    while isinstance(function, functools.partial):
        bound = repr((function.args, function.keywords))
        given["arguments"] = re.sub(" at 0x[0-9a-f]+", "", bound)  # no address is the same again
        function = function.func
    words, held = getattr(function, "words", None), getattr(function, "__self__", function)
    stateless = held is None or inspect.isroutine(held) or inspect.ismodule(held)
    if not stateless and words is None:
        given["object"] = re.sub(" at 0x[0-9a-f]+", "", repr(held))
    if paths:
        begun = (known or {}).get("recordings") or [{}] * len(paths)
        given["recordings"] = []
        for one, path in zip(begun, paths):
            size = one.get("bytes", min(_HEAD, path.stat().st_size))
            given["recordings"].append({"bytes": size, "digest": _digest(path, size)})
    elif words is not None:
        given["command"] = list(words)
        named = [shutil.which(words[0]), *words[1:]]
        given["files"] = [_digest(Path(word)) for word in named if word and Path(word).is_file()]
    elif function is not None:
        given["client"] = _source(function)
    return given


def _digest(path: Path, size: int = -1) -> str:
    with path.open("rb") as file:
        return hashlib.sha256(file.read(size)).hexdigest()[:16]


def _source(function: Any) -> str:
    """A digest of the file that defines a function or the class of an object; of its code, if there
    is no such file."""
    routine = inspect.isroutine(function) or inspect.isclass(function)
    made = function if routine else type(function)
    name = f"{made.__module__}:{made.__qualname__}"
    try:
        return f"{name} {_digest(Path(inspect.getfile(made)))}"
    except (TypeError, OSError):
        code = getattr(made, "__code__", None)
        plain = [one for one in code.co_consts if not inspect.iscode(one)] if code else []
        text = code.co_code + repr(plain).encode() if code else b""
        return f"{name} {hashlib.sha256(text).hexdigest()[:16]}"
