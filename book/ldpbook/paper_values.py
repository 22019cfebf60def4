"""Compare the papers' numbers with ours: published | this run | exact.

A number of a paper enters the book only through ``data/published/*.csv``. Every notebook records its comparisons on a
`Scoreboard`, which states how our number was made and with what it is compared. The build merges all comparisons into one table,
and fails if a number differs without an explanation.
"""

import functools
import math
import numbers
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpkit import checks

from . import paths

__all__ = [
    "load",
    "lookup",
    "items",
    "furthest",
    "Scoreboard",
    "COLUMNS",
    "verdict",
    "VERDICTS",
    "SAID",
    "RELATIONS",
    "HOW",
    "KINDS",
    "AGREES",
    "UNDECIDED",
    "DEFINED",
]

AGREES = "agrees with the authors' code"
UNDECIDED, DEFINED = "undecided", "by definition"
VERDICTS = (
    "reproduced", AGREES, "differs-explained", "differs", UNDECIDED, DEFINED, "other-data", "no-published-value",
)  # fmt: skip
"""Verdicts on a number. `UNDECIDED`: the paper can be read in two ways, and the number agrees under one of them only. `DEFINED`: the
published number follows from a definition, so that no run could contradict it. Both count neither as agreement nor as difference.
"""
SAID = {word: word for word in VERDICTS} | {
    "differs-explained": "differs, explained",
    "other-data": "other data",
    "no-published-value": "no published value",
}
"""Words that a page shows for each verdict."""
RELATIONS = ("=", "<=", ">=")
HOW = (
    "real reports", "sampled from exact rates", "closed form", "stored run", "timing", "released code",
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
    readings: Mapping[str, bool] | None = None,
    definition: bool = False,
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
    readings : mapping, optional
        Possible meanings of the published number, if the paper leaves it open, and for each whether the values agree.
    definition : bool
        Whether the published number follows from a definition, so that no run could contradict it.

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
    if readings and len({*readings.values()}) > 1:
        return UNDECIDED
    found, noise = (reproduced, _AGREE * se) if exact is None else (exact, 0.0)
    if kind == SIGN:  # a sign must exceed the noise
        found += noise if relation == "<=" else -noise
    if not (
        all(readings.values()) if readings else gap(found, published, relation) <= half_width(se, published_error, exact, kind)
    ):
        return explained
    return DEFINED if definition else AGREES if code else "reproduced"


def half_width(se: float, error: float, exact: float | None, kind: str) -> float:
    """Return how far a number may lie from the published one.

    Noise allows no deviation if the number is exact, or if only a sign is compared.
    """
    return error if exact is not None or kind == SIGN else error + _AGREE * se


def gap(found: Any, published: float, relation: str) -> Any:
    """Return by how much numbers miss the given relation to the published one; where they stand in it, no gap is positive."""
    more = found - published
    return {"=": abs(more), "<=": more, ">=": -more}[relation]


TARGET = "LDPKIT_SCOREBOARD"  # the book's runner names here the file for the comparisons of a page
COLUMNS = [
    "item", "series", "x", "published", "published_error",
    "reproduced", "reproduced_se", "exact", "verdict", "note", "relation", "how", "kind",
]  # fmt: skip
_SOURCES = {
    "Table": PRINTED, "script": PRINTED, "annotation": PRINTED, "legend": PRINTED,
    "figure": CURVE, "read": CURVE, "text": WORDS, "section": WORDS, "text:": SIGN,
}  # fmt: skip


def load(paper: str, folder: str = "published", **options: Any) -> pd.DataFrame:
    """Return the published numbers of one paper as a table.

    Parameters
    ----------
    paper : str
        ``"ldp_auditor"``, ...
    folder : {"published", "reference", "claims"}
        The table: numbers of the paper, outputs of its released code, or its claims.
    **options
        Options of `pandas.read_csv`.

    Raises
    ------
    FileNotFoundError
        If the checkout has no such file.
    """
    path = paths.data(checks.one_of("folder", folder, ("published", "reference", "claims")), f"{paper}.csv")
    checks.need(path.exists(), f"no published numbers at {path}", FileNotFoundError)
    return pd.read_csv(path, **options)


def lookup(paper: str, item: str, series: str | None = None, x: object = None) -> float:
    """Return one published number.

    Raises
    ------
    KeyError
        Unless exactly one row matches.
    """
    table = load(paper)
    rows = table[table["item"] == item]
    for column, wanted in (("series", series), ("x", x)):
        if wanted is not None:
            rows = rows[rows[column] == wanted]
    checks.need(
        len(rows) == 1, f"{len(rows)} published numbers of {paper} match item={item!r}, series={series!r}, x={x!r}", KeyError
    )
    return float(rows["value"].iloc[0])


@functools.cache
def _kinds(paper: str) -> dict[float, list[str]]:
    """Return every published number of a paper with its types, which the first word of its source names."""
    table = load(paper)
    kinds = table["source"].str.split().str[0].map(_SOURCES).groupby(pd.to_numeric(table["value"], errors="coerce"))
    return {value: list(rows.unique()) for value, rows in kinds}


@functools.cache
def _stated(paper: str) -> dict[float, int]:
    """Return how often the text of a paper states each number."""
    table = load(paper)
    told = table[table["source"].str.split().str[0].map(_SOURCES).isin((WORDS, SIGN))]
    return {float(value): int(n) for value, n in pd.to_numeric(told["value"], errors="coerce").value_counts().items()}


def items(root: Path | None = None) -> pd.DataFrame:
    """Return the list of figures and tables that the book regenerates (``item``, ``title``, and the ``page`` of each)."""
    return pd.read_csv((root or paths.ROOT) / "data" / "items.csv")


def has_columns(table: Any, names: Sequence[str]) -> None:
    """Raise ``ValueError`` for a table that lacks one of these columns."""
    existing = list(getattr(table, "columns", ()))
    got = ", ".join(map(str, existing)) or repr(table)
    checks.need({*names} <= {*existing}, f"table must have the columns {', '.join(names)}, got {got}")


def furthest(cell: pd.DataFrame) -> str:
    """Return in how many standard errors the furthest row of `ldpbook.plots.summary` lies from its exact expectation."""
    has_columns(cell, ("mean", "exact", "se"))
    far = (cell["mean"] - cell["exact"]).abs().div(cell["se"]).where(cell["se"] > 0).max()
    return f"{far:.1f}" if math.isfinite(far) else "an unknown number of"


def hand(table: pd.DataFrame, label: str, suffix: str = ".csv") -> None:
    """Pass rows on to the build, if this run belongs to one; rows of earlier calls with other labels are kept."""
    target = os.environ.get(TARGET)  # a reader's own run records nothing
    if not target:
        return
    path = Path(target).with_suffix(suffix)
    if path.exists():  # a page may hand over several times
        others = pd.read_csv(path, dtype={label: str})
        table = pd.concat([others[~others[label].isin(table[label])], table], ignore_index=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)


class Scoreboard:
    """The comparisons of one notebook.

    Parameters
    ----------
    item : str
        Id from the list of items, for example ``"ldp_auditor/fig2"``.
    how : str, optional
        How the numbers were made, one of `HOW`. It applies where neither the cells nor a call state it.
    """

    def __init__(self, item: str, how: str | None = None) -> None:
        self.item = checks.one_of("item", item, items()["item"])
        self.how = how if how is None else checks.one_of("how", how, HOW)
        self.rows: list[tuple[object, ...]] = []

    def add(
        self,
        series: str,
        x: object,
        reproduced: float,
        se: float = 0.0,
        *,
        published: float | None = None,
        published_error: float = 0.0,
        exact: float | None = None,
        relation: str = "=",
        note: str = "",
        chance: float = math.nan,
        how: str | None = None,
        kind: str | None = None,
        setting: str = "",
        readings: Mapping[str, bool] | None = None,
        definition: bool = False,
    ) -> None:
        """Record one comparison for a `series` and a place `x`; the other parameters are those of `verdict`.

        Parameters
        ----------
        how : str, optional
            One of `HOW`, if it differs from the board's.
        kind : str, optional
            One of `KINDS`. By default it follows from the source of the published number, or is an own stand-in if there is no
            such number. A statement in words is one comparison, that of the cell which deviates furthest from it.
        setting : str
            A fitted or assumed setting. It is shown with the note, but explains no difference.

        Raises
        ------
        ValueError
            If it is not stated how the number was made. If the published number is not one of the paper, or its source leaves
            open what it is. If a number is compared more often than the text of the paper states it. If data are replaced and no
            note names the replacement. If the tolerance exceeds half the published value, because then nothing is compared.
        """
        how = checks.one_of("how", self.how if how is None else how, HOW)
        kind = self._kind(published, kind, note)
        found = verdict(
            reproduced, se, published=published, published_error=published_error, exact=exact,
            relation=relation, note=note, chance=chance, how=how, kind=kind, readings=readings, definition=definition,
        )  # fmt: skip
        if found == UNDECIDED:
            said = (
                f"it {'agrees' if agrees else 'differs'} if the printed number is {what}"
                for what, agrees in (readings or {}).items()
            )
            note = " ".join(filter(None, (note, f"Open in the paper: {', '.join(said)}.")))
        slack = None if published is None else half_width(se, published_error, exact, kind)
        if published is not None and slack is not None and kind != STAND_IN:
            checks.need(
                slack <= abs(published) / 2,
                f"{self.item}, {series}, {x}: a half-width of {slack:g} compares nothing with"
                f" {relation} {published:g}, as it exceeds half of it",
            )
        if kind in (WORDS, SIGN):
            before = sum((row[3], row[-1]) == (published, kind) for row in self.rows)
            checks.need(
                before < _stated(self.item.partition("/")[0]).get(float(published or 0), 0),
                f"{self.item}, {series}, {x}: the text states {published:g} once for all cells, so that only its furthest cell is compared",
            )
        self.rows.append(
            (
                self.item,
                series,
                x,
                published,
                slack,
                reproduced,
                se,
                exact,
                found,
                " ".join(filter(None, (setting, note))),
                relation,
                how,
                kind,
            )
        )

    def _kind(self, published: float | None, kind: str | None, note: str) -> str:
        """Return with what a number is compared, one of `KINDS`."""
        if published is None:
            return checks.one_of("kind", kind or STAND_IN, [STAND_IN])
        paper = self.item.partition("/")[0]
        known = _kinds(paper).get(float(published), [])
        checks.need(known, f"published must be a number of data/published/{paper}.csv, got {published!r}")
        checks.need(kind != STAND_IN or note, "note must say what stands in for the paper's data, got ''")
        if kind is None and len(known) == 1:
            return known[0]
        return checks.one_of("kind", kind, [*known, STAND_IN])

    def add_cells(self, cells: pd.DataFrame, name: str = "{mechanism}, k={k:g}", x: str = "epsilon", **given: Any) -> None:
        """Record the rows of `ldpbook.plots.summary` that have an exact expectation or a finite value with a standard error.

        If there is a column ``faithful``, it tells whether the reports of a row were real.

        Parameters
        ----------
        cells : pandas.DataFrame
        name : str
            The series of a row, with columns in braces.
        x : str
            The column recorded with it.
        **given
            Further parameters of `add`, for example the published number with which each row is compared.
        """
        said = cells["exact"].notna() | (np.isfinite(cells["mean"]) & cells["se"].notna())
        for row in cells[said].to_dict("records"):
            real = row.get("faithful")
            self.add(
                name.format_map(row),
                row[x],
                row["mean"],
                row["se"],
                exact=None if math.isnan(row["exact"]) else row["exact"],
                chance=row.get("chance", math.nan),
                how=self.how if real is None else REAL if real else LAW,
                **given,
            )

    def table(self) -> pd.DataFrame:
        """Return the comparisons as a table with the columns `COLUMNS`."""
        return pd.DataFrame(self.rows, columns=COLUMNS)

    def publish(self) -> pd.DataFrame:
        """Pass the comparisons on to the build, if this run belongs to one, and return the number of comparisons for each
        verdict.
        """
        hand(self.table(), "item")
        said = self.table()["verdict"].map(SAID)
        return said.value_counts().rename_axis("verdict").to_frame("comparisons")
