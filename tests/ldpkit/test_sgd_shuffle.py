"""Shuffled LDP-SGD: Table 3, small cases by enumeration, and the command line. Exact columns are
met to half a unit of their last digit; counts are judged by fewer than 10 p-values with
`chance.P_MIN`."""

import io
import itertools
import json
import math
import os
import zipfile

import numpy as np
import pandas as pd
from chance import P_MIN
from commands import refused
from pytest import approx
from scipy import stats

from ldpkit.attacks.gradient import dummy
from ldpkit.auditors import GradientAudit, ShuffleAudit, shuffle
from ldpkit.auditors.shuffle import blanket_delta, pair_delta, pmfs, solve, threshold_rates
from ldpkit.mechanisms import LDPSGD

# eps0, n, Eq. 1, FPR, FNR, plug-in, mean of a run, tight, numerical, that of 2021, half flipped
TABLE = [(1, 432, 0.6737, 0.48294, 0.49706, 0.0406, 0.042, 0.2034, 0.2333, 0.2868, 0.1885),
    (1, 1000, 0.4876, 0.51037, 0.47649, 0.0272, 0.028, 0.1266, 0.1487, 0.1824, 0.1208),
    (2, 974, 0.9498, 0.47937, 0.49059, 0.0608, 0.062, 0.3287, 0.4029, 0.5538, 0.2898),
    (2, 1000, 0.9416, 0.48350, 0.48685, 0.0595, 0.062, 0.3233, 0.3971, 0.5455, 0.2858),
    (4, 6454, 1.1008, 0.47843, 0.48556, 0.0726, 0.074, 0.4110, 0.5247, 0.7780, 0.3505),
    (4, 10000, 0.9581, 0.50604, 0.46502, 0.0604, 0.062, 0.3146, 0.4108, 0.6009, 0.2788)]  # fmt: skip
UNIT = 5.01e-5
DELTA = 1e-6


def test_exact_columns_of_table_3():
    for row in TABLE:
        epsilon, n, closed, fpr, fnr, plugin, mean, tight, upper, old, half = row
        result = ShuffleAudit(epsilon, n, DELTA).run()[0]
        bound = shuffle.closed_bound(n, epsilon, DELTA)
        assert result.claim == bound == approx(closed, abs=UNIT), row
        assert threshold_rates(n, epsilon) == approx((fpr, fnr), abs=5.01e-6), row
        assert result.limit == approx(plugin, abs=UNIT), row
        assert result.exact == approx(mean, abs=1.1e-3), row
        assert result.exact_sd / math.sqrt(10) == approx(0.0205, abs=1e-3), row
        assert result.evidence["tight"] == approx(tight, abs=UNIT), row
        assert result.evidence["upper"] == approx(upper, abs=UNIT), row
        p, k = 1 / (1 + math.exp(-epsilon)), (n - 1) // 2
        halves = (n - 1 - k, p), (k, 1 - p)
        laws = [stats.binom.pmf(np.arange(m + 1), m, rate) for m, rate in halves]
        bounds = (lambda e: blanket_delta(n, epsilon, e, math.exp(-epsilon)), old, UNIT), (
            lambda e: pair_delta(n, epsilon, e, np.convolve(*laws)), half, 1.01e-4)  # fmt: skip
        for delta_at, printed, last in bounds:
            assert solve(delta_at, DELTA, epsilon) == approx(printed, abs=last), row
        assert result.evidence["tight"] < result.evidence["upper"] < result.claim < epsilon, row


def test_laws_of_small_batches_by_enumeration():
    """All outcomes of four clients who lean towards the gradient or not."""
    n, epsilon = 4, 1.3
    p = 1 / (1 + math.exp(-epsilon))
    for last, law in zip((p, 1 - p), pmfs(n, epsilon)):
        wanted, rates = np.zeros(n + 1), np.array([p, p, p, last])
        for leaning in itertools.product((0, 1), repeat=n):
            wanted[sum(leaning)] += np.where(leaning, rates, 1 - rates).prod()
        assert law == approx(wanted)
    # without delta nothing is gained by shuffling: one outcome has the ratio of a single report
    one, two = pmfs(n, epsilon)
    assert math.log(one[n] / two[n]) == approx(epsilon)
    assert pair_delta(n, epsilon, epsilon) < 1e-15 < pair_delta(n, epsilon, epsilon - 1e-3)


def test_the_numerical_bound_by_enumeration_covers_every_pair_tried():
    n, epsilon, shuffled = 6, 1.0, 0.3
    p, e = 1 / (1 + math.exp(-epsilon)), math.exp(shuffled)
    total = 0.0
    for c in range(n):
        coins = stats.binom.pmf(np.arange(c + 1), c, 0.5)
        up, stay = np.append(0, coins), np.append(coins, 0)
        excess = np.maximum(p * up + (1 - p) * stay - e * ((1 - p) * up + p * stay), 0).sum()
        total += stats.binom.pmf(c, n - 1, 2 / (math.exp(epsilon) + 1)) * excess
    assert blanket_delta(n, epsilon, shuffled) == approx(total, rel=1e-12)
    assert blanket_delta(n, epsilon, epsilon) == approx(0, abs=1e-12)
    assert blanket_delta(n, epsilon, 1.5) == 0
    rows = [(0.5, 30), (2, 200), (4, 3000)]
    for (epsilon, n), shuffled in itertools.product(rows, (0.05, 0.2, 0.45)):
        p, bound = 1 / (1 + math.exp(-epsilon)), blanket_delta(n, epsilon, shuffled)
        for rate in (p, 1 - p, 0.5):
            found = pair_delta(n, epsilon, shuffled, stats.binom.pmf(np.arange(n), n - 1, rate))
            assert found <= bound * (1 + 1e-9), (epsilon, n, shuffled, rate)


def test_a_million_clients():
    result = ShuffleAudit(4, 10**6, trials=1).run()[0]
    assert 0 < result.evidence["tight"] < result.evidence["upper"] < result.claim < 0.2
    assert pmfs(10**6, 4.0)[0].sum() == approx(1)
    # the tight value approaches that of a Gaussian pair with the same signal
    p = 1 / (1 + math.exp(-4))
    mu, eps = (2 * p - 1) / math.sqrt(10**6 * p * (1 - p)), result.evidence["tight"]
    delta = stats.norm.cdf(-eps / mu + mu / 2) - math.exp(eps) * stats.norm.cdf(-eps / mu - mu / 2)
    assert delta == approx(DELTA, rel=0.15)


def test_counts_follow_the_exact_rates():
    for faithful, trials in [(False, 100_000), (True, 300)]:
        one, two = (
            ShuffleAudit(1.0, 432, trials=trials, faithful=faithful).run(3)[0] for _ in "12"
        )
        for found, rate in zip(one.counts.values(), threshold_rates(432, 1.0)):
            assert stats.binomtest(found, trials, rate).pvalue > P_MIN, faithful
        assert one.lower <= one.evidence["tight"] and not one.violated, faithful
        assert one == two, faithful
    # real batches differ in one report: at a budget of 20 it leans away with probability 2e-9
    for changed, leaning in ((False, 5), (True, 4)):
        found = shuffle._count(LDPSGD(8, 20.0), 5, changed, 200, np.random.default_rng(1))
        assert found.tolist() == [leaning] * 200, changed


GRADIENT = "audit-gradient --epsilon 4 --json --adversary"


def test_commands_print_what_python_returns(call, tmp_path):
    status, out, err = call(f"{GRADIENT} dummy --seed 5")
    wanted = GradientAudit(LDPSGD(4810, 4.0), dummy(4810)).run(5)[0].to_dict()
    found = json.loads(out)
    del wanted["seconds"], found["seconds"]
    assert (status, err) == (0, "") and found == wanted
    first = np.random.default_rng(1).normal(size=(20, 30))
    np.savez(tmp_path / "pairs.npz", first=first, second=-first)
    status, out, err = call(f"{GRADIENT} file --pairs {tmp_path}/pairs.npz --rule lune")
    found = json.loads(out)
    assert (status, err) == (0, "") and found["d"] == 30 and found["limit"] == approx(4)
    for name, cosine in [("privunit", 2.07), ("privunitg", 2.07), ("ldp-sgd", 4.0)]:
        for rule, limit in (("cosine", cosine), ("lune", 4.0)):
            given = f"--dimension 1000 --mechanism {name} --rule {rule} --faithful --trials 200"
            status, out, _ = call(f"{GRADIENT} dummy {given}")
            assert status == 0 and json.loads(out)["limit"] == approx(limit, abs=5e-3), given


def test_a_file_that_holds_no_pairs_is_refused(call, tmp_path):
    """None of them is waited for, unpickled, or unpacked to what memory does not hold."""
    first = np.ones((3, 4))

    def saved(**arrays):
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    good, bomb = saved(first=first, second=-first), io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (2, 2**23)}
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("first.npy", "second.npy"):
            with archive.open(name, "w") as part:
                np.lib.format.write_array_header_1_0(part, header)
                for _ in range(128):
                    part.write(bytes(2**20))
    contents = {
        "empty": b"", "text": b"0.1 0.2", "cut": good[:-40], "bomb": bomb.getvalue(),
        "harmed": good[:200] + bytes(20) + good[220:], "names": saved(one=first, two=first),
        "objects": saved(first=np.array([print], dtype=object), second=first),
        "shapes": saved(first=first, second=first[:, :2]), "words": saved(first=["a"], second=["b"]),
    }  # fmt: skip
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    line = f"audit-gradient --epsilon 1 --adversary file --pairs {tmp_path}"
    names = [*contents, "pipe", "missing", ""]
    assert refused(call, [(f"{line}/{name}", "") for name in names]) == []


def test_a_grid_notices_that_its_file_of_pairs_was_edited(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = "grid: {adversary: [file], pairs: [pairs.npz], epsilon: [4], trials: [100]}"
    (tmp_path / "grid.yml").write_text(f"audit: gradient\nseed: 1\n{grid}\n")
    first, found = np.eye(1, 6), []
    for second in (-first, np.eye(1, 6, 1), -first):
        np.savez("pairs.npz", first=first, second=second)
        assert call("sweep grid.yml --workers 1")[0] == 0
        found.append(pd.read_csv("grid.csv")["limit"].item())
    assert found[0] == approx(4) and found[1] < 2 and found[2] == found[0]
