"""What is read from outside, made by its grammar and by mutations of what was found before.

What follows a grammar is read as it was meant. Anything else is read, or refused in one sentence
that names the file; no other error comes out. `data/fuzz` keeps what once was read otherwise.
"""

import contextlib
import csv
import io
import itertools
import json
import os
import string
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from ldpkit.cli import sweep
from ldpkit.kinds.anything import plain
from ldpkit.mechanisms import ClientError
from ldpkit.mechanisms.recordings import READERS

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "data" / "fuzz"
sys.path.insert(0, str(ROOT / "book" / "_tools"))
import parameters  # noqa: E402

FUZZ = settings(
    derandomize=True, deadline=None, database=None, max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip

NAMES = st.text(string.ascii_letters + "_é ", min_size=1, max_size=6)
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)  # fmt: skip
REPORTS = st.recursive(
    LEAVES,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(NAMES, part, max_size=4),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(name, content, most=40):
    """The first reports that a file holds, checked as an audit of any reports does."""
    Path(name).write_bytes(content)
    return [plain(row) for row in itertools.islice(READERS[Path(name).suffix](Path(name)), 1, most)]


def read(name, content):
    """Read a file as a command does; errors that are meant are swallowed, after a look at them."""
    try:
        if name.endswith(".yml"):
            Path(name).write_bytes(content)
            sweep.read(name)
        elif name.endswith(".params"):
            parameters.read(content.decode(errors="replace"))
        else:
            rows(name, content)
    except ValueError as error:
        assert isinstance(error, ClientError) == (Path(name).suffix in READERS), repr(error)
        said = str(error)
        assert name.endswith(".params") or name in said
        if name.endswith((".jsonl", ".csv")):
            assert said.startswith("line ")
        return said
    return ""


# --- grammars -------------------------------------------------------------------------------------


@FUZZ
@given(st.lists(REPORTS, max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_json_lines_are_read_as_they_were_meant(reports, ending, ascii_only):
    text = "".join(json.dumps(r, ensure_ascii=ascii_only) + ending for r in reports)
    assert rows("a.jsonl", text.encode()) == reports


@FUZZ
@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.data())
def test_csv_is_read_as_it_was_meant(names, data):
    """Entries are JSON, which keeps numbers and texts apart, on one line."""
    shape = st.lists(REPORTS, min_size=len(names), max_size=len(names))
    table = data.draw(st.lists(shape, max_size=4))
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(names)
    writer.writerows([json.dumps(entry) for entry in row] for row in table)
    wanted = [row[0] if len(names) == 1 else dict(zip(names, row)) for row in table]
    assert rows("a.csv", file.getvalue().encode()) == wanted


@FUZZ
@given(
    st.integers(0, 20), st.lists(NAMES, min_size=1, max_size=3, unique=True), st.data(),
    st.sampled_from(["none", "zstd", "snappy"]), st.integers(1, 9),
)  # fmt: skip
def test_parquet_is_read_as_it_was_meant(n, names, data, compression, group):
    kinds = [st.integers(-(2**63), 2**63 - 1), st.text(st.characters(exclude_categories=["Cs"])),
             st.booleans(), st.lists(st.integers(0, 9)), st.none() | st.integers(0, 9)]  # fmt: skip
    columns = {
        name: data.draw(st.lists(data.draw(st.sampled_from(kinds)), min_size=n, max_size=n))
        for name in names
    }
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, compression=compression, row_group_size=group)
    table = [list(row) for row in zip(*columns.values())]
    wanted = [row[0] if len(names) == 1 else dict(zip(names, row)) for row in table]
    assert rows("a.parquet", file.getvalue()) == wanted


@FUZZ
@given(
    st.dictionaries(st.sampled_from(["epsilon", "m"]), st.lists(st.integers(2, 9), min_size=1, max_size=3),
                    min_size=2),
    st.integers(0, 99), st.booleans(), st.text(string.ascii_lowercase, min_size=1, max_size=5),
)  # fmt: skip
def test_grids_are_read_as_they_were_meant(grid, seed, flow, out):
    found = {"audit": "rad", "seed": seed, "grid": grid, "fixed": {"mechanism": "GRR"}, "out": out}
    Path("a.yml").write_text(yaml.safe_dump(found, default_flow_style=flow, sort_keys=False))
    plan = sweep.read("a.yml")
    assert (plan.seed, plan.out) == (seed, out)
    assert [(cell["epsilon"], cell["m"]) for cell in plan.cells] == [
        tuple(dict(zip(grid, values))[name] for name in ("epsilon", "m"))
        for values in itertools.product(*grid.values())
    ]


@FUZZ
@given(st.dictionaries(st.text(string.ascii_lowercase, min_size=1, max_size=5),
                       st.integers() | st.floats(allow_nan=False, allow_infinity=False)
                       | st.lists(st.integers()) | st.booleans()
                       | st.text(string.ascii_letters, max_size=6)))  # fmt: skip
def test_parameters_are_read_as_they_were_meant(values):
    text = " ".join(f"{name}={value!r}" for name, value in values.items())
    assert parameters.read(text) == values


# --- mutations ------------------------------------------------------------------------------------

PARTS = [b"", b'"', b"'", b",", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"[", b"]", b"{", b"}", b":",
         b"&a ", b"*a", b"!!python/name:os.system", b"[" * 3000, b'{"a": 1, "a": 0}', b"9" * 5000, b"1e999",
         b"NaN", b"-", b"=", b"x" * 200_000]  # fmt: skip
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([0, 1, 2, 8, 10**9]), st.sampled_from(PARTS) | st.binary(max_size=4)),
    min_size=1, max_size=4,
)  # fmt: skip


def mutated(content, edits):
    for share, gone, part in edits:
        at = int(share * len(content))
        content = content[:at] + part + content[at + gone :]
    return content


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_was_found_is_refused_or_read(path):
    """Each of these once was read wrongly, filled the memory, or ended in another error."""
    found = read(path.name, path.read_bytes())
    assert found or path.name == "long_text_repeated.parquet"
    assert len(found) < 700


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet", ".yml", ".params"])
@FUZZ
@given(data=st.data(), edits=EDITS)
def test_mutations_are_refused_or_read(kind, data, edits):
    seeds = [path for path in sorted(CORPUS.iterdir()) if path.suffix == kind]
    content = mutated(data.draw(st.sampled_from(seeds)).read_bytes(), edits)
    with contextlib.redirect_stderr(io.StringIO()):
        read(f"a{kind}", content)
    assert not os.path.exists("ran")
