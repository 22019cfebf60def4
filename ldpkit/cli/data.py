"""``ldpkit data``: fetch the public data sets that do not travel with the checkout."""

import click

from .. import datasets
from .base import cli

__all__ = ["data"]


@cli.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--base", help="Address of a mirror.  [default: LDPKIT_DATA_URL, else the publishers]")
def data(names: tuple[str, ...], base: str | None) -> None:
    """Fetch and check data sets (mnist, fashion_mnist, adult; all by default)."""
    for name in names or datasets.FILES:
        datasets.download(name, base)
        click.echo(f"{name} is in {datasets.folder()}")
