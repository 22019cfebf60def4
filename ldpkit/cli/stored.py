"""``ldpkit cache``: what lies on the disk and can be made again."""

import shutil

import click

from ..jit import CACHE
from .base import cli

__all__ = ["cache"]


@cli.command()
@click.option("--clear", is_flag=True, help="Remove it.")
def cache(clear: bool) -> None:
    """Say how much machine code is kept, which can be made again.

    The finished cells beside the tables of `ldpkit sweep` are not touched.
    """
    folder = CACHE / "numba"
    found = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    if clear and folder.exists():
        shutil.rmtree(folder)
    done = "removed from" if clear else "in"
    click.echo(f"machine code: {len(found)} files, {sum(found) / 1e6:.1f} MB {done} {folder}")
