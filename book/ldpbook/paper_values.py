"""Compare the papers' numbers with ours: published | this run | exact.

A number of a paper enters the book only through ``data/published/*.csv``. Every notebook records its comparisons on a
`Scoreboard`, which states how our number was made and with what it is compared. The build merges all comparisons into one table,
and fails if a number differs without an explanation.
"""

import functools
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpkit import checks
from ldpkit.types import Row

from . import paths
from .comparisons import CURVE, HOW, LAW, PRINTED, REAL, RELATIONS, SAID, SIGN, STAND_IN, WORDS, half_width, verdict, within

__all__ = ["load", "lookup", "items", "furthest", "Scoreboard", "COLUMNS"]

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
    table, kinds = load(paper), dict[float, list[str]]()
    kind = table["source"].str.split().str[0].map(_SOURCES)
    for value, rows in kind.groupby(pd.to_numeric(table["value"], errors="coerce")):
        kinds[value] = list(rows.unique())
    return kinds


def items() -> pd.DataFrame:
    """Return the list of figures and tables that the book regenerates (``item``, ``title``, and the ``page`` of each)."""
    return pd.read_csv(paths.data("items.csv"))


def furthest(cell: pd.DataFrame) -> str:
    """Return in how many standard errors the furthest row of `ldpbook.plots.summary` lies from its exact expectation."""
    checks.columns(cell, ("mean", "exact", "se"))
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
        self.claims: list[Row] = []

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
        plausible: tuple[float, float] | None = None,
    ) -> None:
        """Record one comparison for a `series` and a place `x`; the other parameters are those of `verdict`.

        Parameters
        ----------
        how : str, optional
            One of `HOW`, if it differs from the board's.
        kind : str, optional
            One of `KINDS`. By default it follows from the source of the published number, or is an own stand-in if there is no
            such number.
        setting : str
            A fitted or assumed setting. It is shown with the note, but explains no difference.
        plausible : (float, float), optional
            The smallest and the largest value that could have been found. The default is half the published value to either side
            of it.

        Raises
        ------
        ValueError
            If it is not stated how the number was made. If the published number is not one of the paper, or its source leaves
            open what it is. If data are replaced and no note names the replacement. If every plausible value would agree, or the
            tolerance exceeds half the published value, because then nothing is compared.
        """
        how = checks.one_of("how", self.how if how is None else how, HOW)
        kind = self._kind(published, kind, note)
        found = verdict(
            reproduced, se, published=published, published_error=published_error, exact=exact,
            relation=relation, note=note, chance=chance, how=how, kind=kind,
        )  # fmt: skip
        slack = None if published is None else half_width(se, published_error, exact, kind)
        if published is not None and slack is not None and kind != STAND_IN:
            half = abs(published) / 2
            every = plausible and all(within(x, published, relation, slack) for x in plausible)
            checks.need(
                not (every or (slack > half and (half or plausible is None))),
                f"{self.item}, {series}, {x}: a half-width of {slack:g} compares nothing with"
                f" {relation} {published:g}, as it exceeds half of it or all that is plausible"
                " agrees",
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

    def add_cells(self, cells: pd.DataFrame, name: str = "{mechanism}, k={k:g}", x: str = "epsilon") -> None:
        """Record the rows of `ldpbook.plots.summary` that have an exact expectation or a finite value with a standard error.

        If there is a column ``faithful``, it tells whether the reports of a row were real.

        Parameters
        ----------
        cells : pandas.DataFrame
        name : str
            The series of a row, with columns in braces.
        x : str
            The column recorded with it.
        """
        said = cells["exact"].notna() | (np.isfinite(cells["mean"]) & cells["se"].notna())
        for row in cells[said].to_dict("records"):
            self.add(
                name.format_map(row),
                row[x],
                row["mean"],
                row["se"],
                exact=None if math.isnan(row["exact"]) else row["exact"],
                chance=row.get("chance", math.nan),
                how=self._made(row),
            )

    def _made(self, cell: Any) -> str | None:
        """Return how the number of a cell was made, as far as the cell tells."""
        real = cell.get("faithful")
        return self.how if real is None else REAL if real else LAW

    def claim(
        self,
        says: str,
        cells: pd.DataFrame,
        *,
        published: float,
        relation: str = "<=",
        published_error: float = 0.0,
        x: str = "epsilon",
        where: str = "",
        over: str = "",
        series: str = "",
        note: str = "",
        comparable: bool = True,
        kind: str | None = None,
    ) -> None:
        """Compare a statement of the paper about many cells with the cell that deviates furthest from it.

        Parameters
        ----------
        says : str
            The statement, ``"at most a factor of two"``.
        cells : pandas.DataFrame
            The cells that the statement is about: rows of `ldpbook.plots.summary`. A run with other parameters may have none.
        published, published_error : float
            The number of the statement, and how far its printed form may be off.
        relation : {"<=", ">="}
            Relation of the cells to this number, according to the paper.
        x : str
            The column recorded with the comparison.
        where : str
            The name of a cell, with columns in braces.
        over : str
            A column that is divided by the value of its cell, if the statement is about such ratios.
        series : str
            Recorded in the place of `says`, if given.
        note : str
            The explanation, where they differ.
        comparable : bool
            Whether this run has the paper's settings; if not, the summary states so and nothing is recorded.
        kind : str, optional
            As in `add`.
        """
        checks.one_of("relation", relation, RELATIONS[1:])
        checks.columns(cells, ["mean", "exact", "se", x, *([over] if over else [])])
        line: Row = {"the paper says": says, "paper": published}
        known = cells[cells["exact"].notna()]
        if over:
            ratio = known[over] / known["mean"]
            known = known.assign(mean=ratio, exact=known[over] / known["exact"], se=known["se"] * ratio / known["mean"])
        if not comparable or known.empty:
            what = "no such cell in this run" if comparable else "other parameters than the paper's"
            self.claims.append(line | {"verdict": f"not compared: {what}"})
            return
        far = known.loc[known["exact"].idxmax() if relation == "<=" else known["exact"].idxmin()]
        at = where.format_map(far)
        furthest_at = f"{'Largest' if relation == '<=' else 'Smallest'} at {at}: " if at else ""
        self.add(
            series or says,
            far[x],
            far["mean"],
            far["se"],
            published=published,
            published_error=published_error,
            exact=far["exact"],
            relation=relation,
            note=note and furthest_at + note,
            how=self._made(far),
            kind=kind,
        )
        found = {"this run": far["mean"], "exact": far["exact"], "furthest at": at, "verdict": SAID[str(self.rows[-1][8])]}
        self.claims.append(line | found)

    def summary(self) -> pd.DataFrame:
        """Publish the comparisons, and return a line for each claim."""
        self.publish()
        order = ["the paper says", "paper", "this run", "exact", "furthest at", "verdict"]
        return pd.DataFrame(self.claims).reindex(columns=order).dropna(axis="columns", how="all")

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
