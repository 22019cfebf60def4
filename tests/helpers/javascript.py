"""Check the book's JavaScript: its form and common mistakes (biome), and its types (tsc). Neither tool is published.

The releases pinned in ``js/package-lock.json`` are installed in ``_build/js``.
"""

import subprocess
import sys

import click

from ldpbook.paths import ROOT


def files() -> list[str]:
    """Return the scripts that people write, relative to the checkout, without grids of numbers, which programs write."""
    book = ROOT / "book"
    found = [*sorted((book / "_static").rglob("*.js")), book / "ldpbook" / "search.js"]
    return [
        path.relative_to(ROOT).as_posix() for path in found if not path.name.endswith(".data.js")
    ]


@click.command()
@click.option("--write", is_flag=True, help="put the scripts into form first")
def main(write: bool) -> None:
    """Check the form, common mistakes and types of the book's JavaScript."""
    programs, settings = "_build/js/node_modules/.bin", "book/ldpbook/js"
    how = ["check", "--error-on-warnings", *["--write"] * write]
    biome = [f"{programs}/biome", *how, f"--config-path={settings}", *files()]
    tsc = [f"{programs}/tsc", "--project", settings]
    sys.exit(max([subprocess.run(command, cwd=ROOT).returncode for command in (biome, tsc)]))


if __name__ == "__main__":
    main(prog_name="python -m ldpbook scripts")
