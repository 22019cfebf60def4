"""The live server's kernels and options, as far as they need no built book."""

import asyncio
import json
import sys

import psutil
import pytest

from ldpbook import live

# one process as any, one in a session of its own, and one that a process which has ended left behind
CELL = """
import subprocess, sys
wait = [sys.executable, "-c", "import threading; threading.Event().wait()"]
own = subprocess.Popen(wait), subprocess.Popen(wait, start_new_session=True)
left = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:], stdout=2).pid)"
last = subprocess.run([sys.executable, "-c", left, *wait], stdout=subprocess.PIPE, text=True)
print([*(process.pid for process in own), int(last.stdout)])
"""


async def started(kernels, name):
    """Run the cell; the processes that it started."""
    client = kernels.get_kernel(name).client()
    client.start_channels()
    await client.wait_for_ready(timeout=60)
    said = []
    await client.execute_interactive(CELL, timeout=60, output_hook=said.append)
    client.stop_channels()
    text = "".join(m["content"]["text"] for m in said if m["msg_type"] == "stream")
    return [psutil.Process(pid) for pid in json.loads(text)]


@pytest.mark.parametrize("end", ["shut down", "restarted", "killed", "crashed"])
def test_what_a_cell_started_ends_with_its_kernel(end, tmp_path):
    async def scene():
        given = {"kernel_manager_class": "ldpbook.live.Kernel", "connection_dir": str(tmp_path)}
        kernels = live.Kernels(**given, parent=None)
        name = await kernels.start_kernel(kernel_name="python3")
        try:
            found = await started(kernels, name)
            assert all(process.is_running() for process in found)
            if end == "restarted":
                await kernels.restart_kernel(name)
            else:
                if end == "crashed":
                    psutil.Process(kernels.get_kernel(name).provisioner.pid).kill()
                await kernels.shutdown_kernel(name, now=end == "killed")
            return psutil.wait_procs(found, timeout=30)[1]
        finally:
            if name in kernels:
                await kernels.shutdown_kernel(name, now=True)

    assert not asyncio.run(scene())


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
