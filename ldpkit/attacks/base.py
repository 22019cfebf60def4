"""The methods of an attack, and the attacks that can read many report types.

Ties are always broken at random, because a rule such as "the first index" favours one input and
therefore changes the audit.
"""

import functools
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from .. import checks
from ..mechanisms.base import Mechanism
from ..reports import ReportType
from ..stats import epsilon_lower, expected_epsilon
from ..types import Array, Pair, Rates, Reports, Rng

# fmt: off
__all__ = [
    "ATTACKS", "Attack", "FixedEvent", "Guess", "Learned", "TwoValueTest", "able", "audited",
    "handled", "make", "success_rate"
]
# fmt: on


ATTACKS: dict[str, "Attack"] = {}
"""The attacks by name. The modules of `ldpkit.attacks` fill this table."""


@runtime_checkable
class Attack(Protocol):
    """An attack on reports; any object with these methods can be used in an audit."""

    @property
    def name(self) -> str:
        """Name of the attack in results."""

    def choose(self, mechanism: Mechanism, trials: int, tail: float) -> "Attack":
        """Return the attack with its event chosen, before any report is made.

        Parameters
        ----------
        mechanism : Mechanism
        trials : int
            Reports per input that will be made.
        tail : float
            Tail mass of each bound, see `ldpkit.stats.tail_mass`.
        """

    def accepts(self, mechanism: Mechanism, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Return whether the attack names the first input of the pair, for each real report; bool
        array (n,)."""

    def rates(self, mechanism: Mechanism, pair: Pair | None = None) -> Rates | None:
        """Return the exact true- and false-positive rate for a pair, or ``None`` if the exact
        distribution is unknown."""

    def sample(
        self, mechanism: Mechanism, trials: int, truth: bool, rng: Rng, pair: Pair | None = None
    ) -> int:
        """Return the number of acceptances among `trials` reports, sampled from the exact
        distribution without making reports."""


def audited(mechanism: Mechanism) -> Mechanism:
    """Return `mechanism`, after checking that it is a frozen `Mechanism`."""
    checks.instance(
        "mechanism", mechanism, Mechanism, "a mechanism whose reports can be read, or a Client"
    )
    checks.need(is_dataclass(mechanism), f"mechanism must be a frozen dataclass, got {mechanism!r}")
    return mechanism


def handled(attack: Attack, mechanism: Mechanism, method: str) -> ReportType:
    """Return the mechanism's report type if it has the method that the attack needs.

    Raises
    ------
    ValueError
        Naming the attack, the mechanism and its report type.
    """
    report_type = audited(mechanism).report_type
    if not report_type.offers(method):
        own = "an attack of your own that can, see the page on your own mechanism"
        others = [f"attack {name}, which can" for name in able(report_type)]
        raise ValueError(
            f"attack {attack.name} cannot read the {report_type.name} reports of {mechanism.name}: "
            f"audit it with {', or '.join(others) or own}"
        )
    return report_type


def able(report_type: ReportType) -> list[str]:
    """Return the names of the attacks with a fixed event that can read a report type."""
    fixed = (attack for attack in ATTACKS.values() if isinstance(attack, FixedEvent))
    return [attack.name for attack in fixed if report_type.offers(attack.reads)]


class FixedEvent(Attack):
    """An attack whose method `choose` fixes the event before any report is made.

    Therefore counts of the event may be sampled from its exact rates.

    Attributes
    ----------
    reads : str
        The method of a report type that the attack needs, ``"guess"`` or ``"score"``.
    """

    reads: ClassVar[str]

    def choose(self, mechanism: Mechanism, trials: int, tail: float) -> Self:
        """Return the attack itself if there is nothing to choose; see `Attack.choose`."""
        handled(self, mechanism, self.reads)
        return self

    def route(self, mechanism: Mechanism) -> str:
        """Return how the exact rates are computed, one of `ldpkit.reports.base.ROUTES`."""
        return str(getattr(handled(self, mechanism, self.reads), f"{self.reads}_route"))

    @checks.checked
    def sample(
        self,
        mechanism: Mechanism,
        trials: Annotated[int, checks.rule(checks.integer, 0)],
        truth: bool,
        rng: checks.Generator,
        pair: Pair | None = None,
    ) -> int:
        """Sample the number of acceptances among `trials` reports from the exact distribution.

        Parameters
        ----------
        mechanism : Mechanism
        trials : int
        truth : bool
            Whether the input is the first value of the pair or the second.
        rng : numpy.random.Generator
        pair : (int, int), optional
            As in `rates`.
        """
        rates = self.rates(mechanism, pair)
        checks.need(
            mechanism.distribution_known,
            f"mechanism must have an exact distribution to sample from, got {mechanism!r}: make"
            " reports instead",
        )
        return mechanism.report_type.count(trials, truth, rates, rng)


@dataclass(frozen=True)
class Guess(FixedEvent):
    """Guess a value that the report supports; accept if it is the first of the pair.

    From several rounds, the guess is the value that most of them support (for
    noisy vectors, the one with the largest sum). Of several attributes, one is
    chosen at random.

    Notes
    -----
    Let ``A`` be the probability that the guess is the true value. If a mechanism
    treats all values alike, the false-positive rate is ``(1 - A) / (k - 1)``.
    A report that supports no value is guessed as a uniform value. Sources:
    LDP-Auditor, section 4.2 and Algorithms 1, 2 and 4; Arcolezi et al. (2023).
    """

    name, reads = "guess", "guess"

    @checks.checked
    def predict(self, mechanism: Mechanism, reports: Reports, rng: checks.Generator) -> Array:
        """Guess the value behind each report.

        Parameters
        ----------
        mechanism : Mechanism
            Its `report_type` reads the reports.
        reports : array or list of arrays
            As returned by ``mechanism.perturb``.
        rng : numpy.random.Generator
            Breaks ties.

        Returns
        -------
        int array, shape (n,)
        """
        return handled(self, mechanism, self.reads).guess(mechanism.read(reports), rng)

    def accepts(self, mechanism: Mechanism, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Return whether each guess is the first value of `pair`; bool array (n,)."""
        return self.predict(mechanism, reports, rng) == mechanism.pair(pair)[0]

    def success(self, mechanism: Mechanism) -> float | None:
        """Return the exact probability that the guess is the true value (attacker success rate),
        or ``None`` if it is unknown."""
        rates = self.rates(mechanism)
        return None if rates is None else rates[0]

    def rates(self, mechanism: Mechanism, pair: Pair | None = None) -> Rates | None:
        """Return the exact ``(tpr, fpr)``, or ``None`` if the exact distribution is unknown.

        It is unknown for a client, and for subsets of more than one value in several rounds.
        """
        form, pair = handled(self, mechanism, self.reads), mechanism.pair(pair)
        return form.guess_rates(pair) if mechanism.distribution_known else None


def success_rate(mechanism: Mechanism) -> float:
    """Return the exact probability that the guess is the true value.

    Raises
    ------
    ValueError
        If the exact distribution is unknown, see `Guess.rates`.
    """
    rates: Any = Guess().rates(mechanism)
    checks.need(rates, f"mechanism must have a known success rate of the guess, got {mechanism!r}")
    return float(rates[0])


@dataclass(frozen=True)
class TwoValueTest(FixedEvent, checks.Checked):
    """The likelihood-ratio event: accept the reports that are the strongest evidence for the first
    value of the pair.

    The `score` of the report type defines the event (see `ldpkit.reports`). For a
    single reported value it is equality with the first value. For Laplace vectors
    it is a first coordinate of at least 1 and a second of at most 0. For bits,
    hashes and subsets the event is "first supported, second not". If the
    likelihood ratio takes many values, the event is a score of at least a
    threshold:

    - Gaussian vectors: ``(y1 - y2) / (sqrt(2) sigma)``, summed over all rounds;
    - several rounds: the number of rounds with the event, minus that with its mirror image;
    - several attributes: the likelihood ratio of the whole tuple;
    - Bloom filters: the likelihood ratio of the cohort's bits, with the loss as threshold.

    Parameters
    ----------
    threshold : float, optional
        Smallest score of the event, if it needs one; `choose` chooses it before any report is made.

    Notes
    -----
    For a pure protocol this is the Neyman-Pearson test at the extreme point of the
    trade-off curve. The exact value of ``ln(tpr / fpr)`` is therefore the whole
    epsilon, while that of the guess is usually much smaller.

    For THE the event is about the bits that are sent. They satisfy a smaller
    epsilon than the noisy vector, so that the test stays below the claim.
    """

    threshold: Annotated[float | None, checks.real] = None
    name, reads = "tight", "score"

    def choose(self, mechanism: Mechanism, trials: int, tail: float) -> "TwoValueTest":
        """Return the test with the threshold that maximises the expected statistic.

        The expectation is exact, so that no report is made.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
            Reports per input that will be made.
        tail : float
            Tail mass of each bound, see `ldpkit.stats.tail_mass`.
        """
        form = handled(self, mechanism, self.reads)
        if self.threshold is not None or len(form.thresholds()) == 1:
            return self
        delta = mechanism.published_delta
        return TwoValueTest(_best_threshold(form, mechanism.pair(), trials, delta, tail))

    def _threshold(self, form: ReportType) -> float:
        """Return the smallest score of the event; refuse a test that needs `choose` first."""
        grid = form.thresholds()
        return float(grid[0]) if len(grid) == 1 else checks.real("threshold", self.threshold)

    def accepts(
        self, mechanism: Mechanism, reports: Reports, pair: Pair, rng: Rng | None = None
    ) -> Array:
        """Return whether each report lies in the event; bool array (n,)."""
        form = handled(self, mechanism, self.reads)
        return self._threshold(form) <= form.score(mechanism.read(reports), mechanism.pair(pair))

    def rates(self, mechanism: Mechanism, pair: Pair | None = None) -> Rates | None:
        """Return the exact ``(tpr, fpr)``, or ``None`` for a client of unknown distribution."""
        form = handled(self, mechanism, self.reads)
        threshold, pair = self._threshold(form), mechanism.pair(pair)
        return form.score_rates(threshold, pair) if mechanism.distribution_known else None


@functools.lru_cache(maxsize=256)
def _best_threshold(form: ReportType, pair: Pair, trials: int, delta: float, tail: float) -> float:
    """Return the threshold with the largest expected statistic.

    The exact expectation is computed for the 16 thresholds with the best quick estimates.
    """
    grid = form.thresholds()
    rates = np.array([form.score_rates(t, pair) for t in grid])
    counts = np.rint(trials * rates).astype(np.int64)
    quick = epsilon_lower(counts[:, 0], counts[:, 1], trials, delta, tail=tail)
    near = np.argsort(-quick, kind="stable")[:16]
    exact = [expected_epsilon(tpr, fpr, trials, delta, tail=tail)[0] for tpr, fpr in rates[near]]
    return float(grid[near[int(np.argmax(exact))]])


class Learned:
    """Learn events from all entries of reports; see `ldpkit.blackbox.sequential`."""

    name = "learned"


def make(name: str | Attack | Learned) -> Any:
    """Return the attack called `name`, or the attack that is given."""
    if isinstance(name, (Attack, Learned)):
        return name
    known = {**ATTACKS, Learned.name: Learned()}
    return known[checks.one_of("attack", name, known)]
