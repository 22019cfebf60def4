"""Foreign programs as clients: read line by line, and whatever they do wrong is said."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from ldpkit import Client, audit
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
    assert (once.starts, whole.starts, program.starts) == (5, 2, 1)


def test_a_program_that_reads_a_line_and_ends_has_failed():
    """It is not asked again, because the crash may depend on the input."""
    crash = "for line in sys.stdin: line == '1\\n' and sys.exit(3); print(line, end='', flush=True)"
    program = Program(python(crash))
    assert program(0) == 0
    with pytest.raises(
        ClientError, match=r"ended without a report \(exit status 3\), input 1"
    ) as error:
        program(1)
    assert "input" not in error.value.said
    assert program(0) == 0 and program.starts == 2


def test_a_program_that_does_not_read_is_said():
    with pytest.raises(ClientError, match="did not read its input within 0.5 seconds"):
        Program(python("time.sleep(60)"), limit=0.5)("x" * 10**6)


@pytest.mark.parametrize(
    "banner", ["print('ready', flush=True)", "sys.stdin.readline(); print('ready\\n5')"]
)
def test_a_banner_is_called_that_and_can_be_skipped(banner):
    command = python(f"{banner}\n{ECHO.replace('end=', 'flush=True, end=')}")
    with pytest.raises(ClientError) as error:
        Program(command)(5)
    message = str(error.value)
    assert "wrote a first line on standard output that is no report, b'ready'" in message
    assert "--skip-lines 1 (in Python skip_lines)" in message
    program = Program(command, skip_lines=1)
    assert [program(5), program(6)] == [5, 6]
    late = Program(
        python("for line in sys.stdin: print('x' * (line == '6\\n') + line, end='', flush=True)")
    )
    assert late(5) == 5
    with pytest.raises(ClientError, match="must write one report a line as JSON, got b'x6'"):
        late(6)
    two = Program(python("print('a\\nb')"), skip_lines=1)
    with pytest.raises(
        ClientError, match="after 1 that were skipped that is no report, b'b'.*--skip-lines 2"
    ):
        two(5)


def test_a_line_that_comes_after_a_report_is_no_report_of_the_next_input(tmp_path):
    """Otherwise all reports would be shifted by one."""
    done = tmp_path / "done"
    twice = "os.write(1, b'7\\n'); os.write(1, b'7\\n')"
    program = Program(python(f"for line in sys.stdin: {twice}; open({str(done)!r}, 'w')"))
    with pytest.raises(ClientError, match="wrote another line after its last report|more than one"):
        program(0)
        while not done.exists():
            pass
        program(1)


CRASHING = """
import sys, zlib
asked = open(sys.argv[1], "ab")
for line in sys.stdin:
    asked.write(b"."), asked.flush()
    draw = zlib.crc32(b"%d" % asked.tell())  # goes on after a restart
    if line in {lines} and draw % 4 == 0:
        sys.exit(3)
    print(draw >> 16 & 1, flush=True)
"""


@pytest.mark.parametrize("lines", [["1\n"], ["0\n", "1\n"]])
def test_a_crash_is_a_report_that_is_counted(tmp_path, lines):
    """A quarter of the reports of one input, or of both, is a crash; wrong with 1e-4 at most."""
    code = CRASHING.format(lines=lines)
    program = Program([sys.executable, "-ISuc", code, str(tmp_path / "asked")])
    client = Client(program, epsilon=1.0, values=[0, 1], on_error="report")
    with pytest.raises(ClientError, match="exit status 3"):
        SequentialAudit(replace(client, on_error="stop"), "learned", trials=100).run()
    before = program.starts
    leaks = len(lines) == 1
    given = {"trials": 600 if leaks else 50, "alpha": 1e-4, "explain": 0.0}
    found = SequentialAudit(client, "learned", **given).run()[0]
    assert found.violated == leaks
    assert found.row()["restarts"] == found.restarts == program.starts - before > 5
    assert f"The program ended and was restarted {found.restarts} times." in found.verdict


def test_an_audit_of_fixed_size_states_the_restarts():
    client = Client(Program(python("print(sys.stdin.readline(), end='')")), 2, "value", 1.0)
    found = audit(client, "guess", trials=3, independent=True)
    assert f"restarted {client.function.starts - 1} times" in found.verdict and not found.violated


@pytest.mark.parametrize(
    "code, message",
    [
        ("sys.stderr.write('no entropy'); sys.exit(3)", "ended without a report (exit status 3), input"
         " 5; its standard error ends with: no entropy"),
        ("sys.stdin.readline(); print('1\\n2'); time.sleep(60)", "wrote more than one line"),
        ("sys.stdin.readline(); time.sleep(60)", "did not report within 2 seconds, input 5; it must flush its output after every report"),
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
