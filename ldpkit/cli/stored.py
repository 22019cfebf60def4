"""``ldpkit data`` and ``ldpkit cache``: what lies on the disk, public data sets that do not travel
with the checkout, and what can be made again."""

import shutil
from pathlib import Path

import click

from .. import datasets, paths
from ..checks import one_of
from ..compiled import CACHE
from ..progress import Progress
from .base import cli

__all__ = ["cache", "data"]


@cli.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--base", help="Address of a mirror.  [default: LDPKIT_DATA_URL, else the publishers]"
)
def data(names: tuple[str, ...], base: str | None) -> None:
    """Fetch and check data sets (mnist, fashion_mnist, adult; all by default)."""
    wanted = [one_of("data set", name, datasets.FILES) for name in names or datasets.FILES]
    with Progress(len(wanted), "data sets", more=lambda: f", in {datasets.folder()}") as progress:
        for name in wanted:
            datasets.download(name, base)
            click.echo(f"{name} is in {datasets.folder()}")
            progress.add()


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
