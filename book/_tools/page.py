"""Run one notebook with changed parameters and build its page, away from the book.

The book itself, its executed notebooks and its scoreboard stay as they are; grids that were computed before are taken
from the same store, so that only what changed is computed.
"""

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import parameters
import yaml
from execute import Project, execute, explain

BIBLIOGRAPHY = "book/bibliography"


def find(project, name):
    """The page that `name` means: with or without the folder ``book`` and the ending."""
    page = name.removesuffix(".ipynb")
    page = page if page.startswith("book/") else f"book/{page}"
    if page not in project.notebooks():
        known = [p.removeprefix("book/") for p in project.notebooks()]
        close = difflib.get_close_matches(page.removeprefix("book/"), known, 1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise SystemExit(f"There is no notebook {name}{meant}. The notebooks are:\n  " + "\n  ".join(known))
    return page


def chosen(project, page, text):
    """The parameters that `text` changes, or an exit that lists the valid ones."""
    valid = parameters.of(json.loads(project.source(page).read_text()))
    try:
        values = parameters.read(text)
        wrong = parameters.refuse(valid, values)
    except ValueError as error:
        wrong = [str(error)]
    if wrong:
        listed = "\n".join(f"  {p.name} = {p.literal}  # {p.expects()}: {p.meaning}" for p in valid.values())
        raise SystemExit("\n".join(wrong) + f"\nThe parameters of {page.removeprefix('book/')} are:\n{listed}")
    return values


def build(project, page):
    """Build the one page, and the bibliography it cites; return the HTML file."""
    contents, settings = project.build / "_toc.yml", project.build / "_config.yml"
    contents.write_text(yaml.safe_dump({"format": "jb-book", "root": page, "chapters": [{"file": BIBLIOGRAPHY}]}))
    config = yaml.safe_load((project.root / "_config.yml").read_text())
    config["sphinx"]["local_extensions"] = {"sphinx_hooks": str(project.root / "book" / "_tools")}
    config["sphinx"]["config"]["ldpkit_build"] = str(project.build.relative_to(project.root))
    # links to pages that are not built here stay plain text
    config["sphinx"]["config"]["suppress_warnings"] += ["myst.xref_missing", "bibtex.missing_field", "ref.*"]
    settings.write_text(yaml.safe_dump(config))
    log = project.build / "sphinx.log"
    with log.open("w") as output:
        done = subprocess.run(
            [Path(sys.executable).parent / "jupyter-book", "build", "--all", "--keep-going", "-q", str(project.root), "--config", str(settings),
             "--toc", str(contents), "--path-output", str(project.build)],
            stdout=output, stderr=subprocess.STDOUT, cwd=project.root,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"The page could not be built; {log} says why.")
    return project.build / "_build" / "html" / f"{page}.html"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", help="for example ldp_auditor/fig2")
    parser.add_argument("parameters", nargs="?", default="", help='for example "k=[2,10] trials=100000"')
    options = parser.parse_args()
    root = Path(__file__).parents[2]
    page = find(Project(root), options.notebook)
    values = chosen(Project(root), page, options.parameters)
    place = f"_build/page/{page.removeprefix('book/').replace('/', '-')}"
    shutil.rmtree(root / place, ignore_errors=True)
    project, start = Project(root, place), time.perf_counter()
    said = ", ".join(f"{n} = {v!r}" for n, v in values.items()) or "its own parameters"
    print(f"Running {page}.ipynb with {said}", flush=True)
    try:
        execute(root, page, values, "page", place)
    except Exception as error:
        raise SystemExit(f"FAILED    {page}: {explain(error)}") from None
    html = build(project, page)
    print(f"Done in {time.perf_counter() - start:.0f} s. The page: {os.path.relpath(html)}\n"
          f"The executed notebook: {os.path.relpath(project.executed(page))}")  # fmt: skip


if __name__ == "__main__":
    main()
