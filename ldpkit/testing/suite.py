"""The table of all checks, and the functions that run them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .. import checks as _checks
from ..attacks import Attack
from ..mechanisms import LocalRandomizer
from ..types import Input
from .case import Case, NotApplicableError, need
from .draws import claim, client, estimate, null, power, repeats
from .properties import (
    budget,
    extremes,
    generator,
    inputs,
    pair,
    parameters,
    rates,
    read,
    rounds,
    routes,
    value,
)

__all__ = ["CHECKS", "Check", "Conformance", "check_mechanism", "checks"]

CHECKS: dict[str, Callable[[Case], None]] = {
    check.__name__: check
    for check in (
        value,
        parameters,
        generator,
        inputs,
        read,
        pair,
        rates,
        budget,
        routes,
        client,
        rounds,
        estimate,
        extremes,
        null,
        claim,
        power,
        repeats,
    )
}
"""The checks by name. The first line of each docstring states the property that it tests."""


@dataclass(frozen=True)
class Check:
    """One check of one mechanism, which is callable.

    ``str`` returns its name, as ``parametrize(..., ids=str)`` needs it.
    """

    name: str
    case: Case

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> str | None:
        """Return ``None`` if the check passes, or why it does not apply.

        Raises
        ------
        AssertionError
            If the check fails.
        """
        try:
            CHECKS[self.name](self.case)
        except NotApplicableError as reason:
            return str(reason)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"it raises {type(error).__name__}: {error}") from error
        return None


@dataclass(frozen=True, repr=False)
class Conformance:
    """Outcomes of all checks of a mechanism by name, with a table as ``repr``."""

    mechanism: LocalRandomizer
    outcomes: Mapping[str, str]

    def __repr__(self) -> str:
        return "\n".join(
            [
                repr(self.mechanism),
                *(f"  {name:<12}{outcome}" for name, outcome in self.outcomes.items()),
            ]
        )


def checks(
    mechanism: LocalRandomizer,
    *,
    seed: int = 1,
    attacks: Sequence[str | Attack] | None = None,
    inputs: Sequence[Input] | None = None,
) -> list[Check]:
    """Return the checks of a mechanism for a parametrised test.

    Parameters are those of `check_mechanism`.
    """
    _checks.instance(
        "mechanism",
        mechanism,
        LocalRandomizer,
        "a mechanism whose reports can be read, or a Client",
    )
    case = Case(mechanism, _checks.integer("seed", seed, 0), attacks, inputs)
    return [Check(name, case) for name in CHECKS]


def check_mechanism(
    mechanism: LocalRandomizer,
    *,
    expected_failures: Mapping[str, str] | None = None,
    seed: int = 1,
    attacks: Sequence[str | Attack] | None = None,
    inputs: Sequence[Input] | None = None,
) -> Conformance:
    """Run all `CHECKS` on a mechanism.

    Parameters
    ----------
    mechanism : LocalRandomizer
        Any mechanism, also a `Client`.
    expected_failures : mapping, optional
        Names of checks that should fail, each with the reason. If such a check passes, that is a
        failure.
    seed : int
        Non-negative number that determines all random numbers.
    attacks : sequence of str or attack, optional
        The attacks on the reports, by default all attacks of the package that can read them.
    inputs : sequence, optional
        The inputs to tell apart, by default all values of a small domain, a few of a large one, or
        the proposed `pair`.

    Returns
    -------
    Conformance

    Raises
    ------
    AssertionError
        With the name of every failed check and a sentence about it.
    """
    expected = {
        _checks.one_of("expected_failures", name, CHECKS): reason
        for name, reason in (expected_failures or {}).items()
    }
    outcomes, failures = {}, []
    for check in checks(mechanism, seed=seed, attacks=attacks, inputs=inputs):
        name, outcome = check.name, "passed"
        try:
            outcome = f"does not apply: {why}" if (why := check()) else "passed"
        except AssertionError as error:
            outcome = f"fails as expected: {expected[name]}" if name in expected else "fails"
            if name not in expected:
                failures.append(f"{name}: {error}")
        else:
            if name in expected:
                failures.append(f"{name}: {outcome}, but it was expected to fail: {expected[name]}")
        outcomes[name] = outcome
    need(
        not failures,
        "\n  ".join([f"{mechanism!r} fails {len(failures)} of {len(CHECKS)} checks", *failures]),
    )
    return Conformance(mechanism, outcomes)
