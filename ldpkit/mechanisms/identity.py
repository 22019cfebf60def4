"""Identity of an audited mechanism: names, parameters, and digests of code and files."""

import functools
import hashlib
import inspect
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import digests
from .client import Client, SeparateClient
from .process import Program
from .recordings import Recordings

__all__ = ["digest", "identity"]

_HEAD = 2**16  # first bytes of a recording, which identify it because it may grow
_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # in a repr; it differs from process to process
_OWN = "client", "object", "arguments", "command", "files", "recordings"


def digest(mechanism: Any) -> str:
    """Return a digest of the code, program or files of a client; empty for other mechanisms."""
    own = {name: value for name, value in identity(mechanism).items() if name in _OWN}
    return digests.digest(own)[:16] if own else ""


def identity(mechanism: Any, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what identifies an audited mechanism, in a form that another process can compare.

    Parameters
    ----------
    known : mapping, optional
        An earlier return value. Recordings may have grown since then, so that only as many bytes
        are compared.

    Returns
    -------
    dict
        Release of this package, name and parameters. A client adds a digest of its source. A
        program adds its command, and digests of the files that it names. Recordings add digests of
        their first bytes.
    """
    if isinstance(mechanism, SeparateClient):
        return dict(mechanism.function(identity, known))
    import importlib.metadata  # imported here, because few audits are kept

    given: dict[str, Any] = {
        "release": importlib.metadata.version("ldpkit"),
        "mechanism": mechanism.name,
        "parameters": {name: repr(value) for name, value in mechanism.parameters.items()},
    }
    function: Any = mechanism.function if isinstance(mechanism, Client) else None
    while isinstance(function, functools.partial):
        given["arguments"] = _ADDRESS.sub("", repr((function.args, function.keywords)))
        function = function.func
    owner = getattr(function, "__self__", function)  # of a bound method, its object
    stateless = owner is None or inspect.isroutine(owner) or inspect.ismodule(owner)
    if not stateless and not isinstance(function, Program):
        given["object"] = _ADDRESS.sub("", repr(owner))
    if isinstance(mechanism, Recordings):
        begun = (known or {}).get("recordings") or [{}] * len(mechanism.paths)
        sizes = [
            earlier.get("bytes", min(_HEAD, path.stat().st_size))
            for earlier, path in zip(begun, mechanism.paths)
        ]
        given["recordings"] = [
            {"bytes": size, "digest": _digest(path, size)}
            for size, path in zip(sizes, mechanism.paths)
        ]
    elif isinstance(function, Program):
        given["command"] = list(function.words)
        named = [shutil.which(function.words[0]), *function.words[1:]]
        given["files"] = [_digest(Path(word)) for word in named if word and Path(word).is_file()]
    elif function is not None:
        given["client"] = _source(function)
    return given


def _digest(path: Path, size: int = -1) -> str:
    """Return a digest of the first `size` bytes of a file, of all by default."""
    with path.open("rb") as file:
        return hashlib.sha256(file.read(size)).hexdigest()[:16]


def _source(function: Any) -> str:
    """Return a name and a digest of a function or of the class of an object.

    The digest is that of the file which defines it, or of its code if there is no such file.
    """
    routine = inspect.isroutine(function) or inspect.isclass(function)
    owner = function if routine else type(function)
    name = f"{owner.__module__}:{owner.__qualname__}"
    try:
        return f"{name} {_digest(Path(inspect.getfile(owner)))}"
    except (TypeError, OSError):
        code = getattr(owner, "__code__", None)
        plain = [value for value in code.co_consts if not inspect.iscode(value)] if code else []
        text = code.co_code + repr(plain).encode() if code else b""
        return f"{name} {hashlib.sha256(text).hexdigest()[:16]}"
