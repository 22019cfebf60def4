"""Compile the twenty mechanisms of the DP-Sniper suite.

A call `fill(x, rng, out)` writes one report of the input x to every row of out. Epsilon is .1
unless stated otherwise.

Sources: Bichsel, Steffen, Bogunovic and Vechev, "DP-Sniper", S&P 2021; the sparse vector techniques
are algorithms 1 to 6 of Lyu, Su and Li, 2017, and a numerical one of Wang et al., 2019; noisy
maxima and histograms are those of Ding et al., 2018.
"""

import functools
import math

import numpy as np
from numba import njit

EPSILON = 0.1


@njit(nogil=True)
def laplace(rng, scale):
    """Return Laplace noise as the difference of two exponential numbers."""
    return scale * (rng.standard_exponential() - rng.standard_exponential())


@njit(nogil=True)
def added(x, rng, out, scale):
    """Write every number with Laplace noise; x is repeated as often as there are columns."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[j % x.size] + laplace(rng, scale)


@njit(nogil=True)
def summed(x, rng, out, scale):
    """Write for each place the sum of all noisy numbers up to it."""
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(x.size):
            total += x[j] + laplace(rng, scale)
            out[i, j] = total


@njit(nogil=True)
def largest(x, rng, out, scale, exponential, place):
    """Write the place of the largest noisy number, or that number."""
    for i in range(out.shape[0]):
        best, at = -1e300, 0
        for j in range(x.size):
            noise = scale * rng.standard_exponential() if exponential else laplace(rng, scale)
            if x[j] + noise > best:
                best, at = x[j] + noise, j
        out[i, 0] = at if place else best


@njit(nogil=True)
def sparse(x, rng, out, start, rho, noise, t, c, redraw, numbers, extra, over):
    """Write which numbers exceed a noisy threshold, at most c of them (sparse vector technique).

    Parameters
    ----------
    out : float array
        From column `start` on: 1 above, 0 below, -1 after the end. With `numbers`: the noisy
        number, `over` below, `over` - 1000 after the end.
    rho, noise, extra : float
        Scales of the noise on the threshold, on the comparison, and on the released number; 0 for
        none. With `extra` 0 the compared number is released.
    """
    for i in range(out.shape[0]):
        threshold, found = t + laplace(rng, rho), 0
        for j in range(x.size):
            if found == c:
                out[i, start + j] = over - 1000 if numbers else -1
                continue
            noised = x[j] + laplace(rng, noise) if noise > 0 else x[j]
            if noised >= threshold:
                found += 1
                if redraw:
                    threshold = t + laplace(rng, rho)
                if numbers:
                    noised = x[j] + laplace(rng, extra) if extra > 0 else noised
                out[i, start + j] = noised if numbers else 1
            else:
                out[i, start + j] = over if numbers else 0


@njit(nogil=True)
def stepped(x, rng, out, cumulative):
    """Write one of the numbers 0, 1, ..., chosen by a random whole number below cumulative[-1]."""
    row, top = cumulative[int(x[0])], cumulative[int(x[0]), -1]
    for i in range(out.shape[0]):
        u, z = 1 + math.floor(rng.random() * top), 0
        while row[z] < u:
            z += 1
        out[i, 0] = z


@njit(nogil=True)
def bloomed(x, rng, out, filters, kept, set_, unset):
    """Write the bits of a Bloom filter after two steps of noise.

    Each bit is kept with probability `kept`, else it is a fair coin. Then it is 1 with probability
    `set_` or `unset`.
    """
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            bit = filters[int(x[0]), j]
            if rng.random() >= kept:
                bit = rng.random() < 0.5
            out[i, j] = rng.random() < (set_ if bit else unset)


def murmur3(data, seed):
    """Return Appleby's 32-bit hash of bytes."""
    mask, h, n = 0xFFFFFFFF, seed, len(data)

    def mixed(k):
        k = k * 0xCC9E2D51 & mask
        return ((k << 15 | k >> 17) & mask) * 0x1B873593 & mask

    for i in range(0, n - n % 4, 4):
        h ^= mixed(int.from_bytes(data[i : i + 4], "little"))
        h = ((h << 13 | h >> 19) & mask) * 5 + 0xE6546B64 & mask
    if n % 4:
        h ^= mixed(int.from_bytes(data[n - n % 4 :], "little"))
    h ^= n
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


@functools.cache
def filters(values=40, bits=20, hashes=4):
    """Return the Bloom filters of the texts of 0, 1, ..."""
    out = np.zeros((values, bits), bool)
    for value in range(values):
        for seed in range(hashes):
            out[value, murmur3(str(value).encode(), seed) % bits] = True
    return out


def truncated(n=5):
    """Return the cumulative weights of the truncated geometric mechanism as whole numbers, by
    input.
    """
    k = math.ceil(math.log(2 / EPSILON))
    total, rows = (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1), []
    for x in range(n + 1):
        row = [
            2 ** (k * (x - z)) * (2**k + 1) ** (n - x + z)
            if z < x
            else total - 2 ** (k * (z - x + 1)) * (2**k + 1) ** (n - 1 - z + x)
            for z in range(n)
        ]
        rows.append([*row, total])
    return np.array(rows, float)


def patterns(d, several):
    """Return pairs of inputs of d numbers, of which `several` may differ.

    The pairs of the suite change one number, all, or half of them. Here, every possible number of
    them is changed.
    """
    one = [1.0] * d
    pairs = [(one, [0.0] + [1.0] * (d - 1)), (one, [2.0] + [1.0] * (d - 1))]
    if several:
        pairs += [(one, [2.0] * m + [0.0] * (d - m)) for m in range(d + 1)]
        pairs += [(one, [0.0] * m + [2.0] * (d - m)) for m in range(1, d)]
    return pairs


FLOAT = [([0.0], [1.0])]
INTEGER = [([float(a)], [a + 1.0]) for a in range(5)]
BLOOM = [([float(a)], [float(b)]) for a in range(8) for b in range(a + 1, 8)]


@njit(nogil=True)
def both_sparse(x, rng, out):
    """Write the reports of the third and the fourth sparse vector technique, side by side."""
    sparse(x, rng, out, 0, 20.0, 40.0, 1.0, 2, False, True, 0.0, -1000.0)
    sparse(x, rng, out, x.size, 40.0, 40 / 3, 1.0, 2, False, False, 0.0, 0.0)


def svt(*given):
    """Return `sparse` and its arguments after `out`."""
    return sparse, (0, *given)


# name: (compiled function, arguments, columns, pairs of inputs, published bounds, largest loss).
# The published bounds are those of DP-Sniper with regression, of DP-Sniper with a network, and of
# StatDP. No loss between neighbours exceeds the largest loss. For SVT3 and SVT6 it is that of ten
# answers of .05 each, given the threshold. For both techniques side by side it is that of ten
# answers of .025, and the (1 + 6 c) epsilon / 4 of the fourth technique.
SUITE = {
    "Laplace": (added, (10.0,), 1, FLOAT, (0.0968, 0.0976, 0.0998), 0.1),
    "TruncGeometric": (stepped, (truncated(),), 1, INTEGER, (0.1156, 0.1155, 0.1159),
                       math.log(1.125)),
    "NoisyHist1": (added, (10.0,), 5, patterns(5, False), (0.0978, 0.0977, 0.0828), 0.1),
    "NoisyHist2": (added, (0.1,), 5, patterns(5, False), (4.602, 4.602, 9.717), 10.0),
    "NoisyMax1": (largest, (20.0, False, True), 1, patterns(5, True), (0.0923, 0.0925, 0.0920),
                  0.1),
    "NoisyMax2": (largest, (20.0, True, True), 1, patterns(5, True), (0.0975, 0.0979, 0.0996),
                  0.1),
    "NoisyMax3": (largest, (20.0, False, False), 1, patterns(5, True), (0.2478, 0.2488, 0.199),
                  0.25),
    "NoisyMax4": (largest, (20.0, True, False), 1, patterns(5, True), (0.3463, 0.3534, 0.196),
                  math.inf),
    "SVT1": (*svt(20.0, 40.0, 0.5, 1, False, False, 0.0, 0.0), 10, patterns(10, True),
             (0.0858, 0.0858, 0.030), 0.1),
    "SVT2": (*svt(20.0, 40.0, 1.0, 1, True, False, 0.0, 0.0), 10, patterns(10, True),
             (0.0859, 0.0852, 0.032), 0.1),
    "SVT3": (*svt(20.0, 20.0, 1.0, 1, False, True, 0.0, -1000.0), 10, patterns(10, True),
             (0.172, 0.182, 0.023), 0.5),
    "SVT4": (*svt(40.0, 40 / 3, 1.0, 1, False, False, 0.0, 0.0), 10, patterns(10, True),
             (0.169, 0.170, 0.171), 0.175),
    "SVT5": (*svt(20.0, 0.0, 1.0, 99, False, False, 0.0, 0.0), 10, patterns(10, True),
             (1.761, 1.761, 14.31), math.inf),
    "SVT6": (*svt(20.0, 20.0, 1.0, 99, False, False, 0.0, 0.0), 10, patterns(10, True),
             (0.272, 0.270, 0.322), 0.5),
    "RAPPOR": (bloomed, (filters(), 0.25, 0.55, 0.45), 20, BLOOM, (0.293, 0.301, 0.242),
               8 * math.log(0.5125 / 0.4875)),
    "OneTimeRAPPOR": (bloomed, (filters(), 0.05, 1.0, 0.0), 20, BLOOM, (0.598, 0.600, 0.471),
                      8 * math.log(0.525 / 0.475)),
    "LaplaceParallel": (added, (200.0,), 20, FLOAT, (0.035, 0.030, 0.013), 0.1),
    "SVT34Parallel": (both_sparse, (), 20, patterns(10, True), (0.261, 0.262, 0.137), 0.575),
    "PrefixSum": (summed, (10.0,), 10, patterns(10, True), (0.504, 0.577, 0.352), 1.0),
    "NumericalSVT": (*svt(30.0, 120.0, 1.0, 2, False, True, 60.0, 0.0), 10, patterns(10, True),
                     (0.0343, 0.0345, math.nan), 0.1),
}  # fmt: skip
