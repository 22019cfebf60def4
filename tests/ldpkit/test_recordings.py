"""Recordings as others write them: nothing of a report is lost, and nothing small takes much
memory. Whatever is refused is named with its file and its line."""

import json
import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from ldpkit import audit
from ldpkit.blackbox.clients import ClientError, Program, recorded
from ldpkit.blackbox.sequential import Declared, SequentialAudit

LEAK = Declared(lambda rs: np.array([r == 1 for r in rs]), "it is 1")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    """A file of text, or of columns: (name, values) each."""
    if isinstance(content, str):
        with open(name, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)
    else:
        columns = [pa.array(values) for _, values in content]
        table = pa.Table.from_arrays(columns, names=[each for each, _ in content])
        parquet.write_table(table, name, compression="zstd")
    return name


def refused(call, name, content):
    """Audit one file against a good one, which is refused with status 2 and one line: return it."""
    write("good.jsonl", "0\n" * 50)
    line = "audit --report any --epsilon 1 --attack learned --until-sure --recordings"
    status, out, err = call(f"{line} {write(name, content)} good.jsonl")
    assert (status, out, err.count("\n")) == (2, "", 1), err
    return err.removeprefix("ldpkit: ").strip()


@pytest.mark.parametrize(
    "name, content, message",
    [  # the second of two columns of one name would take the place of the first, which may hold the whole leak
        ("a.csv", "report,report\n1,0\n", "line 1 of a.csv names column 'report' twice"),
        ("a.csv", 'y\n"{""a"": 1, ""a"": 2}"\n', "line 2 of a.csv cannot be read: key 'a' is given"),
        ("a.jsonl", '{"a": 1}\n{"r": 1, "r": 0}\n', "line 2 of a.jsonl is not JSON (key 'r' is given"),
        ("a.jsonl", '[{"b": {"r": 1, "c": 2, "r": 1}}]\n', "line 1 of a.jsonl is not JSON (key 'r'"),
        ("a.parquet", [("r", [1]), ("r", [0])], "a.parquet names column 'r' twice"),
        ("a.parquet", [("y", pa.StructArray.from_arrays([pa.array([1])] * 2, names=["r", "r"]))],
         "a.parquet is not a Parquet file: Converting to Python dictionary is not supported when dup"),
        ("a.csv", 'y\n1\n"1\n1\n1\n', "line 3 of a.csv is not a row of CSV on one line: unexpected end"),
        ("a.csv", 'y\n1\n"1\n1\n1"\n', "line 3 of a.csv is not a row of CSV on one line: unexpected end"),
        ("a.csv", 'y\n"1"0\n', "line 2 of a.csv is not a row of CSV on one line: ',' expected"),
        ("a.csv", f"y\n1\n{'x' * 200_000}\n", "line 3 of a.csv is not a row of CSV on one line: field"),
        ("a.csv", f"y\n{'[' * 5000}\n", "line 2 of a.csv cannot be read: more than 64 levels"),
        ("a.csv", "y\n1\n\udcff\n", "line 3 of a.csv is not text in UTF-8"),
        ("a.jsonl", f"1\n{'[' * 5000}{']' * 5000}\n", "line 2 of a.jsonl is not JSON (more than 64 lev"),
        ("a.jsonl", f"1\n{'[' * 65}{']' * 65}\n", "line 2 of a.jsonl is not JSON (more than 64 lev"),
        ("a.jsonl", "1\n2\n\udcff\n", "line 3 of a.jsonl is not text in UTF-8"),
        ("a.jsonl", f"1\n{'9' * 5000}\n", "line 2 of a.jsonl is not JSON (Exceeds the limit"),
        ("a.jsonl", '1\n1\n{"y": [1', "line 3 of a.jsonl is not JSON ... ; was the file cut off"),
        ("a.jsonl", "1\n\n1\n", "line 2 of a.jsonl is empty"), ("a.jsonl", "", "recording a.jsonl holds no report"),
        ("a.csv", "u,v\n1,2\n3\n", "line 3 of a.csv must have 2 entries, got 1"),
        ("a.parquet", "no table", "a.parquet is not a Parquet file"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_line(call, name, content, message):
    said, (begin, _, end) = refused(call, name, content), message.partition(" ... ")
    assert said.startswith(begin) and end in said


@pytest.mark.parametrize("first, second, wanted", [
    (("a.csv", "u,v\n"), ("b.csv", "v,u\n"), "u, v in a.csv and v, u in b.csv"),
    (("a.csv", "u,v\n"), ("b.parquet", [("u", [1]), ("w", [1])]), "u, v in a.csv and u, w in b.p"),
    (("a.csv", "u\n"), ("b.csv", "u,v\n"), "one in a.csv and u, v in b.csv"),
    (("a.csv", "u\n"), ("b.csv", "v\n"), None),
    (("a.csv", "u,v\n"), ("b.jsonl", "1\n"), None),
    (("a.csv", ""), ("b.csv", "u,v\n"), None),
])  # fmt: skip
def test_tables_of_other_columns_are_not_compared(first, second, wanted):
    """Their names alone would tell the inputs from each other, or bits would be mixed up."""
    names = write(*first), write(*second)
    if wanted is None:
        recorded(*names, "any", 1.0)
        return
    with pytest.raises(ClientError, match=f"recordings must have the same columns, got {wanted}"):
        recorded(*names, "any", 1.0)


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_one_file_is_not_two_recordings(link):
    link(write("a.jsonl", "1\n" * 20), "b.jsonl")
    message = "must be two files, got a.jsonl and b.jsonl, which are one file"
    with pytest.raises(ValueError, match=message):
        recorded("a.jsonl", "b.jsonl", "any", 1.0)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_line_without_an_end_is_not_read_into_memory(name):
    write(name, "")
    os.truncate(name, 2**33)  # a file of holes: nothing of it lies on the disk
    write("good.jsonl", "0\n" * 50)
    with pytest.raises(ClientError, match=f"line 1 of {name} is longer than 1,048,576 bytes"):
        audit(recorded(name, "good.jsonl", "any", 1.0), LEAK, until="sure")


def test_sixty_four_levels_are_read():
    names = write("a.jsonl", f"{'[' * 64}{']' * 64}\n" * 30), write("b.jsonl", "1\n" * 30)
    assert audit(recorded(*names, "any", 1.0), LEAK, until="sure").violated


@pytest.mark.parametrize("name, content, place", [
    ("a.jsonl", "1\n" * 9 + "7\n", "line 10 of a.jsonl"),
    ("a.csv", "y\n" + "1\n" * 9 + "7\n", "line 11 of a.csv"),
    ("a.parquet", [("y", [1] * 9 + [7])], "row 10 of a.parquet"),
])  # fmt: skip
def test_what_is_no_report_is_named_with_its_line(name, content, place):
    write("b.jsonl", "0\n" * 10)
    with pytest.raises(ClientError, match=f"^{place}: .* one integer in 0..1 per user, got 7"):
        audit(recorded(write(name, content), "b.jsonl", "value", 1.0, k=2), "tight", until="sure")


@pytest.mark.parametrize("ending, mark", [("\n", ""), ("\r\n", "\ufeff")])
def test_lines_are_audited(ending, mark):
    names = write("a.jsonl", mark + f"1{ending}" * 300), write("b.jsonl", mark + f"0{ending}" * 200)
    result = audit(recorded(*names, "any", 1.0), LEAK, until="sure")
    assert result.violated and (result.counts["tp"], result.counts["fp"]) == (result.reports, 0)
    kept = audit(recorded(*names, "any", 9.0), LEAK, until="sure")
    assert kept.reports == 200 and kept.stopped == "no more reports: 100 of a.jsonl had no partner"
    with pytest.raises(ClientError, match="cannot be asked for more reports"):
        audit(recorded(*names, "value", 1.0, k=2), trials=1, independent=True)


def test_an_audit_goes_on_where_it_was_kept():
    draw = np.random.default_rng(1)
    lines = ["".join(f"{int(x < rate)}\n" for x in draw.random(2000)) for rate in (0.6, 0.4)]
    names = write("a.jsonl", lines[0]), write("b.jsonl", lines[1])
    planned = SequentialAudit(recorded(*names, "any", 1.0), LEAK)
    whole, part = planned.start(), planned.start()
    whole.go()
    part.go(trials=345)
    rest = SequentialAudit(recorded(*names, "any", 1.0), LEAK).start(1, part.state())
    rest.go()
    assert rest.rounds == whole.rounds == 2000 and (rest.main.tally == whole.main.tally).all()


def test_long_recordings_are_streamed():
    """What is held of 30,000 lines does not grow with them: as lines they would be 2.6 MB."""
    for lines in (100, 30_000):  # the first run imports what both need
        names = write("a.jsonl", "1\n0\n" * (lines // 2)), write("b.jsonl", "0\n1\n" * (lines // 2))
        planned = SequentialAudit(recorded(*names, "value", 1.0, k=2), "tight")
        tracemalloc.start()
        result = planned.run()[0]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert result.reports == lines and result.counts["tp"] == result.counts["fp"] == lines // 2
    assert peak < 2e6


def test_tables_are_audited():
    write("a.parquet", [("y", [1] * 100)])
    write("b.parquet", [("y", [0] * 100)])
    result = audit(recorded("a.parquet", "b.parquet", "any", 1.0), LEAK, until="sure")
    assert result.violated and (result.counts["tp"], result.counts["fp"]) == (result.reports, 0)
    for name, value in (("a", 1), ("b", 0)):
        write(f"bits_{name}.parquet", [("u", [value] * 100), ("v", [0] * 100)])
        write(f"subset_{name}.parquet", [("y", [[2 - 2 * value, 1]] * 100)])
        write(f"value_{name}.csv", "y\n" + f"{1 - value}\n" * 100)
        write(f"bits_{name}.csv", "u,v\r\n" + f"{value},0\r\n" * 100)
    sizes = {"bits": 2, "subset": 3, "value": 2}
    for table in ("bits.parquet", "subset.parquet", "value.csv", "bits.csv"):
        report, form = table.split(".")
        names = f"{report}_a.{form}", f"{report}_b.{form}"
        made = recorded(*names, report, 1.0, k=sizes[report])
        assert audit(made, "tight", until="sure").violated, table


BOMBS = {
    "one row of 45 million values": lambda: pa.ListArray.from_arrays(
        pa.array([0, 45 * 10**6], pa.int32()), pa.nulls(45 * 10**6, pa.int8())
    ),
    "one text of 100 MB": lambda: ["x" * 10**8],
    "one list of 1,000 equal texts of 100 kB": lambda: [["x" * 10**5] * 1000],
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_of_parquet_that_would_fill_the_memory_is_refused(call, bomb):
    message = refused(call, "a.parquet", [("y", BOMBS[bomb]())])
    assert os.path.getsize("a.parquet") < 10_000
    assert message.startswith("a.parquet may hold rows of ")
    assert message.endswith("at most 67,108,864 are read at once: write it with smaller row groups")


def test_a_long_text_that_is_repeated_is_read_a_few_rows_at_a_time():
    """A dictionary of one text of 900 kB and 4,000 rows: as text they would be 3.6 GB."""
    places, long = pa.array([0] * 4000, pa.int32()), pa.array(["x" * 900_000])
    write("a.parquet", [("y", pa.DictionaryArray.from_arrays(places, long))])
    write("b.parquet", [("y", [1] * 4000)])
    made = recorded("a.parquet", "b.parquet", "any", 1.0)
    before = pa.total_allocated_bytes()
    peak = pa.default_memory_pool().max_memory() or before
    assert audit(made, LEAK, until="sure").violated
    assert (pa.default_memory_pool().max_memory() or 0) <= max(peak, before + 2**28)


def test_reports_of_a_program_and_inputs_are_read_as_recordings_are(call):
    with pytest.raises(ClientError, match="one report a line as JSON, .*\\(key 'a' is given twice"):
        Program(["sh", "-c", """while read x; do echo '{"a": 1, "a": 0}'; done"""])(1)
    line = "audit --command cat --report any --epsilon 1 --attack learned --until-sure --inputs"
    for inputs, why in ('[{"a":1,"a":2},1]', "key 'a' is given twice"), ("[" * 5000, "64 levels"):
        status, out, err = call(f"{line} {inputs}")
        assert (status, out, err.count("\n")) == (2, "", 1) and why in err


def test_columns_and_keys_without_number_are_looked_through_once():
    """Each name compared with all others would take hours."""
    many = dict.fromkeys(map(str, range(60_000)), 1)
    write("a.jsonl", json.dumps(many) + "\n")
    write("a.csv", ",".join(many) + "\n" + ",".join("1" * len(many)) + "\n")
    made = recorded("a.jsonl", "a.csv", "any", 1.0)
    assert [row[0] for row in made.draw([0, 1], 1, np.random.default_rng(1))] == [many, many]
