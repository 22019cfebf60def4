"""Run cells as IPython would, and tell the page in the messages of Jupyter what they show.

A page imports little of IPython. Those names are made here, because the engine has no IPython.
"""

import ast
import base64
import builtins
import io
import json
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from . import compiled

Bundle = dict[str, Any]
SHELL: Any = None
_LACKS = "Here runs no other package, process, socket or thread. `make lab` runs this page with all of them."
MEMORY = "The code asked for more memory than Python has in a browser, 1 GB less what it holds already."


class Stream(io.TextIOBase):
    """Text that is shown line by line."""

    encoding, errors = "utf-8", "strict"

    def __init__(self, name: str) -> None:
        self.name, self.kept = name, ""

    def write(self, text: str) -> int:
        self.kept += text
        if "\n" in text or "\r" in text:
            self.flush()
        return len(text)

    def flush(self) -> None:
        text, self.kept = self.kept, ""
        if text:
            compiled.ask(kind="say", type="stream", content={"name": self.name, "text": text})


Stream.__module__ = "ipykernel.iostream"  # there, progress is shown in pages


class Formatter:
    """Pictures and tables of what a cell shows."""

    def __init__(self) -> None:
        self.mimebundle_formatter, self.known = self, dict[type, Callable[[Any], Bundle]]()

    def for_type(self, kind: type, function: Callable[[Any], Bundle]) -> None:
        self.known[kind] = function

    def format(self, thing: Any) -> Bundle:
        for kind in type(thing).__mro__:
            if kind in self.known:
                return self.known[kind](thing)
        if isinstance(thing, Shown):
            return {thing.mime: thing.data}
        html = None if isinstance(thing, type) else getattr(thing, "_repr_html_", lambda: None)()
        return {"text/plain": repr(thing)} | ({"text/html": html} if html else {})


class Shown:
    """A text of a given form, as `IPython.display` has them."""

    mime = "text/plain"

    def __init__(self, data: str = "", **_: object) -> None:
        self.data = data


def _nothing(*_: object) -> None:
    """Take an event's function, which is never called: figures are made where they are shown."""


class Shell:
    """The names of a page, and what runs its cells."""

    def __init__(self) -> None:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        self.display_formatter = Formatter()
        self.events = types.SimpleNamespace(register=_nothing, unregister=_nothing)
        self.user_ns = main.__dict__
        self.user_ns.update(__builtins__=builtins, display=self.display, get_ipython=lambda: self)

    def display(self, *things: Any, raw: bool = False, **_: object) -> None:
        for thing in things:
            self.flush()
            shown = thing if raw else self.display_formatter.format(thing)
            data = json.loads(json.dumps(shown, default=str).replace("NaN", "null"))
            compiled.ask(kind="say", type="display_data", content={"data": data})

    def flush(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()

    def run_cell(self, code: str, title: str = "cell") -> bool:
        """Run a cell, which tracebacks call by its title, in `user_ns`; return whether it ended well."""
        name = f"<{title}>"
        linecache.cache[name] = len(code), None, code.splitlines(True), name
        try:
            tree = ast.parse(code, name)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, name, "exec"), self.user_ns)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), name, "eval"), self.user_ns)
                if value is not None and not code.rstrip().endswith(";"):
                    self.display(value)
            self.figures()
            return True
        except BaseException as error:
            self.flush()
            lines = traceback.format_exception(error)
            first = next((i for i, line in enumerate(lines) if f'File "{name}"' in line), len(lines) - 1)
            compiled.ask(kind="say", type="error", content={
                "ename": type(error).__name__, "evalue": said(error), "traceback": [line.rstrip("\n") for line in lines[first:]],
            })  # fmt: skip
            return False
        finally:
            self.flush()
            if plt := sys.modules.get("matplotlib.pyplot"):
                plt.close("all")

    def figures(self) -> None:
        """Show the figures that the cell left open."""
        plt: Any = sys.modules.get("matplotlib.pyplot")
        for number in plt.get_fignums() if plt else ():
            self.display(plt.figure(number))


def said(error: BaseException) -> str:
    """Return the message of an error, and what follows from it here."""
    if isinstance(error, MemoryError) or "array is too big" in str(error):  # numpy's, beyond 32 bits
        return MEMORY
    lacking = (
        isinstance(error, ModuleNotFoundError)
        or (isinstance(error, OSError) and error.errno == 58)
        or "start new thread" in str(error)
    )
    return f"{error}. {_LACKS}" if lacking else str(error)


def print_figure(figure: Any, fmt: str = "png", bbox_inches: Any = "tight", base64_: bool = False, **more: Any) -> Any:
    """Return a figure as text, or as bytes."""
    out = io.BytesIO()
    figure.savefig(out, format=fmt, bbox_inches=bbox_inches, **more)
    return out.getvalue().decode() if fmt == "svg" else base64.b64encode(out.getvalue()).decode()


def pretend() -> None:
    """Put the names of IPython and its relatives that pages import where they look for them."""
    names: dict[str, Any] = {
        "IPython": {"get_ipython": lambda: SHELL, "version_info": (9, 0, 0), "__version__": "9.0.0"},
        "IPython.display": {"display": lambda *things, **more: SHELL.display(*things, **more)}
        | {
            n: type(n, (Shown,), {"mime": m})
            for n, m in (("HTML", "text/html"), ("Markdown", "text/markdown"), ("SVG", "image/svg+xml"))
        },
        "IPython.core": {},
        "IPython.core.pylabtools": {"print_figure": lambda *given, base64=True, **more: print_figure(*given, **more)},
        "matplotlib_inline": {},
        "matplotlib_inline.backend_inline": {"set_matplotlib_formats": lambda *_, **__: None},
        "myst_nb": {"glue": lambda name, value, display=True: None},
    }
    for name, content in names.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__.update(content)
        holder, _, last = name.rpartition(".")
        if holder:
            setattr(sys.modules[holder], last, module)


def begin(folder: str) -> None:
    """Get ready for the cells of a page whose helper files lie in `folder`."""
    global SHELL
    compiled.begin()
    pretend()
    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
    SHELL = Shell()
    import matplotlib
    import tqdm

    from ldpbook import plots

    tqdm.tqdm.monitor_interval = 0  # it would start a thread
    matplotlib.use("Agg")
    plots._FORMS = (("svg+xml", "svg"),)  # type: ignore[assignment]
    os.chdir(f"/src/{folder}")
    sys.path[:0] = [os.getcwd()]
