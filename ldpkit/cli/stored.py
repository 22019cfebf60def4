"""The command ``ldpkit cache`` for compiled machine code on the disk."""

import shutil

import click

from ..jit import CACHE
from .base import cli

__all__ = ["cache"]


@cli.command()
@click.option("--clear", is_flag=True, help="Remove the machine code.")
def cache(clear: bool) -> None:
    """Print the size of the compiled machine code, which can be compiled again.

    The finished cells of `ldpkit sweep` are not changed.
    """
    folder = CACHE / "numba"
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    if clear and folder.exists():
        shutil.rmtree(folder)
    place = "removed from" if clear else "in"
    click.echo(f"machine code: {len(sizes)} files, {sum(sizes) / 1e6:.1f} MB {place} {folder}")
