"""Properties of every mechanism on small domains, with parameters that hypothesis chooses
(derandomised): the whole law of a report is enumerated. Only real reports are judged by chance, by
fewer than 50 p-values against `chance.P_MIN`."""

import functools
import inspect
import itertools
import math
import zlib

import numpy as np
import pytest
from chance import P_MIN, chi_square_p
from hypothesis import given, note, seed, settings
from hypothesis import strategies as st
from numpy.lib.recfunctions import structured_to_unstructured
from scipy import linalg, stats

from ldpkit import mechanisms as lib
from ldpkit.attacks.reconstruct import finite_distribution
from ldpkit.beyond.sketch import CountMeanSketch
from ldpkit.mechanisms import KEY_VALUE, MECHANISMS, RAPPOR, RSFD, Repeated, make, takes
from ldpkit.mechanisms.longitudinal import BucketFlip, Buckets, Chained
from ldpkit.reports import HASH_REPORT, Attributes, Rounds, hash_cell
from ldpkit.reports.base import product_distribution

ROUNDING = 1e-12
PROPERTY = settings(derandomize=True, deadline=None, database=None, max_examples=14)
EPSILON = st.floats(0.01, 6)  # beyond, 1 - p has lost the digits that a ratio exact to 1e-12 needs


def each(names):
    """A property of every mechanism of these names, each with examples of its own."""

    def tested(holds):
        def test():
            for name in names:

                @seed(zlib.crc32(f"{holds.__name__} {name}".encode()))
                @PROPERTY
                @given(data=st.data())
                def one(data):
                    note(f"of {name}")
                    holds(name, data)

                one()

        return test

    return tested


@functools.cache
def seeds(k, g):
    """One real hash seed for every function from 0..k-1 to 0..g-1, in the order of `product`."""
    found, seed = {}, 0
    while len(found) < g**k:
        found.setdefault(tuple(int(hash_cell(v, seed, g)) for v in range(k)), seed)
        seed += 1
    return [found[cells] for cells in itertools.product(range(g), repeat=k)]


def single(m):
    """Reports of one user as `perturb` returns them, and their probabilities, a row per value."""
    form = m.report_type
    if form.name == "hash":  # a uniform function, and its cell of the value, kept or replaced
        maps = np.array(list(itertools.product(range(m.g), repeat=m.k)))
        pairs = np.array(list(itertools.product(range(len(maps)), range(m.g))))
        reports = np.array([(seeds(m.k, m.g)[i], cell) for i, cell in pairs], HASH_REPORT)
        kept = pairs[:, 1] == maps[pairs[:, 0]].T
        return list(reports[:, None]), np.where(kept, m.p, (1 - m.p) / (m.g - 1)) / len(maps)
    if form.name == "buckets":
        reports, law = [], []
        for shown in itertools.combinations(range(m.buckets), m.bits):
            rates = [[m.p if v // m.size == b else m.q for b in shown] for v in range(m.k)]
            for bits in itertools.product((0, 1), repeat=m.bits):
                report = np.full((1, m.buckets), -1, np.int8)
                report[0, list(shown)] = bits
                masses = [[r if b else 1 - r for r, b in zip(row, bits)] for row in rates]
                law.append([*map(math.prod, masses)])
                reports.append(report)
        return reports, np.array(law).T / math.comb(m.buckets, m.bits)
    if form.name == "signs":  # any function, any indices, and the true signs or any others
        places = itertools.product(range(form.order), repeat=form.t)
        hadamard = linalg.hadamard(form.order)
        reports, law = [], []
        for j, indices in itertools.product(range(len(form.table)), places):
            minus = hadamard[form.table[j]][:, indices] < 0
            true = minus @ 2 ** np.arange(form.t)[::-1]
            for signs in range(2**form.t):
                named = {"hash": j, "indices": indices, "signs": signs}
                reports.append(np.array([tuple(named[n] for n in form.form.names)], form.form))
                law.append(np.where(true == signs, m.p, (1 - m.p) / (2**form.t - 1)))
        return reports, np.array(law).T / len(reports) * 2**form.t
    if form.name == "bloom":  # any cohort, any bits
        bits = np.array(list(itertools.product((0, 1), repeat=m.m)), np.uint8)
        law = []
        for v in range(m.k):
            held = [np.isin(np.arange(m.m), form.places[c, :, v]) for c in range(m.cohorts)]
            rates = np.where(held, form.own, form.other)
            law.append([np.where(row, r, 1 - r).prod() for r in rates for row in bits])
        reports = [np.array([(c, row)], form.form) for c in range(m.cohorts) for row in bits]
        return reports, np.array(law) / m.cohorts
    if form.name == "sketch":
        signs, at = np.array(list(itertools.product((-1, 1), repeat=m.m))), np.arange(m.m)
        pairs = [(j, row) for j in range(m.hashes) for row in signs]
        own = [[np.where(at == form.table[j, v], 1, -1) for j, _ in pairs] for v in range(m.k)]
        kept = np.array(own) == [row for _, row in pairs]
        law = np.where(kept, m.p, 1 - m.p).prod(axis=2) / m.hashes
        return list(np.array(pairs, form.form)[:, None]), law
    listed = {
        "index": lambda: np.arange(m.order)[:, None],
        "value": lambda: np.arange(m.k)[:, None],
        "bits": lambda: np.array(list(itertools.product((0, 1), repeat=m.k)), np.uint8)[:, None],
        "subset": lambda: np.array(list(itertools.combinations(range(m.k), m.omega)))[:, None],
    }
    wanted = "list its reports in `single`, or enter its mechanism in `NOISY`, of tests/ldpkit/test_properties.py"
    assert form.name in listed, f"no reports of type {form.name} are listed: {wanted}"
    return list(listed[form.name]()), finite_distribution(m)


def chained(m):
    """The permanent report is kept or flipped, symbol by symbol, in every round."""
    reports, law = single(m.permanent)
    keep, flip = m.second
    if m.protocol == "GRR":
        again = np.where(np.eye(m.k) == 1, keep, flip)
    else:
        rates = [np.where(kept[0], keep, flip) for kept in reports]
        again = np.array([product_distribution([(1 - r, r) for r in row]) for row in rates])
    rounds = [functools.reduce(np.multiply.outer, [row] * m.tau).ravel() for row in again]
    return [list(r) for r in itertools.product(reports, repeat=m.tau)], law @ np.array(rounds)


def outputs(m):
    """All inputs of one user, all reports, and the law: a row per input, a column per report."""
    values = list(range(m.report_type.k))
    if isinstance(m, Chained):
        return values, *chained(m)
    if isinstance(m, Repeated):
        reports, law = single(m.mechanism)
        if m.memoise:
            return values, [[r] * m.tau for r in reports], law
        whole = [functools.reduce(np.multiply.outer, [row] * m.tau).ravel() for row in law]
        return values, [list(r) for r in itertools.product(reports, repeat=m.tau)], np.array(whole)
    if isinstance(m, RSFD):
        reports, real = single(m.attribute(0))
        if m.base.endswith("z"):
            fake = product_distribution([(1 - m.attribute(0).q, m.attribute(0).q)] * m.k)
        else:
            fake = np.full(m.k, 1 / m.k) if m.base == "GRR" else real.mean(axis=0)
        records = list(itertools.product(values, repeat=m.d))
        law = []
        for record in records:
            whole = 0
            for j in range(m.d):
                part = [real[v] if i == j else fake for i, v in enumerate(record)]
                whole += functools.reduce(np.multiply.outer, part).ravel()
            law.append(whole / m.d)
        return records, [list(r) for r in itertools.product(reports, repeat=m.d)], np.array(law)
    return values, *single(m)


def loss(law):
    """Largest log ratio of one report's probabilities under two inputs."""
    return math.log((law.max(axis=0) / law.min(axis=0)).max())


def excess(law, epsilon):
    """Largest ``P1(S) - e^epsilon P2(S)`` over events and pairs of inputs."""
    pairs, grown = itertools.permutations(law, 2), math.exp(epsilon)
    return max(np.maximum(a - grown * b, 0).sum() for a, b in pairs)


@st.composite
def parameters(draw, name):
    """Parameters of a mechanism whose reports can be listed."""
    k, epsilon = draw(st.integers(2, 4)), draw(EPSILON)
    if "LH" in name:  # g^k functions
        k, epsilon = draw(st.integers(2, 3)), draw(st.floats(0.01, 2))
    if name == "dBitFlipPM":
        k = draw(st.sampled_from([2, 4, 6]))
    buckets = draw(st.sampled_from([b for b in (2, 3, 4) if k % b == 0 and b <= k]))
    wanted = {
        "k": k if not name.startswith("RSFD") else min(k, 3), "epsilon": epsilon,
        "g": draw(st.integers(2, 5)), "omega": draw(st.integers(1, k - 1)),
        "p": draw(st.floats(0.05, 0.95)), "theta": draw(st.floats(0, 1)),
        "delta": min(draw(st.floats(1e-6, 0.1)), epsilon / 22),  # AOLH refuses a larger one
        "first": epsilon * draw(st.floats(0.1, 0.9)) * (0.7 if name == "L-OUE" else 1),
        "tau": draw(st.integers(1, 3)), "d": 2,
        "m": 2 * draw(st.integers(1, 2)) if name == "HCMS" else draw(st.integers(2, 3)),
        "hashes": draw(st.integers(1, 3)), "buckets": buckets, "bits": draw(st.integers(1, buckets)),
        "protocol": draw(st.sampled_from(["SUE", "OUE"])),
    }  # fmt: skip
    if name in ("L-SUE", "L-OSUE", "L-OUE"):
        wanted["k"], wanted["tau"] = min(k, 3), min(wanted["tau"], 2)
    if name == "HM":
        wanted["t"] = draw(st.integers(1, 2))
    if name == "RAPPOR":
        wanted |= {"h": draw(st.integers(1, 3)), "cohorts": draw(st.integers(1, 3))}
        wanted |= {"keep": draw(st.floats(0.6, 1)), "flip": draw(st.floats(0, 0.4))}
        wanted["tau"] = None  # many weeks are listed in test_rappor_weeks.py
    left = {*inspect.signature(MECHANISMS[name]).parameters} - {*wanted, "base"}
    assert not left, f"draw {left} in `parameters` of {__file__}"
    fixed = ("protocol",) if name.startswith("L-") else ()
    return {key: value for key, value in wanted.items() if takes(name, key) and key not in fixed}


# no report of theirs is listed; FLH is in test_fast_hashing.py, and those without a domain draw from a density, see test_protocols.py
NOISY = ("SHE", "GM", "AGM", "FLH", *(name for name in MECHANISMS if not takes(name, "k")))
APPROXIMATE = ("AGRR", "ASUE", "ABLH", "AOLH")
LEAKY = ("LHO", "FaultyUE")
LISTED = [name for name in MECHANISMS if name not in NOISY]
PURE = [name for name in LISTED if name not in APPROXIMATE + LEAKY]


@each(LISTED)
def test_the_law_of_a_report_sums_to_one(name, data):
    law = outputs(make(name, **data.draw(parameters(name))))[2]
    assert law.min() >= 0 and law.sum(axis=1) == pytest.approx(1, abs=ROUNDING)


@each(PURE)
def test_no_report_tells_more_than_epsilon_and_tight_mechanisms_use_it_up(name, data):
    m = make(name, **data.draw(parameters(name)))
    inputs, _, law = outputs(m)
    epsilon = m.epsilon
    if isinstance(m, RSFD):
        # records that differ in every attribute, in one, and in one with uniform fake bits
        assert loss(law) == pytest.approx(m.amplified, rel=1e-9)
        pairs = itertools.combinations(range(len(inputs)), 2)
        near = [p for p in pairs if np.not_equal(*(inputs[i] for i in p)).sum() == 1]
        found = max(loss(law[list(pair)]) for pair in near)
        if m.base.endswith("r") and m.k > 2:
            assert found > epsilon * (1 + 1e-6)
            return
    else:
        found = loss(law)
    assert math.exp(found) <= math.exp(epsilon) * (1 + ROUNDING)
    if name in ("THE", "ATHE"):  # epsilon is that of the noisy vector
        epsilon = math.log(m.p * (1 - m.q) / (m.q * (1 - m.p)))
    elif name == "RAPPOR":  # of real pairs, which share bits; no pair loses more than is stated
        assert found <= m.first + ROUNDING <= m.epsilon + 2 * ROUNDING
        epsilon = max(m.report_type.loss(pair) for pair in itertools.permutations(range(m.k), 2))
    elif isinstance(m, CountMeanSketch):  # two values that no function tells apart
        pairs = itertools.combinations(range(m.k), 2)
        epsilon *= max(m.report_type.apart(pair) > 0 for pair in pairs)
    elif name == "dBitFlipPM" and m.bits == 1:  # one bit answers for one bucket
        epsilon = m.epsilon / 2
    elif isinstance(m, Chained) and m.tau > 1:
        assert found > m.first  # many reports approach epsilon
        return
    elif isinstance(m, Chained):
        epsilon = m.first
    assert found == pytest.approx(epsilon, rel=1e-9, abs=1e-12)


def guesses(form, report):
    """Probability of each guess from one report."""
    if isinstance(form, Attributes):
        return np.mean([guesses(part, r) for part, r in zip(form.parts, report)], axis=0)
    if isinstance(form, Rounds):
        tally = sum(np.asarray(form.part.tally(r), float) for r in report)[0]
    elif isinstance(form, Buckets):
        tally = np.repeat(report[0] == 1, form.size)
    else:
        tally = np.asarray(form.tally(report), float)[0]
    best = tally == tally.max()
    return best / best.sum()


@each([name for name in LISTED if name != "LHO"])
def test_rates_and_loss_of_any_pair_are_sums_over_all_reports(name, data):
    """No loss means that no report tells two values apart."""
    m = make(name, **data.draw(parameters(name)))
    inputs, reports, law = outputs(m)
    form = m.report_type
    pair = data.draw(st.sampled_from(list(itertools.permutations(range(form.k), 2))))
    try:
        pair = m.pair(pair)
    except ValueError:  # two values of one bucket
        assert loss(law[list(pair)]) == pytest.approx(0, abs=ROUNDING)
        return
    rows = [inputs.index((v,) * m.d) if isinstance(m, RSFD) else v for v in pair]
    found = math.log((law[rows[0]] / law[rows[1]]).max())
    assert form.loss(pair) == pytest.approx(found, rel=1e-9, abs=1e-12)
    named = [guesses(form, report)[pair[0]] for report in reports]
    assert form.guess_rates(pair) == pytest.approx(law[rows] @ named, rel=1e-10)
    score = np.array([form.score(m.read(report), pair)[0] for report in reports])
    for threshold in form.thresholds():
        wanted = pytest.approx(law[rows] @ (score >= threshold), rel=1e-9, abs=1e-14)
        assert form.score_rates(threshold, pair) == wanted, threshold


@each(APPROXIMATE)
def test_no_event_exceeds_epsilon_by_more_than_delta_and_one_reaches_it(name, data):
    m = make(name, **data.draw(parameters(name)))
    wanted = m.delta * (1 - 1 / m.g) if m.report_type.name == "hash" else m.delta
    found = excess(outputs(m)[2], m.epsilon)
    assert found <= m.delta + ROUNDING
    assert found == pytest.approx(wanted, rel=1e-8, abs=1e-13 * math.exp(m.epsilon))


@PROPERTY
@given(data=st.data())
def test_the_faulty_and_the_bare_mechanism_leak_what_they_are_said_to(data):
    faulty = make("FaultyUE", **data.draw(parameters("FaultyUE")))
    found = loss(outputs(faulty)[2])
    assert found == pytest.approx(faulty.true_epsilon, rel=1e-9) and found > faulty.epsilon
    law = outputs(make("LHO", **data.draw(parameters("LHO"))))[2]
    assert ((law.min(axis=0) == 0) & (law.max(axis=0) > 0)).any()


@each(["GRR", "SS", "SUE", "OUE", "BLH"])
def test_fresh_noise_costs_tau_epsilon_and_remembered_noise_one(name, data):
    once = make(name, **data.draw(parameters(name)) | {"k": 2})
    tau = data.draw(st.integers(1, 3))
    for memoise in (False, True):
        m = Repeated(once, tau, memoise)
        _, _, law = outputs(m)
        assert law.sum(axis=1) == pytest.approx(1, abs=ROUNDING)
        assert loss(law) == pytest.approx(m.epsilon, rel=1e-9)
        assert m.epsilon == once.epsilon * (1 if memoise else tau)


@PROPERTY
@given(epsilon=EPSILON, delta=st.floats(1e-6, 0.1))
def test_noise_on_real_numbers_keeps_its_guarantee(epsilon, delta):
    she, points = lib.SHE(2, epsilon), np.linspace(-3, 4, 141)  # 0 and 1 are among them
    own, other = (stats.laplace.logpdf(points, loc, she.scale) for loc in (1, 0))
    ratio = (own - other)[:, None] + (other - own)  # first coordinate, second coordinate
    assert ratio.max() == pytest.approx(epsilon, rel=1e-9) and ratio.max() <= epsilon + ROUNDING
    for cls in (lib.GM, lib.AGM):
        m = cls(2, min(epsilon, 1.0) if cls is lib.GM else epsilon, delta)
        # along the line through the two one-hot vectors the noise is one-dimensional, sqrt(2) apart
        cut = m.epsilon * m.scale / math.sqrt(2)
        gap, spread = math.sqrt(0.5), m.scale
        first, second = (stats.norm.sf(cut * m.scale, side, spread) for side in (gap, -gap))
        found = first - math.exp(m.epsilon) * second
        assert found <= delta * (1 + 1e-9)
        assert cls is lib.GM or found == pytest.approx(delta, rel=1e-6)


def truth(m, record):
    """What a server that sees only this user should find."""
    if isinstance(m, BucketFlip):
        return np.eye(m.buckets)[record // m.size]
    if isinstance(m, RAPPOR):  # likewise in all of whose bits many are set
        form = m.report_type
        rates = [np.where(row, form.own, form.other) for row in form.pattern(record)]
        places = [[list({*form.places[c, :, v]}) for c in range(m.cohorts)] for v in range(m.k)]
        held = [[rate[at].prod() for rate, at in zip(rates, row)] for row in places]
        return (np.mean(held, axis=1) - m.q) / (m.p - m.q)
    if isinstance(m, CountMeanSketch):
        # so is a value in all that share its cell, over all functions
        share = (m.report_type.table == m.report_type.table[:, [record]]).mean(axis=0)
        return (share - 1 / m.m) / (1 - 1 / m.m)
    return np.eye(m.k)[list(record) if isinstance(m, RSFD) else record]


@each(LISTED)
def test_the_expectation_of_the_estimate_is_the_truth(name, data):
    """One user decides, as estimates are means; buckets not shown are left to others."""
    m = make(name, **data.draw(parameters(name)) | ({} if name != "FaultyUE" else {"epsilon": 1.0}))
    inputs, reports, law = outputs(m)
    found = np.array([m.estimate(report) for report in reports])
    noise = np.abs(found).max()  # estimates of tiny budgets are huge before they cancel
    for record, row in zip(inputs, law):
        if isinstance(m, BucketFlip):
            shown = np.array([report[0] >= 0 for report in reports])
            mean = (row[:, None] * shown * found).sum(axis=0) / (row @ shown)
        else:
            mean = np.tensordot(row, found, axes=1)
        assert mean == pytest.approx(truth(m, record), abs=1e-10 * max(1, noise / 100))


SETS = [[], [(0, -1.0)], [(0, 1.0)], [(0, 0.3)], [(1, -0.6)], [(0, 1.0), (1, -1.0)]]


@st.composite
def key_value(draw, name):
    """A key-value mechanism over two keys whose reports can be listed."""
    epsilon = draw(EPSILON)
    if name.startswith("PCKV"):
        return KEY_VALUE[name](2, epsilon, draw(st.integers(1, 3)), draw(st.floats(0.2, 1)))
    own = {"buckets": draw(st.sampled_from([2, 4]))} if name != "PrivKV" else {}
    return KEY_VALUE[name](2, epsilon, **own, rounds=draw(st.integers(1, 3)))


def records(m):
    """Every possible report of one user, in the order of the law."""
    if m.name == "PCKV-UE":
        return [np.array([r], np.int8) for r in itertools.product((-1, 0, 1), repeat=m.d)]
    if m.name == "PCKV-GRR":
        return [np.array([r]) for r in itertools.product(range(m.d), (-1, 1))]
    width = (m.buckets,) if isinstance(m, lib.CPPUE) else ()
    symbols = list(itertools.product((0, 1), repeat=m.buckets)) if width else range(m.buckets)
    record = np.uint8 if width else np.int64, width
    kind = [("key", np.int64), ("bit", np.uint8), ("record", *record)]
    answers = [(0, symbols[0] if width else 0), *((1, s) for s in symbols)]
    return [np.array([(key, *r)], kind) for key in range(m.k) for r in answers]


@each(KEY_VALUE)
def test_laws_of_key_value_reports_sum_to_one_and_keep_their_budget(name, data):
    m = data.draw(key_value(name))
    law = np.array([m.distribution(pairs) for pairs in SETS])
    assert [int(m.encode(r)[0]) for r in records(m)] == list(range(law.shape[1]))
    assert law.min() > 0 and law.sum(axis=1) == pytest.approx(1, abs=ROUNDING)
    if name.startswith("PCKV"):
        assert math.exp(loss(law)) <= math.exp(m.budget) * (1 + ROUNDING)
        if m.padding == 1 or name == "PCKV-GRR":  # otherwise padding hides the pair behind dummies
            assert loss(law) == pytest.approx(m.budget, rel=1e-9)
    elif name == "CPP-UE":  # two bits tell two slots apart: twice the value's part
        assert loss(law) <= m.epsilon / 2 + 2 * m.value_epsilon + ROUNDING
    else:
        assert math.exp(loss(law)) <= math.exp(m.epsilon / 2 + m.value_epsilon) * (1 + ROUNDING)
        assert loss(law) <= m.epsilon + ROUNDING


def test_cpp_ue_as_released_breaks_its_claim():
    """Its symmetric bits spend the value's budget twice; OUE, as in the paper's text, would not."""
    m = lib.CPPUE(1, 1.0, 4, 1)
    assert loss(np.array([m.distribution(pairs) for pairs in ([], [(0, -1.0)])])) > m.epsilon * 1.1


@each(KEY_VALUE)
def test_expected_frequencies_of_keys_are_the_truth(name, data):
    """For users with at most `padding` pairs; CPP answers about the key that was looked at."""
    m, pairs = data.draw(key_value(name)), data.draw(st.sampled_from(SETS))
    if name.startswith("PCKV") and len(pairs) > m.padding:
        pairs = pairs[: m.padding]
    with np.errstate(all="ignore"):
        found = np.array([m.estimate(report)[0] for report in records(m)])
    weight = np.where(np.isnan(found), 0, m.distribution(pairs)[:, None])
    mean = (weight * np.nan_to_num(found)).sum(axis=0) / weight.sum(axis=0)
    wanted = np.isin(np.arange(m.k), [key for key, _ in pairs]).astype(float)
    assert mean == pytest.approx(wanted, abs=1e-10 * max(1, np.nanmax(np.abs(found)) / 100))


REAL = [
    make("GRR", k=4, epsilon=1.0), make("SS", k=4, epsilon=0.3), make("OUE", k=3, epsilon=1.0), make("THE", k=3, epsilon=2.0),
    make("FaultyUE", k=3, epsilon=1.0), make("AGRR", k=3, epsilon=1.0, delta=0.05), Chained(3, 2.0, 1.0, 2, "GRR"),
    Chained(2, 2.0, 1.0, 2, "OSUE"), Repeated(make("SUE", k=2, epsilon=1.0), 2), BucketFlip(6, 1.0, 3, 2), RSFD(3, 2, 1.0),
    RSFD(2, 2, 1.0, "OUE-r"), RSFD(2, 2, 1.0, "SUE-z"), lib.HM(5, 1.3, 2), lib.HM(7, 2.0), lib.HCMS(5, 1.1, 4, 3), lib.HCMS(9, 2.0, 8, 5),
]  # fmt: skip


def test_real_reports_follow_the_law():
    n = 40_000

    def rows(reports, users):  # one of plain numbers for each user; subsets come in any order
        parts = reports if m.report_type.name in ("rounds", "tuple") else [reports]
        plain = [structured_to_unstructured(p) if p.dtype.names else p for p in parts]
        flat = [np.reshape(part, (users, -1)) for part in plain]
        return np.concatenate(
            [np.sort(f) if m.report_type.name == "subset" else f for f in flat], axis=1
        )

    for m in REAL:
        inputs, reports, law = outputs(m)
        numbers = {tuple(rows(one, 1)[0].tolist()): i for i, one in enumerate(reports)}
        for record, row in ((inputs[0], law[0]), (inputs[-1], law[-1])):
            users = np.tile(record, (n, 1)) if isinstance(m, RSFD) else np.full(n, record)
            drawn = m.perturb(users, np.random.default_rng([3, len(reports)]))
            seen, times = np.unique(rows(drawn, n), axis=0, return_counts=True)
            counts = np.zeros(len(reports), int)
            counts[[numbers[tuple(one)] for one in seen.tolist()]] = times
            assert chi_square_p(counts, row) > P_MIN, (m, record)
