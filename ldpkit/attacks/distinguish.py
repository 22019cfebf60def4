"""The paper's distinguishability attack, which guesses one value that the report supports.

The guess is a uniform element of the report's support set, or a uniform value
if the set is empty. For a noisy vector it is a uniform element among the most
likely values. Ties are always broken at random, because a rule such as "the
first index" favours one input and therefore changes the audit.

Sources: LDP-Auditor, section 4.2 and Algorithm 1; Arcolezi et al. (2023).
"""

from dataclasses import dataclass
from typing import Self

from .. import checks
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..types import Array, Pair, Rates, Reports, Rng
from .base import drawable, handled

__all__ = ["Guess", "success_rate"]


@dataclass(frozen=True)
class Guess:
    """Guess a value that the report supports; accept if it is the first of the pair.

    From several rounds, the guess is the value that most of them support (for
    noisy vectors, the one with the largest sum). Of several attributes, one is
    chosen at random.

    Notes
    -----
    Let ``A`` be the probability that the guess is the true value. If a mechanism
    treats all values alike, the false-positive rate is ``(1 - A) / (k - 1)``.
    Sources: LDP-Auditor, Algorithms 1, 2 and 4.
    """

    name = "guess"

    def choose(self, mechanism: LocalRandomizer, trials: int, tail: float) -> Self:
        """Return the attack itself, because there is nothing to choose."""
        handled(self, mechanism, "guess")
        return self

    def predict(self, mechanism: LocalRandomizer, reports: Reports, rng: Rng) -> Array:
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
        checks.generator(rng)
        return handled(self, mechanism, "guess").guess(mechanism.read(reports), rng)

    def accepts(self, mechanism: LocalRandomizer, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Return whether each guess is the first value of `pair`; bool array (n,)."""
        return self.predict(mechanism, reports, rng) == mechanism.pair(pair)[0]

    def success(self, mechanism: LocalRandomizer) -> float | None:
        """Return the exact probability that the guess is the true value (attacker success rate),
        or ``None`` if it is unknown."""
        rates = self.rates(mechanism)
        return None if rates is None else rates[0]

    def rates(self, mechanism: LocalRandomizer, pair: Pair | None = None) -> Rates | None:
        """Return the exact ``(tpr, fpr)``, or ``None`` if the exact distribution is unknown.

        It is unknown for a client, and for subsets of more than one value in several rounds.
        """
        report_type = handled(self, mechanism, "guess")
        pair = mechanism.pair(pair)
        return report_type.guess_rates(pair) if distribution_known(mechanism) else None

    def route(self, mechanism: LocalRandomizer) -> str:
        """Return how the exact rates are computed, one of `ldpkit.reports.base.ROUTES`."""
        return str(handled(self, mechanism, "guess").guess_route)

    def sample(
        self,
        mechanism: LocalRandomizer,
        trials: int,
        truth: bool,
        rng: Rng,
        pair: Pair | None = None,
    ) -> int:
        """Sample the number of acceptances among `trials` reports from the exact distribution.

        Parameters
        ----------
        mechanism : FrequencyOracle
        trials : int
        truth : bool
            Whether the input is the first value of the pair or the second.
        rng : numpy.random.Generator
        pair : (int, int), optional
            As in `rates`.
        """
        checks.generator(rng)
        trials = checks.integer("trials", trials, 0)
        return drawable(self, mechanism, "guess").guess_count(
            trials, truth, mechanism.pair(pair), rng
        )


def success_rate(mechanism: LocalRandomizer) -> float:
    """Return the exact probability that the guess is the true value.

    Raises
    ------
    ValueError
        If the exact distribution is unknown, see `Guess.rates`.
    """
    rates = Guess().rates(mechanism)
    if rates is None:
        raise ValueError(
            f"mechanism must have a known success rate of the guess, got {mechanism!r}"
        )
    return float(rates[0])
