"""Check the built book: every page exists and is not empty, every figure has its data, and no inner link is broken."""

import collections
import html
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from . import paths, provenance
from .execute import Project


def words(text: str) -> int:
    """Return the number of words in the article of a built page."""
    article = re.search(r"<article\b.*?</article>", text, flags=re.S)
    return len(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", article.group(0), flags=re.S).split()) if article else 0


def links(path: Path) -> tuple[set[str], collections.Counter[str], set[str]]:
    """Return the addresses to which a page links, how often it defines each identifier, and the places to which others may link."""
    found = collections.defaultdict[str, list[str]](list)
    for name, value in re.findall(r'\s(id|name|href|src)="([^"]+)"', path.read_text(encoding="utf-8")):
        found[name].append(html.unescape(value))
    return {*found["href"], *found["src"]}, collections.Counter(found["id"]), {"", *found["id"], *found["name"]}


def broken_links(folder: Path) -> list[str]:
    """Return one line for each link inside the book whose target is missing or ambiguous.

    Links to other sites are not checked, so that nothing is fetched.
    """
    pages = {path: links(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    found = []
    for path, (targets, ids, _) in pages.items():
        found += [f"{path.relative_to(folder)} has {n} places called {i}" for i, n in sorted(ids.items()) if n > 1]
        for target in sorted(targets):
            to = urlsplit(target)
            if to.scheme or to.netloc:
                continue
            there = (path.parent / unquote(to.path)).resolve() if to.path else path
            if not there.exists():
                found.append(f"{path.relative_to(folder)} links to {target}, which is not there")
            elif there in pages and unquote(to.fragment) not in pages[there][2] and there.stem != "search":
                found.append(f"{path.relative_to(folder)} links to {target}: there is no such place on that page")
    return found


def problems(project: Project) -> list[str]:
    """Return one line for each page that is missing or nearly empty, and for each other fault of a page.

    A page shall show no notebook that was not executed, and not name the folder in which it was built. A page without a script
    for formulas shall print no formula in TeX.
    """
    found = []
    for page in project.pages():
        if not project.html(page).exists():
            found.append(f"{page} was not built")
            continue
        text = project.html(page).read_text(encoding="utf-8")
        shown = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", text, flags=re.S) if "/mathjax/" not in text else ""
        faults = {
            "is empty": words(text) < 30,
            "shows a notebook that was not executed": project.source(page).exists() and not project.executed(page).exists(),
            f"names {project.root}": str(project.root) in text,
        } | {f"prints {formula}": True for formula in re.findall(r"\\\(.*?\\\)", shown, flags=re.S)}
        found += [f"{page} {fault}" for fault, there in faults.items() if there]
    return found


def unsaid(project: Project) -> list[str]:
    """Return one line for each figure without a table of its data."""
    drawn = ((page, figure) for page in project.notebooks() for figure in provenance.figures(provenance.executed(project, page)))
    return [f"{page}: {figure.name} has no data" for page, figure in drawn if not figure.table]


def report(project: Project) -> int:
    """Print all problems of the built book, and return how many there are."""
    found = problems(project) + unsaid(project) + broken_links(project.html("index").parent)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(project.pages())} pages in the table of contents, {len(found)} problems")
    return len(found)


def main() -> None:
    """Check the built pages, and exit with status 1 if there is a problem."""
    sys.exit(bool(report(Project(paths.ROOT))))
