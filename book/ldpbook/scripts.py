"""Check the book's JavaScript: its form and common mistakes (biome), and its types (tsc). Neither tool is published.

The releases pinned in ``js/package-lock.json`` are installed in ``_build/js``. The exit status is 4 where that is impossible.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from .paths import ROOT

PINS = Path(__file__).parent / "js"
TOOLS = ROOT / "_build" / "js"
NAMES = (".npmrc", "package.json", "package-lock.json")


def files() -> list[str]:
    """Return the scripts that people write, relative to the checkout, without grids of numbers, which programs write."""
    book = ROOT / "book"
    found = [*sorted((book / "_static").rglob("*.js")), book / "ldpbook" / "search.js"]
    return [path.relative_to(ROOT).as_posix() for path in found if not path.name.endswith(".data.js")]


def install() -> bool:
    """Install the releases of the lock if they are not installed yet, and return whether they are there."""
    pins = "".join((PINS / name).read_text() for name in NAMES)
    ready = TOOLS / "ready"
    if ready.exists() and ready.read_text() == pins:
        return True
    shutil.rmtree(TOOLS, ignore_errors=True)
    TOOLS.mkdir(parents=True)
    for name in NAMES:
        shutil.copy(PINS / name, TOOLS)
    done = subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=TOOLS, stdout=subprocess.DEVNULL)
    if not done.returncode:
        ready.write_text(pins)
    return not done.returncode


def main() -> None:
    """Install the tools, then check the scripts; `--write` reformats the scripts first."""
    if missing := [name for name in ("node", "npm") if not shutil.which(name)]:
        sys.stderr.write(f"The scripts cannot be checked: {' and '.join(missing)} must be installed\n")
        sys.exit(4)
    if not install():
        sys.stderr.write("The scripts cannot be checked: npm could not install what book/ldpbook/js/package-lock.json names\n")
        sys.exit(4)
    programs, settings = f"{TOOLS}/node_modules/.bin", PINS.relative_to(ROOT).as_posix()
    how = ["check", "--error-on-warnings", *["--write"] * ("--write" in sys.argv[1:])]
    commands = [[f"{programs}/biome", *how, f"--config-path={settings}", *files()], [f"{programs}/tsc", "--project", settings]]
    sys.exit(max([subprocess.run(command, cwd=ROOT).returncode for command in commands]))
