"""``ldpkit cache``: what can be made again, where it lies, and how to be rid of it."""

import shutil
from pathlib import Path

import click

from .. import paths
from ..compiled import CACHE
from .base import cli

__all__ = ["cache"]


@cli.command()
@click.option("--clear", is_flag=True, help="Remove it.")
def cache(clear: bool) -> None:
    """Say how much is kept that can be made again: machine code, and finished cells of grids.

    Data sets that were fetched, and the cells beside the tables of `ldpkit sweep`, are not touched.
    """
    done = "removed from" if clear else "in"
    for what, folder in (("machine code", CACHE / "numba"), ("finished cells", paths.STORE)):
        files, size = _weigh(folder)
        if clear and folder.exists():
            shutil.rmtree(folder)
        click.echo(f"{what}: {files} files, {size / 1e6:.1f} MB {done} {folder}")


def _weigh(folder: Path) -> tuple[int, int]:
    found = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(found), sum(found)
