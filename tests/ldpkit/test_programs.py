"""Foreign programs and recordings as clients: read line by line, and whatever they do wrong is
said."""

import json
import shutil
import sys

import numpy as np
import pytest

from ldpkit.auditors import audit
from ldpkit.mechanisms import Client, ClientError, Program, recorded
from ldpkit.sequential import Declared, SequentialAudit

NODE = """
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const value = JSON.parse(line);
  console.log(JSON.stringify({seen: value, noise: Math.random()}));
});
"""
SHELL = 'while read value; do echo "[$value, 1]"; done'


def python(code):
    return [sys.executable, "-uc", f"import sys, json, time, os\n{code}"]


ECHO = "for line in sys.stdin: print(line, end='')"


def test_values_of_any_type_go_there_and_back():
    program, echo = Program(["sh", "-c", SHELL]), Program(python(ECHO))
    assert [program(v) for v in (3, -1, 3)] == [[3, 1], [-1, 1], [3, 1]]
    for value in (0, -1.5, 'a\n"b', [1, {"c": None}], True):
        assert echo(value) == value


def test_a_program_in_another_language_is_audited(tmp_path):
    node = shutil.which("node") or "node"
    (tmp_path / "client.js").write_text(NODE)
    command = [node, str(tmp_path / "client.js")]
    if shutil.which("node") is None:  # the same protocol, spoken by what is there
        command = python("for l in sys.stdin: print(json.dumps({'seen': json.loads(l)}))")
    client = Client(Program(command), report="any", epsilon=1.0, values=["yes", "no"])
    event = Declared(lambda rs: np.array([r["seen"] == "yes" for r in rs]), "seen is yes")
    result = SequentialAudit(client, event, trials=500).run()[0]
    assert result.violated and result.event == "seen is yes" and result.reports < 60


def test_a_program_that_ends_is_started_again():
    once = Program(python("print(sys.stdin.readline(), end='')"))
    assert [once(v) for v in (0, 1, 2, 1, 1)] == [0, 1, 2, 1, 1]
    whole = Program(python("sys.stdout.write(sys.stdin.readline().strip())"))  # no end of line
    assert whole(7) == 7 == whole(7)


@pytest.mark.parametrize(
    "code, message",
    [
        ("sys.stderr.write('no entropy'); sys.exit(3)", "ended without a report (exit status 3), input"
         " 5; its standard error ends with: no entropy"),
        ("print('ready'); time.sleep(60)", "must write one report a line as JSON, got b'ready'"),
        ("sys.stdin.readline(); print('1\\n2'); time.sleep(60)", "wrote more than one line"),
        ("sys.stdin.readline(); time.sleep(60)", "did not report within 2 seconds, input 5"),
        ("os.kill(os.getpid(), 9)", "ended without a report, input 5"),
        ("while True: sys.stdout.write('9' * 2**20)", "wrote a report of more than 16,777,216 bytes"),
        (None, "program no-such-program cannot be started"),
    ],
)  # fmt: skip
def test_what_a_program_does_wrong_is_said(code, message):
    with pytest.raises(ClientError) as error:
        Program(
            python(code) if code else "no-such-program", limit=2 if "within" in message else 60
        )(5)
    assert message in str(error.value)


def test_one_process_answers_for_all_inputs():
    program = Program(python("for line in sys.stdin: print(os.getpid(), flush=True)"))
    assert len({program(value) for value in (0, 1, "x", 0)}) == 1


LEAK = Declared(lambda rs: np.array([r == 1 for r in rs]), "it is 1")


def write(folder, name, rows, ending="\n", mark=""):
    path = folder / name
    path.write_text(mark + "".join(json.dumps(row) + ending for row in rows), newline="")
    return path


@pytest.mark.parametrize("ending, mark", [("\n", ""), ("\r\n", "\ufeff")])
def test_recordings_of_lines_are_audited(tmp_path, ending, mark):
    one = write(tmp_path, "a.jsonl", [1] * 300, ending, mark)
    two = write(tmp_path, "b.jsonl", [0] * 200, ending, mark)
    result = audit(recorded(one, two, "any", 1.0), LEAK, until="sure")
    assert result.violated and (result.counts["tp"], result.counts["fp"]) == (result.reports, 0)
    kept = audit(recorded(one, two, "any", 9.0), LEAK, until="sure")
    assert kept.reports == 200 and kept.stopped == f"no more reports: 100 of {one} had no partner"


def test_an_audit_of_recordings_goes_on_where_it_was_kept(tmp_path):
    draw = np.random.default_rng(1)
    one = write(tmp_path, "a.jsonl", (draw.random(2000) < 0.6).astype(int).tolist())
    two = write(tmp_path, "b.jsonl", (draw.random(2000) < 0.4).astype(int).tolist())
    planned = SequentialAudit(recorded(one, two, "any", 1.0), LEAK)
    whole = planned.start()
    whole.go()
    part = planned.start()
    part.go(trials=345)
    rest = SequentialAudit(recorded(one, two, "any", 1.0), LEAK).start(1, part.state())
    rest.go()
    assert rest.rounds == whole.rounds == 2000 and (rest.tracks.counts == whole.tracks.counts).all()


def test_recordings_cannot_be_asked_for_reports(tmp_path):
    one, two = write(tmp_path, "a.jsonl", [0] * 20), write(tmp_path, "b.jsonl", [1])
    with pytest.raises(ClientError, match="cannot be asked for more reports"):
        audit(recorded(one, two, "value", 1.0, k=2), trials=1)


def test_long_recordings_are_streamed(tmp_path):
    """What is held of 30,000 lines does not grow with them: as lines they would be 2.6 MB."""
    import tracemalloc

    one, two = (tmp_path / name for name in ("a.jsonl", "b.jsonl"))
    for lines in (100, 30_000):  # the first run imports what both need
        one.write_text("1\n0\n" * (lines // 2))
        two.write_text("0\n1\n" * (lines // 2))
        planned = SequentialAudit(recorded(one, two, "value", 1.0, k=2), "tight")
        tracemalloc.start()
        result = planned.run()[0]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert result.reports == lines and result.counts["tp"] == result.counts["fp"] == lines // 2
    assert peak < 2e6
