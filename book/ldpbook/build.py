"""Build the book, one chapter, or one page with changed parameters: execute what changed, build the site, check every page.

Only one build at a time runs in a checkout. A killed build leaves only complete results behind, and the next build continues from
there.

A page with changed parameters is built away from the book, which stays unchanged. Each such variant has a folder of its own. Cells
that were computed before are read from the same store, so that only changed ones are computed. The results of a chapter are stored
as those of the whole book, so that a later `make book` uses them.
"""

import calendar
import collections
import contextlib
import difflib
import fcntl
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import yaml

from . import compare_builds, dependencies, execute, parameters, paths, provenance
from .engine import parts

SHOWN = ("book/**/*", "ldpkit/**/*.py", "data/**/*", "_config.yml", "_toc.yml", "requirements.lock", "pyproject.toml", "CITATION.cff",
         "_build/executed/**/*.ipynb", "_build/executed/**/*.json", "_build/scoreboard.csv", "_build/claims.csv",
         "_build/engine/site/parts.json")  # fmt: skip

BIBLIOGRAPHY = "book/bibliography"
LARGEST = 180_000_000
"""Number of bytes that a whole site may have."""
SOURCES = 4  # sources of one function whose finished cells are kept


@contextlib.contextmanager
def alone(project: execute.Project) -> Iterator[int]:
    """Lock the build folder for one build; exit with a message if another build runs or the folder is not writable."""
    try:
        project.build.mkdir(parents=True, exist_ok=True)
        lock = (project.build / ".lock").open("a+")
    except OSError as error:
        raise SystemExit(f"The build folder {project.build} cannot be written: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise SystemExit(f"Another build works in {project.root} ({lock.read().strip()}): wait for it, or stop it") from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, since {time.strftime('%H:%M:%S')}")
        lock.flush()
        yield lock.fileno()


def state(project: execute.Project, sources: str) -> dict[str, str]:
    """Return the digest of the sources from which the site was made, and the digest of every file of the site."""
    site = project.build / "html"
    found = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*")) if path.is_file()}
    return {"": sources} | {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}


def epoch(root: Path) -> str:
    """Return the date of the sources in seconds: the date of the last commit, or of the release where there is no history."""
    with contextlib.suppress(FileNotFoundError, subprocess.CalledProcessError):
        return subprocess.run(
            ["git", "log", "-1", "--format=%ct"], cwd=root, capture_output=True, text=True, check=True
        ).stdout.strip()
    released = yaml.safe_load((root / "CITATION.cff").read_text())["date-released"]
    return str(calendar.timegm(time.strptime(str(released), "%Y-%m-%d")))


def site(project: execute.Project, *held: int) -> int:
    """Build the site unless the site is current already, and return the exit status.

    The process that writes the site inherits the file descriptors `held`, so that the lock lasts as long as that process.
    """
    stamp, log = project.build / "site.json", project.build / "sphinx.log"
    parts.prepare(project)
    sources = project.digest(*SHOWN)  # before Sphinx reads them: an edit during the build is not shown
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        known, now = dict(json.loads(stamp.read_text())), state(project, sources)
        if known == now:
            print("current   the site", flush=True)
            return 0
        changed = sorted(name for name, _ in set(known.items()) ^ set(now.items()) if name)
        if changed and known.get("") == sources:  # pages that are made again were removed before
            print(
                f"damaged   the site: {len(set(changed))} files were changed, such as {changed[0]}; it is built again", flush=True
            )
    stamp.unlink(missing_ok=True)
    shutil.rmtree(project.build / "html", ignore_errors=True)  # files of former pages are removed
    start = time.perf_counter()
    dated = os.environ | {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or epoch(project.root)}
    with log.open("w") as output:
        done = execute.jupyter_book(["-W", "-n", "."], project.root, held, env=dated, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode:
        print(log.read_text(), file=sys.stderr)
        return done.returncode
    shutil.rmtree(project.build / "jupyter_execute", ignore_errors=True)  # the reader's copies of the files in `executed`
    if (engine := parts.served(project)).exists():
        place = project.build / "html" / "_static" / "engine"
        shutil.copytree(engine, place, copy_function=parts.linked, dirs_exist_ok=True)
    (project.build / "html" / "sbom.cdx.json").write_text(json.dumps(dependencies.document(project.root), indent=1))
    print(f"built     the site in {time.perf_counter() - start:.1f} s", flush=True)
    stamp.write_text(json.dumps(state(project, sources)))
    return 0


def sizes(html: Path) -> dict[str, int]:
    """Return how many bytes each part of a site has, where a part is a folder or all files beside the folders."""
    found: collections.Counter[str] = collections.Counter()
    for path in html.rglob("*"):
        if path.is_file():
            parts = path.relative_to(html).parts
            found[
                "/".join(parts[: 2 if parts[0] == "_static" and len(parts) > 2 else 1]) if len(parts) > 1 else "files beside them"
            ] += path.stat().st_size
    return dict(found)


def summary(project: execute.Project, found: dict[str, int], seconds: float) -> list[str]:
    """Return the last lines of a build: sizes, the largest process, and how the results compare with those of the release."""
    peak = max((execute.record(project, page).get("peak_mb", 0) for page in project.notebooks()), default=0)
    release = compare_builds.report(project) if execute.whole(project) else ["release    compared at the papers' own scale only"]
    listed = [f"{size / 1e6:8.1f} MB  {name}" for name, size in sorted(found.items(), key=lambda row: -row[1])]
    return [*listed, *release, f"The book is at _build/html/index.html: {sum(found.values()) / 1e6:.0f} MB; largest process {peak} MB; "
                               f"{seconds / 60:.1f} minutes"]  # fmt: skip


def words(text: str) -> int:
    """Return the number of words in the article of a built page."""
    article = re.search(r"<article\b.*?</article>", text, flags=re.S)
    return len(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", article.group(0), flags=re.S).split()) if article else 0


def links(path: Path) -> tuple[set[str], collections.Counter[str], set[str]]:
    """Return the addresses to which a page links, how often it defines each identifier, and the places to which others may link.

    The address of an explorer, such as ``#audit:k=5``, begins with its name.
    """
    found = collections.defaultdict[str, list[str]](list)
    for name, value in re.findall(r'\s(id|name|data-explorer|href|src)="([^"]+)"', path.read_text(encoding="utf-8")):
        found[name].append(html.unescape(value))
    places = {"", *found["id"], *found["name"], *found["data-explorer"]}
    return {*found["href"], *found["src"]}, collections.Counter(found["id"]), places


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
            elif (
                there in pages
                and not {place := unquote(to.fragment), place.partition(":")[0]} & pages[there][2]
                and there.stem != "search"
            ):
                found.append(f"{path.relative_to(folder)} links to {target}: there is no such place on that page")
    return found


def problems(project: execute.Project) -> list[str]:
    """Return one line for each page that is missing or nearly empty, and for each other fault of a page.

    A page shall show no notebook that was not executed, and not name the folder in which it was built.
    """
    found = []
    for page in project.pages():
        if not project.html(page).exists():
            found.append(f"{page} was not built")
            continue
        text = project.html(page).read_text(encoding="utf-8")
        faults = {
            "is empty": words(text) < 30,
            "shows a notebook that was not executed": project.source(page).exists() and not project.executed(page).exists(),
            f"names {project.root}": str(project.root) in text,
        }
        found += [f"{page} {fault}" for fault, there in faults.items() if there]
    return found


def unsaid(project: execute.Project) -> list[str]:
    """Return one line for each figure without a table of its data."""
    drawn = ((page, figure) for page in project.notebooks() for figure in provenance.figures(provenance.executed(project, page)))
    return [f"{page}: {figure.name} has no data" for page, figure in drawn if not figure.table]


def report(project: execute.Project) -> int:
    """Print all problems of the built book, and return how many there are."""
    found = problems(project) + unsaid(project) + broken_links(project.html("index").parent)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(project.pages())} pages in the table of contents, {len(found)} problems")
    return len(found)


def prune(project: execute.Project) -> None:
    """Remove stored cells, except those of the last four sources of every function, and remove leftovers of killed builds."""
    used: dict[str, dict[str, float]] = {}
    cells = {path: path.stat().st_mtime for path in (project.build / "sweeps").glob("*-*-*.*")}
    for path, changed in cells.items():
        function, source, _ = path.name.split("-")
        sources = used.setdefault(function, {})
        sources[source] = max(changed, sources.get(source, 0.0))
    kept = {(function, source) for function, own in used.items() for source in sorted(own, key=lambda s: own[s])[-SOURCES:]}
    old = [path for path in cells if tuple(path.name.split("-")[:2]) not in kept]
    left = [path for path, changed in cells.items() if path.suffix == ".tmp" and time.time() - changed > 3600]
    for path in {*old, *left}:
        path.unlink()
    if old:
        print(f"removed   {len(old)} finished cells of functions that were edited since", flush=True)


@click.command()
@execute.JOBS
@execute.SCALE
def main(scale: str, jobs: int | None) -> None:
    """Execute what changed, build the site if anything it shows changed, and check every page."""
    project, start = execute.Project(paths.ROOT), time.perf_counter()
    failed: int | str
    with alone(project) as lock:
        try:
            failed = execute.run(project.root, scale, jobs) or site(project, lock) or report(project)
        except OSError as error:  # for example a full disk: finished files are complete and stay
            failed = f"The build stopped: {error}. What is finished is kept; the next build goes on from there."
        except KeyboardInterrupt:
            failed = "Interrupted. What is finished is kept; the next build goes on from there."
    if not failed:
        prune(project)
        found = sizes(project.build / "html")
        print("\n".join(summary(project, found, time.perf_counter() - start)))
        if sum(found.values()) > LARGEST:
            failed = f"The site is larger than {LARGEST / 1e6:.0f} MB"
    sys.exit(failed if isinstance(failed, str) else bool(failed))


def check_pages() -> None:
    """Check the built pages, and exit with status 1 if there is a problem."""
    sys.exit(bool(report(execute.Project(paths.ROOT))))


def find(project: execute.Project, name: str) -> str:
    """Return the page that `name` means, with or without the folder ``book`` and the ending."""
    page = name.removesuffix(".ipynb")
    page = page if page.startswith("book/") else f"book/{page}"
    if page not in project.notebooks():
        known = [p.removeprefix("book/") for p in project.notebooks()]
        close = difflib.get_close_matches(page.removeprefix("book/"), known, 1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        raise SystemExit(f"There is no notebook {name}{meant}. The notebooks are:\n  " + "\n  ".join(known))
    return page


def chosen(project: execute.Project, page: str, text: str) -> execute.Json:
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


def folder(page: str, scale: str, values: execute.Json) -> str:
    """Return the folder of a variant, whose name has readable words and a digest that distinguishes variants with equal words."""
    said = " ".join(f"{n}={v}" for n, v in sorted(values.items())) or "own parameters"
    words = re.sub(r"\W+", "-", said if scale == "paper" else f"{scale} {said}").strip("-")[:60]
    digest = hashlib.sha256(json.dumps([scale, values], sort_keys=True, default=repr).encode()).hexdigest()
    return f"_build/page/{page.removeprefix('book/').replace('/', '-')}/{words}-{digest[:8]}"


def part(root: Path, place: Path, pages: list[str], title: str, **settings: str) -> Path:
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
    done = execute.jupyter_book([str(root), *given], root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nThe pages could not be built.")
    return place / "_build" / "html" / f"{pages[0]}.html"


def make(root: Path, page: str, scale: str, values: execute.Json) -> execute.Project:
    """Execute and build one variant, and return its folder; an older variant there is replaced only by a complete new one."""
    place = folder(page, scale, values)
    source = json.loads(execute.Project(root).source(page).read_text())
    given = execute.overrides(execute.load_scale(execute.Project(root), scale), page, parameters.of(source)) | values
    said = ", ".join(f"{n} = {v!r}" for n, v in given.items()) or "its own parameters"
    print(f"Running {page}.ipynb with {said}", flush=True)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=(root / place).parent, ignore_cleanup_errors=True) as name:
        unfinished = execute.Project(root, Path(name).relative_to(root) / "variant")
        try:
            execute.execute(root, page, given, "page", unfinished.build)
        except Exception as error:
            raise SystemExit(f"FAILED    {page}: {execute.explain(error)}") from None
        part(root, unfinished.build, [page], "Your variant of",
              ldpkit_build=str(unfinished.build.relative_to(root)), ldpkit_variant=said)  # fmt: skip
        shutil.rmtree(root / place, ignore_errors=True)
        unfinished.build.rename(root / place)
    return execute.Project(root, place)


@click.command()
@click.argument("notebook")
@click.argument("parameters", default="")
@execute.SCALE
def page(notebook: str, parameters: str, scale: str) -> None:
    """Run one NOTEBOOK with changed PARAMETERS and build its page, away from the book.

    For example: ldp_auditor/fig2 "k=[2,10] trials=100000"
    """
    root, start = paths.ROOT, time.perf_counter()
    page = find(execute.Project(root), notebook)
    values = chosen(execute.Project(root), page, parameters)
    try:
        variant = make(root, page, scale, values)
    except KeyboardInterrupt:
        print("Interrupted; earlier variants are kept.", file=sys.stderr)
        sys.exit(130)
    html = variant.build / "_build" / "html" / f"{page}.html"
    print(f"Done in {time.perf_counter() - start:.0f} s. The page: {html.as_uri()}\n"
          f"The executed notebook: {os.path.relpath(variant.executed(page))}\n"
          f"Every variant of this page is kept in {os.path.relpath(variant.build.parent)}")  # fmt: skip


def pages(project: execute.Project, name: str) -> list[str]:
    """Return the pages of a chapter, its index first, or exit with a list of the chapters."""
    found = [page for page in project.pages() if page.startswith(f"book/{name}/")]
    if not name or not found:
        known = sorted({page.split("/")[1] for page in project.pages() if page.count("/") > 1})
        raise SystemExit(f"NAME must be one of {', '.join(known)}, got {name!r}")
    return sorted(found, key=lambda page: not page.endswith("/index"))


@click.command()
@click.argument("name")
@execute.JOBS
@execute.SCALE
def chapter(name: str, scale: str, jobs: int | None) -> None:
    """Execute one chapter's notebooks as `make book` would, and build its pages alone; NAME is for example kv_auditor."""
    project = execute.Project(paths.ROOT)
    chosen = pages(project, name)
    with alone(project):
        if execute.run(project.root, scale, jobs, f"{name}/"):
            sys.exit(1)
        place = project.build / "chapter" / name
        place.mkdir(parents=True, exist_ok=True)
        print(f"The chapter: {part(project.root, place, chosen, 'One chapter of').as_uri()}")
