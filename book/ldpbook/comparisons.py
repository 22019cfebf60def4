"""What a comparison with a paper is, and how it is judged.

How our number was made and what it is held against are two words that travel with
every comparison: agreement on other data is none, and agreement with the authors'
code is not agreement with what they printed.
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
"""The verdicts as a page shows them."""
RELATIONS = ("=", "<=", ">=")
HOW = (
    "real reports", "drawn from the law", "closed form", "stored run", "timing", "released code",
)  # fmt: skip
"""How a number was made; with *released code* it is held against that code, not against a paper."""
KINDS = (
    "printed number", "digitised curve", "claim in words", "sign or order", "own stand-in",
)  # fmt: skip
"""What a number is held against; an *own stand-in* takes the place of a number that no paper prints
or, beside one that it does, of data that are not to be had."""
REAL, LAW, *_, CODE = HOW
PRINTED, CURVE, WORDS, SIGN, STAND_IN = KINDS

_AGREE = 5  # standard errors; one comparison in 1.7 million fails by chance


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
        What exact mathematics says.
    relation : {"=", "<=", ">="}
        How the paper says our value should stand to `published`.
    note : str
        The explanation, where they differ.
    chance : float
        Exact probability of counts as far from the law as this run's, where standard errors do not
        say; see `ldpbook.plots.summary`.
    how : str
        One of `HOW`. With ``"released code"`` and nothing published, `reproduced` and `se` are what
        that code gave; what agrees with `exact` then agrees with the authors' code.
    kind : str
        One of `KINDS`.

    Returns
    -------
    str
        One of `VERDICTS`. A run more than five standard errors away from exact
        mathematics ``differs``, whatever the note says, unless it is no rarer
        by its exact `chance`; only the authors' code may be explained. A published number
        is judged by the exact value where there is one, not by a noisy run. What was computed from
        other data than the paper's neither agrees nor differs.
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
    if kind == SIGN:  # a sign has to stand out of the noise
        found += noise if relation == "<=" else -noise
    if within(found, published, relation, half_width(se, published_error, exact, kind)):
        return AGREES if code else "reproduced"
    return explained


def half_width(se: float, error: float, exact: float | None, kind: str) -> float:
    """How far a number may lie from the published one: noise excuses nothing where the number is
    exact, and no sign."""
    return error if exact is not None or kind == SIGN else error + _AGREE * se


def within(found: float, published: float, relation: str, slack: float) -> bool:
    """Whether a number stands to the published one as the relation says."""
    gap = found - published
    return {"=": abs(gap), "<=": gap, ">=": -gap}[relation] <= slack
