"""Run one notebook with changed parameters, or one chapter alone, and build its pages away from the book.

The book, its executed notebooks and its scoreboard stay unchanged. Each variant has a folder of its own. Cells that were computed
before are read from the same store, so that only changed ones are computed. The results of a chapter are stored as those of the
whole book, so that a later `make book` uses them.
"""

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import yaml

from . import parameters, paths
from .build import alone
from .execute import JOBS, SCALE, Json, Project, execute, explain, jupyter_book, load_scale, overrides, run

BIBLIOGRAPHY = "book/bibliography"


def find(project: Project, name: str) -> str:
    """Return the page that `name` means, with or without the folder ``book`` and the ending."""
    page = name.removesuffix(".ipynb")
    page = page if page.startswith("book/") else f"book/{page}"
    if page not in project.notebooks():
        known = [p.removeprefix("book/") for p in project.notebooks()]
        close = difflib.get_close_matches(page.removeprefix("book/"), known, 1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise SystemExit(f"There is no notebook {name}{meant}. The notebooks are:\n  " + "\n  ".join(known))
    return page


def chosen(project: Project, page: str, text: str) -> Json:
    """Return the parameters that `text` changes, or exit with a list of the valid ones."""
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


def folder(page: str, scale: str, values: Json) -> str:
    """Return the folder of a variant, whose name has readable words and a digest that distinguishes variants with equal words."""
    said = " ".join(f"{n}={v}" for n, v in sorted(values.items())) or "own parameters"
    words = re.sub(r"\W+", "-", said if scale == "paper" else f"{scale} {said}").strip("-")[:60]
    digest = hashlib.sha256(json.dumps([scale, values], sort_keys=True, default=repr).encode()).hexdigest()
    return f"_build/page/{page.removeprefix('book/').replace('/', '-')}/{words}-{digest[:8]}"


def build(root: Path, place: Path, pages: list[str], title: str, **settings: str) -> Path:
    """Build some pages and the bibliography they cite as a site of their own in `place`, and return the first page."""
    contents, configuration = place / "_toc.yml", place / "_config.yml"
    chapters = [{"file": page} for page in [*pages[1:], BIBLIOGRAPHY]]
    contents.write_text(yaml.safe_dump({"format": "jb-book", "root": pages[0], "chapters": chapters}))
    config = yaml.safe_load((root / "_config.yml").read_text())
    config["title"] = f"{title}: {config['title']}"
    config["sphinx"]["config"] |= settings
    # links to pages that are not built here stay plain text
    config["sphinx"]["config"]["suppress_warnings"] += ["myst.xref_missing", "bibtex.missing_field", "ref.*"]
    configuration.write_text(yaml.safe_dump(config))
    given = ["--config", str(configuration), "--toc", str(contents), "--path-output", str(place)]
    done = jupyter_book([str(root), *given], root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nThe pages could not be built.")
    return place / "_build" / "html" / f"{pages[0]}.html"


def make(root: Path, page: str, scale: str, values: Json) -> Project:
    """Execute and build one variant, and return its folder; an older variant there is replaced only by a complete new one."""
    place = folder(page, scale, values)
    source = json.loads(Project(root).source(page).read_text())
    given = overrides(load_scale(Project(root), scale), page, parameters.of(source)) | values
    said = ", ".join(f"{n} = {v!r}" for n, v in given.items()) or "its own parameters"
    print(f"Running {page}.ipynb with {said}", flush=True)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=(root / place).parent, ignore_cleanup_errors=True) as name:
        unfinished = Project(root, Path(name).relative_to(root) / "variant")
        try:
            execute(root, page, given, "page", unfinished.build)
        except Exception as error:
            raise SystemExit(f"FAILED    {page}: {explain(error)}") from None
        build(root, unfinished.build, [page], "Your variant of",
              ldpkit_build=str(unfinished.build.relative_to(root)), ldpkit_variant=said)  # fmt: skip
        shutil.rmtree(root / place, ignore_errors=True)
        unfinished.build.rename(root / place)
    return Project(root, place)


@click.command()
@click.argument("notebook")
@click.argument("parameters", default="")
@SCALE
def main(notebook: str, parameters: str, scale: str) -> None:
    """Run one NOTEBOOK with changed PARAMETERS and build its page, away from the book.

    For example: ldp_auditor/fig2 "k=[2,10] trials=100000"
    """
    root, start = paths.ROOT, time.perf_counter()
    page = find(Project(root), notebook)
    values = chosen(Project(root), page, parameters)
    try:
        variant = make(root, page, scale, values)
    except KeyboardInterrupt:
        print("Interrupted; earlier variants are kept.", file=sys.stderr)
        sys.exit(130)
    html = variant.build / "_build" / "html" / f"{page}.html"
    print(f"Done in {time.perf_counter() - start:.0f} s. The page: {html.as_uri()}\n"
          f"The executed notebook: {os.path.relpath(variant.executed(page))}\n"
          f"Every variant of this page is kept in {os.path.relpath(variant.build.parent)}")  # fmt: skip


def pages(project: Project, name: str) -> list[str]:
    """Return the pages of a chapter, its index first, or exit with a list of the chapters."""
    found = [page for page in project.pages() if page.startswith(f"book/{name}/")]
    if not name or not found:
        known = sorted({page.split("/")[1] for page in project.pages() if page.count("/") > 1})
        raise SystemExit(f"NAME must be one of {', '.join(known)}, got {name!r}")
    return sorted(found, key=lambda page: not page.endswith("/index"))


@click.command()
@click.argument("name")
@JOBS
@SCALE
def chapter(name: str, scale: str, jobs: int | None) -> None:
    """Execute one chapter's notebooks as `make book` would, and build its pages alone; NAME is for example kv_auditor."""
    project = Project(paths.ROOT)
    chosen = pages(project, name)
    with alone(project):
        if run(project.root, scale, jobs, f"{name}/"):
            sys.exit(1)
        place = project.build / "chapter" / name
        place.mkdir(parents=True, exist_ok=True)
        print(f"The chapter: {build(project.root, place, chosen, 'One chapter of').as_uri()}")
