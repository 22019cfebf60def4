"""For which types of arguments the kernels are compiled: a list in ``signatures.json``, which a command makes.

Machine code of kernels is kept beside an index of the signatures for which they were called. `main` runs the golden audits and takes
the signatures from there. Pages that a build executed with the same source have added theirs. But a build does not
execute a page again whose results are current. Therefore a listed signature stays while its kernel can be compiled for it.
"""

import hashlib
import importlib
import json
import pkgutil
import platform
import sys
from pathlib import Path
from typing import Any

import click

import ldpkit
from ldpkit import jit

from .. import paths

LIST = Path(__file__).with_name("signatures.json")
PINS = Path(__file__).with_name("kernels.json")
"""Check sums of the compiled kernels, by `machine`: every build gives the same bytes."""
FOLDERS = ("book/rad", "tests/ldpkit", "tests")
"""Where modules with kernels of their own and the golden audits are."""
OWN = ("simulated",)
"""Modules of pages that have kernels of their own."""
SCALARS = {"int64": "i8", "uint64": "u8", "float64": "f8", "bool": "b1"}
Word = str | list[Any] | None


def kernels() -> dict[str, Any]:
    """Return every kernel of the package and of pages by its name."""
    sys.path[:0] = [str(paths.ROOT / folder) for folder in FOLDERS]
    names = [module.name for module in pkgutil.walk_packages(ldpkit.__path__, "ldpkit.")]
    modules = [importlib.import_module(n) for n in (*names, *OWN) if not n.startswith(("ldpkit.testing", "ldpkit.__main__"))]
    found = [thing for module in modules for thing in vars(module).values() if isinstance(thing, jit._Lazy)]
    return {f"{k.__module__}.{k.__qualname__}": k for k in sorted(found, key=lambda k: (k.__module__, k.__qualname__))}


def word(kind: Any) -> Word:
    """Return a type of numba in the words of the list: an array, a scalar, or a tuple after the name of its class."""
    from numba.core import types as known
    from numba.np import numpy_support

    types: Any = known
    kind = types.unliteral(kind)  # a kernel that has a constant built in is no kernel for other numbers
    if isinstance(kind, types.NoneType):
        return None
    if isinstance(kind, types.Array):
        return f"{numpy_support.as_dtype(kind.dtype).str} {kind.ndim}{kind.layout}"
    if isinstance(kind, types.BaseTuple):
        return [getattr(getattr(kind, "instance_class", None), "__name__", ""), *(word(part) for part in kind)]
    return SCALARS[str(kind)]


def known(kernel: Any) -> list[Any]:
    """Return the signatures for which machine code of a kernel is kept."""
    cache = kernel._cache
    return [key[0] for key in cache._cache_file._load_index()] if hasattr(cache, "_cache_file") else []


def compiles(kernel: Any, words: list[Word]) -> bool:
    """Return whether a kernel, which was perhaps edited, can be compiled for these types."""
    import numba
    from numba.core import errors

    from . import compile

    function = kernel.__wrapped__
    try:
        numba.njit(function).compile(tuple(compile.kind(word, sys.modules[function.__module__]) for word in words))
    except (errors.NumbaError, AttributeError, TypeError, ValueError):
        return False
    return True


def machine() -> str:
    """Return the Python and the processor, on which the bytes of compiled kernels depend."""
    return f"{'.'.join(platform.python_version_tuple()[:2])} {platform.machine()}"


@click.command()
def main() -> None:
    """Write for which types of arguments kernels are called by the golden audits and by the pages that were executed.

    The check sum of the kernels that are compiled for them is written, too.
    """
    from .. import execute
    from . import parts

    found, jit.PATIENCE = kernels(), 0.0  # nothing is interpreted
    for case in importlib.import_module("test_golden").CASES.values():
        case()
    rows = {
        json.dumps([name, [word(kind) for kind in signature]]) for name, kernel in found.items() for signature in known(kernel)
    }
    for name, words in json.loads(LIST.read_text()):
        if name in found and json.dumps([name, words]) not in rows and compiles(found[name], words):
            rows.add(json.dumps([name, words]))
    LIST.write_text("[\n" + ",\n".join(sorted(rows)) + "\n]\n")
    total = hashlib.sha256((parts.kernels(execute.Project(paths.ROOT)) / "kernels.wasm").read_bytes()).hexdigest()
    PINS.write_text(json.dumps(json.loads(PINS.read_text()) | {machine(): total}, indent=1) + "\n")
    print(f"{len(rows)} signatures of {len({json.loads(row)[0] for row in rows})} kernels")
