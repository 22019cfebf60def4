"""What is read from outside, made by its grammar and by mutations of what was found before. What
follows a grammar is read as it was meant; anything else is read, or refused in one sentence that
names the file. `data/fuzz` keeps what once was read otherwise; `python -m ldpbook fuzz` takes other
seeds."""

import ast
import contextlib
import copy
import csv
import functools
import io
import itertools
import json
import math
import os
import string
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import playwright
import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from ldpbook import parameters
from ldpkit import cli
from ldpkit.blackbox.clients import ClientError
from ldpkit.blackbox.clients.anything import plain
from ldpkit.blackbox.clients.formats import READERS
from ldpkit.cli import sweep
from ldpkit.digests import digest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "data" / "fuzz"

# of `python -m ldpbook fuzz`, which gives seeds too
MORE = int(os.environ.get("FUZZ_EXAMPLES", "0"))
FUZZ = settings(
    derandomize=not MORE, deadline=None, database=None, max_examples=MORE or 40, phases=set(Phase) - {Phase.explain},
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
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
    found = itertools.islice(READERS[Path(name).suffix](Path(name)), 1, most)
    return [plain(row) for _, row in found]


def read(name, content):
    """Read a file as a command does; errors that are meant are swallowed, after a look at them."""
    try:
        if name.endswith(".yml"):
            Path(name).write_bytes(content)
            sweep.read(name)
        elif name.endswith(".params"):
            parameters.read(content.decode(errors="replace"))
        elif name.endswith(".state"):
            return resumed(name, content)
        elif name.endswith(".address"):
            return " ".join(addressed(content.decode(errors="replace"))["refused"])
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


AUDITS = [
    "--mechanism GRR --k 5 --epsilon 1 --attack tight",
    "--mechanism OUE --k 3 --epsilon 0.5 --attack guess --within 0.3",
    "--mechanism GRR --k 3 --epsilon 1 --attack learned --faithful",
    "--recordings one.jsonl two.jsonl --report any --epsilon 1 --attack learned",
]


def called(line):
    """Status, output and error of a command line."""
    out, err = io.StringIO(), io.StringIO()
    aside = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with aside[0], aside[1], pytest.raises(SystemExit) as end:
        cli.main(line.split())
    return end.value.code, out.getvalue(), err.getvalue()


def again(words):
    """What a file does not name for itself."""
    recorded = isinstance(words, dict) and words.get("recordings")
    return "--recordings one.jsonl two.jsonl" if recorded else ""


NOTE = "--all-pairs changes nothing: each input is compared with the others\n"


def resumed(name, content):
    """Go on with a kept audit whose check sum fits, as anybody can make one."""
    for file, lines in (("one.jsonl", "1\n0\n1\n"), ("two.jsonl", "0\n0\n1\n")):
        Path(file).write_text(lines * 40)
    words = None
    with contextlib.suppress(ValueError, RecursionError):
        kept = json.loads(content)
        if isinstance(kept, dict):
            kept.pop("check", None)
            kept["check"], words = digest(kept), kept.get("audit")
            content = json.dumps(kept).encode()
    Path(name).write_bytes(content)
    status, out, err = called(f"resume {name} --trials 120 --max-time 5 {again(words)}")
    if status != 2:
        assert status in (0, 1, 3) and not err.removeprefix(NOTE), (status, err)
        return ""
    assert not out and err.startswith("ldpkit: ") and err.count("\n") == 1
    return err


@functools.cache
def kept(which):
    """A kept audit."""
    resumed("no.state", b"")  # writes recordings
    assert called(f"audit {AUDITS[which]} --until-sure --trials 60 --save first.state")[0] == 0
    return Path("first.state").read_text()


FORM = ROOT / "book" / "_static" / "live" / "form.js"
PARAMETERS = list({
    (p.name, p.literal, p.meaning): p
    for path in sorted((ROOT / "book").rglob("*.ipynb"))
    for p in parameters.of(json.loads(path.read_text())).values()
}.values())  # fmt: skip
ANSWER = """
globalThis.ldpkit = { base: { make() {} }, live: {} };
eval(require("fs").readFileSync(process.argv[1], "utf8"));
const { asked, withValue } = ldpkit.live;
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { parameters, code, query } = JSON.parse(line), { set, refused } = asked(parameters, query);
  const changed = set.reduce((text, [name, value]) => withValue(text, name, value), code);
  console.log(JSON.stringify({ set, refused, changed }));
});
"""


@functools.cache
def form():
    """The rules of a live page's form, as its script has them; it ends with this process."""
    node = Path(playwright.__file__).with_name("driver") / "node"
    pipe = subprocess.PIPE
    return subprocess.Popen([node, "-e", ANSWER, FORM], stdin=pipe, stdout=pipe, text=True)


def addressed(query, asked=None):
    """Open an address that sets parameters; whatever it says, their cell stays one of parameters
    that the book takes. Return why anything was refused."""
    if asked is None:  # those that it names
        names = [part.partition("=")[0] for part in query.split("&")]
        asked = list({p.name: p for p in PARAMETERS if p.name in names}.values())
    told = [p.specification() | {"built": p.literal} for p in asked]
    code = "\n".join(f"{p.name} = {p.literal}  # {p.meaning}" for p in asked)
    question = {"parameters": told, "code": code, "query": query}
    form().stdin.write(json.dumps(question) + "\n")
    form().stdin.flush()
    found = json.loads(form().stdout.readline())
    assert [line.rpartition("  # ")[2] for line in found["changed"].split("\n")] == [
        line.rpartition("  # ")[2] for line in code.split("\n")
    ]
    lines = ast.parse(found["changed"]).body
    assert [ast.unparse(line.targets) for line in lines] == [p.name for p in asked]
    for p, line in zip(asked, lines):
        value = ast.unparse(line.value)
        if value != ast.unparse(ast.parse(p.literal, mode="eval").body):
            assert p.problem(ast.literal_eval(value)) is None
    return found


def fitting(p):
    """What a parameter may be, and an address may set."""
    if p.kind == "other":
        return st.lists(st.lists(st.integers(-9, 9) | st.floats(-9, 9), max_size=3), min_size=1)
    if p.kind == "boolean":
        one = st.booleans()
    elif p.choices:
        one = st.sampled_from(p.choices)
    else:
        low = None if p.low is None else max(-(10.0**15), p.low)
        high = None if p.high is None else min(p.high, 10.0**15)
        if p.kind == "integer":
            low = None if low is None else math.ceil(low)
            high = None if high is None else math.floor(high)
            one = st.integers(low, high).map(lambda n: n - n % (p.step or 1))
        else:
            one = st.floats(low, high, allow_nan=False, allow_infinity=False)
    several = st.lists(one, min_size=2 if p.pair else 1, max_size=2 if p.pair else 4)
    whole = several if p.many else one | st.none() if p.none else one
    return whole.filter(lambda value: p.problem(value) is None)


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
    columns = {}
    for name in names:
        kind = data.draw(st.sampled_from(kinds))
        columns[name] = data.draw(st.lists(kind, min_size=n, max_size=n))
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, compression=compression, row_group_size=group)
    table = [list(row) for row in zip(*columns.values())]
    wanted = [row[0] if len(names) == 1 else dict(zip(names, row)) for row in table]
    assert rows("a.parquet", file.getvalue()) == wanted


@FUZZ
@given(
    st.dictionaries(st.sampled_from(["epsilon", "k"]), st.lists(st.integers(2, 9), min_size=1, max_size=3),
                    min_size=2),
    st.integers(0, 99), st.booleans(), st.text(string.ascii_lowercase, min_size=1, max_size=5),
)  # fmt: skip
def test_grids_are_read_as_they_were_meant(grid, seed, flow, out):
    found = {"audit": "rad", "seed": seed, "grid": grid, "fixed": {"mechanism": "GRR"}, "out": out}
    Path("a.yml").write_text(yaml.safe_dump(found, default_flow_style=flow, sort_keys=False))
    plan = sweep.read("a.yml")
    assert (plan.seed, plan.out) == (seed, out)
    assert [(cell["epsilon"], cell["k"]) for cell in plan.cells] == [
        tuple(dict(zip(grid, values))[name] for name in ("epsilon", "k"))
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


@FUZZ
@given(
    st.sampled_from(["GRR", "OUE", "SS", "BLH"]), st.integers(3, 9), st.integers(1, 8), st.integers(2, 90),
    st.integers(0, 9), st.sampled_from(["tight", "guess"]),
)  # fmt: skip
def test_kept_audits_are_read_as_they_were_meant(name, k, epsilon, trials, seed, attack):
    """Kept and resumed, an audit counts what one counts that was never interrupted."""
    words = f"audit --mechanism {name} --k {k} --epsilon {epsilon / 4} --attack {attack} --seed {seed} --until-sure"
    status, whole, _ = called(f"{words} --trials 100 --json")
    Path("a.state").unlink(missing_ok=True)
    assert called(f"{words} --trials {trials} --save a.state")[0] == 0
    ended, resumed, _ = called("resume a.state --trials 100 --json")
    assert ended == status == 0  # a correct client; seeds are fixed
    one, two = json.loads(whole), json.loads(resumed)
    for key in ("asked", "tp", "fp", "status", "stopped"):
        assert one[key] == two[key], key
    assert one["lower"] <= two["lower"]  # bounds are kept where they were looked at


@FUZZ
@given(st.lists(st.sampled_from([p for p in PARAMETERS if p.kind != "any" and (p.kind != "text" or p.choices)]),
                min_size=1, max_size=4, unique_by=lambda p: p.name), st.data())  # fmt: skip
def test_addresses_are_read_as_they_were_meant(asked, data):
    values = {p.name: data.draw(fitting(p)) for p in asked}
    literals = {p: json.dumps(v) if isinstance(v, str) else repr(v) for p, v in values.items()}
    found = addressed(urlencode(literals), asked)
    assert not found["refused"]
    assert {name: ast.literal_eval(text) for name, text in found["set"]} == values


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


@pytest.mark.parametrize("kind", [".jsonl", ".csv", ".parquet", ".yml", ".params", ".address"])
@FUZZ
@given(data=st.data(), edits=EDITS)
def test_mutations_are_refused_or_read(kind, data, edits):
    seeds = [path for path in sorted(CORPUS.iterdir()) if path.suffix == kind]
    content = mutated(data.draw(st.sampled_from(seeds)).read_bytes(), edits)
    with contextlib.redirect_stderr(io.StringIO()):
        read(f"a{kind}", content)
    assert not os.path.exists("ran")


@FUZZ
@given(p=st.sampled_from(PARAMETERS), edits=EDITS)
def test_mutated_values_in_addresses_are_refused_or_taken(p, edits):
    value = mutated(p.literal.encode(), edits).decode(errors="replace")
    addressed(urlencode({p.name: value}), [p])


ODD = [None, True, -1, 0, 1, 1.5, 10**30, 1e999, "", "x", "GRR", [], [None], {}, [[1]], [1, 1], "💥", "O", [0] * 5,
       10**9, {"type": "O", "entries": [1], "shape": [1]}]  # fmt: skip


def changed(part, data):
    """Give some part of a value another value, or take it away."""
    at = data.draw(st.sampled_from(list(part) if isinstance(part, dict) else range(len(part))))
    if isinstance(part[at], (dict, list)) and part[at] and data.draw(st.integers(0, 2)):
        changed(part[at], data)
    elif data.draw(st.integers(0, 3)):
        part[at] = copy.deepcopy(data.draw(st.sampled_from(ODD)))  # which may be changed too
    else:
        del part[at]


@pytest.mark.filterwarnings("error::RuntimeWarning")  # a second line
@FUZZ
@given(st.integers(0, len(AUDITS) - 1), st.data())
def test_mutated_audits_are_refused_or_resumed(which, data):
    """A check sum names no sender: numbers that fit it may be anything."""
    whole = json.loads(kept(which))
    for _ in range(data.draw(st.integers(1, 3))):
        if changeable := [name for name in ("audit", "run") if whole.get(name)]:
            changed(whole[data.draw(st.sampled_from(changeable))], data)
    said = resumed("a.state", json.dumps(whole).encode())
    assert not said or "a.state" in said or "--" in said


@FUZZ
@given(st.integers(0, len(AUDITS) - 1), EDITS)
def test_damaged_audits_are_refused_or_resumed(which, edits):
    said = resumed("a.state", mutated(kept(which).encode(), edits))
    assert not said or "a.state" in said or "--" in said
