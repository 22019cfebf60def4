"""Define a comparison with a paper, and how it is judged.

Every comparison carries two labels: how our number was made, and with what it is compared. The labels matter for two reasons. A
result on other data confirms nothing about the paper's data. Agreement with the authors' code is not agreement with the printed
paper.
"""

import math
import numbers

from ldpkit import checks

__all__ = ["verdict", "VERDICTS", "SAID", "RELATIONS", "HOW", "KINDS", "AGREES"]

AGREES = "agrees with the authors' code"
VERDICTS = (
    "reproduced", AGREES, "differs-explained", "differs", "other-data", "no-published-value",
)  # fmt: skip
SAID = {word: word for word in VERDICTS} | {
    "differs-explained": "differs, explained",
    "other-data": "other data",
    "no-published-value": "no published value",
}
"""Words that a page shows for each verdict."""
RELATIONS = ("=", "<=", ">=")
HOW = (
    "real reports", "drawn from the law", "closed form", "stored run", "timing", "released code",
)  # fmt: skip
"""How a number was made; ``"released code"`` means that the comparison is with that code and not with a paper."""
KINDS = (
    "printed number", "digitised curve", "claim in words", "sign or order", "own stand-in",
)  # fmt: skip
"""With what a number is compared.

``"own stand-in"`` has two uses. It replaces a number that no paper prints, and it marks data that replace unavailable data of the
paper.
"""
REAL, LAW, *_, CODE = HOW
PRINTED, CURVE, WORDS, SIGN, STAND_IN = KINDS

_AGREE = 5  # standard errors: one comparison in 1.7 million fails by chance


def verdict(
    reproduced: float,
    se: float,
    *,
    published: float | None = None,
    published_error: float = 0.0,
    exact: float | None = None,
    relation: str = "=",
    note: str = "",
    chance: float = math.nan,
    how: str = REAL,
    kind: str = PRINTED,
) -> str:
    """Judge one number.

    Parameters
    ----------
    reproduced, se : float
        This run's value and its standard error (0 if computed exactly).
    published, published_error : float, optional
        The paper's value and how far its printed or digitised form may be off.
    exact : float, optional
        The exact value or expectation, if it is known.
    relation : {"=", "<=", ">="}
        How the paper says our value should stand to `published`.
    note : str
        The explanation, where the values differ.
    chance : float
        Exact probability of counts that deviate at least as far as this run's, where standard errors are unreliable; see
        `ldpbook.plots.summary`.
    how : str
        One of `HOW`. With ``"released code"`` and no published value, `reproduced` and `se` are results of that code. If they
        agree with `exact`, the exact value agrees with the authors' code.
    kind : str
        One of `KINDS`.

    Returns
    -------
    str
        One of `VERDICTS`. A run more than five standard errors away from the exact value ``differs``, even with a note. It does
        not if its exact `chance` shows that the deviation is no rarer than five standard errors. Only for the authors' code may a
        note explain such a deviation. A published number is compared with the exact value if there is one, and not with a noisy
        run. Values from other data than the paper's neither agree nor differ.
    """
    checks.one_of("relation", relation, RELATIONS)
    checks.one_of("how", how, HOW)
    checks.one_of("kind", kind, KINDS)
    given = {"reproduced": reproduced, "se": se, "published": published, "published_error": published_error, "exact": exact}
    for name, value in given.items():
        checks.need(
            isinstance(value, numbers.Real) or (value is None and name in ("published", "exact")),
            f"{name} must be a number, got {value!r}",
        )
    for name, error in (("se", se), ("published_error", published_error)):
        checks.need(not error < 0, f"{name} must be a number >= 0, got {error!r}")
    if not all(math.isfinite(x) for x in (reproduced, se, published_error, exact or 0.0, published or 0.0)):
        return "differs"
    code, explained = how == CODE, "differs-explained" if note else "differs"
    likely = chance > math.erfc(_AGREE / math.sqrt(2))
    if exact is not None and abs(reproduced - exact) > _AGREE * se + 1e-9 * abs(exact) and not likely:
        return explained if code else "differs"
    if published is None:
        return AGREES if code and exact is not None else "no-published-value"
    if kind == STAND_IN:
        return "other-data"
    found, noise = (reproduced, _AGREE * se) if exact is None else (exact, 0.0)
    if kind == SIGN:  # a sign must exceed the noise
        found += noise if relation == "<=" else -noise
    if within(found, published, relation, half_width(se, published_error, exact, kind)):
        return AGREES if code else "reproduced"
    return explained


def half_width(se: float, error: float, exact: float | None, kind: str) -> float:
    """Return how far a number may lie from the published one.

    Noise allows no deviation if the number is exact, or if only a sign is compared.
    """
    return error if exact is not None or kind == SIGN else error + _AGREE * se


def within(found: float, published: float, relation: str, slack: float) -> bool:
    """Return whether a number stands in the given relation to the published one, up to `slack`."""
    gap = found - published
    return {"=": abs(gap), "<=": gap, ">=": -gap}[relation] <= slack
