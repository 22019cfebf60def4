"""Interrupts: one Ctrl-C ends the program at once and prints the progress so far.

An exception would reach the main thread only, between two steps of Python. It would not reach
worker processes, or threads inside a client or a compiled kernel. Therefore a separate thread waits
for the signal and ends all processes.
"""

import multiprocessing
import os
import signal
import sys
import threading

__all__ = ["STATUS", "listen"]

STATUS = 130
"""Exit status after an interrupt, as in shells."""

_exit = os._exit  # kept, because `base.aside` replaces it
_ending = threading.Lock()


def listen() -> None:
    """End the program when it is interrupted, unless it was started with interrupts ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    # if a library replaces the pipe, the main thread still receives the signal
    signal.signal(signal.SIGINT, _end)
    threading.Thread(target=_wait, args=(receiver,), daemon=True).start()


def _wait(receiver: int) -> None:
    while os.read(receiver, 1) != bytes([signal.SIGINT]):
        pass
    _end()


def _end(*_: object) -> None:
    if not _ending.acquire(blocking=False):
        return
    try:
        printer = threading.Thread(target=_print_progress, daemon=True)
        printer.start()
        printer.join(0.2)  # do not wait for a stream that nobody reads, or for a lock
        if executors := sys.modules.get("ldpkit.executors"):
            executors._starting.acquire(timeout=0.5)  # so that no further process starts
        for child in multiprocessing.active_children():
            if child.pid:
                os.kill(child.pid, signal.SIGKILL)
    finally:
        _exit(STATUS)


def _print_progress() -> None:
    module = sys.modules.get("ldpkit.progress")  # not imported yet if no computation has begun
    progress = module.outermost() if module else None
    start = "\n" if progress and progress.shown else ""  # keeps the bar
    sys.stderr.write(f"{start}ldpkit: interrupted{f' after {progress}' if progress else ''}\n")
    sys.stderr.flush()
    sys.stdout.flush()
