"""The papers' numbers, and how ours compare: published | this run | exact.

A number of a paper enters the book only through ``data/published/*.csv``. Every
notebook records its comparisons on a `Scoreboard`; the build merges them into
one table and fails if something differs without an explanation.
"""

import math
import numbers
import os
from pathlib import Path
from typing import Any

import pandas as pd

from . import checks, paths

__all__ = ["load", "lookup", "items", "verdict", "furthest", "Scoreboard", "COLUMNS", "VERDICTS"]

COLUMNS = [
    "item", "series", "x", "published", "published_error",
    "reproduced", "reproduced_se", "exact", "verdict", "note",
]  # fmt: skip
VERDICTS = ("reproduced", "differs-explained", "differs", "no-published-value")
RELATIONS = ("=", "<=", ">=")

_AGREE = 5  # standard errors; one comparison in 1.7 million fails by chance
_FILE = "LDPKIT_SCOREBOARD"  # set by the book's runner; a reader's own run records nothing


def load(paper: str, folder: str = "published", **options: Any) -> pd.DataFrame:
    """Return the published numbers of one paper as a table.

    Parameters
    ----------
    paper : str
        ``"ldp_auditor"``, ...
    folder : {"published", "reference", "claims"}
        What to return: numbers of the paper, outputs of its released code, or its claims.
    **options
        Of `pandas.read_csv`.

    Raises
    ------
    FileNotFoundError
        If the checkout holds no such file, or there is none.
    """
    path = paths.data(
        checks.one_of("folder", folder, ("published", "reference", "claims")), f"{paper}.csv"
    )
    if not path.exists():
        raise FileNotFoundError(f"no published numbers at {path}")
    return pd.read_csv(path, **options)


def lookup(paper: str, item: str, series: str | None = None, x: Any = None) -> float:
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
    if len(rows) != 1:
        raise KeyError(
            f"{len(rows)} published numbers of {paper} match item={item!r}, series={series!r},"
            f" x={x!r}"
        )
    return float(rows["value"].iloc[0])


def items() -> pd.DataFrame:
    """Return the list of figures and tables the book is to regenerate (``item``, ``title``, the
    ``page`` it is on)."""
    return pd.read_csv(paths.data("items.csv"))


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
        say; see `ldpkit.plots.summary`.

    Returns
    -------
    str
        One of `VERDICTS`. A run more than five standard errors away from exact
        mathematics ``differs``, whatever the note says, unless it is no rarer
        by its exact `chance`. A statement ("at most")
        is judged by the exact value where there is one, not by a noisy run.
    """
    checks.one_of("relation", relation, RELATIONS)
    given = {
        "reproduced": reproduced,
        "se": se,
        "published": published,
        "published_error": published_error,
        "exact": exact,
    }
    for name, value in given.items():
        if not (
            isinstance(value, numbers.Real) or (value is None and name in ("published", "exact"))
        ):
            raise ValueError(f"{name} must be a number, got {value!r}")
    for name, error in (("se", se), ("published_error", published_error)):
        if error < 0:
            raise ValueError(f"{name} must be a number >= 0, got {error!r}")
    if not all(
        math.isfinite(x) for x in (reproduced, se, published_error, exact or 0.0, published or 0.0)
    ):
        return "differs"
    likely = chance > math.erfc(_AGREE / math.sqrt(2))
    if (
        exact is not None
        and abs(reproduced - exact) > _AGREE * se + 1e-9 * abs(exact)
        and not likely
    ):
        return "differs"
    if published is None:
        return "no-published-value"
    found, slack = reproduced, published_error + _AGREE * se
    if relation != "=" and exact is not None:
        found, slack = exact, published_error
    gap = found - published
    if {"=": abs(gap), "<=": gap, ">=": -gap}[relation] <= slack:
        return "reproduced"
    return "differs-explained" if note else "differs"


def furthest(cell: pd.DataFrame) -> str:
    """Say how many standard errors the furthest row of `ldpkit.plots.summary` lies from its exact
    expectation."""
    checks.columns(cell, ("mean", "exact", "se"))
    far = (cell["mean"] - cell["exact"]).abs().div(cell["se"]).where(cell["se"] > 0).max()
    return f"{far:.1f}" if math.isfinite(far) else "an unknown number of"


class Scoreboard:
    """The comparisons of one notebook.

    Parameters
    ----------
    item : str
        Id from the list of items, for example ``"ldp_auditor/fig2"``.
    """

    def __init__(self, item: str) -> None:
        self.item = checks.one_of("item", item, items()["item"])
        self.rows: list[tuple[Any, ...]] = []
        self.claims: list[dict[str, Any]] = []

    def add(
        self,
        series: str,
        x: Any,
        reproduced: float,
        se: float = 0.0,
        *,
        published: float | None = None,
        published_error: float = 0.0,
        exact: float | None = None,
        relation: str = "=",
        note: str = "",
        chance: float = math.nan,
    ) -> None:
        """Record one comparison; parameters as in `verdict`, with the `series` and `x` it belongs
        to."""
        found = verdict(
            reproduced, se, published=published, published_error=published_error,
            exact=exact, relation=relation, note=note, chance=chance,
        )  # fmt: skip
        self.rows.append(
            (
                self.item,
                series,
                x,
                published,
                published_error if published is not None else None,
                reproduced,
                se,
                exact,
                found,
                note,
            )
        )

    def add_cells(
        self, cells: pd.DataFrame, name: str = "{mechanism}, k={k:g}", x: str = "epsilon"
    ) -> None:
        """Record every row of `ldpkit.plots.summary` whose exact expectation is known and finite.

        Parameters
        ----------
        cells : pandas.DataFrame
        name : str
            The series of a row, with columns in braces.
        x : str
            The column recorded with it.
        """
        for row in cells[cells["exact"].notna()].to_dict("records"):
            self.add(
                name.format_map(row),
                row[x],
                row["mean"],
                row["se"],
                exact=row["exact"],
                chance=row.get("chance", math.nan),
            )

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
    ) -> None:
        """Hold a statement of the paper about many cells against the one that goes furthest.

        Parameters
        ----------
        says : str
            The statement, ``"at most a factor of two"``.
        cells : pandas.DataFrame
            The cells that it is about: rows of `ldpkit.plots.summary`. A run with other parameters
            may have none.
        published, published_error : float
            The number of the statement, and how far its printed form may be off.
        relation : {"<=", ">="}
            How the paper says that the cells stand to it.
        x : str
            The column recorded with the comparison.
        where : str
            What a cell is called, with columns in braces.
        over : str
            A column that is divided by the value of its cell, if the statement is about such
            ratios.
        series : str
            Recorded in the place of `says`, if given.
        note : str
            The explanation, where they differ.
        comparable : bool
            Whether this run is what the paper speaks about; if not, the summary says so and nothing
            is recorded.
        """
        checks.one_of("relation", relation, RELATIONS[1:])
        checks.columns(cells, ["mean", "exact", "se", x, *([over] if over else [])])
        line: dict[str, Any] = {"the paper says": says, "paper": published}
        known = cells[cells["exact"].notna()]
        if over:
            ratio = known[over] / known["mean"]
            known = known.assign(
                mean=ratio,
                exact=known[over] / known["exact"],
                se=known["se"] * ratio / known["mean"],
            )
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
        )
        found = {
            "this run": far["mean"],
            "exact": far["exact"],
            "furthest at": at,
            "verdict": self.rows[-1][8],
        }
        self.claims.append(line | found)

    def summary(self) -> pd.DataFrame:
        """Publish; return a line for each claim that was made."""
        self.publish()
        order = ["the paper says", "paper", "this run", "exact", "furthest at", "verdict"]
        return pd.DataFrame(self.claims).reindex(columns=order).dropna(axis="columns", how="all")

    def table(self) -> pd.DataFrame:
        """Return the comparisons as a table with the columns `COLUMNS`."""
        return pd.DataFrame(self.rows, columns=COLUMNS)

    def publish(self) -> pd.DataFrame:
        """Hand the comparisons to the build, if this run belongs to one; return the counts of
        verdicts."""
        target = os.environ.get(_FILE)
        if target:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            table = self.table()
            if Path(target).exists():  # a page may hold several items
                others = pd.read_csv(target)
                table = pd.concat([others[others["item"] != self.item], table], ignore_index=True)
            table.to_csv(target, index=False)
        return self.table()["verdict"].value_counts().rename_axis("verdict").to_frame("comparisons")
