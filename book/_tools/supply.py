"""What the book is made with: every release that is installed, by name, version and check sum.

Run as a script, this writes the check sums into the pins of the audited packages and of the benchmark, as `make lock` does.
The build lists the locked releases in the site as a CycloneDX document.
"""

import subprocess
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
PINS = [*sorted((ROOT / "book" / "packages").glob("*.txt")), ROOT / "benchmarks" / "reference.txt",
        *sorted((ROOT / "book" / "_tools").glob("*.txt"))]  # fmt: skip


class Release(NamedTuple):
    """One line of a lock: what is pinned, where it is installed, and the check sums of its files."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]


def releases(text: str) -> list[Release]:
    """Read a lock."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        pin, *hashes = line.split("--hash=sha256:")
        requirement, _, marker = pin.partition(";")
        name, equals, version = requirement.strip().partition("==")
        if equals:
            found.append(Release(name, version, marker.strip(), tuple(h.strip() for h in hashes)))
    return found


def hashed(path: Path) -> str:
    """The text of a file of pins with the check sums that the package index gives now; comments and order stay."""
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
    """The locked releases as a CycloneDX document, which is the same for the same lock."""
    lock, project = (root / "requirements.lock").read_text(), tomllib.loads((root / "pyproject.toml").read_text())["project"]
    components = []
    for release in releases(lock):
        purl = f"pkg:pypi/{release.name}@{release.version}"
        components.append({
            "type": "library", "bom-ref": purl, "name": release.name, "version": release.version, "purl": purl,
            "hashes": [{"alg": "SHA-256", "content": content} for content in release.hashes],
            "properties": [{"name": "installed where", "value": release.marker or "everywhere"}],
        })  # fmt: skip
    own = {"type": "application", "bom-ref": project["name"], "name": project["name"], "version": project["version"],
           "licenses": [{"license": {"id": project["license"]}}]}  # fmt: skip
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, lock)}",
            "version": 1, "metadata": {"component": own}, "components": components}  # fmt: skip


if __name__ == "__main__":
    for path in PINS:
        path.write_text(hashed(path))
