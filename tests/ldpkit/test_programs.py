"""Foreign programs as clients: read line by line, and whatever they do wrong is said."""

import shutil
import sys

import numpy as np
import pytest

from ldpkit import Client
from ldpkit.blackbox.clients import ClientError, Program
from ldpkit.blackbox.sequential import Declared, SequentialAudit

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
    program = Program(python("for line in sys.stdin: print(os.getpid(), flush=True)"))
    assert len({program(value) for value in (0, 1, "x", 0)}) == 1  # it goes on


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
    command = python(code) if code else "no-such-program"
    with pytest.raises(ClientError) as error:
        Program(command, limit=2 if "within" in message else 60)(5)
    assert message in str(error.value)
