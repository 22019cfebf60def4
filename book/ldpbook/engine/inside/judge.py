"""Audit a reader's own client with the real auditor, and tell the page how far the audit is."""

import json
import math
import time
from typing import Any

import ldpkit
from ldpkit import progress

from . import compiled

_SECONDS = 0.2  # between two messages


def _told(add: Any) -> Any:
    last = 0.0

    def call(self: progress.Progress, *given: Any, **named: Any) -> None:
        nonlocal last
        add(self, *given, **named)
        if self is progress.running[0] and time.monotonic() - last > _SECONDS:
            last = time.monotonic()
            compiled.ask(
                kind="say",
                type="stream",
                content={"name": "progress", "text": json.dumps([self.finished, self.total, self.unit])},
            )

    return call


def client(code: str) -> Any:
    """Return the last function that the reader's code defines."""
    names: dict[str, Any] = {"__name__": "client"}
    exec(compile(code, "<your client>", "exec"), names)
    made = [f for f in names.values() if getattr(f, "__module__", "") == "client" and callable(f) and not isinstance(f, type)]
    if not made:
        raise ValueError("the code must define a function: client(values, rng) for many users, or client(value) for one")
    return made[-1]


def judge(code: str, values: list[Any], epsilon: float, trials: int, alpha: float, seed: int) -> None:
    """Audit the client, and show the verdict and all facts of the result."""
    progress.Progress.add = _told(progress.Progress.add)  # type: ignore[method-assign]
    found = ldpkit.audit(ldpkit.Client(client(code), values=values, epsilon=epsilon), trials=trials, alpha=alpha, seed=seed)
    facts = {"cause": found.cause, **found.row()}
    plain = {key: str(x) if isinstance(x, float) and not math.isfinite(x) else x for key, x in facts.items()}
    data = json.loads(json.dumps(plain, default=str))
    compiled.ask(kind="say", type="display_data", content={"data": {"text/plain": found.verdict, "application/json": data}})
