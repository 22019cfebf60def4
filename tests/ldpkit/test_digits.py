"""Digits of exact rates at large budgets, where ``1 - p`` keeps few of them: every registered
mechanism against sums over all of its reports, in numbers of 60 digits, by the formulas of the
papers. Python's `decimal` computes them, because no dependency has numbers of this length."""

import collections
import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
from pytest import approx
from scipy import linalg

from ldpkit.attacks import Guess, TwoValueTest
from ldpkit.guess_success import laplace_failure, laplace_sum_failure
from ldpkit.mechanisms import MECHANISMS, make
from ldpkit.stats import tail_mass

TOLERANCE = 1e-13
"""Relative. Exponents up to 30 are rounded to 2^-53 of themselves, so an exponential is wrong by 30
units of 2^-53. A rate has at most four of them as factors, and at most 300 positive terms: 420
units, or 5e-14."""
HALF = Decimal("0.5")
RSFD = [name for name in MECHANISMS if name.startswith("RSFD")]
CHAINS = [name for name in MECHANISMS if name.startswith("L-")]
CASES = [
    *((name, {"k": 4}) for name in "GRR SS FloorSS SUE OUE BLH OLH THE HR".split()),
    *((name, {"k": 4, "delta": 2.0**-34}) for name in ("AGRR", "ASUE", "ABLH", "AOLH")),
    ("ASS", {"k": 4, "omega": 2}), ("AUE", {"k": 4, "p": 0.7}), ("AUE", {"k": 4, "p": 1 - 2.0**-20}),
    ("ALH", {"k": 4, "g": 5}), ("ATHE", {"k": 4, "theta": 0.65}), ("ATHE", {"k": 4, "theta": 0.05}),
    *(("FaultyUE", {"k": 4, "protocol": protocol}) for protocol in ("SUE", "OUE")),
    *((name, {"k": 3, "d": 2}) for name in RSFD), *(("HM", {"k": 4, "t": t}) for t in (1, 2)),
    *((name, {"k": 4, "m": 4, "hashes": 3}) for name in ("CMS", "HCMS")),
    ("FLH", {"k": 4, "g": 3, "seeds": 20}), ("RAPPOR", {"k": 4, "m": 4, "h": 1, "cohorts": 3}),
    ("RAPPOR", {"k": 4, "m": 5, "h": 2, "cohorts": 3, "keep": 0.9, "flip": 0.2}),
    *(("dBitFlipPM", {"k": 8, "buckets": 4, "bits": bits}) for bits in (1, 3, 4)),
    *((name, {"k": 3, "tau": tau}) for name in CHAINS for tau in (1, 2)),
    *((name, {"k": 4, "tau": 2}) for name in ("GRR", "SUE", "OUE", "BLH")),
    ("SHE", {"k": 4}), ("SHE", {"k": 4, "grid": 2.0**-10}), ("AGM", {"k": 2, "delta": 1e-6}),
    *((name, {}) for name in ("PM", "Duchi", "Hybrid", "SW", "DiscreteLaplace")),
    ("DiscreteLaplace", {"sensitivity": 3}),
]  # fmt: skip
ELSEWHERE = {
    "LHO": "claims no epsilon",
    "GM": "takes epsilon up to 1 only",
    "DiscreteGaussian": "takes sigma; test_discrete.py has sums of 60 digits",
}
LARGEST = {"OLH": 22, "AOLH": 22} | dict.fromkeys(RSFD, 27)
NUMBERS = ("SHE", "AGM", "PM", "Duchi", "Hybrid", "SW", "DiscreteLaplace")
PAIRS = dict.fromkeys(("PM", "Duchi", "Hybrid", "SW"), ((0.75, 0.5),))
TRIALS, TAIL = 10**6, tail_mass(0.01)  # for which an event with a threshold is chosen


# --- distributions of reports, as {report: probability} -------------------------------------------


def uniform(laws):
    """The mixture of some distributions."""
    out = {}
    for law in laws:
        for report, chance in law.items():
            out[report] = out.get(report, 0) + chance / len(laws)
    return out


def joint(*parts):
    """The distribution of a tuple of independent parts."""
    combined = itertools.product(*(part.items() for part in parts))
    return {tuple(r for r, _ in each): math.prod(c for _, c in each) for each in combined}


def bits(rates):
    return joint(*({1: rate, 0: 1 - rate} for rate in rates))


def unary(places, value, p, q):
    return bits([p if u == value else q for u in places])


def ones(report):
    return {u for u, bit in enumerate(report) if bit}


def kept(n, e, delta=0):
    """Probability of the true one of n symbols under (approximate) randomised response."""
    return (e.exp() + (n - 1) * delta) / (e.exp() + n - 1)


def keyed(k, contexts, symbol, symbols, p):
    """Symbols of values, which are kept with probability `p`; they depend on a public context."""
    contexts, symbols = list(contexts), list(symbols)

    def law(value):
        own, other = [symbol(value, c) for c in contexts], (1 - p) / (len(symbols) - 1)
        return uniform(
            [{(c, s): p if s == one else other for s in symbols} for c, one in zip(contexts, own)]
        )

    return law, lambda report: {u for u in range(k) if symbol(u, report[0]) == report[1]}


def filters(k, places, m, own, other):
    """Bits of a filter in a public cohort: one rate at the places of the value, another elsewhere."""

    def law(value):
        rates = [[own if i in row[value] else other for i in range(m)] for row in places]
        return uniform([{(c, r): n for r, n in bits(row).items()} for c, row in enumerate(rates)])

    return law, lambda r: {u for u in range(k) if all(r[1][i] for i in places[r[0]][u])}


def bit_rates(name, e, m=None):
    """Rates of the own bit and of another bit, or of the values of a random cell."""
    if name == "SUE":
        return kept(2, e / 2), 1 - kept(2, e / 2)
    if name == "OUE":
        return HALF, 1 - kept(2, e)
    if name == "AUE":
        p = Decimal(m.p)
        return p, p / (p + e.exp() * (1 - p))
    if name == "ASUE":
        root = (e.exp() * (1 - Decimal(m.delta)) + Decimal(m.delta)).sqrt()
        return (e.exp() - root) / (e.exp() - 1), (root - 1) / (e.exp() - 1)
    if name == "FaultyUE":
        p, q = bit_rates(m.protocol, e)
        return p + q - p * q, q
    if name in ("THE", "ATHE"):
        theta = Decimal(m.theta)
        return 1 - (e * (theta - 1) / 2).exp() / 2, (-e * theta / 2).exp() / 2
    assert hasattr(m, "g"), f"add the distribution of {name} to `reference` of test_digits.py"
    return kept(m.g, e, Decimal(m.delta)), 1 / Decimal(m.g)


def reference(name, m, e):
    """The distribution of a report for a value, and the values that a report supports."""
    k, form = m.k, m.report_type
    if name in ("GRR", "AGRR"):
        return keyed(k, [0], lambda u, _: u, range(k), kept(k, e, Decimal(m.delta)))
    if name in ("SS", "FloorSS", "ASS"):
        size, sets = m.omega, list(itertools.combinations(range(k), m.omega))
        p = size * e.exp() / (size * e.exp() + k - size)
        rates = (1 - p) / math.comb(k - 1, size), p / math.comb(k - 1, size - 1)
        return lambda v: {s: rates[v in s] for s in sets}, set
    if name == "HR":
        plus, p = linalg.hadamard(8)[1 : k + 1] > 0, kept(2, e)
        return (lambda v: {y: (p if plus[v, y] else 1 - p) / 4 for y in range(8)},
                lambda y: {u for u in range(k) if plus[u, y]})  # fmt: skip
    if name in ("HM", "HCMS"):
        signs, table, t = linalg.hadamard(4).tolist(), form.table.tolist(), form.t
        places = itertools.product(range(len(table)), itertools.product(range(4), repeat=t))
        own = lambda u, at: tuple(signs[table[at[0]][u]][i] for i in at[1])  # noqa: E731
        return keyed(k, places, own, itertools.product((1, -1), repeat=t), kept(2**t, e))
    if name == "FLH":
        cells = [form.cells(np.arange(k), np.full(k, s)).tolist() for s in range(m.seeds)]
        return keyed(k, range(m.seeds), lambda u, s: cells[s][u], range(m.g), kept(m.g, e))
    if name == "CMS":
        return filters(k, form.table[:, :, None].tolist(), m.m, *bit_rates("SUE", e))
    if name == "RAPPOR":
        permanent = bit_rates("SUE", e / m.h)
        rates = (p * Decimal(m.keep) + (1 - p) * Decimal(m.flip) for p in permanent)
        return filters(k, form.places.transpose(0, 2, 1).tolist(), m.m, *rates)
    if name == "dBitFlipPM":
        shown, size = list(itertools.combinations(range(m.buckets), m.bits)), m.size

        def law(v):
            laws = [(s, unary(s, v // size, *bit_rates("SUE", e))) for s in shown]
            return uniform([{tuple(zip(s, r)): n for r, n in law.items()} for s, law in laws])

        return law, lambda report: {u for u in range(k) if (u // size, 1) in report}
    return lambda v: unary(range(k), v, *bit_rates(name, e, m)), ones


def chain(m, first, e):
    """Distributions of the permanent report, and of a round given it, if one report has the loss
    `first`; and the values that a round supports."""
    name, k, high, flip = m.name[2:], m.k, HALF, Decimal(0)
    if name == "GRR":
        p, q = kept(k, e), (1 - kept(k, e)) / (k - 1)
        keep, respond = (
            (kept(k, first) - q) / (p - q),
            lambda u, p: keyed(k, [0], lambda u, _: u, range(k), p)[0](u),
        )
        return lambda v: respond(v, p), lambda one: respond(one[1], keep), lambda r: {r[1]}
    permanent, keep = "SUE" if name == "SUE" else "OUE", HALF
    p, q = bit_rates(permanent, e)
    if name != "OUE":
        other = bit_rates(permanent, first)[1]
        keep, flip = (1 - q - other) / (1 - 2 * q), (other - q) / (1 - 2 * q)
    for _ in range(190 if name == "OUE" else 0):  # the loss falls from no flip on to many
        middle = (flip + high) / 2
        own, other = (rate / 2 + (1 - rate) * middle for rate in (p, q))
        more = own * (1 - other) > first.exp() * other * (1 - own)
        flip, high = (middle, high) if more else (flip, middle)
    return (
        lambda v: unary(range(k), v, p, q),
        lambda one: bits([keep if bit else flip for bit in one]),
        ones,
    )


def several(name, m, e):
    """Distributions of reports of two inputs, and the values that each part of a report supports."""
    pair, k, tau = m.pair(), m.report_type.k, getattr(m, "tau", None) or 1
    if name in CHAINS:
        permanent, again, support = chain(m, Decimal(m.first), e)
        laws = []
        for v in pair:
            parts = [
                {r: n * c for r, n in joint(*[again(one)] * tau).items()}
                for one, c in permanent(v).items()
            ]
            laws.append({r: n * len(parts) for r, n in uniform(parts).items()})
    elif name in RSFD:
        e = (1 + m.d * (e.exp() - 1)).ln()  # the budget of the sampled attribute
        base, fill = m.base.partition("-")[::2]
        law, support = reference(base, make(base, k=k, epsilon=1.0), e)
        fake = uniform([law(v) for v in range(k)])
        if base == "GRR":
            fake = dict.fromkeys(fake, 1 / Decimal(k))
        if fill == "z":
            fake = unary(range(k), None, *bit_rates(base, e))
        laws = [
            uniform([joint(*(law(v) if i == j else fake for i in range(m.d))) for j in range(m.d)])
            for v in pair
        ]
    else:
        law, support = reference(name, getattr(m, "mechanism", m), e)
        laws = [joint(*[law(v)] * tau) for v in pair]
    return laws, lambda report: [support(part) for part in report]


def listed(name, m, e):
    """Rates of the guess and of the strongest event, and the loss, by sums over all reports."""
    (one, two), support = several(name, m, e)
    (first, last), k, guesses, tight = m.pair(), m.report_type.k, [0, 0], [0, 0]
    threshold = TwoValueTest().choose(m, TRIALS, TAIL).threshold or 1

    def seen(report):
        return tuple((first in s, last in s) for s in support(report))

    both = [collections.Counter() for _ in (one, two)]
    for report in one:
        both[0][seen(report)] += one[report]
        both[1][seen(report)] += two[report]
    ratios = {symbols: both[0][symbols] / both[1][symbols] for symbols in both[0]}
    for report in one:
        sets = support(report)
        counts = [sum(u in s for s in sets) for u in range(k)]
        best = [u for u in range(k) if counts[u] == max(counts)]
        named = Decimal(first in best) / len(best)
        if name in RSFD:  # a uniform attribute
            named = sum(Decimal(first in s) / len(s) if s else 1 / Decimal(k) for s in sets) / m.d
        score = counts[first] - counts[last]
        if name == "RAPPOR":  # the log likelihood ratio, which is rounded to twelve decimals
            score = (one[report] / two[report]).ln() + Decimal("1e-11")
        if name in RSFD:  # the likelihood ratio of what the report says about the two inputs
            score = ratios[seen(report)] * (1 + Decimal("1e-11"))
        for i, law in enumerate((one, two)):
            guesses[i] += law[report] * named
            tight[i] += law[report] * (score >= threshold)
    return {"guess": guesses, "tight": tight, "loss": max(one[r] / two[r] for r in one).ln()}


# --- numbers --------------------------------------------------------------------------------------


def tail(x):
    """Probability that a normal variable is at least x, by the series of the error function."""
    with localcontext(prec=120):
        x, term, total = x / Decimal(2).sqrt(), x / Decimal(2).sqrt(), Decimal(0)
        for n in range(2000):
            total, term = total + term / (2 * n + 1), -term * x * x / (n + 1)
        square = 16 * (4 * arctan(5) - arctan(239)) / 4
        return HALF - total / square.sqrt()


def arctan(n):
    return sum((-1) ** i / Decimal((2 * i + 1) * n ** (2 * i + 1)) for i in range(90))


def laplace(m, e):
    """Own and other masses, or densities, of the numbers clipped to [0, 1]."""
    k, ways = m.k, range(m.k)
    if m.grid is None:  # over the powers of the others' distribution function 1 - e^(-x/b) / 2
        c, b = (-e / 2).exp(), 2 / e
        lost = (
            sum(
                math.comb(k - 1, j) * (c / 2) ** j * (1 - c / 2) ** (k - 1 - j) * j / Decimal(j + 1)
                for j in ways
            )
            / 2
        )
        lost += c / 2 * (1 - HALF ** (k - 1) / k)
        for j in ways[1:]:  # the integral of the own density times a power of the others' tail
            power = 1 / b if j == 1 else (((1 - j) / b).exp() - 1) / (1 - j)
            lost -= c / 2 * math.comb(k - 1, j) * (-HALF) ** j * power
        return lost, Decimal(1) / 4, (-e).exp() / 4
    fall = Decimal(m.grid) * (e / 2 - Decimal(2) ** -46)
    size, stop = round(1 / m.grid), (-fall).exp()
    mass = [1 / (1 + stop)] + [(1 - stop) / (1 + stop) * stop**j for j in range(1, size)]
    mass, lost, below = [*mass, stop**size / (1 + stop)], Decimal(0), Decimal(0)
    for own, other in zip(mass[::-1], mass):
        wins = ((below + other) ** k - below**k) / (k * other)
        lost, below = lost + own * (1 - wins), below + other
    return lost, mass[0] ** 2, (mass[0] * stop**size) ** 2


def square_wave(low, high, length, density, ratio, first, last, pair):
    left = [low + (high - low - length) * (Decimal(x) - first) / (last - first) for x in pair]
    apart = min(length, abs(left[0] - left[1]))
    return [density * apart, density * apart / ratio]


def computed(name, m, e, pair):
    """As `listed`, for numbers."""
    if name == "SHE":
        lost, *tight = laplace(m, e)
        loss = e if m.grid is None else e - Decimal(2) ** -45
        return {"guess": [1 - lost, lost / (m.k - 1)], "tight": tight, "loss": loss}
    if name == "AGM":
        shift, threshold = (
            1 / (Decimal(2).sqrt() * Decimal(m.scale)),
            TwoValueTest().choose(m, TRIALS, TAIL).threshold,
        )
        tight = [tail(Decimal(threshold) + s * shift) for s in (-1, 1)]
        return {"guess": [tail(-shift), tail(shift)], "tight": tight, "loss": Decimal("inf")}
    grown, half = e.exp(), (e / 2).exp()
    if name == "DiscreteLaplace":
        rate, last = e / m.sensitivity, m.sensitivity
        tails = [(-rate * d).exp() / (1 + (-rate).exp()) for d in (1, last)]
        return {"guess": [1 - tails[0], tails[1]], "tight": [1 - tails[0], tails[1]], "loss": e}
    c, inner = (half + 1) / (half - 1), (grown - half) / (2 * half + 2)
    b = (e * grown - grown + 1) / (2 * grown * (grown - 1 - e))
    if name == "SW":
        tight = square_wave(-b, 1 + b, 2 * b, grown / (2 * b * grown + 1), grown, 0, 1, pair)
        return {"tight": tight, "loss": e}
    part = square_wave(-c, c, c - 1, inner, grown, -1, 1, pair)
    t = (grown + 1) / (grown - 1)
    ends = [HALF + Decimal(x) / (2 * t) * (1 if pair[0] > pair[1] else -1) for x in pair]
    if name == "Hybrid":
        share, whole = 1 - 1 / half, abs(pair[0] - pair[1]) == 2
        part = [share * x + (1 - share) * y * whole for x, y in zip(part, ends)]
    if name == "Duchi":
        part, e = ends, (ends[0] / ends[1]).ln()
    return {"tight": part, "loss": e}


def cases():
    """Every mechanism at every budget of its domain, with the pairs of inputs that are compared."""
    for (name, own), epsilon in itertools.product(CASES, (20.0, 25.0, 28.0, 30.0)):
        firsts = (epsilon / 2, epsilon - 3) if name in CHAINS else (None,)
        for first in firsts if epsilon <= LARGEST.get(name, 30) else ():
            m = make(name, epsilon=epsilon, first=first, **own)
            yield from ((name, m, epsilon, pair) for pair in (m.pair(), *PAIRS.get(name, ())))


def test_exact_rates_and_losses_keep_their_digits_at_large_budgets():
    missing = {*MECHANISMS} - {name for name, _ in CASES} - {*ELSEWHERE}
    assert not missing, f"add {missing} to CASES or ELSEWHERE of tests/ldpkit/test_digits.py"
    wrong = []
    for name, m, epsilon, pair in cases():
        with localcontext(prec=60):
            e = Decimal(epsilon)
            wanted = computed(name, m, e, pair) if name in NUMBERS else listed(name, m, e)
        tight = TwoValueTest().choose(m, TRIALS, TAIL)
        found = {"guess": Guess().rates(m, pair)} if "guess" in wanted else {}
        found |= {"tight": tight.rates(m, pair), "loss": m.report_type.loss(pair)}
        for key, value in wanted.items():
            exact = [*map(float, value)] if isinstance(value, list) else float(value)
            if found[key] != approx(exact, rel=TOLERANCE, abs=0):
                wrong.append((name, m.parameters, pair, key, found[key], exact))
    assert wrong == []


def test_support_rates_keep_their_digits_at_large_budgets():
    """The rates with which a report supports the own value and one given other value."""
    wrong = []
    for name, m, epsilon, (first, last) in cases():
        # values share cells under fixed hash functions; q is that of random ones
        if name in (*NUMBERS, *RSFD, "CMS", "HCMS", "FLH", "RAPPOR", "dBitFlipPM"):
            continue
        with localcontext(prec=60):
            (one, _), support = several(name, m, Decimal(epsilon))
            exact = [sum(n for r, n in one.items() if u in support(r)[0]) for u in (first, last)]
        inner = getattr(m, "mechanism", m)
        if [inner.p, inner.q] != approx([*map(float, exact)], rel=TOLERANCE, abs=0):
            wrong.append((name, m.parameters, (inner.p, inner.q), exact))
    assert wrong == []


def test_the_sum_of_one_laplace_variable_loses_as_the_variable_does():
    """The sum is interpolated, with an error below 1e-8; the largest is 3e-10."""
    for scale, k in itertools.product((2.0, 0.1, 1 / 15), (2, 4, 100)):
        assert laplace_sum_failure(1, k, 1 / scale) == approx(laplace_failure(scale, k), rel=1e-8)
