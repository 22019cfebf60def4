"""Exact checks: of a mechanism as an object, of its parameters and reports, and of the rates that
it states."""

import math
import numbers
import pickle
import random
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import cloudpickle
import numpy as np

from ..attacks import Guess, TwoValueTest
from ..blackbox.clients import Client
from ..mechanisms import FrequencyOracle, Mechanism, Repeated
from ..mechanisms.base import MAX_EPSILON, MIN_EPSILON
from ..reports import Support
from ..types import Array, Reports
from .case import NO_RATES, OWN, TAIL, Case, applies, close, need, refused, same

# fmt: off
__all__ = [
    "value", "parameters", "generator", "inputs", "read", "pair",
    "rates", "budget", "routes", "rounds", "extremes",
]
# fmt: on

LISTED = 2**12  # largest number of possible reports that are listed
_OUTSIDE = {"k": 1, "epsilon": -1.0, "delta": -0.5, "tau": 0}
_ENDS = {
    "epsilon": ((MIN_EPSILON, 1e-3, 0.1), (MAX_EPSILON, 27.0, 22.0, 10.0, 1.0)),
    "k": ((2, 3, 4, 6), (10_000, 1000)),
}


def value(case: Case) -> None:
    """It is frozen, hashable and equal to a copy made from its fields, also after pickling."""
    m = case.mechanism
    given = {field.name: getattr(m, field.name) for field in fields(m)}
    need(m.__dataclass_params__.frozen, f"it must be frozen, but {next(iter(given))} can be set")
    copy = type(m)(**given)
    need(copy == m and hash(copy) == hash(m), f"a copy made from its fields differs: {copy!r}")
    need(
        pickle.loads(cloudpickle.dumps(m)).parameters == m.parameters,
        "its parameters change on the way to a process",
    )


def parameters(case: Case) -> None:
    """It refuses NaN, booleans, text and numbers out of range, naming parameter and value."""
    given = {field.name: getattr(case.mechanism, field.name) for field in fields(case.mechanism)}
    numeric = [
        name for name, x in given.items() if isinstance(x, numbers.Real) and not isinstance(x, bool)
    ]
    applies(numeric, "no parameter is a number")
    for name in numeric:
        for bad in [math.nan, True, "much", *([_OUTSIDE[name]] if name in _OUTSIDE else [])]:
            refused(
                lambda change: replace(case.mechanism, **change),
                {name: bad},
                f"{name} = {bad!r}",
                name,
                str(bad),
            )


def generator(case: Case) -> None:
    """The generator alone determines the reports; global random states do not change."""

    def states() -> bytes:
        return pickle.dumps((random.getstate(), np.random.get_state()))  # noqa: NPY002  # watched, not used

    before, m = states(), case.mechanism
    applies(m.batched, OWN)
    rngs = [case.rng("generator") for _ in range(2)]
    one, two = (m.perturb(m.inputs(m.pair()[0], 100), rng) for rng in rngs)
    need(states() == before, "it draws from a global random state instead of the generator")
    need(same(one, two), "it makes different reports with the same generator")
    after, unused = (str(rng.bit_generator.state) for rng in (rngs[0], case.rng("generator")))
    need(after != unused, "it takes nothing from the generator")


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


def read(case: Case) -> None:
    """It reads its own reports, also a second time, and refuses reports that it cannot send."""
    m = case.mechanism
    reports = m.perturb(m.inputs(m.pair()[0], 20), case.rng("read"))
    once = m.read(reports)
    need(same(once, m.read(once)), "reports that were read differ when they are read again")
    applies(not isinstance(m, Client), "reports of a client are checked when it makes them")
    for bad, what in _spoilt(reports):
        refused(m.read, bad, what)


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


# --- what it states about the distribution of its reports


def rates(case: Case) -> None:
    """Exact rates are probabilities that favour the first input; those of guesses sum to 1."""
    applies(case.exact_rates, NO_RATES)
    for attack, pair, (tpr, fpr) in case.exact_rates:
        what = f"attack {attack.name} on {pair} has the rates {tpr} and {fpr}"
        need(0 <= fpr <= 1 + 1e-12 and 0 <= tpr <= 1 + 1e-12, f"{what}, which are no probabilities")
        need(tpr >= fpr * (1 - 1e-9), f"{what}: the event is likelier under the second input")
    named = {pair: rates for attack, pair, rates in case.exact_rates if isinstance(attack, Guess)}
    inputs = dict.fromkeys(first for first, _ in named)
    form = case.mechanism.report_type
    whole = isinstance(form, Support) and len(inputs) == form.k
    for x in inputs:
        total = next(tpr for (first, _), (tpr, _) in named.items() if first == x)
        total += sum(fpr for (_, second), (_, fpr) in named.items() if second == x)
        need(
            total < 1 + 1e-9 and (not whole or total > 1 - 1e-9),
            f"guesses about {x} have probabilities that sum to {total:.9g}",
        )


def budget(case: Case) -> None:
    """No event tells two inputs apart better than the claim and the stated loss allow."""
    m, form = case.mechanism, case.mechanism.report_type
    unknown = not case.exact_rates or any(form.loss(pair) is None for pair in case.pairs)
    applies(not unknown, NO_RATES)
    applies(math.isfinite(m.epsilon), "no epsilon is claimed")
    grown = math.exp(m.epsilon)
    slack = 1e-9 + 4 * 2**-52 * min(grown, math.exp(MAX_EPSILON))  # because 1 - p was rounded
    for pair in case.pairs:
        loss: Any = form.loss(pair)
        need(
            m.delta > 0 or loss <= m.epsilon + slack,
            f"epsilon {m.epsilon:g} is claimed, {pair} lose {loss:.6g}",
        )
        rates: Any = [form.score_rates(threshold, pair) for threshold in form.thresholds()]
        if form.outputs <= LISTED:
            one, two = (form.distribution(value) for value in pair)
            exceed = one > grown * two  # the event of all reports that exceed the claim
            rates.append((one[exceed].sum(), two[exceed].sum()))
        for tpr, fpr in rates:
            need(
                tpr <= fpr * math.exp(loss + slack),
                f"the loss between {pair} is stated as {loss:.6g}, an event has more",
            )
            excess = tpr - grown * fpr
            need(
                excess <= m.delta + slack,
                f"an event between {pair} exceeds epsilon by {excess:.3g}, delta is {m.delta:g}",
            )


def routes(case: Case) -> None:
    """Rates and loss are those that follow from the listed distribution of the reports."""
    m, form = case.mechanism, case.mechanism.report_type
    listable = case.exact_rates and isinstance(form, Support) and form.outputs <= LISTED
    applies(listable, "its reports cannot be listed")
    reports = m.read(form.reports)
    tally = np.asarray(form.tally(reports), float)
    named = _shares(tally)
    for attack, pair, rates in case.exact_rates:
        one, two = distributions = [form.distribution(value) for value in pair]
        need(
            close([one.sum(), two.sum()], [1, 1]),
            f"the listed probabilities of {pair} sum to {one.sum():.9g} and {two.sum():.9g}",
        )
        if isinstance(attack, TwoValueTest | Guess):
            tight = isinstance(attack, TwoValueTest)
            event = (
                attack.accepts(m, reports, pair, case.rng("routes")) if tight else named[:, pair[0]]
            )
            listed = [float(probabilities @ event) for probabilities in distributions]
            need(
                close(listed, rates),
                f"attack {attack.name} on {pair} has the rates {rates}, its listed reports"
                f" {listed}",
            )
        top = np.log(np.max(one[one > 0] / two[one > 0]))
        need(
            close([top], [form.loss(pair)]),
            f"the loss between {pair} is stated as {form.loss(pair)}, reports have {top}",
        )
    repeated = isinstance(m, FrequencyOracle) and form.rounds_exact is not None
    if repeated and form.outputs**2 <= LISTED:
        _two_rounds(case, m, form, tally)


def _shares(tally: Array) -> Array:
    """Return the probability of each guess: uniform among the values with the largest count."""
    best = tally == tally.max(axis=-1, keepdims=True)
    return np.asarray(best / best.sum(axis=-1, keepdims=True))


def _two_rounds(case: Case, m: FrequencyOracle, form: Any, tally: Array) -> None:
    """Check that the rates of two rounds follow from all couples of reports."""
    twice = Repeated(m, 2)
    named = _shares(tally[:, None] + tally)
    for pair in case.pairs:
        couples = [
            np.outer(single, single) for single in (form.distribution(value) for value in pair)
        ]
        score = np.asarray(form.score(m.read(form.reports), pair), float)
        events: list[tuple[Guess | TwoValueTest, Array]] = [(Guess(), named[..., pair[0]])]
        events += [(TwoValueTest(t), score[:, None] + score >= t) for t in (1, 2)]
        for attack, event in events:
            listed = [float((probabilities * event).sum()) for probabilities in couples]
            rates = attack.rates(twice, pair)
            what = f"attack {attack.name} on two rounds has the rates {rates} on {pair}"
            need(rates is None or close(listed, rates), f"{what}, all couples of reports {listed}")


def rounds(case: Case) -> None:
    """One round is the mechanism itself, and a remembered report tells as much as one report."""
    m = case.mechanism
    repeated = isinstance(m, FrequencyOracle) and m.report_type.rounds_exact is not None
    applies(repeated, "it is not made to be repeated")
    one = m.perturb(m.inputs(m.pair()[0], 20), case.rng("rounds"))
    for what, other in {
        "one round": Repeated(m, 1),
        "a remembered report": Repeated(m, 3, memoise=True),
    }.items():
        need(
            (other.epsilon, other.delta) == (m.epsilon, m.delta),
            f"{what} costs another epsilon or delta",
        )
        need(
            close([other.variance(100)], [m.variance(100)]),
            f"estimates from {what} have another variance",
        )
        again = other.perturb(m.inputs(m.pair()[0], 20), case.rng("rounds"))
        need(all(same(part, one) for part in again), f"{what} differs from one report")
        for attack, pair, rates in case.exact_rates:
            if isinstance(attack, TwoValueTest):
                scores = m.report_type.thresholds()
                attack = TwoValueTest(float(scores[0])) if len(scores) == 1 else attack
                need(
                    close([other.report_type.loss(pair)], [m.report_type.loss(pair)]),
                    f"{what} loses {other.report_type.loss(pair)} between {pair}",
                )
            found = attack.rates(other, pair)
            need(
                found is None or close(found, rates),
                f"{what} has the rates {found} under attack {attack.name}, not {rates}",
            )


def _changed(m: Any, name: str, candidates: Iterable[float]) -> Any:
    """Return the mechanism with another value of its field `name`, or of that of an inner one.

    The value is the first of the candidates that is accepted. Without one, the mechanism itself is
    returned.
    """
    for field in fields(m):
        if isinstance(value := getattr(m, field.name), Mechanism):
            return replace(m, **{field.name: _changed(value, name, candidates)})
        for candidate in candidates if field.name == name else ():
            try:
                return replace(m, **{name: candidate})
            except ValueError:
                continue
    return m


def extremes(case: Case) -> None:
    """The smallest and largest epsilon and domain have finite rates, without a warning."""
    applies(case.exact_rates, NO_RATES)
    for name, end in ((name, end) for name, both in _ENDS.items() for end in both):
        m = _changed(case.mechanism, name, end)
        what = f"at the parameters {m.parameters}"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for attack in (type(a)() if isinstance(a, TwoValueTest) else a for a in case.attacks):
                rates = attack.choose(m, 1000, TAIL).rates(m) or (0.0, 0.0)
                need(
                    all(0 <= rate <= 1 + 1e-9 for rate in rates),
                    f"attack {attack.name} has the rates {rates} {what}",
                )
            loss = m.report_type.loss(m.pair())
            need(loss is None or not math.isnan(loss), f"the largest loss is no number {what}")
            m.read(m.perturb(m.inputs(m.pair()[0], 2), case.rng("extremes")))
