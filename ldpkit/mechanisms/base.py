"""What every mechanism promises, and the estimator shared by all pure protocols.

A mechanism is a frozen dataclass: its fields are its parameters, checked at
construction. It knows the client (`perturb`), the server (`estimate`,
`variance`) and its own probabilities, and nothing about attacks.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias, TypeVar

import numpy as np

from .. import checks
from ..reports import ReportType, Support
from ..reports.base import Independent
from ..types import Array, ArrayLike, Input, Numbers, Pair, Reports, Rng, Row

__all__ = [
    "Mechanism",
    "LocalRandomizer",
    "Epsilon",
    "Delta",
    "Domain",
    "FrequencyOracle",
    "SupportOracle",
    "support_variance",
    "MIN_EPSILON",
    "MAX_EPSILON",
    "MAX_DOMAIN",
    "MAX_ROUNDS",
    "distribution_known",
]

Verbs = TypeVar("Verbs")

MIN_EPSILON = 1e-6
"""Smallest accepted epsilon: below it ``p - q`` loses its digits."""

MAX_EPSILON = 30.0
"""Largest accepted epsilon: beyond it ``1 - p`` loses its digits, and no audit of
up to 10^12 reports could see a difference (its ceiling is 25.8)."""

MAX_DOMAIN = 2**31 - 1
"""Largest accepted domain size."""

MAX_ROUNDS = 10**6
"""Largest accepted number of collections or rounds: the laws of their counts are kept in full."""


Epsilon: TypeAlias = Annotated[float, checks.rule(checks.real, MIN_EPSILON, MAX_EPSILON)]
"""A budget."""

Delta: TypeAlias = Annotated[float, checks.rule(checks.real, 0, 1, closed="()")]
"""A probability with which the budget may be exceeded."""

Domain: TypeAlias = Annotated[int, checks.rule(checks.integer, 2, MAX_DOMAIN)]
"""A number of values."""


class Mechanism(checks.Checked, ABC):
    """A client that randomises one user's record.

    Attributes
    ----------
    name : str
        The literature's abbreviation.
    epsilon, delta : float
        The claimed guarantee; ``epsilon = inf`` means that none is claimed.
    exact : bool
        Whether the distribution of the `report_type` is exactly that of `perturb`. Every class
        states it anew: a subclass that does not is audited by real reports.
    """

    exact: ClassVar[bool] = False
    _client: ClassVar[Callable[..., object]]  # of which `exact` speaks: one put in its place is not

    if TYPE_CHECKING:  # fields of some mechanisms, constants or properties of others

        @property
        def name(self) -> str:
            """The literature's abbreviation."""

        @property
        def epsilon(self) -> float:
            """The claimed budget."""

        @property
        def delta(self) -> float:
            """The claimed delta."""

    else:
        delta = 0.0

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        if "exact" not in vars(cls):
            cls.exact = False
        cls._client = cls.perturb
        if isinstance(getattr(cls, "name", None), str) and "name" not in vars(cls):
            # what a subclass does is not said of its parent
            cls.name = cls.__name__  # type: ignore[method-assign, assignment]  # a property of some

    @property
    def published_delta(self) -> float:
        """The delta that the paper's code subtracts; differs from `delta` only where that code
        errs."""
        return self.delta

    @property
    def scope(self) -> str:
        """What has to be said where an audit exceeds the claim because it asks more than is
        claimed; mostly nothing."""
        return ""

    @property
    def parameters(self) -> Row:
        """The fields of the mechanism as a dictionary, in declaration order, without those that
        are ``None`` unless asked for."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]  # every mechanism is a dataclass
        given = {f.name: getattr(self, f.name) for f in fields}
        off = {f.name for f in fields if f.default is None and given[f.name] is None}
        return {name: value for name, value in given.items() if name not in off}

    @abstractmethod
    def perturb(self, values: Input, rng: Rng) -> Reports:
        """Randomise one value per user with the real client.

        Parameters
        ----------
        values : int array, shape (n,)
        rng : numpy.random.Generator

        Returns
        -------
        array
            One report per user along the first axis.
        """


class LocalRandomizer(Mechanism):
    """A mechanism of which two inputs can be told apart by the reports: what an audit is about."""

    @property
    @abstractmethod
    def report_type(self) -> ReportType:
        """What a report looks like, and the law of the reports, see `ldpkit.reports`."""

    @property
    def width(self) -> int:
        """Numbers in one user's report at most: how many reports fit into memory at once."""
        return self.report_type.width

    def inputs(self, value: Input, n: int) -> Array:
        """Return the values of n users who all hold `value`."""
        return np.full(n, value)

    @abstractmethod
    def pair(self, pair: Input = None) -> Input:
        """Return the two audited inputs, those furthest apart unless given, after checking that
        reports can tell them apart.

        Raises
        ------
        ValueError
            If they are no inputs of the mechanism, or no report tells them apart.
        """

    def read(self, reports: Reports) -> Reports:
        """Return reports as arrays, in the form of `kind`, after checking that this mechanism can
        send them.

        Raises
        ------
        ValueError
            If their number, shape or type is another one, or an entry is out of range.
        """
        return self.report_type.read(reports, self.name)


class FrequencyOracle(LocalRandomizer):
    """A mechanism over ``0..k-1`` from whose reports frequencies are estimated.

    Attributes
    ----------
    k : int
        Domain size, at least 2.
    """

    if TYPE_CHECKING:

        @property
        def k(self) -> int:
            """Domain size."""

    @property
    def report(self) -> str:
        """Name of the kind of report."""
        return self.report_type.name

    def _users(self, values: ArrayLike, rng: Rng) -> Array:
        """The values that users hold, after checking them and the generator."""
        checks.generator(rng)
        return checks.values(values, self.k)

    def pair(self, pair: Input = None) -> Pair:
        return pair_of_values(self.report_type, pair)

    @abstractmethod
    def estimate(self, reports: Reports) -> Array | list[Array]:
        """Return unbiased frequency estimates, shape (k,), from reports of n >= 1 users."""

    @abstractmethod
    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency.

        Parameters
        ----------
        n : int
            Number of users.
        frequency : float or array
            True frequency of the value; 0 gives the usual approximation.
        """


def pair_of_values(kind: ReportType, pair: Input = None) -> Pair:
    """Return two different values of a domain, the first and the last unless given; see
    `LocalRandomizer.pair`."""
    pair = (0, kind.domain - 1) if pair is None else pair
    checks.need(
        np.shape(pair) == (2,) and pair[0] != pair[1],
        f"pair must hold two different values, got {pair}",
    )
    first, second = (checks.integer("pair", v, 0, kind.domain - 1) for v in pair)
    kind.check((first, second))
    return first, second


def oracle(mechanism: FrequencyOracle) -> FrequencyOracle:
    """Return `mechanism` if it is a `FrequencyOracle`."""
    return checks.instance("mechanism", mechanism, FrequencyOracle, "a frequency oracle")


def report_type_with(mechanism: FrequencyOracle, verbs: type[Verbs], wanted: str) -> Verbs:
    """Return the kind of a frequency oracle's reports if it has the `verbs`; otherwise the
    mechanism must do what is `wanted`."""
    kind = oracle(mechanism).report_type
    if not isinstance(kind, verbs):
        raise ValueError(
            f"mechanism must {wanted}, got {mechanism.name} with its {kind.name} reports"
        )
    return kind


def distribution_known(mechanism: object) -> bool:
    """Whether counts may be sampled from an exact distribution instead of counted on real reports.

    A mechanism class states by its own `exact` that the distribution of its report type is that of
    its `perturb`; the report type has to have one.
    """
    return (
        isinstance(mechanism, LocalRandomizer)
        and mechanism.exact
        and getattr(mechanism.perturb, "__func__", None) is type(mechanism)._client
        and mechanism.report_type.exact
    )


def share(frequency: Numbers) -> Numbers:
    """Return a true frequency, or an array of them, after checking that it lies in [0, 1]."""
    return checks.reals("frequency", frequency, 0, 1)[()]


def support_variance(p: Numbers, q: Numbers, frequency: Numbers = 0.0) -> Numbers:
    """Variance per user of a frequency estimated from support counts; numbers or arrays."""
    return (q * (1 - q) + frequency * (p - q) * (1 - p - q)) / (p - q) ** 2


class SupportOracle(FrequencyOracle):
    """A pure protocol in the sense of Wang et al. (2017).

    Every report supports a set of values; the user's own value is in it with
    probability `p`, any other value with probability `q` (subclasses give both).
    """

    if TYPE_CHECKING:

        @property
        def report_type(self) -> Support:
            """A set of supported values."""

        @property
        def p(self) -> float:
            """Probability that the own value is supported."""

        @property
        def q(self) -> float:
            """Probability that one given other value is."""

    def support_counts(self, reports: ArrayLike) -> Array:
        """Return how many reports support each value, shape (k,)."""
        return self.report_type.support_counts(self.read(reports))

    def estimate(self, reports: Array) -> Array:
        counts = self.support_counts(reports)
        return (counts / len(reports) - self.q) / (self.p - self.q)

    def sample_estimate(self, counts: ArrayLike, rng: Rng) -> Array:
        """Draw the estimates that fresh reports of a whole population would give.

        If values are supported independently, support counts are drawn as sums
        of two binomials; otherwise every report is made.

        Parameters
        ----------
        counts : int array, shape (k,)
            How many users hold each value.
        rng : numpy.random.Generator

        Returns
        -------
        float array, shape (k,)
        """
        checks.generator(rng)
        counts = checks.counts(counts, self.k)
        if not isinstance(self.report_type, Independent):
            return self.estimate(self.perturb(np.repeat(np.arange(self.k), counts), rng))
        n = counts.sum()
        supported = rng.binomial(counts, self.p) + rng.binomial(n - counts, self.q)
        return (supported / n - self.q) / (self.p - self.q)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        return support_variance(self.p, self.q, share(frequency)) / checks.integer("n", n, 1)
