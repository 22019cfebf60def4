"""End the process, or fail, at the N-th write below a folder, counted over all processes.

Python imports this when it starts, if its folder is on the path; without ``CHAOS_AT`` it does nothing.
"""

import errno
import os
import signal
import sys

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MOVES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


def install(under, counter, at, how):
    """Count opens for writing, renames and removals below the folder `under` in the file `counter`
    and do harm at number `at`.

    ``end`` kills the process before it writes, ``torn`` after it has written half a line, ``all``
    its whole group; ``full`` fails this and every later write, as a full disk does."""
    busy = []

    def hook(event, given):
        if busy or not (event == "open" or event in _MOVES):
            return
        path = given[1] if event == "os.rename" else given[0]
        if event == "open" and not (isinstance(given[2], int) and given[2] & _WRITES):
            return
        if not isinstance(path, (str, bytes)):
            return
        path = os.path.abspath(os.fsdecode(path))
        if not path.startswith(under):
            return
        busy.append(1)
        try:
            tally = os.open(counter, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(tally, b".")
            number = os.lseek(tally, 0, os.SEEK_CUR)
            os.close(tally)
            if how == "full" and number >= at and event in ("open", "os.mkdir"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            if number != at or how == "full":
                return
            if how == "torn" and event == "open":
                file = os.open(path, os.O_WRONLY | os.O_CREAT | given[2] & os.O_TRUNC, 0o600)
                os.write(file, b'{"torn": [1, ')
                os.close(file)
            if how == "all":
                os.killpg(os.getpgid(0), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            busy.pop()

    sys.addaudithook(hook)


if "CHAOS_AT" in os.environ:
    where = os.environ["CHAOS_UNDER"], os.environ["CHAOS_COUNTER"]
    install(*where, int(os.environ["CHAOS_AT"]), os.environ["CHAOS_HOW"])
