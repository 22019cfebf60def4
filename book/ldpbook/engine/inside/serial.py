"""Executors without threads, which the engine does not have."""

import concurrent.futures
from collections.abc import Callable
from typing import Any


class Serial(concurrent.futures.Executor):
    """An executor that runs each call at once, because there are no threads."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], /, *given: Any, **named: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(function(*given, **named))
        except Exception as error:
            future.set_exception(error)
        return future


def begin() -> None:
    """Replace the executor of threads, before any module imports it."""
    concurrent.futures.ThreadPoolExecutor = Serial  # type: ignore[misc,assignment]
