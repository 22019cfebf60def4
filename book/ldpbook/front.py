"""What the book says about itself as a whole: the grid of items, the statistics of execution, links between front pages."""

import html
import json
import re
from pathlib import Path

import pandas as pd

from . import acronyms, cards, figures, parameters
from .execute import Project

PAPERS = {"ldp_auditor": "LDP-Auditor", "refinement": "Attack-aware refinement", "kv_auditor": "KV-Auditor",
          "rad": "Reconstruction advantage", "ldp_sgd": "LDP-SGD and shuffle"}  # fmt: skip


def grid(root: Path) -> str:
    """The items of all papers as a grid; words say how each fared, sign and colour repeat it."""
    path = root / "_build" / "figures.csv"
    if path.exists():
        found = pd.read_csv(path)
    else:
        found = figures.table(root, pd.DataFrame(columns=["item", "verdict", "kind", "how", "published"]))
    titles, lines = pd.read_csv(root / "data" / "items.csv").set_index("item")["title"], []
    questions = {page: card["question"] for page, card in cards.load(root).items() if "question" in card}  # each is asked once
    for paper, group in found.groupby(found["item"].str.split("/").str[0], sort=False):
        lines.append(f'<h3 class="item-paper">{PAPERS[paper]}</h3>\n<ul class="item-grid">')
        for row in group.itertuples():
            counts = f": {row.agree:,} of {row.compared:,} agree" if row.state in figures.COUNTED else ""
            text = (
                f'<span class="item-name">{figures.SIGNS[row.state]} {figures.short(row.item)}</span> '
                f'<span class="item-title">{html.escape(questions.pop(row.page, titles[row.item]))}</span> '
                f'<span class="item-state">{row.state}{counts}</span>'
            )
            there = (root / "book" / f"{row.page}.ipynb").exists()
            inside = f'<a href="{row.page}.html">{text}</a>' if there else f"<span>{text}</span>"
            lines.append(f'<li class="item-{re.split("[ ,]", row.state)[0]}">{inside}</li>')
        lines.append("</ul>")
    counts = found["state"].value_counts()
    legend = "; ".join(f"{sign} {state}: {counts[state]}" for state, sign in figures.SIGNS.items() if state in counts)
    return (
        "```{raw} html\n"
        + f'<p class="item-legend">{len(found)} figures and tables. {legend}.</p>\n'
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
        changed = ", ".join(f"`{n} = {v!r}`" for n, v in record["parameters"].items() if n in own) or "its own"
        total += record["seconds"]
        when = record["executed"].removesuffix(" UTC")
        rows.append(f"| [{page.removeprefix('book/')}](/{page}.ipynb) | {record['seconds']:.1f} | {when} | {changed} |")
    head = "| page | seconds | executed (UTC) | parameters |\n|---|---:|---|---|"
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
