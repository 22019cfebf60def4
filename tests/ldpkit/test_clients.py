"""Foreign clients under audit: the same results as ldpkit's own, and one clear error for everything
that is no report.

Statistical tests: fixed seeds, exact binomial tails and Fisher's exact test. The file compares
fewer than 100 p-values with `laws.P_MIN`, so a correct package fails it with probability below 1e-5
(see `laws`).
"""

import inspect
import math

import numpy as np
import pytest
from laws import P_MIN, binomial_p, same_rate_p

from ldpkit import attacks
from ldpkit.auditors import audit
from ldpkit.kinds import hash_cell
from ldpkit.mechanisms import BLH, GRR, OUE, SHE, SS, Client, ClientError
from ldpkit.mechanisms.client import load


def oue_client(values, rng):
    bits = rng.random((len(values), 10)) < 1 / (math.e + 1)
    bits[np.arange(len(values)), values] = rng.random(len(values)) < 0.5
    return bits


LOOSE = np.random.default_rng(31)  # clients of one value bring their own randomness


def oue_client_of_one_value(value):
    return [int(b) for b in oue_client(np.array([value]), LOOSE)[0]]


def grr_client(values, rng):
    return np.where(
        rng.random(len(values)) < GRR(10, 1.0).p,
        values,
        (values + rng.integers(1, 10, len(values))) % 10,
    )


def ss_client(values, rng):
    ss = SS(10, 1.0)
    return [set(report) for report in ss.perturb(values, rng).tolist()]


def she_argmax_client(values, rng):
    return SHE(10, 1.0).perturb(values, rng).argmax(axis=1)


def blh_as_subset_client(values, rng):
    """Sends the values in the reported cell, sometimes none: subsets of different sizes."""
    reports = BLH(10, 1.0).perturb(values, rng)
    return [
        [u for u in range(10) if hash_cell(u, report["seed"], 2) == report["cell"]]
        for report in reports
    ]


@pytest.mark.parametrize("attack", ["guess", "tight"])
@pytest.mark.parametrize(
    "function, report, honest, trials",
    [
        (oue_client, "bits", OUE(10, 1.0), 200_000),
        (oue_client_of_one_value, "bits", OUE(10, 1.0), 20_000),
        (grr_client, "value", GRR(10, 1.0), 200_000),
        (ss_client, "subset", SS(10, 1.0), 50_000),
        (blh_as_subset_client, "subset", BLH(10, 1.0), 10_000),
    ],
)
def test_auditing_a_client_agrees_with_auditing_its_mechanism(
    function, report, honest, trials, attack
):
    client = audit(Client(function, 10, report, 1.0), attack, trials=trials)
    own = audit(honest, attack, trials=trials, faithful=True)
    for side, rate in zip(("tp", "fp"), attacks.make(attack).rates(honest)):
        assert binomial_p(client.counts[side], trials, rate) > P_MIN
        assert same_rate_p(client.counts[side], trials, own.counts[side], trials) > P_MIN
    assert (
        client.faithful and client.exact is None and client.exact_sd is None and not client.violated
    )


def test_the_most_likely_value_of_a_noisy_histogram_is_a_client_too():
    trials = 200_000
    found = audit(Client(she_argmax_client, 10, "value", 1.0), trials=trials)
    for side, rate in zip(("tp", "fp"), attacks.make("guess").rates(SHE(10, 1.0))):
        assert binomial_p(found.counts[side], trials, rate) > P_MIN


def test_a_vectorised_client_repeats_with_its_seed():
    results = [
        audit(Client(oue_client, 10, "bits", 1.0), trials=100_000, threads=threads)
        for threads in (1, 2)
    ]
    assert results[0] == results[1]


def test_a_client_that_leaks_is_flagged():
    found = audit(Client(lambda values, rng: values, 10, "value", 1.0), trials=10_000)
    assert found.violated and found.counts == {"tp": 10_000, "fp": 0}


@pytest.mark.parametrize(
    "report, function",
    [
        ("value", lambda values, rng: values.tolist()),
        ("value", lambda values, rng: values.astype(float)),
        ("value", lambda values, rng: tuple(values)),
        ("bits", lambda values, rng: np.eye(5, dtype=bool)[values]),
        ("bits", lambda values, rng: np.eye(5)[values]),
        ("bits", lambda values, rng: np.eye(5, dtype=int)[values].tolist()),
        ("subset", lambda values, rng: [{int(v)} for v in values]),
        ("subset", lambda values, rng: values[:, None]),
        ("subset", lambda values, rng: [frozenset((int(v), 4 - int(v))) for v in values]),
        ("subset", lambda value: [value]),
        ("value", lambda value: value),
        ("value", lambda value, *, rate=1: value),
        ("value", lambda values, rng=None: values),
    ],
)
def test_reports_may_come_in_any_sensible_form(report, function):
    found = audit(Client(function, 5, report, 1.0), "tight", trials=100, pair=(0, 3))
    assert found.counts == {"tp": 100, "fp": 0}


def raising(values, rng):
    raise KeyError("lost")


def mutating(values, rng):
    values[:] = 0
    return values


def exiting(values, rng):
    raise SystemExit(1)


@pytest.mark.parametrize(
    "report, function, message",
    [
        ("bits", raising, "client c raised KeyError: 'lost'"),
        ("bits", exiting, "client c raised SystemExit"),
        ("value", lambda value: 1 // value, "client c raised ZeroDivisionError: "),
        ("value", mutating, "client c changed its input array"),
        ("value", lambda values, rng: values[:-1], "client c must return 7 reports, got 6"),
        ("value", lambda values, rng: [], "client c must return 7 reports, got 0"),
        ("value", lambda values, rng: None, "client c must return 7 reports, got NoneType"),
        ("value", lambda values, rng: 3, "client c must return 7 reports, got int"),
        ("value", lambda values, rng: values * math.nan, "one integer in 0..4 per user, got nan"),
        ("value", lambda values, rng: values + 0.5, "one integer in 0..4 per user, got 0.5"),
        ("value", lambda values, rng: values + 5, "one integer in 0..4 per user, got 5"),
        ("value", lambda values, rng: values - 1, "one integer in 0..4 per user, got -1"),
        (
            "value",
            lambda values, rng: values[:, None],
            r"one integer in 0..4 per user, got shape \(7, 1\)",
        ),
        (
            "value",
            lambda values, rng: ["a"] * 7,
            "one integer in 0..4 per user, got an array of <U1",
        ),
        (
            "value",
            lambda values, rng: [None] * 7,
            "one integer in 0..4 per user, got an array of object",
        ),
        (
            "value",
            lambda value: [0] * (value + 1) if value else 0,
            "one integer in 0..4 per user, got",
        ),
        ("bits", lambda values, rng: np.zeros((7, 4)), r"5 bits per user, got shape \(7, 4\)"),
        ("bits", lambda values, rng: values, r"5 bits per user, got shape \(7,\)"),
        ("bits", lambda values, rng: np.full((7, 5), math.nan), "5 bits per user that are 0 or 1"),
        ("bits", lambda values, rng: np.full((7, 5), 2), "5 bits per user that are 0 or 1"),
        ("bits", lambda values, rng: [["0"] * 5] * 7, "5 bits per user that are 0 or 1"),
        (
            "bits",
            lambda values, rng: [[0] * 5] * 6 + [[0] * 4],
            "5 bits per user, got ragged reports",
        ),
        (
            "subset",
            lambda values, rng: [[0, 1, 0]] * 7,
            "collection of distinct values in 0..4 per user, got a repeated value",
        ),
        (
            "subset",
            lambda values, rng: [[0, 5]] * 7,
            "collection of distinct values in 0..4 per user, got 5",
        ),
        (
            "subset",
            lambda values, rng: [[-1, 0]] * 7,
            "collection of distinct values in 0..4 per user, got -1",
        ),
        (
            "subset",
            lambda values, rng: [[math.nan]] * 7,
            "collection of distinct values in 0..4 per user, got nan",
        ),
        (
            "subset",
            lambda values, rng: values,
            "collection of distinct values in 0..4 per user, got something else",
        ),
        (
            "subset",
            lambda values, rng: ["01"] * 7,
            "collection of distinct values in 0..4 per user",
        ),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_bad_client_gives_one_clear_error(report, function, message, threads):
    with pytest.raises(ClientError, match=message) as caught:
        audit(Client(function, 5, report, 1.0, name="c"), trials=7, threads=threads)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "function", [lambda: 0, lambda a, b, c: a, lambda *values: values, lambda *, values: values]
)
def test_a_client_with_another_signature_is_refused(function):
    with pytest.raises(
        ClientError, match=r"client must take \(values, rng\) or \(value\), its signature is "
    ):
        audit(Client(function, 5, "value", 1.0), trials=7)


def test_a_callable_without_a_signature_is_refused():
    with pytest.raises(ValueError):
        inspect.signature(max)
    with pytest.raises(ClientError, match="client has no readable signature"):
        audit(Client(max, 5, "value", 1.0), trials=7)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"function": 3}, "client must be callable, got 3"),
        ({"function": "module:f"}, "client must be callable, got 'module:f'"),
        ({"k": 1}, r"k must be an integer in \[2, 2147483647\], got 1"),
        ({"k": 2.0}, r"k must be an integer in \[2, 2147483647\], got 2.0"),
        ({"epsilon": 0}, "epsilon must be a finite number > 0, got 0"),
        ({"epsilon": math.inf}, "epsilon must be a finite number > 0, got inf"),
        ({"epsilon": math.nan}, "epsilon must be a finite number > 0, got nan"),
        ({"epsilon": "1"}, "epsilon must be a finite number > 0, got '1'"),
        ({"delta": 1.0}, r"delta must be a number in \[0, 1\), got 1.0"),
        (
            {"report": "bit"},
            "report must be one of value, bits, subset, any, got 'bit'; did you mean 'bits'",
        ),
        ({"report": "vector"}, "report must be one of value, bits, subset, any, got 'vector'"),
    ],
)
def test_bad_parameters_of_a_client_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Client(**({"function": oue_client, "k": 5, "report": "bits", "epsilon": 1.0} | given))


def test_a_client_never_sees_memory_of_an_earlier_call():
    handed = []

    def keeping(values, rng):
        assert all(not np.shares_memory(values, old) for old, _ in handed)
        assert all((old == copy).all() for old, copy in handed)
        handed.append((values, values.copy()))
        return values

    audit(Client(keeping, 5, "value", 1.0), trials=3 * 2**16)
    assert [set(copy.tolist()) for _, copy in handed[:6]] == [{0}] * 3 + [{4}] * 3


def test_a_client_that_reuses_its_own_buffer_is_counted_before_the_next_call():
    buffer = np.empty(2**16, int)

    def reusing(values, rng):
        buffer[: len(values)] = values
        return buffer[: len(values)]

    assert audit(Client(reusing, 5, "value", 1.0), trials=3 * 2**16).counts == {
        "tp": 3 * 2**16,
        "fp": 0,
    }


def test_a_client_that_changes_an_old_input_array_does_no_harm():
    old = []

    def late(values, rng):
        for array in old:
            array[:] = 4
        old.append(values)
        return values.copy()

    assert audit(Client(late, 5, "value", 1.0), trials=3 * 2**16).counts == {
        "tp": 3 * 2**16,
        "fp": 0,
    }


@pytest.mark.parametrize(
    "path, message",
    [
        ("nonsense", "client must be given as module:function, got 'nonsense'"),
        (":f", "client must be given as module:function, got ':f'"),
        ("math:", "client must be given as module:function, got 'math:'"),
        ("no_such_module:f", "client 'no_such_module:f' cannot be imported: ModuleNotFoundError"),
        (
            "math:no_such_function",
            "client 'math:no_such_function' cannot be imported: AttributeError",
        ),
        ("math:pi", "client 'math:pi' is not callable but a float"),
        ("..math:pi", "client '..math:pi' cannot be imported: TypeError"),
    ],
)
def test_a_client_that_cannot_be_imported_is_refused(path, message):
    with pytest.raises(ClientError, match=message):
        load(path)


def test_a_client_is_imported_by_its_dotted_path():
    assert load("math:floor") is math.floor
    assert load("pathlib:Path.exists").__name__ == "exists"
