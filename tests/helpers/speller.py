"""Define a report type, a mechanism and an attack that ldpkit does not know."""

import math
from dataclasses import dataclass

import numpy as np

from ldpkit.mechanisms import FrequencyOracle
from ldpkit.mechanisms.base import Domain, Epsilon
from ldpkit.reports import ReportType


@dataclass(frozen=True)
class Word(ReportType):
    """A report that is one word."""

    k: int
    name = "word"

    def read(self, reports, sender):
        reports = np.asarray(reports)
        if reports.dtype.kind != "U":
            raise ValueError(f"reports of {sender} must be words, got {reports.dtype}")
        return reports


@dataclass(frozen=True)
class Speller(FrequencyOracle):
    """A mechanism that spells a value kept or replaced as randomised response does."""

    k: Domain
    epsilon: Epsilon
    name = "Speller"

    @property
    def report_type(self):
        return Word(self.k)

    def perturb(self, values, rng):
        keep = math.exp(self.epsilon) / (math.exp(self.epsilon) + self.k - 1)
        other = (values + rng.integers(1, self.k, len(values))) % self.k
        sent = np.where(rng.random(len(values)) < keep, values, other)
        return np.array([f"value {v}" for v in sent])

    def estimate(self, reports):
        raise AssertionError("nobody asked")

    variance = estimate


class Spelt:
    """An attack that asks whether the report spells the first value."""

    name = "spelt"

    def choose(self, mechanism, trials, tail):
        return self

    def accepts(self, mechanism, reports, pair, rng):
        return mechanism.read(reports) == f"value {pair[0]}"

    def rates(self, mechanism, pair=None):
        return None

    def sample(self, mechanism, trials, truth, rng, pair=None):
        raise AssertionError("there is no law to draw from")
