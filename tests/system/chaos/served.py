"""Run cells on the live server, as its pages do, until what leaks shows."""

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import zmq  # noqa: F401  comes with Jupyter, as what speaks to a socket below
from tornado import gen, httpclient, ioloop, websocket

from . import Tally, builder, environment, finish, small_book

MOST = 32 * 2**20  # bytes that a process may grow by, whatever the number of runs
CELL = "import math\nprint(sum(math.sqrt(i) for i in range(100)))"


def run(seed: int, n: int, folder: Path) -> list[dict[str, object]]:
    """Run a cell `n` times: after the first tenth neither the server nor the kernel grows any
    more."""
    tally, root = Tally("run of a cell on the live server", seed), small_book(folder / "book")
    if problem := finish(root, builder(), folder / "log"):
        raise RuntimeError(problem)
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "ldpbook", "live", ], cwd=root,
            env=environment(root), stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
    try:
        links = "".join(
            next(line for line in server.stdout or () if "#token=" in line) for _ in "12"
        )
        base, token = re.search(r"(http://[\d.:]+/[\w-]+)/\S+#token=(\S+)", links).groups()  # type: ignore[union-attr]
        before, after, wrong = ioloop.IOLoop.current().run_sync(
            lambda: _runs(server, base, token, n)
        )
    finally:
        server.terminate()
        server.wait(30)
    tally.harmless = n - wrong
    grown = {name: (after[name] - before[name]) / 2**20 for name in before}
    told = ", ".join(
        f"{name} {before[name] / 2**20:.0f} MB and {mb:+.1f} MB" for name, mb in grown.items()
    )
    print(f"          after {n // 10} and {n} runs: {told}")
    if wrong or max(grown.values()) > MOST / 2**20:
        tally.add("wrong", n, f"{wrong} runs gave another output; {told}")
    shutil.rmtree(root)
    return [tally.row()]


def request(name: str, code: str) -> str:
    """A message that asks a kernel to run code."""
    header = {"msg_id": name, "msg_type": "execute_request", "username": "", "session": "chaos",
              "date": "2026-01-01T00:00:00Z", "version": "5.3"}  # fmt: skip
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {},
               "allow_stdin": False, "stop_on_error": True}  # fmt: skip
    message = {"channel": "shell", "parent_header": {}, "metadata": {}, "buffers": []}
    return json.dumps(message | {"header": header, "content": content})


async def _runs(
    server: subprocess.Popen, base: str, token: str, n: int
) -> tuple[dict[str, int], dict[str, int], int]:
    """Run the cell; memory of server and kernel after a tenth of the runs and at the end, and how
    many runs printed something else."""
    allowed = {"Authorization": f"token {token}"}
    asked = urllib.request.Request(f"{base}/api/kernels", b"{}", allowed, method="POST")
    with urllib.request.urlopen(asked) as answer:
        kernel = json.load(answer)["id"]
    address = f"{base.replace('http', 'ws')}/api/kernels/{kernel}/channels"
    socket = await websocket.websocket_connect(httpclient.HTTPRequest(address, headers=allowed))
    first: str | None = None
    before: dict[str, int] = {}
    wrong = 0
    for number in range(1, n + 1):
        await socket.write_message(request(str(number), CELL))
        said, idle = "", False
        while not idle:
            text = await gen.with_timeout(
                ioloop.IOLoop.current().time() + 60, socket.read_message()
            )
            message = json.loads(text or "")
            if message["parent_header"].get("msg_id") != str(number):
                continue
            said += message["content"].get("text", "")
            idle = message["content"].get("execution_state") == "idle"
        first = said if first is None else first
        wrong += said != first or not said
        if number == max(1, n // 10):
            before = _memory(server)
    socket.close()
    return before, _memory(server), wrong


def _memory(server: subprocess.Popen) -> dict[str, int]:
    process = psutil.Process(server.pid)
    every = process.children(recursive=True)
    kernels = [one for one in every if "ipykernel_launcher" in " ".join(one.cmdline())]
    return {"server": process.memory_info().rss, "kernel": kernels[-1].memory_info().rss}
