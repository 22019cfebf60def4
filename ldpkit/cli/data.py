"""``ldpkit data``: fetch the public data sets that do not travel with the checkout."""

import click

from .. import datasets
from ..checks import one_of
from ..progress import Progress
from .base import cli

__all__ = ["data"]


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
