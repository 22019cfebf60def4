"""Exact checks of the mechanism as an object, of its parameters and of its reports."""

import math
import numbers
import pickle
import random
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, fields, replace

import cloudpickle
import numpy as np

from ..mechanisms import Client, FrequencyOracle
from ..types import Reports
from .case import OWN, Case, need, refused, same

__all__ = ["value", "parameters", "generator", "inputs", "read", "pair"]

_OUTSIDE = {"k": 1, "epsilon": -1.0, "delta": -0.5, "tau": 0}


def value(case: Case) -> None:
    """It is frozen, hashable and equal to a copy made from its fields, also after pickling."""
    m = case.mechanism
    given = {field.name: getattr(m, field.name) for field in fields(m)}
    name = next(iter(given))
    try:
        setattr(m, name, given[name])
    except FrozenInstanceError:
        copy = type(m)(**given)
    else:
        raise AssertionError(f"it must be frozen, but {name} can be set")
    need(copy == m and hash(copy) == hash(m), f"a copy made from its fields differs: {copy!r}")
    need(
        pickle.loads(cloudpickle.dumps(m)).parameters == m.parameters,
        "its parameters change on the way to a process",
    )


def parameters(case: Case) -> str | None:
    """It refuses NaN, booleans, text and numbers out of range, naming parameter and value."""
    given = {field.name: getattr(case.mechanism, field.name) for field in fields(case.mechanism)}
    numeric = [
        name for name, x in given.items() if isinstance(x, numbers.Real) and not isinstance(x, bool)
    ]
    for name in numeric:
        for bad in [math.nan, True, "much", *([_OUTSIDE[name]] if name in _OUTSIDE else [])]:
            refused(
                lambda change: replace(case.mechanism, **change),
                {name: bad},
                f"{name} = {bad!r}",
                name,
                str(bad),
            )
    return None if numeric else "no parameter is a number"


def generator(case: Case) -> str | None:
    """The generator alone determines the reports; global random states do not change."""

    def states() -> bytes:
        return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002  # watched, not used

    if isinstance(case.mechanism, Client) and not case.mechanism.batched:
        return OWN
    before, m = states(), case.mechanism
    rngs = [case.rng("generator") for _ in range(2)]
    one, two = (m.perturb(m.inputs(m.pair()[0], 100), rng) for rng in rngs)
    need(states() == before, "it draws from a global random state instead of the generator")
    need(same(one, two), "it makes different reports with the same generator")
    unused = str(case.rng("generator").bit_generator.state)
    need(str(rngs[0].bit_generator.state) != unused, "it takes nothing from the generator")
    return None


def inputs(case: Case) -> None:
    """It does not change the users' values, and it accepts a single user."""
    m, rng = case.mechanism, case.rng("values")
    for value in m.pair():
        given = m.inputs(value, 50)
        m.perturb(given, rng)
        need(
            np.array_equal(given, m.inputs(value, 50)),
            "it changes the array of values that it was given",
        )
        alone = [
            np.shape(a.accepts(m, m.perturb(m.inputs(value, 1), rng), m.pair(), rng))
            for a in case.attacks
        ]
        need(
            all(shape == (1,) for shape in alone),
            f"attacks give answers of shape {alone} on the report of one user",
        )


def _spoilt(reports: Reports) -> Iterator[tuple[Reports, str]]:
    """Yield reports with one error each, and the error in words."""
    yield None, "None instead of reports"
    if isinstance(reports, list):
        yield reports[:-1], "a list with one array too few"
        if len(reports) > 1:
            yield [reports[0][:-1], *reports[1:]], "a list about different users"
        yield from (([bad, *reports[1:]], what) for bad, what in _spoilt(reports[0]))
        return
    yield reports[:0], "an array of no reports"
    yield reports[None], "an array with one axis too many"
    yield np.full(reports.shape, None), "an array of another type"
    bad = reports.copy()
    for part in [bad[name] for name in bad.dtype.names] if bad.dtype.names else [bad]:
        if part.dtype.kind in "iuf":
            part.flat[0] = np.nan if part.dtype.kind == "f" else np.iinfo(part.dtype).max
    if not same(bad, reports):
        yield bad, "an entry out of range"


def read(case: Case) -> str | None:
    """It reads its own reports, also a second time, and refuses reports that it cannot send."""
    m = case.mechanism
    reports = m.perturb(m.inputs(m.pair()[0], 20), case.rng("read"))
    once = m.read(reports)
    need(same(once, m.read(once)), "reports that were read differ when they are read again")
    for bad, what in () if isinstance(m, Client) else _spoilt(reports):
        refused(m.read, bad, what)
    return "reports of a client are checked when it makes them" if isinstance(m, Client) else None


def pair(case: Case) -> None:
    """It proposes two inputs, in either order, and refuses equal inputs and invalid ones."""
    m = case.mechanism
    first, second = m.pair()
    need(case.pairs, "it accepts no pair of inputs")
    for pair in ((first, second), (second, first)):
        need(tuple(m.pair(pair)) == pair, f"it does not accept its own pair as {pair}")
    outside = [-1, m.report_type.k] if isinstance(m, FrequencyOracle | Client) else [None]
    for bad in [(first, first), (first,), (first, second, first), *((first, x) for x in outside)]:
        refused(m.pair, bad, f"the pair {bad}")
