"""The identity of what was audited, and the place of its code."""

import functools
import hashlib
import inspect
import os
import re
import shutil
from pathlib import Path
from typing import Any

from ...types import Row
from .process import Process
from .program import Program

__all__ = ["file_digest", "identity", "origin", "place"]

_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # in a repr; it differs from process to process


def identity(mechanism: Any, known: Row | None = None) -> Row:
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
    import importlib.metadata  # imported here, because few audits are kept

    given = {
        "release": importlib.metadata.version("ldpkit"),
        "mechanism": mechanism.name,
        "parameters": {name: repr(value) for name, value in mechanism.parameters.items()},
    }
    return given | (mechanism.origin(known) if hasattr(mechanism, "origin") else {})


def origin(function: Any) -> Row:
    """Return what identifies the code of a client: arguments and object of a function, and a digest
    of its source; or command and files of a program."""
    given: Row = {}
    while isinstance(function, functools.partial):
        given["arguments"] = _ADDRESS.sub("", repr((function.args, function.keywords)))
        function = function.func
    if isinstance(function, Program):
        files = [file_digest(Path(file)) for file in _files(function)]
        return given | {"command": list(function.words), "files": files}
    owner = getattr(function, "__self__", function)  # of a bound method, its object
    if owner is not None and not (inspect.isroutine(owner) or inspect.ismodule(owner)):
        given["object"] = _ADDRESS.sub("", repr(owner))
    return given | {"client": _source(function)}


def place(mechanism: Any) -> tuple[str, int]:
    """Return the file with the code of a mechanism, client or program, or its first recording, and
    the line at which the code begins; an empty name if there is no such file."""
    code = getattr(mechanism, "function", mechanism)
    if isinstance(code, Process):
        found: tuple[str, int] = code(place)
        return found
    while isinstance(code, functools.partial):
        code = code.func
    recorded = [str(path) for path in getattr(mechanism, "paths", ())]
    if recorded or isinstance(code, Program):
        files = recorded or _files(code)[1:] or _files(code) or [""]  # the script, not what runs it
        return files[0], 1
    owner = inspect.unwrap(code if inspect.isroutine(code) or inspect.isclass(code) else type(code))
    try:
        return inspect.getsourcefile(owner) or "", inspect.getsourcelines(owner)[1]
    except (TypeError, OSError):
        return "", 1


def _files(program: Program) -> list[str]:
    """Return the files that the words of a program name, the executable first."""
    named = [shutil.which(program.words[0]), *program.words[1:]]
    return [word for word in named if word and os.path.isfile(word)]


def file_digest(path: Path, size: int = -1) -> str:
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
        return f"{name} {file_digest(Path(inspect.getfile(owner)))}"
    except (TypeError, OSError):
        code = getattr(owner, "__code__", None)
        plain = [value for value in code.co_consts if not inspect.iscode(value)] if code else []
        text = code.co_code + repr(plain).encode() if code else b""
        return f"{name} {hashlib.sha256(text).hexdigest()[:16]}"
