"""The exact distribution of a client's own code, and the same coins for several inputs. Numbers are
exact; sources that are not replaced are missed with probability below 2^-39."""

import contextlib
import functools
import io
import itertools
import json
import math
import os
import random
import secrets
import threading
import time

import exact_clients as clients
import loop_clients as loops
import numpy as np
import pytest
from apart import apart
from exact_clients import EPS, KEEP, K, Q

from ldpkit import Client
from ldpkit.blackbox.exact import exact_client, replay, sources, verdict
from ldpkit.cli import main

exact_client = functools.partial(exact_client, seconds=1e5)  # no test depends on speed


def found(client, inputs=(0, 1), **more):
    return exact_client(getattr(clients, client), EPS, inputs=[*inputs], **{"tapes": 5} | more)


def law(ways):
    """Probabilities of reports."""
    out = {}
    for way in ways:
        out[way.report] = out.get(way.report, 0.0) + way.probability
    return out


OTHER = math.log(KEEP + (1 - KEEP) / K) - math.log((1 - KEEP) / K)
SYSTEM = math.log((0.405 + 0.595 / K) / (0.595 / K))
SEEDED = (1, math.inf, ["violation"])
TABLE = {
    "good": (5, 1.0, []), "imported_early": (5, 1.0, []), "any_other": (6, OTHER, []),
    "two_values": (5, math.log(4) + 1, []), "one_in_a_million": (6, math.inf, []),
    "bits": (32, 1.0, []), "system": (6, SYSTEM, []), "seeded": (1, 0.0, ["constant", "defect"]),
    "seeded_globally": SEEDED, "seeded_by_value": SEEDED, "unnoised": SEEDED,
    "lazy": (None, math.inf, ["draws"]), "shy": (5, 1.0, ["draws"]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
@apart
def test_the_exact_loss_and_the_findings(name):
    ways, loss, kinds = TABLE[name]
    result = found(name)
    assert result.reason == ""
    assert ways is None or [len(one) for one in result.ways] == [ways, ways]
    assert result.loss == pytest.approx(loss, abs=1e-12)
    assert list(dict.fromkeys(one.kind for one in result.findings)) == kinds
    assert result.status == ("violation" if loss > EPS + 1e-9 else "none found")


HANDED = dict.fromkeys(["clock", "hour", "held", "remembers"], ("repeat itself", "unknown")) | {
    "noise": ("arithmetic: repr of (0 + random())", None), "copied": ("__reduce_ex__", None),
    "laplace": ("laplace has no finite range", None),
    "draws_and_remembers": ("may remember", None), "swallows": ("arithmetic: float", None),
    "rarely_held": ("repeat itself", None),  # the tapes do not come this way
}  # fmt: skip


@pytest.mark.parametrize("name", HANDED)
@apart
def test_a_client_that_cannot_be_exact_is_handed_over(name):
    clients.ANSWERS.clear()
    words, kind = HANDED[name]
    result = found(name, ways=2000)
    assert words in result.reason
    assert result.status == "not exact" and math.isnan(result.loss) and not result.ways
    assert kind is None or [one.kind for one in result.findings] == [kind]
    assert "ldpkit audit" in result.verdict


def grr(v):
    return {str(w): KEEP if w == v else (1 - KEEP) / (K - 1) for w in range(K)}


def oue(v):
    out = {}
    for row in itertools.product((0, 1), repeat=K):
        masses = [(0.5, 0.5) if i == v else (1 - Q, Q) for i in range(K)]
        out[json.dumps(list(row))] = math.prod(m[bit] for m, bit in zip(masses, row))
    return out


def pairs(v):
    own = 2 * math.exp(EPS) / (2 * math.exp(EPS) + K - 2)
    return {
        json.dumps(list(pair)): own / (K - 1) if v in pair else (1 - own) / math.comb(K - 1, 2)
        for pair in itertools.combinations(range(K), 2)
    }


@pytest.mark.parametrize("names, known", [
    ("good imported_early enclosed device number_grr legacy_grr state_grr floor_grr chosen_grr", grr),
    ("bits number_oue legacy_oue", oue),
    ("subset number_subset", pairs),
])  # fmt: skip
@apart
def test_mechanisms_coded_in_python_and_numpy_have_their_distribution(names, known):
    for name in names.split():
        result = found(name, range(3))
        assert result.reason == "", name
        for v in range(3):
            mine = law(result.ways[v])
            assert mine.keys() == known(v).keys(), name
            for report, mass in known(v).items():
                assert mine[report] == pytest.approx(mass, abs=1e-12), (name, report)
        assert result.loss == pytest.approx(1.0, abs=1e-12)


@apart
def test_a_client_of_every_report_type():
    for report, function in (("value", clients.number_grr), ("bits", clients.number_oue)):
        result = exact_client(Client(function, K, report, EPS))
        assert result.status == "none found" and len(result.ways) == K
        assert result.loss == pytest.approx(1.0, abs=1e-12)


@apart
def test_the_curve_has_all_reports_by_falling_ratio_and_delta_allows_the_first():
    result = found("one_in_a_million")
    curve = result.curve((0, 1))
    assert curve[0] == ('{"clear": 0}', pytest.approx(1e-6, rel=1e-9), 0.0)
    assert [math.fsum(column) for column in list(zip(*curve))[1:]] == pytest.approx([1, 1])
    ratios = [one / two if two else math.inf for _, one, two in curve]
    assert ratios == sorted(ratios, reverse=True)
    leading = 'for 0, with probability 1e-06: when random() < 1e-06: {"clear": 0} is sent'
    assert result.leading()[0] == leading
    kept = found("one_in_a_million", delta=1e-6)  # which allows the rare leak
    assert kept.status == "none found" and kept.loss == pytest.approx(1, abs=1e-5)
    assert found("one_in_a_million", delta=0.9e-6).loss == math.inf


def looped(name, epsilon, inputs=(0, 1), **more):
    return exact_client(getattr(loops, name), epsilon, inputs=[*inputs], **{"tapes": 5} | more)


GAUSS = 1.2309381142715567  # from the masses exp(-x^2 / 2), summed over 121 values


@pytest.mark.parametrize("name, claim, loss, status, more", [
    ("rejection", 1.0, 1.0, "none found", {"inputs": range(4)}),
    ("rejection", 0.999, 1.0, "violation", {}),
    ("geometric", 1.7, 1 + math.log(2), "none found", {}),
    ("geometric", 1 + math.log(2), 1 + math.log(2), "none found", {}),
    ("geometric", 1.69, 1 + math.log(2), "violation", {}),
    ("capped", 2.0, math.inf, "violation", {}),
    ("series", 0.5, -math.log(math.expm1(0.5)), "none found", {}),
    ("laplace", 1.0, 1.0, "none found", {}),
    ("laplace_off_by_one", 1.0, 1 + math.log(2), "violation", {}),
    ("gauss", 1.3, GAUSS, "none found", {"delta": 0.1}),
    ("gauss", 1.16, GAUSS, "violation", {"delta": 0.1}),
])  # fmt: skip
@apart
def test_loops_have_an_interval_around_their_loss(name, claim, loss, status, more):
    with pytest.MonkeyPatch.context() as patch:
        least = 1e-12 if name == "geometric" else 1e-6
        patch.setattr(verdict, "_LEFT", least)
        result = looped(name, claim, **more)
    assert result.status == status, result.verdict
    assert result.lower - 1e-12 <= loss <= result.upper + 1e-12
    assert result.lower == result.upper or result.upper - result.lower < max(0.01, 30 * least)
    assert 0 <= result.remaining < 1e-2
    assert (result.row()["loss"] is None) == (result.remaining > 0)


@apart
def test_the_mass_that_is_left_goes_into_delta():
    """Unrolled by hand: `ways` of a geometric loop leave exp(-1) to the number of rounds."""
    result = looped("geometric", 3.0, ways=24)
    assert result.remaining >= math.exp(-12) and result.status == "none found"
    row = result.row()
    assert row["lower"] <= 1 + math.log(2) <= row["upper"] and row["remaining"] == result.remaining
    few = looped("geometric", 3.0, ways=8)
    assert few.status == "not exact" and "were not run" in few.reason
    with pytest.raises(ValueError, match="seconds must be"):
        looped("geometric", 3.0, seconds=0)


@pytest.mark.parametrize("table", [
    [[0.5, 0.2, 0.28, 0.02], [0.25, 0.4, 0.35, 0.0]], [[0.5, 0.2, 0.3], [0.25, 0.4, 0.35]],
])  # fmt: skip
@pytest.mark.parametrize("p_left", [0, 0.02])
@pytest.mark.parametrize("q_left", [0, 0.003, 0.01])
@pytest.mark.parametrize("delta", [0, 0.05])
def test_the_interval_is_valid_wherever_the_mass_goes(table, p_left, q_left, delta):
    """All mass that is left may belong to any report under one input, and to any under the other."""
    known = np.array(table) * [[1 - p_left], [1 - q_left]]
    curve = sorted(zip("abcd", *known), key=lambda r: -r[1] / r[2] if r[2] else -math.inf)

    def loss(p, q, delta):
        events = itertools.product((False, True), repeat=len(p))
        sums = [(p[list(e)].sum() - delta, q[list(e)].sum()) for e in events]
        ratios = [math.log(a / b) if b else math.inf for a, b in sums if a > 1e-12]
        return max(ratios, default=-math.inf)

    for claim in (0.1, 0.6, 0.7, 0.8, 5.0):
        lower, _, upper, added = verdict._interval([*curve], p_left, q_left, claim, delta)
        for i, j in itertools.product(range(len(curve) + 1), repeat=2):
            p, q = np.r_[known[0], 0], np.r_[known[1], 0]
            p[i] += p_left
            q[j] += q_left
            assert loss(p, q, delta) >= lower - 1e-7
            assert loss(p, q, delta + added + 1e-9) <= upper + 1e-7


@pytest.mark.parametrize("name", loops.ALIKE)
@apart
def test_ways_that_only_look_alike_are_not_joined(name):
    result = looped(name, 1.0, tapes=1, ways=1000)
    assert result.reason == ""
    assert sorted(law(result.ways[0]).values()) == pytest.approx(loops.ALIKE[name], abs=1e-12)


@apart
def test_calls_are_known_anew_where_numbers_are_drawn_at_once():
    masses = sorted(law(looped("refusing", 1.0).ways[0]).values())
    assert masses == pytest.approx([1 / 36] * 4 + [1 / 18] * 8 + [1 / 9] * 4, abs=1e-12)


@apart
def test_thresholds_are_those_of_floating_point():
    """A double of [0, 1) is a multiple of 2^-53, so that a smaller threshold asks for 0 alone."""
    result = exact_client(lambda v: random.random() < (1e-20 if v else 0.25), 1.0, inputs=[0, 1])
    assert law(result.ways[1])["true"] == 2.0**-53
    result = exact_client(lambda v: random.random() <= (0.0 if v else 0.25), 1.0, inputs=[0, 1])
    assert law(result.ways[1])["true"] == 2.0**-53
    assert law(result.ways[0])["true"] == 0.25 + 2.0**-53


@pytest.mark.parametrize("use, law_of_it", [
    (lambda u: int(4 * u), [0.25] * 4),
    (lambda u: round(3 - u * 2), {1: 0.25, 2: 0.5, 3: 0.25}),
    (lambda u: math.floor(-u * 2 - 0.5), {-3: 0.25, -2: 0.5, -1: 0.25}),
    (lambda u: math.ceil(u + 0.5), {1: 0.5, 2: 0.5}),
    (lambda u: abs(u - 0.5) < 0.1, {True: 0.2, False: 0.8}),
    (lambda u: (u < 0.7) + (u < 0.2), {2: 0.2, 1: 0.5, 0: 0.3}),
    (lambda u: bool(np.floor(np.array([u * 4]))[0] == 1), {True: 0.25, False: 0.75}),
    (lambda u: int(np.searchsorted([0.1, 0.6], u)), [0.1, 0.5, 0.4]),
    (lambda u: u >= 0.3 and u >= 0.6, {True: 0.4, False: 0.6}),
    (lambda u: bool(np.float64(0.3) > u), {True: 0.3, False: 0.7}),
])  # fmt: skip
@apart
def test_monotone_functions_of_a_coin(use, law_of_it):
    result = exact_client(lambda v: use(random.random()), 1.0, inputs=[0, 1])
    wanted = dict(enumerate(law_of_it)) if isinstance(law_of_it, list) else law_of_it
    wanted = {json.dumps(key): pytest.approx(mass, abs=1e-12) for key, mass in wanted.items()}
    assert result.reason == "" and law(result.ways[0]) == wanted


@pytest.mark.parametrize("use", [
    lambda u, w: u < w, lambda u, w: u + w < 1, lambda u, w: 1 / u < 2, lambda u, w: u**2 < 0.5,
    lambda u, w: u % 0.5 < 0.2, lambda u, w: u < np.float32(0.3), lambda u, w: u * math.inf > 1,
    lambda u, w: round(u, 1), lambda u, w: f"{u:.1f}", lambda u, w: {u: 1}, lambda u, w: bool(u),
    lambda u, w: np.log(u) < -1, lambda u, w: math.exp(u) < 2, lambda u, w: sorted([u, w])[0] < 0.5, lambda u, w: u,
])  # fmt: skip
@apart
def test_other_arithmetic_hands_over(use):
    result = exact_client(lambda v: use(random.random(), random.random()), 1.0, inputs=[0, 1])
    assert "arithmetic" in result.reason


@apart
def test_numpys_draws_have_the_types_and_errors_of_numpy():
    rng = np.random.default_rng(1)
    draws = [
        lambda rng: rng.integers(3, 5), lambda rng: rng.integers([1, 2], [2, 4]),
        lambda rng: rng.integers(0, 1, 3, endpoint=True), lambda rng: rng.integers(2, size=(2, 1), dtype=np.int8),
        lambda rng: rng.binomial(2, [0.4, 0.5]), lambda rng: rng.choice(3, 2, replace=False),
        lambda rng: rng.choice(["a", "bc"]), lambda rng: rng.permutation(3), lambda rng: rng.permutation([[1, 2], [3, 4]]),
    ]  # fmt: skip
    for draw in draws:
        seen = []

        def client(values, given, draw=draw, seen=seen):
            seen.append(draw(given))
            return [np.asarray(seen[-1]).tolist()] * len(values)

        result = exact_client(client, 1.0, inputs=[0, 1])
        assert result.reason == ""
        usual = {json.dumps(np.asarray(draw(rng)).tolist()) for _ in range(400)}
        # at most 9 reports of probability >= 0.04: all are seen but with probability 9 .96^400
        assert usual == set(law(result.ways[0]))
        assert {type(one) for one in seen} == {type(draw(rng))}
        assert {np.asarray(one).dtype.kind for one in seen} == {np.asarray(draw(rng)).dtype.kind}
    with pytest.raises(ValueError, match="(?i)probabilities do not sum to 1"):
        exact_client(lambda values, rng: [rng.choice(2, p=[0.5, 0.6])], 1.0, inputs=[0, 1])
    with pytest.raises(ValueError, match="high <= 0"):
        exact_client(lambda v: np.random.randint(0), 1.0, inputs=[0, 1])


@pytest.mark.parametrize("use, words", [
    (lambda rng: rng.random(dtype=np.float32) < 0.5, "dtype"),
    (lambda rng: rng.random(out=np.empty(1))[0] < 0.5, "dtype or an array of its own"),
    (lambda rng: rng.binomial(1000, 0.5), "binomial of 1000"),
    (lambda rng: rng.choice([[1], [2]]), "choice of rows"),
    (lambda rng: rng.choice(2, 2, False, None, 0, False), "no certain order"),
    (lambda rng: rng.bit_generator.state["state"], "bit_generator"),
    (lambda rng: rng.spawn(1)[0].integers(2), "spawn"),
    (lambda rng: rng.integers(2**40), "2^40 values"),
    (lambda rng: rng.integers(0, 2, 40).tolist(), "more than 2,000 ways"),
])  # fmt: skip
@apart
def test_draws_that_are_not_followed_hand_over(use, words):
    def client(values, rng):
        return [np.asarray(use(rng)).tolist() for _ in values]

    result = exact_client(client, 1.0, inputs=[0, 1], ways=2000)
    assert words in result.reason


@pytest.mark.parametrize("drawn", [
    lambda: random.random() < 0,
    lambda: random.SystemRandom().randrange(1),
    lambda: os.urandom(0),
    lambda: np.random.random() < 0,
])  # fmt: skip
@apart
def test_a_client_that_never_ends_is_ended(drawn):
    def endless(v):
        while not drawn():
            pass

    def rarely(v):
        return v if random.random() >= 1e-9 else endless(v)

    running = threading.active_count()
    assert "does not end" in exact_client(endless, 1.0, inputs=[0, 1], seconds=0.1).reason
    for thread in threading.enumerate()[running:]:
        thread.join()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "_DRAWS", 1000)
        assert "draws more than" in exact_client(rarely, 1.0, inputs=[0, 1], tapes=5).reason

    def stuck(v):
        hit = random.random() < 1e-9
        while hit:  # without another draw
            pass
        return v

    assert "does not end" in exact_client(stuck, 1.0, inputs=[0, 1], tapes=5, seconds=0.2).reason


@apart
def test_a_large_epsilon_needs_more_calls_than_the_budget():
    result = exact_client(clients.unnoised, 9.0, inputs=[0, 1], ways=1000)
    assert "raise the number of ways" in result.reason
    assert exact_client(clients.good, 9.0, inputs=[0, 1], ways=1000).status == "none found"


def places():
    rng = vars(random.Random), vars(random.SystemRandom), vars(np.random), vars(clients)
    names = [dict(space) for space in rng]
    return names, os.urandom, random._urandom, secrets.randbits, time.time, os.getpid


@apart
def test_all_is_put_back_also_after_an_exception():
    before, state = places(), random.getstate()
    old = np.random.get_state()
    for name in ("good", "seeded_globally", "legacy_grr", "state_grr", "clock", "noise"):
        found(name)
        assert places() == before
    with pytest.raises(ValueError, match="ZeroDivisionError"):
        found("fails")
    assert places() == before
    calls = itertools.count()

    def interrupted(v):
        if next(calls) == 470:
            raise KeyboardInterrupt
        return random.random() < 0.5

    with pytest.raises(KeyboardInterrupt):
        exact_client(interrupted, 1.0, inputs=[0, 1])
    assert places() == before
    random.setstate(state)
    np.random.set_state(old)
    assert type(random.random()) is float and type(np.random.random()) is float


@apart
def test_nested_use_is_refused():
    def client(v):
        return exact_client(clients.good, 1.0, inputs=[0, 1]).status

    with pytest.raises(ValueError, match="must not be nested"):
        inner = itertools.count()
        exact_client(lambda v: client(v) if next(inner) else 0, 1.0, inputs=[0, 1])
    assert found("good").status == "none found"


@apart
def test_another_thread_is_refused():
    refused = []

    def other():
        try:
            replay(clients.good, [0, 1])
        except RuntimeError as error:
            refused.append(str(error))

    def client(v):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return 0

    inner = itertools.count()
    exact_client(lambda v: client(v) if next(inner) == 3 else 0, 1.0, inputs=[0, 1])
    assert len(refused) == 1 and "nested" in refused[0]


@apart
def test_other_threads_keep_their_clocks_and_coins():
    """A notebook sends what was printed from a thread of its own, which asks for time and names."""
    asked, answered = threading.Event(), threading.Event()
    seen = []

    def beside():
        while asked.wait():
            asked.clear()
            seen.append((os.getpid(), os.urandom(16), random.SystemRandom().random()))
            answered.set()

    thread = threading.Thread(target=beside, daemon=True)
    thread.start()

    def client(value):
        asked.set()
        assert answered.wait(30)
        answered.clear()
        return value if random.random() < 0.5 else 1 - value

    result = exact_client(client, EPS, inputs=[0, 1], tapes=5)
    assert (result.status, result.loss) == ("none found", 0.0)
    assert {pid for pid, *_ in seen} == {os.getpid()}
    assert len({name for _, name, _ in seen}) == len({coin for *_, coin in seen}) == len(seen) > 50


@apart
def test_coins_that_change_nothing_are_suspect():
    (one,) = replay(lambda v: [v, random.random()][0], [0, 1])
    assert one.kind == "suspect"
    assert [one.kind for one in replay(lambda v: 5, [0, 1])] == ["constant"]
    assert replay(clients.laplace, [0, 1]) == []


@apart
def test_a_seed_is_named():
    kinds = [tuple(one) for one in replay(clients.seeded_by_value, [0, 1])]
    assert ("violation", "0: random.seed(4) whatever the coins") in kinds
    assert ("violation", "1: random.seed(5) whatever the coins") in kinds
    text = " ".join(one.text for one in replay(clients.seeded_globally, [0, 1]))
    assert "numpy.random.seed(7)" in text and "random.seed('seven')" in text


def command(client, *more):
    """Status, output and error of the command."""
    given = ["exact", "--client", f"exact_clients:{client}", "--inputs", "[0, 1]", "--epsilon", "1",
             "--seconds", "1000"]  # fmt: skip
    out, err = io.StringIO(), io.StringIO()
    aside = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with aside[0], aside[1], pytest.raises(SystemExit) as end:
        main([*given, *more])
    return end.value.code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("client, status, words", [
    ("good", 0, "The exact loss is 1, which keeps the claim"),
    ("one_in_a_million", 1, 'when random() < 1e-06: {"clear": 0} is sent'),
    ("laplace", 4, "Not exact: numpy's laplace has no finite range"),
    ("nobody", 2, ""),
])  # fmt: skip
@apart
def test_exit_statuses(client, status, words):
    code, out, err = command(client)
    assert code == status and words in out
    assert bool(err) == (status == 2)


@apart
def test_a_secret_of_the_start_is_found_out():
    """Ten more starts all draw the secret of the first with probability 2^-10."""
    code, out, _ = command("secret", "--tapes", "2")
    assert code == 4 and "another start" in out


@apart
def test_json_is_one_object():
    code, out, _ = command("one_in_a_million", "--json")
    row = json.loads(out)
    assert code == 1 and row["loss"] == "inf" and row["ways"] == 12 and row["status"] == "violation"
    code, out, _ = command("clock", "--json")
    row = json.loads(out)
    assert code == 4 and row["loss"] is None and row["findings"][0]["kind"] == "unknown"


@apart
def test_compiled_code_is_found_out():
    """Its own generator agrees with itself in 40 calls with probability 2^-39."""
    import numba  # last: it brings many objects

    flip = numba.njit(lambda v: v ^ (np.random.random() < 0.5))
    result = exact_client(lambda v: flip(v), 1.0, inputs=[0, 1])
    assert "repeat itself" in result.reason
