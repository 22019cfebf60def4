"""The live server's kernels and options, as far as they need no built book."""

import asyncio
import io
import logging
import os
import select
import socket
import sys

import psutil
import pytest
from tornado.httpserver import HTTPServer

from ldpbook import live

# as any process, in a session of its own, left behind by one that has ended; then without the environment of the kernel, and
# a chain: each process starts another one in a new session and ends; every one tells when it stands
CELL = """
import os, subprocess, sys
held = os.open({fifo!r}, os.O_WRONLY)
tell = f"import os, threading; os.write({{held}}, b'.')"
wait = [sys.executable, "-c", f"{{tell}}; threading.Event().wait()"]
leave = [sys.executable, "-c", "import subprocess, sys; subprocess.Popen(sys.argv[1:], close_fds=False)"]
step = "  if os.fork(): os._exit(0)\\n  os.setsid()\\n"
chain = f"import os\\nif 1:\\n{{step}}{{tell}}\\nwhile not os.path.exists({stop!r}):\\n{{step}}"
for command in [wait, ["setsid", *wait], [*leave, *wait], ["env", "-i", *wait], ["env", "-i", *leave, "setsid", *wait],
                [sys.executable, "-ISc", chain], ["env", "-i", sys.executable, "-ISc", chain]][:{most}]:
    subprocess.Popen(command, pass_fds=[held])
print("started", flush=True)
"""


async def started(kernels, name, **given):
    """Run the cell."""
    client = kernels.get_kernel(name).client()
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    said = []
    await client.execute_interactive(CELL.format(**given), timeout=60, output_hook=said.append)
    client.stop_channels()
    assert [m["content"]["text"] for m in said if m["msg_type"] == "stream"] == ["started\n"]


# elsewhere the environment alone marks processes, and no keeper ends them
LINUX = sys.platform == "linux"


@pytest.mark.parametrize(
    "end", ["shut down", "restarted", "killed", *["crashed", "no keeper"] * LINUX]
)
def test_what_a_cell_started_ends_with_its_kernel(end, tmp_path):
    """All of it holds one end of a pipe; the other end is told when the last one has ended."""
    fifo, stop = tmp_path / "fifo", tmp_path / "stop"
    os.mkfifo(fifo)
    told = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    async def scene():
        given = {"kernel_manager_class": "ldpbook.live.Kernel", "connection_dir": str(tmp_path)}
        kernels = live.Kernels(**given, parent=None)
        name = await kernels.start_kernel(kernel_name="python3")
        try:
            most = 7 if LINUX and end != "no keeper" else 3  # the mark in the environment is left
            await started(kernels, name, fifo=str(fifo), stop=str(stop), most=most)
            stand = b""
            while len(stand) < most:
                assert select.select([told], [], [], 60)[0]
                stand += os.read(told, most) or pytest.fail("all have ended")
            if end == "restarted":
                await kernels.restart_kernel(name)
            else:
                keeper = psutil.Process(kernels.get_kernel(name).provisioner.pid)
                if end == "no keeper":
                    keeper.kill()
                elif end == "crashed":
                    next(one for one in keeper.children() if "-m" in one.cmdline()).kill()
                await kernels.shutdown_kernel(name, now=end == "killed")
            assert select.select([told], [], [], 30)[0], "a process has not ended"
            return os.read(told, 1)
        finally:
            if name in kernels:
                await kernels.shutdown_kernel(name, now=True)

    try:
        assert asyncio.run(scene()) == b""
    finally:
        stop.touch()
        os.close(told)


def test_no_fault_can_fill_the_log(monkeypatch):
    now, text = [1000.0], io.StringIO()
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    handler = logging.StreamHandler(text)
    handler.addFilter(live.Sparing())
    record = logging.LogRecord("any", logging.ERROR, "", 0, "%d %% of it failed", (3,), None)
    for _ in range(1000):
        handler.handle(record)
    lines = text.getvalue().splitlines()
    assert lines[0] == "3 % of it failed" and len(lines) == live.Sparing.MOST
    assert lines[-1] == "3 % of it failed (more messages of this minute are left out)"
    now[0] += 60
    handler.handle(record)
    assert len(text.getvalue().splitlines()) == len(lines) + 1


def test_no_other_program_answers_for_the_name_at_the_other_loopback_address():
    """Browsers try ::1 before 127.0.0.1."""
    server = HTTPServer(None)
    with socket.socket(socket.AF_INET6) as other:
        try:
            other.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no address ::1, so that nobody listens there")
        port = other.getsockname()[1]
        other.listen()
        with pytest.raises(SystemExit, match=f"got {port}, which is in use at the address ::1"):
            live.listen_beside(server, port)
    asyncio.run(listening(server, port))


async def listening(server, port):
    live.listen_beside(server, port)
    socket.create_connection(("::1", port)).close()
    server.stop()


@pytest.mark.parametrize("option, value, within", [
    ("port", "0", "1<=x<=65535"), ("port", "-1", "1<=x<=65535"), ("port", "65536", "1<=x<=65535"),
    ("idle", "0", "x>=1"),
])  # fmt: skip
def test_an_option_out_of_range_is_named(option, value, within, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["live.py", f"--{option}", value])
    with pytest.raises(SystemExit) as caught:
        live.main()
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert err.endswith(f"'--{option}': {value} is not in the range {within}.\n")
