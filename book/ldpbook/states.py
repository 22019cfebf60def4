"""State in words how items compare with their papers: the numbers, the statements, and what differs, with the reason.

A page, its tile, the front page, the scoreboard and the search result show the same `State`. Therefore none of them hides what
another one shows.
"""

import html
import math
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from . import errata, figures
from .claims import NEVER, VERDICTS, anchor
from .execute import Project
from .paper_values import CURVE, PRINTED, SIGN, WORDS

_VERBS = {PRINTED: "print", CURVE: "draw", WORDS: "state"}
_COUNTED = re.compile(r"^[\d,]+ of [\d,]+ \w+ \w+")
_CITED = re.compile(r" \[([a-z-]+-\d+)\]")
NOTHING = "nothing to compare with"
"""The state of a figure without numbers and statements."""


class Difference(NamedTuple):
    """A statement of a paper that does not hold everywhere, or an erratum that changes a conclusion: where it fails, and why."""

    what: str
    fails: str
    why: str
    page: str
    anchor: str
    conclusion: bool

    def html(self, to: Callable[[str], str]) -> str:
        """Return the difference as HTML; `to` gives the address of a page."""
        why = re.sub(
            _CITED,
            lambda cited: f' (<a href="{to(errata.page(cited[1]))}#{cited[1]}">erratum</a>)',
            html.escape(self.why, quote=False),
        )
        link = f'<a href="{to(self.page)}#{self.anchor}">{html.escape(self.what, quote=False)}</a>'
        told = f"“{link}” {self.fails}" + ", because" * bool(why) if self.fails else link + ":" * bool(why)
        return f"{told} {why}".rstrip() + "."


class State(NamedTuple):
    """How some items compare with their papers; the first difference is the gravest."""

    numbers: str
    statements: str
    differences: tuple[Difference, ...]

    @property
    def mark(self) -> str:
        """Whether a conclusion of the paper differs, or an empty text if all statements hold."""
        changed = sum(each.conclusion for each in self.differences)
        if changed:
            return "a conclusion differs" if changed == 1 else "conclusions differ"
        return "no conclusion differs" if self.differences else ""

    @property
    def parts(self) -> list[str]:
        """The parts of the state that there are, at least one."""
        return [part for part in (self.numbers, self.statements, self.mark) if part] or [NOTHING]

    def __str__(self) -> str:
        return "; ".join(self.parts)

    @property
    def brief(self) -> str:
        """The counts alone, and whether a conclusion differs."""
        counted = (_COUNTED.match(part) for part in self.parts)
        return "; ".join(part if found is None else found[0] for part, found in zip(self.parts, counted, strict=True))

    @property
    def html(self) -> str:
        """The state as HTML, in which counts and a changed conclusion stand out."""
        parts = [re.sub(_COUNTED, r"<strong>\g<0></strong>", html.escape(part, quote=False)) for part in self.parts]
        if any(each.conclusion for each in self.differences):
            parts[-1] = f"<b>{parts[-1]}</b>"
        return "; ".join(parts)


def _share(agree: int, compared: int) -> str:
    """Return how many of the compared numbers agree; if all of them do, once is enough."""
    return f"{agree:,}" if agree == compared else f"{agree:,} of {compared:,}"


def against_exact(rows: pd.DataFrame) -> str:
    """Return in words with what the numbers of an item were compared if none of them was printed."""
    simulated, deviation = figures.furthest(rows)
    exact = int((rows["exact"].notna() & ~(rows["reproduced_se"] > 0)).sum())
    if simulated:
        return f"{simulated:,} value{'s' * (simulated > 1)} within {max(0.1, math.ceil(10 * deviation) / 10):.1f} standard errors of the exact expectation"
    if exact:
        return f"{exact:,} value{'s' * (exact > 1)} computed exactly"
    other = int(rows.loc[rows["verdict"] == "other-data", "published"].nunique())
    parts = [f"{other:,} number{'s' * (other > 1)} of other data than ours"] * bool(other)
    parts += [f"{n:,} follow{'s' * (n == 1)} from a definition" for n in [figures.counted(rows)["by definition"]] if n]
    if parts:
        return ", and ".join(parts)
    closed = int((rows["how"] == "closed form").sum()) if "how" in rows else 0
    return f"{closed:,} values computed from closed forms" if closed else NOTHING


def numbers(rows: pd.DataFrame) -> str:
    """Return in words how many numbers agree, and with what; a sign is no number, but a statement."""
    if rows.empty:
        return ""
    rows = rows[rows["kind"] != SIGN]
    n = figures.counted(rows)
    undecided = f"; {n['undecided']:,} {'is' if n['undecided'] == 1 else 'are'} undecided" if n["undecided"] else ""
    several = rows["item"].str.split("/").str[0].nunique() > 1
    kinds = {*rows.loc[rows["verdict"].isin(figures.COUNTED), "kind"]}
    *most, last = [verb + "s" * (not several) for kind, verb in _VERBS.items() if kind in kinds] or [""]
    paper = f"what the paper{'s' * several} {', '.join(most)}{' or ' * bool(most)}{last}"
    printed, code = n["printed"] + n["printed differ"], n["code"] + n["differ"] - n["printed differ"]
    sides = [side for side in ((n["code"], code, "the authors' code"), (n["printed"], printed, paper)) if side[1]]
    if not sides:
        return f"no printed number is compared; {against_exact(rows)}{undecided}"
    told = f"{n['printed'] + n['code']:,} of {printed + code:,} numbers agree"
    if len(sides) == 1:
        return f"{told} with {sides[0][2]}{undecided}"
    return f"{told}: {', '.join(f'{_share(*side[:2])} with {side[2]}' for side in sides)}{undecided}"


def _differences(root: Path, claims: pd.DataFrame, items: Collection[str]) -> tuple[Difference, ...]:
    """Return what differs, the gravest first: conclusions before numbers, then by the verdict, then by the share that fails."""
    why, found = figures.notes(root, "why"), []
    ranks = {word: -place for place, word in enumerate(VERDICTS)}
    for row in claims[claims["word"] != VERDICTS[0]].to_dict("records"):
        fails = row["of"] - row["holding"] if row["holding"] > 0 else 0
        told = f"fails in {fails:.0f} of {row['of']:.0f} cells" if fails > 0 else row["word"]
        changed = row["differs"] == "the conclusion"
        each = Difference(str(row["claim"]), told, why.get(row["id"], ""), "book/claims", anchor(str(row["id"])), changed)
        found.append(((not changed, ranks.get(row["word"], 0), -fails / row["of"] if fails > 0 else 0.0), each))
    listed = [each for _, each in sorted(found, key=lambda pair: pair[0])]
    papers = {item.partition("/")[0].replace("_", "-") for item in items}
    listed += [
        Difference(entry.title.partition(". ")[2], "", why.get(entry.name, ""), entry.page, entry.name, True)
        for entry in errata.entries(root)
        if entry.effect == errata.EFFECTS[-1] and {*entry.affects} & {*items} and entry.name.rpartition("-")[0] in papers
        and not any(each.conclusion and f"[{entry.name}]" in each.why for each in listed)
    ]  # fmt: skip
    return tuple(sorted(listed, key=lambda each: not each.conclusion))


def _state(root: Path, rows: pd.DataFrame, claims: pd.DataFrame, items: Collection[str]) -> State:
    tested = claims[claims["word"] != NEVER]
    holds = f"{(tested['word'] == VERDICTS[0]).sum():,} of {len(tested):,} statements hold" if len(tested) else ""
    return State(numbers(rows), holds, _differences(root, tested, items))


def _claims(root: Path) -> pd.DataFrame:
    """Return the claims with the items that each one concerns: those that its place names, or else all of its page."""
    names = ["id", "page", "place", "claim", "verdict", "differs", "holding", "of"]
    claims = figures.claims(root).reindex(columns=names)
    own = figures.items(root).groupby("page")["item"].agg(list).to_dict()

    def concerned(row: Any) -> list[str]:
        named = [item for item in own.get(row.page, ()) if re.search(rf"\b{figures.short(item)}(?!\d)", str(row.place))]
        return named or own.get(row.page, [])

    word = claims["verdict"].astype(str).str.split(":").str[0]
    return claims.assign(word=word, items=pd.Series([concerned(row) for row in claims.itertuples()], claims.index, dtype=object))


def of_items(root: Path, items: Collection[str]) -> State:
    """Return the state of some items."""
    board, claims = figures.board(root), _claims(root)
    own = claims["items"].map(lambda concerned: bool({*concerned} & {*items})).astype(bool)
    return _state(root, board[board["item"].isin(items)], claims[own], items)


def of_papers(root: Path, papers: Collection[str]) -> State:
    """Return the state of whole papers, by their folders, with the statements of pages that have no figure of a paper."""
    board, claims, items = figures.board(root), _claims(root), figures.items(root)
    rows, said, own = (
        table[table[column].astype(str).str.split("/").str[0].isin(papers)]
        for table, column in ((board, "item"), (claims, "page"), (items, "item"))
    )
    return _state(root, rows, said, list(own["item"]))


def compared(project: Project, page: str) -> pd.DataFrame:
    """Return the rows of the scoreboard that belong to a page's figures and tables; where it has none, those that it handed over."""
    items, board = figures.items(project.root), figures.board(project.root)
    own = items.loc[items["page"] == page.removeprefix("book/"), "item"]
    if own.empty and (handed := project.executed(page, ".csv")).exists():
        return pd.read_csv(handed)
    return board[board["item"].isin(own)]


def of_page(project: Project, page: str) -> State:
    """Return the state of all that a page compares."""
    name, items, claims = page.removeprefix("book/"), figures.items(project.root), _claims(project.root)
    return _state(
        project.root, compared(project, page), claims[claims["page"] == name], list(items.loc[items["page"] == name, "item"])
    )
