"""One Ctrl-C ends the program at once, whatever it is computing, and says what is known by then.

An exception would reach the main thread alone, and only between two steps of Python: not a thread
inside a client or a kernel, not a worker process. So a thread of its own waits for the signal and
ends everything.
"""

import multiprocessing
import os
import signal
import sys
import threading

__all__ = ["STATUS", "listen"]

STATUS = 130
"""Exit status after an interrupt, as shells give it."""

_exit = os._exit  # a client may not, see `base.aside`
_ending = threading.Lock()


def listen() -> None:
    """End the program when it is interrupted, unless whoever started it wants interrupts
    ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(
        signal.SIGINT, _end
    )  # should a library take the pipe away, the main thread still hears
    threading.Thread(target=_wait, args=(heard,), daemon=True).start()


def _wait(heard: int) -> None:
    while os.read(heard, 1) != bytes([signal.SIGINT]):
        pass
    _end()


def _end(*_: object) -> None:
    if not _ending.acquire(blocking=False):
        return
    try:
        teller = threading.Thread(target=_tell, daemon=True)
        teller.start()
        teller.join(
            0.2
        )  # a stream that nobody reads, or a lock that is never released, holds up nothing
        if pools := sys.modules.get("ldpkit.executors"):
            pools._starting.acquire(timeout=0.5)  # and no other process starts
        for child in multiprocessing.active_children():
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)
    finally:
        _exit(STATUS)


def _tell() -> None:
    progress = sys.modules.get("ldpkit.progress")  # which is not there yet if nothing was begun
    known = progress.outermost() if progress else None
    start = "\n" if known and known.shown else ""  # the bar stays where it was
    sys.stderr.write(f"{start}ldpkit: interrupted{f' after {known}' if known else ''}\n")
    sys.stderr.flush()
    sys.stdout.flush()
