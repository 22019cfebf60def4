"""Provide cells of grids for other processes, which import this file; it imports no library that
they do not need.
"""

import os
import signal
import threading
import uuid
from pathlib import Path

import numpy as np

from ldpkit.rng import generator


def square(x, seed, trace=None, forbidden=None):
    """Return the square of x, and leave a file behind; fail while the file `forbidden` names x."""
    if forbidden and Path(forbidden).exists() and Path(forbidden).read_text() == str(x):
        raise ArithmeticError(f"no square of {x}")
    if trace:
        (Path(trace) / f"{x}-{uuid.uuid4().hex}").touch()
    drawn = generator(seed, "draw").random()
    return {"square": x * x, "third": x / 3, "drawn": drawn, "seed": seed}


def odd(x, seed):
    """Return a row for even x only; for odd x something else, or another value of x."""
    return (
        {"y": x}
        if x % 2 == 0
        else {1: None, 3: "text", 5: [1, 2], 7: {"x": 0}, 9: [{"y": 1}, None]}[x]
    )


def several(n, seed):
    return [{"i": i, "value": np.float64(i) / n, "word": "a,b"} for i in range(n)]


def backwards(n, seed):
    return several(n, seed)[::-1]


def of_toy(seed):
    import toy

    return {"version": toy.VERSION, "file": toy.__file__}


def threads(seed):
    """Return how many threads each BLAS may use now."""
    from threadpoolctl import threadpool_info

    blas = [found for found in threadpool_info() if found["user_api"] == "blas"]
    return {"threads": str(sorted({found["num_threads"] for found in blas}))}


def fragile(x, seed, marks, fatal=(), always=False):
    """Kill the own worker process the first time, or always."""
    mark = Path(marks) / str(x)
    if x in fatal and (always or not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"drawn": generator(seed, "draw").random()}


def interrupting(x, seed, store=None):
    """Interrupt the run from its last cell, which never ends, once the others are stored."""
    if store and x == 3:
        while len(list(Path(store).glob("*.json"))) < 3:
            pass
        os.kill(os.getppid(), signal.SIGINT)
        threading.Event().wait()
    return {"y": x}


def stuck(x, seed, marks):
    (Path(marks) / f"{x}-{uuid.uuid4().hex}").touch()
    while x == 1:
        pass
    return {"twice": 2 * x}


def failing(x, seed):
    if x % 2:
        raise ArithmeticError(f"no half of {x}")
    return {"half": x // 2}
