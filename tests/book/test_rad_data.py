"""Fetched data: originals only, checked by content, from a loopback server; every failure names the
file and the way out."""

import functools
import gzip
import hashlib
import struct
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from ldpbook import datasets
from ldpkit import cli


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def idx(array):
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def originals():
    """Small files in the originals' formats: three training and two test images, 3 + 1 records."""
    rng = np.random.default_rng(1)
    arrays = {
        "train-images-idx3-ubyte.gz": rng.integers(0, 256, (3, 28, 28), np.uint8),
        "train-labels-idx1-ubyte.gz": np.uint8([5, 0, 4]),
        "t10k-images-idx3-ubyte.gz": rng.integers(0, 256, (2, 28, 28), np.uint8),
        "t10k-labels-idx1-ubyte.gz": np.uint8([7, 2]),
    }
    person = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, "
    person += "2174, 0, 40, United-States, "
    training = f"{person}<=50K\n{person}>50K\n{person}<=50K\n\n"
    test = f"|1x3 Cross validator\n{person}>50K.\n\n"
    return arrays, {"adult.data": training.encode(), "adult.test": test.encode()}


@pytest.fixture
def mirror(tmp_path, monkeypatch, originals):
    """A loopback server with the files, a registry that knows them, and an empty data folder."""
    arrays, adult = originals
    files = {"mnist": {name: gzip.compress(idx(a)) for name, a in arrays.items()}, "adult": adult}
    for name, contents in files.items():
        (tmp_path / "served" / name).mkdir(parents=True)
        for file, content in contents.items():
            (tmp_path / "served" / name / file).write_bytes(content)
    known = {
        name: {f: hashlib.sha256(c).hexdigest() for f, c in contents.items()}
        for name, contents in files.items()
    }
    monkeypatch.setattr(datasets, "FILES", known)
    monkeypatch.setenv("LDPKIT_DATA", str(tmp_path / "data"))
    handler = functools.partial(Quiet, directory=tmp_path / "served")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("LDPKIT_DATA_URL", f"http://127.0.0.1:{server.server_port}/")
        yield tmp_path
        server.shutdown()


def test_fetched_images_are_those_of_the_files(mirror, originals):
    datasets.download("mnist")
    (x, y), (test_x, test_y) = datasets.images("mnist")
    images = originals[0]["train-images-idx3-ubyte.gz"].reshape(3, -1)
    assert (y.tolist(), test_y.tolist(), y.dtype) == ([5, 0, 4], [7, 2], np.int64)
    assert x.shape == (3, 784) and x.dtype == np.float32 and test_x.shape == (2, 784)
    assert x == pytest.approx(images / 127.5 - 1, abs=1e-6)


def test_the_command_fetches_what_is_asked(mirror, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["adult"], datasets.data)
    assert not stop.value.code and capsys.readouterr().out.startswith("adult is in ")
    table = datasets.adult()
    assert table["income"].tolist() == ["<=50K", ">50K", "<=50K", ">50K"]
    assert table.shape == (4, 15) and table["occupation"].iloc[0] == "?"
    assert table["age"].iloc[0] == 39


def test_a_fetched_file_is_not_fetched_again(mirror):
    datasets.download("adult")
    for path in (mirror / "served" / "adult").iterdir():
        path.unlink()
    datasets.download("adult")
    assert len(datasets.adult()) == 4


def test_a_download_stops_where_the_largest_original_would(mirror, monkeypatch):
    assert all(source.startswith("https://") for source in datasets.SOURCES.values())
    (mirror / "served" / "adult" / "adult.data").write_bytes(bytes(10**6))
    written = []
    write = datasets._Limited.write
    monkeypatch.setattr(datasets, "_LARGEST", 5000)
    monkeypatch.setattr(
        datasets._Limited, "write", lambda self, part: (write(self, part), written.append(part))
    )
    with pytest.raises(ConnectionError, match="adult.data could not be .*more than 5000 bytes"):
        datasets.download("adult")
    assert sum(map(len, written)) <= 5000
    assert not list((mirror / "data" / "adult").iterdir())


def test_what_is_no_original_is_refused_and_not_kept(mirror):
    served, kept = mirror / "served", mirror / "data"
    (served / "adult" / "adult.test").write_bytes(b"other")
    (served / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    for name, said in (("adult", "adult.test could not be fetched from http://127.0.0.1:.*hash"),
                       ("mnist", "t10k-labels-idx1-ubyte.gz could not be fetched from .*404")):  # fmt: skip
        with pytest.raises(ConnectionError, match=f"file {name}/{said}"):
            datasets.download(name)
    assert not (kept / "adult" / "adult.test").exists()
    missing = "adult.test of adult is missing; `make data` fetches it, or set LDPKIT_DATA"
    with pytest.raises(FileNotFoundError, match=missing):
        datasets.adult()
    (kept / "mnist" / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.uint8([7, 3]))))
    changed = "t10k-labels-idx1-ubyte.gz is not the original .*; remove it, then `make data`"
    with pytest.raises(ValueError, match=changed):
        datasets.images("mnist")
    nowhere = "adult.test could not be fetched from http://127.0.0.1:1/adult"
    with pytest.raises(ConnectionError, match=nowhere):
        datasets.download("adult", base="http://127.0.0.1:1")


def test_embedded_data():
    assert datasets.adult_hours().sum() == 32_561 and (datasets.adult_hours() > 0).sum() == 94
    assert datasets.adult_hours()[40] / 32_561 == pytest.approx(0.467338, abs=1e-6)
    images, labels = datasets.digits()
    assert images.shape == (1797, 8, 8, 1) and (images.min(), images.max()) == (0, 1)
    assert set(labels) == set(range(10))
    assert datasets.fair().shape == (6366, 9) and datasets.fair()["affair"].sum() == 2053
