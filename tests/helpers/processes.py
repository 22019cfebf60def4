"""Start real processes, and send them real signals."""

import contextlib
import os
import signal
import subprocess

LIMIT = 120  # seconds after which a process counts as one that never ends


def heard():
    """Hear interrupts, whatever the shell that started the tests has set."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def started(*command, cwd=None):
    """Provide a process that leads a group of its own, and end the group afterwards."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    own = {"cwd": cwd, "start_new_session": True, "preexec_fn": heard}
    process = subprocess.Popen([*map(str, command)], **pipes, **own)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(process, text):
    """Read standard error up to a line that contains this text."""
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"{text!r} was never said")


def interrupted(process):
    """Send Ctrl-C to every process of the group, and return the messages that follow."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert out == "" and "Traceback" not in err and "KeyboardInterrupt" not in err
    return err
