"""Fill in the parts of front pages that describe the whole book: the gallery, the glossary, and the times of execution."""

import json
import re
from pathlib import Path

from . import acronyms, gallery, parameters
from .execute import Project


def execution(project: Project) -> str:
    """Return a table of the notebooks: when each ran, how long, and which parameters were changed."""
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
    """Return a text in which links to pages that this book does not have are plain text."""

    def checked(match: re.Match[str]) -> str:
        words, target = match.groups()
        there = any((root / "book" / f"{target}{ending}").exists() for ending in (".md", ".ipynb"))
        return match.group(0) if there else words

    return re.sub(r"\[([^\[\]]+)\]\(([a-z_]+/[a-z0-9_]+)\)", checked, text)


def fill(root: Path, project: Project, docname: str, text: str) -> str:
    """Return the source of a front page with its generated parts in place."""
    text = text.replace("<!-- gallery -->", gallery.page(project)) if "<!-- gallery -->" in text else text
    for mark, terms in (("<!-- acronyms -->", acronyms.table), ("<!-- words -->", acronyms.words)):
        text = text.replace(mark, acronyms.glossary(terms())) if mark in text else text
    text = text.replace("<!-- execution -->", execution(project)) if "<!-- execution -->" in text else text
    return only_existing(root, text)
