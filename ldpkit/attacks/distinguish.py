"""The paper's distinguishability attack: name one value that the report supports.

The guess is a uniform element of the report's support set, or a uniform value
if the set is empty; for a noisy vector it is a uniform element among the most
likely values. Ties are always broken at random: a rule such as "the first
index" favours one input and changes the audit.

Sources: LDP-Auditor, section 4.2 and Algorithm 1; Arcolezi et al. (2023).
"""

from dataclasses import dataclass
from typing import Self

from .. import checks
from ..mechanisms import LocalRandomizer
from ..mechanisms.base import distribution_known
from ..reports import Named
from ..types import Array, Pair, Rates, Reports, Rng
from .base import drawable, handled

__all__ = ["Guess", "success_rate"]


@dataclass(frozen=True)
class Guess:
    """Name a value that the report supports; accept if it is the first of the pair.

    Of several rounds, the value that most of them support is named (for noisy
    vectors, the largest sum); of several attributes, one is picked at random.

    Notes
    -----
    Where all values are treated alike, with ``A`` the probability that the guess
    is the true value the false-positive rate is ``(1 - A) / (k - 1)``.
    Sources: LDP-Auditor, Algorithms 1, 2 and 4.
    """

    name = "guess"

    def declare(self, mechanism: LocalRandomizer, trials: int, tail: float) -> Self:
        """Return the attack as it will be used; there is nothing to choose."""
        handled(self, mechanism, Named)
        return self

    def predict(self, mechanism: LocalRandomizer, reports: Reports, rng: Rng) -> Array:
        """Guess the value behind each report.

        Parameters
        ----------
        mechanism : Mechanism
            Whose `kind` says how to read the reports.
        reports : array or list of arrays
            As returned by ``mechanism.perturb``.
        rng : numpy.random.Generator
            Breaks ties.

        Returns
        -------
        int array, shape (n,)
        """
        checks.generator(rng)
        return handled(self, mechanism, Named).guess(mechanism.read(reports), rng)

    def accepts(self, mechanism: LocalRandomizer, reports: Reports, pair: Pair, rng: Rng) -> Array:
        """Whether each guess is the first value of `pair`; bool array (n,)."""
        return self.predict(mechanism, reports, rng) == mechanism.pair(pair)[0]

    def success(self, mechanism: LocalRandomizer) -> float | None:
        """Exact probability that the guess is the true value (attacker success rate); ``None`` if
        unknown."""
        rates = self.rates(mechanism)
        return None if rates is None else rates[0]

    def rates(self, mechanism: LocalRandomizer, pair: Pair | None = None) -> Rates | None:
        """Exact ``(tpr, fpr)``; ``None`` where no law is known (a client; subsets of size > 1 in
        several rounds)."""
        kind = handled(self, mechanism, Named)
        pair = mechanism.pair(pair)
        return kind.guess_rates(pair) if distribution_known(mechanism) else None

    def route(self, mechanism: LocalRandomizer) -> str:
        """How the exact rates are found, one of `ldpkit.reports.base.ROUTES`."""
        return str(handled(self, mechanism, Named).guess_route)

    def sample(
        self,
        mechanism: LocalRandomizer,
        trials: int,
        truth: bool,
        rng: Rng,
        pair: Pair | None = None,
    ) -> int:
        """Number of acceptances among `trials` reports, drawn from the law of the guess: no report
        is made.

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
        return drawable(self, mechanism, Named).guess_count(
            trials, truth, mechanism.pair(pair), rng
        )


def success_rate(mechanism: LocalRandomizer) -> float:
    """Return the exact probability that the guess is the true value.

    Raises
    ------
    ValueError
        If no law is known, see `Guess.rates`.
    """
    rates = Guess().rates(mechanism)
    if rates is None:
        raise ValueError(
            f"mechanism must have a known success rate of the guess, got {mechanism!r}"
        )
    return float(rates[0])
