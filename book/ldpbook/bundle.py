"""Put the sources of the last commit and everything that is installed into one file, for a machine without a network.

The machine needs make, the same version of Python, the same system and the same processor. If there is a folder ``wheels``,
`make` installs from it alone.
"""

import platform
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from packaging.markers import Marker

from . import paths, supply

NOTE = """\
This archive has the sources and everything that is installed, for Python {version} on {system}. No network is needed:

    tar xf {name} && cd ldpkit && make book
"""


def wanted(root: Path, folder: Path) -> list[Path]:
    """Return every file of pins from which `make book`, `make test` and the slides are installed.

    The lock pins some releases for other patch versions of this Python only. A file of pins for each of them is written to
    `folder`.
    """
    lock = root / "requirements.lock"
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    first, last = ({"python_full_version": f"{minor}.{patch}"} for patch in (0, 99))
    marked = [(release, Marker(release.marker)) for release in supply.releases(lock.read_text()) if release.marker]
    for release in (release for release, marker in marked if marker.evaluate(first) != marker.evaluate(last)):
        sums = " ".join(f"--hash=sha256:{content}" for content in release.hashes)
        (folder / f"{release.name}-{release.version}.txt").write_text(f"{release.name}=={release.version} {sums}\n")
    return [lock, root / "book" / "ldpbook" / "slides.txt", *sorted(folder.glob("*.txt")), *sorted((root / "book" / "packages").glob("*.txt")),
            *sorted((root / "book" / "released" / "pins").glob("*.txt"))]  # fmt: skip


def main() -> None:
    root = paths.ROOT
    version, system = f"{sys.version_info.major}.{sys.version_info.minor}", f"{sys.platform}-{platform.machine()}"
    target = root / "_build" / f"ldpkit-offline-py{version}-{system}.tar"
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wheels = Path(folder) / "wheels"
        for path in wanted(root, Path(folder)):  # each alone: two of them may pin two releases of one package
            command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--require-hashes",
                       "--no-build-isolation", "-d", str(wheels), "-r", str(path)]  # fmt: skip
            subprocess.run(command, check=True)
            print(f"fetched   {path.name}", flush=True)
        unfinished = target.with_suffix(".part")
        subprocess.run(["git", "archive", "--prefix=ldpkit/", "-o", str(unfinished), "HEAD"], cwd=root, check=True)
        note = Path(folder) / "OFFLINE.txt"
        note.write_text(NOTE.format(version=version, system=system, name=target.name))
        with tarfile.open(unfinished, "a") as archive:
            archive.add(note, f"ldpkit/{note.name}")
            archive.add(wheels, "ldpkit/wheels", filter=plain)
        unfinished.replace(target)
    print(f"{target.relative_to(root)}: {target.stat().st_size / 1e6:.0f} MB")


def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an archive entry without owner and time, so that equal contents give equal archives."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
