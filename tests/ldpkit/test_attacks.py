"""The attacks: oracle tables, and real reports, judged by exact tails with `chance.P_MIN`."""

import itertools

import numpy as np
from chance import P_MIN, chi_square_p, mechanism_of, rng, table, unit
from pytest import approx

from ldpkit import Client, attacks
from ldpkit.mechanisms import BLH, GRR, LHO, OUE, SHE, SS, SUE, THE, make
from ldpkit.reports import HASH_REPORT, hash_cell

GUESS, TIGHT = attacks.ATTACKS["guess"], attacks.ATTACKS["tight"]


def test_exact_rates_equal_the_oracle():
    for row in table("exact"):
        printed = float(row["TPR"]), float(row["FPR"])
        assert GUESS.rates(mechanism_of(row)) == approx(printed, rel=1e-8), row
    for row in table("tight"):
        for found, side in zip(TIGHT.rates(mechanism_of(row)), ("P1", "P2")):
            printed = float(row[side])
            assert found == approx(printed, abs=0.5001 * unit(printed, 8) if printed else 0), row


def hashed(m, supported):
    """A report whose support set has the wanted size, and the set."""
    for seed, cell in itertools.product(range(100_000), range(m.g)):
        found = [u for u in range(m.k) if hash_cell(u, np.uint64(seed), m.g) == cell]
        if len(found) == supported:
            return np.array((seed, cell), HASH_REPORT), found


def test_the_guess_is_uniform_over_the_supported_values():
    rows = [(GRR(6, 1.0), 4, [4]), (OUE(6, 1.0), [0, 1, 0, 0, 1, 1], [1, 4, 5]), (SUE(6, 1.0), [1] * 6, range(6)),
            (THE(6, 1.0), [0, 0, 0, 0, 0, 1], [5]), (OUE(6, 1.0), [0] * 6, range(6)), (SS(6, 0.1), [5, 0, 3], [0, 3, 5]),
            (SS(6, 1.0), [1, 2], [1, 2]), (Client(len, 6, "subset", 1.0), [1, 4, -1, -1], [1, 4]),
            (Client(len, 6, "subset", 1.0), [-1, -1, -1, -1], range(6)),
            (Client(len, 6, "bits", 1.0), [0, 1, 0, 1, 0, 0], [1, 3]),
            (SHE(6, 1.0), [1.5, 0.2, 7.0, 1.0, 0.99, -3.0], [0, 2, 3]),
            (SHE(6, 1.0), [-1.5, -0.2, -7.0, -1e-9, 0.0, -3.0], range(6)),
            (SHE(6, 1.0), [0.5, 0.2, -7.0, 0.4999, 0.0, -3.0], [0])]  # fmt: skip
    olh = make("OLH", k=6, epsilon=2.0)
    hashes = [*itertools.product([BLH(6, 1.0), olh, LHO(6, 3)], [1, 2, 4]), (olh, 0)]
    for m, size in hashes:
        report, found = hashed(m, size)
        rows.append((m, report, found or range(6)))  # an empty cell says nothing
    for m, report, supported in rows:
        reports, size = np.repeat(np.asarray(report)[None], 60_000, axis=0), len(supported)
        counts = np.bincount(GUESS.predict(m, reports, rng(9)), minlength=m.k)
        own = counts[list(supported)]
        assert own.sum() == counts.sum(), (m, report)
        assert size == 1 or chi_square_p(own, np.full(size, 1 / size)) > P_MIN, (m, report)


def test_the_tight_event_is_first_supported_and_second_not():
    rows = [(GRR(4, 1.0), 1, True), (GRR(4, 1.0), 3, False), (OUE(4, 1.0), [0, 1, 1, 0], True),
            (OUE(4, 1.0), [0, 1, 0, 1], False), (OUE(4, 1.0), [1, 0, 0, 0], False), (SS(4, 0.1), [2, 1], True),
            (SS(4, 0.1), [3, 1], False), (SS(4, 0.1), [0, 2], False), (SHE(4, 1.0), [9.0, 1.0, 9.0, 0.0], True),
            (SHE(4, 1.0), [0.0, 0.99, 0.0, -5.0], False), (SHE(4, 1.0), [0.0, 5.0, 0.0, 0.01], False)]  # fmt: skip
    for m, report, accepted in rows:
        found = TIGHT.accepts(m, np.asarray(report)[None], (1, 3))
        assert found.tolist() == [accepted], (m, report)
    m = BLH(6, 1.0)
    reports = m.perturb(np.zeros(200, int), rng(10))
    one, two = ([hash_cell(v, s, 2) == cell for s, cell in reports] for v in (1, 3))
    wanted = [a and not b for a, b in zip(one, two)]
    assert TIGHT.accepts(m, reports, (1, 3)).tolist() == wanted
    assert (attacks.make("guess"), attacks.make("tight")) == (GUESS, TIGHT)
