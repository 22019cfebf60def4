"""Audit one client of one release by an event that was fixed before; the pages on released clients share this module.

The adapters next to this file describe clients. They import their package only when a client is called, in processes whose import
path begins with the folder of that release (`ldpkit.executors.isolated`).
"""

import functools
import math
import pkgutil
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldpkit import Client, audit
from ldpkit.auditors import AuditResult
from ldpkit.blackbox.clients import ClientError
from ldpkit.digests import load

ALPHA = 0.01
TRIALS = 20_000  # reports per input, unless a client says otherwise
E = math.e
VALUE = "the report is the value"
BITS = "bit of 0 set, bit of 1 clear (0 against 1)"
CELL = "the reported cell is that of 0 and not of 1"
K, W = 100, 27  # domain and size of a subset at epsilon = 1
INSIDE = W * E / (W * E + K - W)
SUBSET_LAW = INSIDE * (K - W) / (K - 1), (1 - INSIDE) * W / (K - 1)


@functools.cache
def _compiled() -> Callable[[int], None]:
    import numba

    @numba.njit
    def seed_compiled(seed: int) -> None:
        np.random.seed(seed)

    return seed_compiled


def seeded(rng: np.random.Generator) -> None:
    """Seed every global generator that a package may draw from; call it when the package is imported."""
    random.seed(int(rng.integers(2**63)))
    np.random.seed(rng.integers(2**32))
    seed = rng.integers(2**32)
    if "numba" in sys.modules:  # compiled code has a generator of its own
        _compiled()(seed)


@dataclass(frozen=True)
class Released:
    """One client of one release, with its claim and the event by which it is audited.

    A call ``client(values, rng)`` takes the input of each user, which is the first (0) or the second (1). It returns 0 if the
    report of the real client lies in the event, and 1 if not. Therefore the object is a client for `ldpkit.Client`
    with k = 2, and for ``ldpkit audit --client``.

    Parameters
    ----------
    package, version, name : str
        `name` is the client's name in its package, with the arguments that matter.
    make : callable
        Returns the client: a function of one input that returns one report. It imports the package, and its result is cached.
    event : callable
        Whether a report supports the first input; fixed before any report is made.
    said : str
        The event in words.
    inputs : (first, second)
        Two neighbouring inputs of the documented domain.
    claim, delta : float
        The claimed privacy.
    stated : str
        Where the release states the claim.
    law : (float, float), optional
        Exact probabilities of the event under the two inputs.
    exact : float, optional
        The true epsilon at `delta`, where the exact distribution is known; by default that of the event.
    source : str
        The line of source, or the exact distribution, that explains a violation independently of the audit.
    weak : str
        Why the client is weaker than it seems, although it violates no claim.
    undecided : str
        Why the event alone justifies no verdict.
    fixed_in, thread, randomness : str
        The release that repairs the fault, the public discussion of it, and the source of random numbers.
    trials : int
        Number of reports per input.
    model : callable, optional
        ``model(value, rng, mended=False)`` restates in a few lines how the release makes a report; if mended, how it should.
    mend : callable, optional
        Returns a corrected report from a report of the real client, where that is possible.
    """

    package: str
    version: str
    name: str
    make: Callable[[], Callable[[Any], Any]] | None = None
    event: Callable[[Any], bool] | None = None
    said: str = ""
    inputs: tuple[Any, Any] = (0, 1)
    claim: float = 1.0
    delta: float = 0.0
    stated: str = ""
    law: tuple[float, float] | None = None
    exact: float | None = None
    source: str = ""
    weak: str = ""
    undecided: str = ""
    fixed_in: str = ""
    thread: str = ""
    randomness: str = ""
    trials: int = TRIALS
    model: Callable[..., Any] | None = None
    mend: Callable[[Any], Any] | None = None

    @property
    def folder(self) -> str:
        """Return the folder of the release below `ldpbook.paths.PACKAGES`; the book's own package needs none."""
        return "ldpkit" if self.package == "ldpkit" else f"{self.package}-{self.version}"

    @functools.cached_property
    def real(self) -> Callable[[Any], Any]:
        """Return the client of the package."""
        return self.make()

    def reports(self, which: int, n: int) -> list[Any]:
        """Return `n` reports of the real client about the first input (0) or the second (1)."""
        return [self.real(self.inputs[which]) for _ in range(n)]

    def copy(self, mended: bool = True) -> "Released":
        """Return the model in the place of the real client, with the same event and the same audit."""

        def make() -> Callable[[Any], Any]:
            rng = np.random.default_rng(random.getrandbits(63))
            return lambda value: self.model(value, rng, mended=mended)

        return replace(self, name=f"{self.name}, {'mended copy' if mended else 'model'}", make=make)

    @property
    def mended(self) -> "Released":
        """Return the real client whose reports are corrected before they are sent, with the same event and the same audit."""

        def make() -> Callable[[Any], Any]:
            real = self.make()
            return lambda value: self.mend(real(value))

        return replace(self, name=f"{self.name}, mended", make=make, law=None, exact=None, source="")

    def __call__(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        client = self.real  # imports the package, which may bring a generator
        seeded(rng)
        return np.array([0 if self.event(client(self.inputs[value])) else 1 for value in values.tolist()])

    def audit(self, trials: int | None = None, alpha: float = ALPHA, seed: int = 1) -> AuditResult:
        """Audit whether the event is likelier under the first input than the claim allows.

        All clients of the chapter are audited here and nowhere else.
        """
        client = Client(self, 2, "value", self.claim, self.delta, f"{self.package} {self.version} {self.name}")
        asked = {"trials": trials or self.trials, "alpha": alpha, "seed": seed, "pair": (0, 1), "both": False}
        return audit(client, "tight", independent=True, **asked)

    @property
    def true(self) -> float:
        """Return the true epsilon where the exact distribution is known, or NaN."""
        if self.exact is not None or self.law is None:
            return math.nan if self.exact is None else self.exact
        first, second = self.law
        return math.inf if second == 0 else math.log((first - self.delta) / second)

    def verdict(self, lower: float, trials: int) -> str:
        """Return the verdict in words; a violation needs both the bound of the audit and an independent reason."""
        if self.weak or self.undecided:
            return f"weak: {self.weak}" if self.weak else f"not auditable: {self.undecided}"
        if lower > self.claim and not (self.true > self.claim + 1e-9 and self.source):
            return "not auditable: the audit found an excess that no exact distribution and no line of source explains yet"
        if lower > self.claim:
            return "violates its claim"
        return f"keeps to it in {trials:,} reports per input"

    def row(self, verdict: str, lower: float = math.nan, trials: int = 0) -> dict[str, Any]:
        """Return the client's row of the table."""
        return {
            "package": self.package, "version": self.version, "client": self.name, "claim": self.claim,
            "stated": self.stated, "verdict": verdict, "exact": self.true, "lower": lower,
            "reports": trials or None, "event": self.said, "fixed_in": self.fixed_in, "delta": self.delta,
        }  # fmt: skip


def audit_released(path: str, trials: int, alpha: float, seed: int) -> dict[str, Any]:
    """Audit the client at a path, ``module:name``, in the process that imports its release; return its row, with the counts."""
    client, start = load(path), time.process_time()
    try:
        found = client.audit(trials, alpha, seed)
    except ClientError as error:
        return client.row(f"not auditable: {error}")
    said = client.verdict(found.lower, trials) if "valid audit" not in found.verdict else f"not auditable: {found.verdict}"
    return client.row(said, found.lower, trials) | found.counts | {"seconds": time.process_time() - start}


def sample(path: str, which: int, n: int, seed: int) -> list[Any]:
    """Return some reports of the client at a path, in the form in which it sends them."""
    client = load(path)
    _ = client.real
    seeded(np.random.default_rng(seed))
    return client.reports(which, n)


def made(path: str, *arguments: Any, call: str, **named: Any) -> Callable[[], Callable[[Any], Any]]:
    """Return a function that imports ``module:Class``, makes an object of the class, and returns its method `call`."""
    return lambda: getattr(pkgutil.resolve_name(path)(*arguments, **named), call)


def bit(report: Any) -> bool:
    """Return whether the bit of the first value is set and that of the second is clear."""
    return report[0] == 1 and report[1] == 0


def in_cell(value: Any, cell: int, seed: int, g: int) -> bool:
    """Return whether xxhash, as the packages use it, gives a value this one of `g` cells."""
    import xxhash

    return xxhash.xxh32_intdigest(str(value).encode(), int(seed)) % g == cell


def hashed(g: int, first: Any = 0, second: Any = 1) -> Callable[[Any], bool]:
    """Return the event of local hashing that the reported cell is that of the first input and not that of the second."""
    return lambda report: in_cell(first, *report, g) and not in_cell(second, *report, g)


def cell_law(g: int) -> tuple[float, float]:
    """Return the exact rates of that event; two hashes differ with probability 1 - 1/g."""
    first, second = value_law(g)
    return (1 - 1 / g) * first, (1 - 1 / g) * second


def value_law(k: int, epsilon: float = 1.0) -> tuple[float, float]:
    """Return the exact rates of the event that randomised response reports the first of k values."""
    grown = math.exp(epsilon)
    return grown / (grown + k - 1), 1 / (grown + k - 1)


def unary_rates(optimal: bool, epsilon: float = 1.0) -> tuple[float, float]:
    """Return the probabilities that unary encoding reports the own bit, and another bit, as set."""
    q = 1 / (math.exp(epsilon if optimal else epsilon / 2) + 1)
    return (0.5 if optimal else 1 - q), q


def unary_law(optimal: bool, faulty: bool = False, epsilon: float = 1.0) -> tuple[float, float]:
    """Return the exact rates of `bit`; a faulty client draws the own bit like the others first, and then sets it."""
    p, q = unary_rates(optimal, epsilon)
    own = p + q - p * q if faulty else p
    return own * (1 - q), q * (1 - own)


def rounded(report: Any) -> Any:
    """Return a noisy number, or a vector of them, rounded to multiples of 2^-20, which is coarser than all sums of doubles."""
    return np.rint(np.asarray(report) * 2**20) / 2**20


def lattice(report: Any) -> Any:
    """Return whether a report below 1/4 in size, or each one of an array, has digits finer than 2^-53.

    A double in [1/2, 2) is a multiple of 2^-53, and so is its
    difference from 1. Therefore a sum of 1 and noise that lies below 1/4 has no finer digits, however the noise was drawn. Noise
    near 0 nearly always has finer digits.
    """
    scaled = np.ldexp(report, 53)
    return (np.abs(report) < 0.25) & (scaled != np.floor(scaled))
