"""What the book says about itself as a whole: the grid of items, the statistics of execution, links between front pages."""

import html
import json
import re
from pathlib import Path

import acronyms
import pandas as pd
import parameters
from execute import Project

PAPERS = {"ldp_auditor": "LDP-Auditor", "refinement": "Attack-aware refinement", "kv_auditor": "KV-Auditor",
          "rad": "Reconstruction advantage", "ldp_sgd": "LDP-SGD and shuffle"}  # fmt: skip
STATES = {
    "reproduced": ("✓", "reproduced"),
    "explained": ("≠", "some numbers differ, explained"),
    "differs": ("✗", "differs, unexplained"),
    "computed": ("·", "computed, nothing printed to compare with"),
    "missing": ("–", "not in this build"),
}


def state(counts: dict[str, int] | None) -> str:
    """How an item fares, from the counts of its verdicts (None if the scoreboard does not have it)."""
    if counts is None:
        return "missing"
    if counts.get("differs", 0):
        return "differs"
    if counts.get("differs-explained", 0):
        return "explained"
    return "reproduced" if counts.get("reproduced", 0) else "computed"


def short(item: str) -> str:
    """A figure's or table's name within its paper."""
    return item.rpartition("/")[2].replace("fig", "Figure ").replace("table", "Table ")


def grid(root: Path) -> str:
    """The items of all papers as a grid; colour, sign and words say the same, so that none is needed alone."""
    items, path = pd.read_csv(root / "data" / "items.csv"), root / "_build" / "scoreboard.csv"
    board = pd.read_csv(path) if path.exists() else pd.DataFrame({"item": [], "verdict": []})
    counts = {item: rows["verdict"].value_counts().to_dict() for item, rows in board.groupby("item")}
    lines, found = [], []
    for paper, group in items.groupby(items["item"].str.split("/").str[0], sort=False):
        lines.append(f'<h3 class="item-paper">{PAPERS[paper]}</h3>\n<ul class="item-grid">')
        for row in group.itertuples():
            here = state(counts.get(row.item))
            found.append(here)
            sign, words = STATES[here]
            text = f'<span class="item-name">{sign} {short(row.item)}</span> <span class="item-title">{html.escape(row.title)}</span>'
            said = f'<span class="visually-hidden">: {words}</span>'
            there = (root / "book" / f"{row.page}.ipynb").exists()
            lines.append(f'<li class="item-{here}">' + (f'<a href="{row.page}.html">{text}{said}</a>' if there else f"<span>{text}{said}</span>")
                         + "</li>")  # fmt: skip
        lines.append("</ul>")
    legend = "; ".join(f"{sign} {words}: {found.count(name)}" for name, (sign, words) in STATES.items() if name in found)
    return (
        "```{raw} html\n"
        + f'<p class="item-legend">{len(items)} figures and tables. {legend}.</p>\n'
        + "\n".join(lines)
        + "\n```"
    )


def execution(project: Project) -> str:
    """One row per notebook: when it ran, how long, and with which parameters other than its own."""
    rows, total = [], 0.0
    for page in project.notebooks():
        path = project.executed(page, ".json")
        if not path.exists():
            rows.append(f"| [{page.removeprefix('book/')}](/{page}.ipynb) | not executed | | |")
            continue
        record = json.loads(path.read_text())
        own = parameters.of(json.loads(project.source(page).read_text()))
        changed = ", ".join(f"`{n} = {v!r}`" for n, v in record["parameters"].items() if n in own)
        total += record["seconds"]
        rows.append(
            f"| [{page.removeprefix('book/')}](/{page}.ipynb) | {record['executed']} | {record['seconds']:.1f} | {changed} |"
        )
    head = "| page | executed | seconds | parameters other than the notebook's |\n|---|---|---:|---|"
    return (
        f"{head}\n" + "\n".join(rows) + f"\n\n{len(rows)} notebooks; {total:.0f} seconds of execution in all, several at a time."
    )


def only_existing(root: Path, text: str) -> str:
    """Turn links to pages that this book does not have into plain text."""

    def checked(match: re.Match[str]) -> str:
        words, target = match.groups()
        there = any((root / "book" / f"{target}{ending}").exists() for ending in (".md", ".ipynb"))
        return match.group(0) if there else words

    return re.sub(r"\[([^\[\]]+)\]\(([a-z_]+/[a-z0-9_]+)\)", checked, text)


def fill(root: Path, project: Project, docname: str, text: str) -> str:
    """The source of a front page with its generated parts in place."""
    text = text.replace("<!-- grid -->", grid(root)) if "<!-- grid -->" in text else text
    text = text.replace("<!-- acronyms -->", acronyms.glossary())
    text = text.replace("<!-- execution -->", execution(project)) if "<!-- execution -->" in text else text
    return only_existing(root, text)
