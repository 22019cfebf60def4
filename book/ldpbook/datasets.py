"""Return the data sets of the book, and fetch those that are too large for the checkout.

Only `download` uses the network. It fetches the original files. A file is read only if its SHA-256 is that of the original, and
no other data replace a missing file. See ``data/README.md`` for sources and licences.
"""

import gzip
import hashlib
import os
import struct
from pathlib import Path
from typing import BinaryIO

import click
import numpy as np
import pandas as pd

from ldpkit import checks, cli
from ldpkit.progress import Progress
from ldpkit.types import Array

from . import paths

# fmt: off
__all__ = [
    "FILES", "adult_ages", "adult_hours", "digits", "fair", "folder", "download", "images", "adult"
]
# fmt: on

SOURCES = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist",
    "fashion_mnist": ("https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"),
    "adult": "https://archive.ics.uci.edu/ml/machine-learning-databases/adult",
}
FILES = {
    "mnist": {
        "train-images-idx3-ubyte.gz": ("440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
        "train-labels-idx1-ubyte.gz": ("3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        "t10k-images-idx3-ubyte.gz": ("8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
        "t10k-labels-idx1-ubyte.gz": ("f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
    },
    "fashion_mnist": {
        "train-images-idx3-ubyte.gz": ("3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        "train-labels-idx1-ubyte.gz": ("a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        "t10k-images-idx3-ubyte.gz": ("346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        "t10k-labels-idx1-ubyte.gz": ("67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    },
    "adult": {
        "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    },
}
"""SHA-256 of the original files, as their publishers distribute them."""
_LARGEST = 2**25
"""Number of bytes that a fetched file may have; the largest original has 26,421,880 bytes."""
_COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex "
    "capital-gain capital-loss hours-per-week native-country income"
).split()


def adult_ages() -> pd.Series:
    """Return how many of the 48,842 people of the Adult data have each age, a series indexed by age 17 to 90."""
    return pd.read_csv(paths.data("adult_age_counts.csv"), index_col=0)["count_all"]


def adult_hours() -> pd.Series:
    """Return how many of the 32,561 training records of Adult work each number of hours a week, indexed 0 to 100."""
    return pd.read_csv(paths.data("adult_hours_counts.csv"), index_col=0)["count_train"]


def digits() -> tuple[Array, Array]:
    """Return the 1,797 handwritten digits of scikit-learn: images in [0, 1], float array (n, 8, 8, 1), and labels 0 to 9."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return found.images[..., None] / 16, found.target.astype(np.int64)


def fair() -> pd.DataFrame:
    """Return Fair's survey of 6,366 married women (1978) from statsmodels; the column ``affair`` tells whether there was one."""
    from statsmodels.api import datasets as shipped

    table = shipped.fair.load_pandas().data
    return table.drop(columns="affairs").assign(affair=table["affairs"] > 0)


def folder() -> Path:
    """Return the folder of fetched files: the environment variable ``LDPKIT_DATA``, or ``_build/data`` by default."""
    return Path(os.environ.get("LDPKIT_DATA") or paths.BUILD / "data")


def download(name: str, base: str | None = None) -> None:
    """Fetch the original files of one data set that are not there yet, and check them.

    Parameters
    ----------
    name : {"mnist", "fashion_mnist", "adult"}
    base : str, optional
        Address of a mirror with one folder for each data set. The default is the environment variable ``LDPKIT_DATA_URL``, or
        else the publishers.

    Raises
    ------
    ConnectionError
        If a file cannot be fetched or is not the original; the message names the file.
    """
    checks.one_of("data set", name, FILES)
    import pooch  # slow to import, and seldom needed

    pooch.get_logger().setLevel("WARNING")
    base = base or os.environ.get("LDPKIT_DATA_URL")
    source = f"{base.rstrip('/')}/{name}" if base else SOURCES[name]

    def fetch(url: str, place: str, _: object) -> None:
        with open(place, "wb") as file:
            pooch.HTTPDownloader()(url, _Limited(file), None)

    for file, known in FILES[name].items():
        try:
            pooch.retrieve(f"{source}/{file}", f"sha256:{known}", file, folder() / name, downloader=fetch)
        except Exception as error:  # an error of the network or of the checksum: pooch keeps no file in either case
            raise ConnectionError(f"file {name}/{file} could not be fetched from {source}: {error}") from error


class _Limited:
    """A file that raises an error when more bytes arrive than the largest original has."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.flush = file, file.flush

    def write(self, part: bytes) -> None:
        if self.file.tell() + len(part) > _LARGEST:
            raise OSError(f"it has more than {_LARGEST} bytes, as no original has")
        self.file.write(part)


def _read(name: str, file: str) -> bytes:
    """Return the content of an original file after a check of its SHA-256."""
    path = folder() / name / file
    help_ = f"`make data` fetches it, or set LDPKIT_DATA to a folder that holds {name}/{file}"
    checks.need(path.exists(), f"file {path} of {name} is missing; {help_}", FileNotFoundError)
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    checks.need(found == FILES[name][file], f"file {path} is not the original (its SHA-256 is {found}); remove it, then {help_}")
    return gzip.decompress(content) if path.suffix == ".gz" else content


def images(name: str) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return (pixels, labels) of the training and of the test images of ``"mnist"`` or ``"fashion_mnist"``.

    Pixels are scaled to [-1, 1], float32 array (n, 784).

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing, or is not the original; the message explains how to get it.
    """
    found = []
    for file in FILES[checks.one_of("data set", name, ("mnist", "fashion_mnist"))]:
        content = _read(name, file)
        size = struct.unpack(f">{content[3]}I", content[4 : 4 + 4 * content[3]])
        array = np.frombuffer(content, np.uint8, offset=4 + 4 * len(size)).reshape(size)
        found.append(array.reshape(len(array), -1) / np.float32(127.5) - 1 if array.ndim > 1 else array.astype(np.int64))
    return (found[0], found[1]), (found[2], found[3])


def adult() -> pd.DataFrame:
    """Return the 48,842 records of Adult, training before test data, with one column per attribute.

    ``?`` stays a category; the full stop after the labels of the test data is removed.

    Raises
    ------
    FileNotFoundError, ValueError
        If a file is missing, or is not the original; the message explains how to get it.
    """
    lines = [line for file in FILES["adult"] for line in _read("adult", file).decode().splitlines()]
    rows = [line.rstrip(".").split(", ") for line in lines if line and not line.startswith("|")]
    table = pd.DataFrame(rows, columns=_COLUMNS)
    numeric = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    return table.astype(dict.fromkeys(numeric, int))


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--base", help="Address of a mirror.  [default: LDPKIT_DATA_URL, else the publishers]")
def data(names: tuple[str, ...], base: str | None) -> None:
    """Fetch and check data sets (mnist, fashion_mnist, adult; all by default)."""
    wanted = [checks.one_of("data set", name, FILES) for name in names or FILES]
    with Progress(len(wanted), "data sets", more=lambda: f", in {folder()}") as progress:
        for name in wanted:
            download(name, base)
            click.echo(f"{name} is in {folder()}")
            progress.add()


def main() -> None:
    """Run the command ``python -m ldpbook datasets``."""
    cli.main(command=data, name="python -m ldpbook datasets")
