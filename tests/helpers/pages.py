"""Run pages inside this process, cell after cell, as a kernel would run them."""

import contextlib
import sys
import types
import warnings

import matplotlib.pyplot as plt

from ldpbook import plots

TAG = "parameters"
IGNORED = DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning


@contextlib.contextmanager
def shell():
    """Provide a shell for `get_ipython` that keeps what a page shows until the next one runs."""
    from IPython.core.displayhook import CapturingDisplayHook
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    main = sys.modules["__main__"]
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    made = InteractiveShell.instance(user_module=module, colors="nocolor", cache_size=0)
    made.display_pub = CapturingDisplayPublisher()
    made.display_trap.hook = CapturingDisplayHook(made, made.display_pub.outputs)
    try:
        yield made
    finally:
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = main


def failure(made, cells, values, draw=False):
    """Return the error when the cells of a page run with `values`, or None; with `draw`, figures
    are also laid out, which takes longer than everything else."""
    problems = []
    made.reset(new_session=False)
    made.display_pub.outputs.clear()
    # also called by the display of a result
    made.showtraceback = made.showsyntaxerror = lambda *_, **__: problems.append(sys.exc_info()[1])
    for i, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in IGNORED:
                warnings.simplefilter("ignore", kind)
            made.run_cell("".join(cell["source"]))
            try:
                for figure in map(plt.figure, plt.get_fignums()):
                    plots.data(figure)
                    if draw:
                        figure.draw_without_rendering()
            except Exception as error:
                problems.append(error)
            finally:
                plt.close("all")
        if problems:
            return f"cell {i}: {type(problems[0]).__name__}: {problems[0]}"
        if TAG in cell["metadata"].get("tags", []):
            made.user_ns.update(values)
    return None
