"""Run every page with other parameters, and list how many of its sentences each run struck."""

import json
import os
import subprocess
import sys

import click

from ldpbook.paths import ROOT

FOUND = ROOT / "_build" / "variants"
"""What the last run of each variant found, by page: the verdict on each condition, or None where the page refused its parameters."""


def lines():
    """Yield one line for each variant; a run that strikes more than half of a page's sentences is marked."""
    for path in sorted(FOUND.glob("*.json")):
        for setting, verdicts in json.loads(path.read_text()).items():
            if verdicts is None:
                yield f"{path.stem} {setting}: refused"
            else:
                struck = sum(not holds for holds in verdicts.values())
                yield f"{path.stem} {setting}: {len(verdicts)} judged, {struck} struck{', MORE THAN HALF' * (2 * struck > len(verdicts))}"


@click.command()
@click.option(
    "--list",
    "shown",
    is_flag=True,
    help="show the sentences judged and struck of the last runs, and run nothing",
)
@click.option("--shard", default="1/1", help="which part of the pages to run, for example 2/5")
@click.argument("words", nargs=-1)
def main(shown: bool, shard: str, words: tuple[str, ...]) -> None:
    """Run all variants; WORDS go to pytest."""
    if shown:
        click.echo("\n".join(lines()) or "no variant has run: python -m ldpbook variants")
        return
    program = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "auto",
        "--dist",
        "loadgroup",
        "tests/system/test_variants.py",
        *words,
    ]
    sys.exit(subprocess.run(program, cwd=ROOT, env=os.environ | {"VARIANTS": shard}).returncode)


if __name__ == "__main__":
    main()
