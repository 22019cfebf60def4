"""Check that every page of the table of contents was built and is not empty."""

import re
import sys
from pathlib import Path

from execute import Project


def words(path):
    """Number of words in the article of a built page."""
    html = path.read_text(encoding="utf-8")
    article = re.search(r"<article\b.*?</article>", html, flags=re.S)
    return len(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", article.group(0), flags=re.S).split()) if article else 0


def problems(project):
    """Return one line per page that is missing, nearly empty, or built from a notebook never executed."""
    found = []
    for page in project.pages():
        if not project.html(page).exists():
            found.append(f"{page} was not built")
        elif words(project.html(page)) < 30:
            found.append(f"{page} is empty")
        elif project.source(page).exists() and not project.executed(page).exists():
            found.append(f"{page} shows a notebook that was not executed")
    return found


def main():
    project = Project(Path(__file__).parents[2])
    found = problems(project)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(project.pages())} pages in the table of contents, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
