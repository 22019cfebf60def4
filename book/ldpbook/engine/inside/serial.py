"""Executors without threads and processes, which the engine does not have."""

import concurrent.futures
import sys
import types
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


class SemLock:
    """The lock between processes that `multiprocessing` looks for when it is imported."""

    SEM_VALUE_MAX = 1

    def __init__(self, *_: object, **__: object) -> None:
        raise OSError(58, "there are no processes in a browser")


def begin() -> None:
    """Replace the executors of threads and processes, before any module imports them."""
    concurrent.futures.ThreadPoolExecutor = Serial  # type: ignore[misc,assignment]
    names: dict[str, dict[str, Any]] = {
        "_multiprocessing": {"SemLock": SemLock, "sem_unlink": lambda name: None},
        "joblib.externals.loky": {"ProcessPoolExecutor": Serial, "cpu_count": lambda: 1},
    }
    for name, content in names.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(content)
