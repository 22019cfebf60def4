"""Interfaces of mechanisms, and the estimator of all pure protocols.

A mechanism is a frozen dataclass: its fields are its parameters, checked at construction. A
mechanism defines the client (`perturb`), the server (`estimate`, `variance`) and its probabilities.
It does not depend on attacks.
"""

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar

import numpy as np

from .. import checks
from ..progress import shown
from ..reports import Independent, ReportType
from ..types import Array, ArrayLike, Input, Numbers, Reports, Rng, Row, Word

__all__ = [
    "ClientError",
    "NoClientError",
    "Mechanism",
    "exact_distribution",
    "Epsilon",
    "Delta",
    "Domain",
    "FrequencyOracle",
    "support_estimate",
    "support_variance",
    "MIN_EPSILON",
    "MAX_EPSILON",
    "MAX_DOMAIN",
    "MAX_ROUNDS",
    "build",
]

MIN_EPSILON = 1e-6
"""Smallest accepted epsilon, because ``p - q`` loses digits below it."""

MAX_EPSILON = 30.0
"""Largest accepted epsilon. No audit of up to 10^12 reports could observe a difference beyond it,
because its largest possible bound is 25.8."""

MAX_DOMAIN = 2**31 - 1
"""Largest accepted domain size."""

MAX_ROUNDS = 10**6
"""Largest accepted number of collections or rounds, because the distributions of their counts are
stored in full."""


Epsilon: TypeAlias = Annotated[
    float, checks.rule(checks.real, MIN_EPSILON, MAX_EPSILON), "Privacy budget, in [1e-6, 30]."
]

Delta: TypeAlias = Annotated[
    float,
    checks.rule(checks.real, 0, 1, closed="()"),
    "Probability with which the guarantee may fail, in (0, 1).",
]

Domain: TypeAlias = Annotated[
    int, checks.rule(checks.integer, 2, MAX_DOMAIN), "Domain size, at least 2."
]


class ClientError(ValueError):
    """The client under audit failed, or returned something that is not a report.

    Attributes
    ----------
    said : str
        The message without the input, which the client has not sent; empty if it holds none.
    """

    said = ""

    def __str__(self) -> str:  # much of it is text of the client
        return "\n".join(map(shown, super().__str__().split("\n")))


class NoClientError(ClientError):
    """The client cannot be started, or ended although it was still needed."""


class _ClassName:
    """The name of a class, for the classes that state no other."""

    def __get__(self, mechanism: object, cls: type) -> str:
        return cls.__name__


class Mechanism(ABC):
    """A client that randomises one user's record.

    Most mechanisms state a `report_type`, and an audit tries to distinguish two inputs by their
    reports. Mechanisms of key-value sets and of gradients have auditors of their own instead.

    Attributes
    ----------
    name : str
        Abbreviation in the literature, by default the name of the class.
    epsilon, delta : float
        The claimed guarantee; ``epsilon = inf`` means that no guarantee is claimed.
    """

    if TYPE_CHECKING:  # fields of some mechanisms, constants or properties of others

        @property
        def name(self) -> str:
            """Abbreviation in the literature."""

        @property
        def epsilon(self) -> float:
            """The claimed budget."""

        @property
        def delta(self) -> float:
            """The claimed delta."""

        @property
        def scope(self) -> str:
            """Note for results whose audited inputs are not covered by the claim; usually empty."""

    else:
        name, delta, scope = _ClassName(), 0.0, ""

    def __post_init__(self) -> None:
        checks.fields(self)

    @property
    def published_delta(self) -> float:
        """The delta that the paper's code subtracts; it differs from `delta` only where this code
        has an error."""
        return self.delta

    @property
    def parameters(self) -> Row:
        """The fields of the mechanism as a dictionary, in the order of their declaration, without
        the fields that have the default ``None``."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]  # of every mechanism
            if field.default is not None or getattr(self, field.name) is not None
        }

    @abstractmethod
    def perturb(self, values: Input, rng: Rng) -> Reports:
        """Randomise one value per user with the real client.

        Parameters
        ----------
        values : int array, shape (n,)
            The users' values.
        rng : numpy.random.Generator

        Returns
        -------
        array
            One report per user along the first axis.
        """

    # --- what an audit of two inputs needs

    foreign: ClassVar[bool] = False
    """Whether it is the client of somebody else, whose reports may depend on each other."""

    @property
    def report_type(self) -> ReportType:
        """The form of a report and, where it is known, the exact distribution of reports; see
        `ldpkit.reports`."""
        raise ValueError(f"mechanism must be {READABLE}, got {self!r}")

    @property
    def distribution_known(self) -> bool:
        """Whether the reports have exactly the distribution of the `report_type`, so that counts
        may be sampled from this distribution instead of counted on real reports.

        The class must state this by the decorator `exact_distribution`. A subclass that does not
        repeat it is audited by real reports, and so is a class whose client has been replaced.
        """
        described = vars(type(self)).get("_described", self)
        return getattr(self.perturb, "__func__", None) is described and self.report_type.exact

    @property
    def width(self) -> int:
        """Largest number of numbers in one report, by which audits choose how many reports to hold
        in memory."""
        return self.report_type.width

    @property
    def batched(self) -> bool:
        """Whether one call makes the reports of many users."""
        return True

    @property
    def digest(self) -> str:
        """Digest of the code behind a client; empty for a mechanism of ours."""
        return ""

    @property
    def restarts(self) -> int:
        """How often the program of a client was started again; 0 for other mechanisms."""
        return 0

    def inputs(self, value: Input, n: int) -> Array:
        """Return the values of n users who all hold `value`."""
        return np.full(n, value)

    def pair(self, pair: Input = None) -> Input:
        """Return the two audited inputs, after checking that reports can distinguish them; by
        default the two inputs that are furthest apart, which are the first and the last value.

        Raises
        ------
        ValueError
            If one of them is not an input of the mechanism, or if both have the same distribution
            of reports.
        """
        form = self.report_type
        pair = (0, form.k - 1) if pair is None else pair
        checks.need(
            np.shape(pair) == (2,) and pair[0] != pair[1],
            f"pair must hold two different values, got {pair}",
        )
        first, second = (checks.integer("pair", value, 0, form.k - 1) for value in pair)
        return first, second

    def read(self, reports: Reports) -> Reports:
        """Return reports as arrays, in the form of `report_type`, after checking that this
        mechanism can send them.

        Raises
        ------
        ValueError
            If the number, shape or type of the reports is wrong, or an entry is out of range.
        """
        return self.report_type.read(reports, self.name)


READABLE = "a mechanism whose reports can be read, or a Client"
"""The only targets that an audit of two inputs accepts."""

Class = TypeVar("Class", bound=type[Mechanism])


def exact_distribution(cls: Class) -> Class:
    """State that the distribution of a class's `report_type` is exactly that of its `perturb`.

    This is a decorator. A subclass does not inherit the statement, see
    `Mechanism.distribution_known`.
    """
    cls._described = cls.perturb  # type: ignore[attr-defined]  # of no subclass
    return cls


class FrequencyOracle(Mechanism):
    """A mechanism over the values ``0..k-1`` whose reports estimate the frequency of each value.

    Most are pure protocols in the sense of Wang et al. (2017): a report supports a set of values.
    The set contains the user's own value with probability `p`, and any other value with probability
    `q`. These two numbers determine the estimator and its variance. Other frequency oracles replace
    both methods.

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
        """Name of the report type."""
        return self.report_type.name

    def _users(self, values: ArrayLike, rng: Rng) -> Array:
        """The users' values, after checking them and the generator."""
        checks.generator(rng)
        return checks.values(values, self.k)

    @cached_property
    def p(self) -> float:
        """Probability that the own value is supported: that of the report type, unless a class
        states its own."""
        return self._rate("p")

    @cached_property
    def q(self) -> float:
        """Probability that one given other value is supported; see `p`."""
        return self._rate("q")

    def _rate(self, name: str) -> Any:
        form = self.report_type
        checks.need(hasattr(form, name), f"mechanism must be a pure protocol, got {self!r}")
        return getattr(form, name)

    def support_counts(self, reports: ArrayLike) -> Array:
        """Return the number of reports that support each value, shape (k,)."""
        form: Any = self.report_type
        return form.support_counts(self.read(reports))

    def estimate(self, reports: Reports) -> Array:
        """Return unbiased estimates of the frequencies, shape (k,), from reports of n >= 1
        users."""
        return support_estimate(self.support_counts(reports), len(reports), self.p, self.q)

    @checks.checked
    def sample_estimate(self, counts: ArrayLike, rng: checks.Generator) -> Array:
        """Sample the estimates that fresh reports of a whole population would give.

        If reports support values independently, each support count is sampled as the sum of two
        binomial variables. Otherwise the client makes every report.

        Parameters
        ----------
        counts : int array, shape (k,)
            Number of users who hold each value.
        rng : numpy.random.Generator

        Returns
        -------
        float array, shape (k,)
        """
        counts = checks.counts(counts, self.k)
        if not isinstance(self.report_type, Independent):
            users = np.repeat(np.arange(self.k), counts.astype(np.intp))
            return self.estimate(self.perturb(users, rng))
        n = counts.sum()
        supported = rng.binomial(counts, self.p) + rng.binomial(n - counts, self.q)
        return support_estimate(supported, n, self.p, self.q)

    def variance(self, n: int, frequency: Numbers = 0.0) -> Numbers:
        """Return the variance of one estimated frequency.

        Parameters
        ----------
        n : int
            Number of users, at least 1.
        frequency : float or array
            True frequency of the value, in [0, 1]; 0 gives the usual approximation.
        """
        return support_variance(self.p, self.q, checked_frequency(frequency)) / checks.integer(
            "n", n, 1
        )


def oracle(mechanism: FrequencyOracle) -> FrequencyOracle:
    """Return `mechanism` if it is a `FrequencyOracle`."""
    return checks.instance("mechanism", mechanism, FrequencyOracle, "a frequency oracle")


def build(name: str, cls: Callable[..., Any], **parameters: Word) -> Any:
    """Make the mechanism called `name` from its parameters; ``None`` means not given.

    Raises
    ------
    ValueError
        If a parameter is missing or superfluous, or a value is out of range.
    """
    given = {key: value for key, value in parameters.items() if value is not None}
    wanted = inspect.signature(cls).parameters
    missing = [p for p, spec in wanted.items() if p not in given and spec.default is spec.empty]
    extra = [p for p in given if p not in wanted]
    if missing or extra:
        problem = f"needs {', '.join(missing)}" if missing else f"does not take {', '.join(extra)}"
        raise ValueError(f"mechanism {name} {problem}; its parameters are {', '.join(wanted)}")
    return cls(**given)


def checked_frequency(frequency: Numbers) -> Numbers:
    """Return a true frequency, or an array of frequencies, after checking that all lie in
    [0, 1]."""
    return checks.reals("frequency", frequency, 0, 1)[()]


def support_variance(p: Numbers, q: Numbers, frequency: Numbers = 0.0) -> Numbers:
    """Variance of a frequency estimated from the support count of one user; divide by n for n
    users."""
    return (q * (1 - q) + frequency * (p - q) * (1 - p - q)) / (p - q) ** 2


def support_estimate(counts: Array, n: Numbers, p: float, q: float) -> Array:
    """Unbiased frequencies from the numbers of n reports that support each value."""
    return (counts / n - q) / (p - q)
