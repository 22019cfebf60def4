"""Run the command of a kernel, and end with it everything that it started, whatever became of its parents, sessions and environment.

On Linux a process can ask to become the parent of all its descendants that lose theirs. This one asks, waits for the kernel, and then
kills its children until none is left. It is told to end by SIGTERM, and it ends, like its kernel, if its own parent ends. An
interrupt goes to its whole group, and is for the kernel. It needs the standard library alone, because it has to start at once.
Processes of other users, which `sudo` starts, cannot be killed.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

PARENT_DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36  # of <linux/prctl.h>


def _kill(process: int) -> bool:
    """Kill a process and return whether that was possible."""
    try:
        os.kill(process, signal.SIGKILL)
    except (PermissionError, ProcessLookupError):
        return False
    return True


def main(command: list[str]) -> int:
    """Run a command and return its exit status, once it and its descendants have ended."""
    prctl, parent = ctypes.CDLL(None).prctl, os.getppid()
    prctl(CHILD_SUBREAPER, 1)
    kernel = os.fork()
    if kernel == 0:
        prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
        os.environ["JPY_PARENT_PID"] = str(os.getppid())  # a kernel ends by itself if its parent changes
        os.execvp(command[0], command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _kill(kernel) and None)
    prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        _kill(kernel)
    ended, status = os.wait()
    while ended != kernel:
        ended, status = os.wait()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while children.exists() and any([_kill(int(child)) for child in children.read_text().split()]):
        os.wait()  # only then its own children are children of this process
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
