"""Execute one chapter's notebooks as `make book` would, and build its pages alone.

The results are stored as those of the whole book, so that a later `make book` uses them.
"""

import argparse
import sys

from . import execute, page, paths
from .build import alone


def pages(project: execute.Project, name: str) -> list[str]:
    """Return the pages of a chapter, its index first, or exit with a list of the chapters."""
    found = [page for page in project.pages() if page.startswith(f"book/{name}/")]
    if not name or not found:
        known = sorted({page.split("/")[1] for page in project.pages() if page.count("/") > 1})
        raise SystemExit(f"NAME must be one of {', '.join(known)}, got {name!r}")
    return sorted(found, key=lambda page: not page.endswith("/index"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", help="for example kv_auditor")
    parser.add_argument("--scale", default="paper", help="paper, or a file of book/scales")
    parser.add_argument("--jobs", type=execute.jobs, help="notebooks at a time; by default as many as there are cores")
    options = parser.parse_args()
    project = execute.Project(paths.ROOT)
    chapter = pages(project, options.name)
    with alone(project):
        if execute.run(project.root, options.scale, options.jobs, f"{options.name}/"):
            sys.exit(1)
        place = project.build / "chapter" / options.name
        place.mkdir(parents=True, exist_ok=True)
        print(f"The chapter: {page.build(project.root, place, chapter, 'One chapter of').as_uri()}")
