"""Every page under every change that its parameter cell allows, one at a time, and under everything it suggests to try.

A variant changes one parameter of one page: a list loses or keeps an element or gets one more, a number goes to an end of its
stated range or between, a choice is made otherwise. Pages run inside this process, cell after cell, as a kernel would run
them; a cell that raises, warns or cannot show what it returns fails the variant. A tenth of all variants, drawn with a fixed
seed, belongs to the suite; ``make variants`` runs all of them.
"""

import contextlib
import json
import os
import random
import re
import sys
import types
import warnings

import matplotlib.pyplot as plt
import pytest
from test_book import NOTEBOOKS, PROJECT, ROOT, cells_of, execute

import parameters  # beside execute

from ldpkit import plots

EVERY = os.environ.get("VARIANTS") == "all"
SCALE = execute.load_scale(PROJECT, "variants")


def around(p, value):
    """Numbers that may stand in the place of `value`: the ends of the range, or nearly, and one between."""
    low, high, whole = p.low, p.high, p.kind == "integer"
    value = low if value is None else value
    nudge = 1 if whole else 1e-6 * ((high or 1) - (low or 0))
    if high is None:  # no end is stated: further out than what stands there
        high = max(2 * value, low + 1)
    elif p.high_open:
        high -= nudge
    low += nudge * p.low_open
    ends = [low, high, (min(value, high) + low) / 2]
    if whole:
        step = p.step or 1
        return [int(x) // step * step for x in ends]
    return ends


def changes(p, value):
    """Every value by which the test replaces `value` of the parameter `p`."""
    if p.none:
        yield None
    if p.kind == "boolean":
        yield not value
    elif p.choices:
        yield from ([c] for c in p.choices) if p.many else p.choices
    elif p.many and not p.pair:
        some = dict.fromkeys([0, len(value) // 2, len(value) - 1]) if len(value) > 1 else ()
        yield from (value[:at] + value[at + 1 :] for at in some)
        yield from ([value[0]], [value[-1]])
        if p.kind in ("integer", "number"):
            low, high, middle = around(p, max(value))
            yield [low, high]
            yield sorted({*value, middle})
    elif p.kind in ("integer", "number"):
        for at, one in enumerate(value) if p.many else [(0, value)]:
            for new in around(p, one)[: 1 if p.name == "seed" else 3]:
                yield [*value[:at], new, *value[at + 1 :]] if p.many else new


def base(page):
    """The parameters of a page, and the values that they have at the scale of the test."""
    known = parameters.of(json.loads(PROJECT.source(page).read_text()))
    values = {name: parameters._evaluate(p.literal) for name, p in known.items()}
    return known, values | execute.overrides(SCALE, page, set(known))


def variants(page):
    known, values = base(page)
    scale = execute.overrides(SCALE, page, set(known))
    yield scale, {}
    for name, p in known.items():
        seen = [values[name]]
        for value in changes(p, values[name]):
            if value not in seen:
                seen.append(value)
                yield scale, {name: value}


# --- running a page ---------------------------------------------------------------------------------


@contextlib.contextmanager
def shell():
    """A shell for `get_ipython` to find, which displays what a cell returns; afterwards there is none."""
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    main = sys.modules["__main__"]
    made = InteractiveShell.instance(user_module=types.ModuleType("__main__"), colors="nocolor")
    sys.modules["__main__"] = made.user_module
    made.display_pub = CapturingDisplayPublisher()
    try:
        yield made
    finally:
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = main


def failure(made, page, values):
    """What goes wrong when `page` runs with `values`; None if nothing does."""
    problems = []
    made.reset(new_session=False)
    made.display_pub.outputs.clear()
    made.showtraceback = lambda *_, **__: problems.append(sys.exc_info()[1])  # also by what displays a result
    made.showsyntaxerror = made.showtraceback
    for i, cell in enumerate(cells_of(page)):
        if cell["cell_type"] != "code":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
                warnings.simplefilter("ignore", kind)
            made.run_cell("".join(cell["source"]))
            try:
                for figure in map(plt.figure, plt.get_fignums()):
                    plots.data(figure)
                    figure.draw_without_rendering()
            except Exception as error:
                problems.append(error)
            finally:
                plt.close("all")
        if problems:
            return f"cell {i}: {type(problems[0]).__name__}: {problems[0]}"
        if parameters.TAG in cell["metadata"].get("tags", []):
            made.user_ns.update(values)
    return None
