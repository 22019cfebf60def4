"""Extend Sphinx to show executed notebooks in place of their sources, and to fill in all generated parts of pages."""

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available
from sphinx.writers.html5 import HTML5Translator

from ldpkit import executors

from . import (
    claims,
    downloads,
    errata,
    execute,
    figures,
    lessons,
    lines,
    page_layout,
    parameters,
    provenance,
    scoreboard,
    struck,
    wording,
)
from .engine import parts as engine

MUTANTS = Path("data") / "results" / "mutants.csv"
_PHONE = 30  # length in characters of TeX
_WORD = 24  # length of a piece of code that always fits on one line
_TEX = (
    (r"frac(\d)(?=\d)", r"frac{\1}"),  # \frac12 is a half
    (r"(\\(?:hat|bar) ?(?:\w|\\[a-z]+))(?=[_^])", r"\1{}"),  # an index stands beside the sign
    (r"'", r"\\prime "),  # the sign is raised by itself
    (r"(?<=[\w})]) ?(?=\\(?:ln|tanh|cosh)\b)", r"\\,"),
)
_MATHML = (
    (r"\n *", ""),
    ("ˉ", "¯"),  # the font has this sign
    (r'<mo(?: stretchy="false")?>(?=[/.])', '<mo stretchy="false" lspace="0em" rspace="0em">'),
    (r"<mo>&ApplyFunction;</mo>(?!<mo)", '<mspace width="0.17em"></mspace>'),
)
"""Changes of formulas that docutils would not draw as TeX does."""
_LOADED = {
    "data-twin=": ("twin.css", "twin.js"),
    "data-law=": ("laws.js",),
    "data-quiz=": ("quiz.js",),
    "data-when=": ("conditions.js",),
    "data-game=": ("game.js",),
    "data-board": ("board.css", "board.data.js", "board.js"),
    'class="(answer docutils|evidence|gallery|gallery papers|drawn)"': ("reading.css", "reading.js"),
    "<table": ("tables.js",),
    "data-explorer=": ("explore.css",),
    "data-own-python": ("engine/parts.js", "live/worker.js", "engine/client.js"),
}
"""Styles and scripts of the pages whose HTML has a part."""
_ENTRANCE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={first}">
<title>{title}</title>
<link rel="icon" href="_static/{icon}">
</head>
<body><p><a href="{first}">{title}</a></p></body>
</html>
"""


def execution(project: execute.Project) -> str:
    """Return a table of the notebooks: when each ran, how long, and which parameters were changed."""
    rows, total = [], 0.0
    for page in project.notebooks():
        record, link = execute.record(project, page), f"[{page.removeprefix('book/')}](/{page}.ipynb)"
        if not record:
            rows.append(f"| {link} | not executed | | |")
            continue
        own = parameters.of(json.loads(project.source(page).read_text()))
        changed = ", ".join(f"`{n} = {v!r}`" for n, v in record["parameters"].items() if n in own) or "its own"
        total += record["seconds"]
        rows.append(f"| {link} | {record['seconds']:.1f} | {record['executed'].removesuffix(' UTC')} | {changed} |")
    head = "| page | seconds | executed (UTC) | parameters |\n|---|---:|---|---|"
    return "\n".join([head, *rows, "", f"{len(rows)} notebooks; {total:.0f} seconds of execution in all, several at a time."])


def trust(project: execute.Project) -> str:
    """Return which comparison noticed each exact distribution that was changed on purpose: counts, and a list of all of them."""
    path = project.root / MUTANTS
    if not path.exists():
        return "No exact distribution has been changed yet: run `python -m ldpbook mutants --save`."
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    made, by = json.loads(path.with_suffix(".json").read_text()), rows["witness"].replace("", "nothing").value_counts()
    said = ", ".join(f"{word}: {n}" for word, n in by.items())
    lines = []
    for row in rows.itertuples():
        numbers = [f"{float(x):.4g}" if x else "" for x in (row.run, row.against)]
        law, page = f"`{row.law.removeprefix('ldpkit.')}`", f"[{row.page}](/book/{row.page}.ipynb)"
        lines.append((law, f"`{row.change}`", page, f"{row.witness}: {row.at}", *numbers))
    head = ("exact distribution", "change", "page", "noticed by", "found", "compared with")
    return (
        f"{len(rows)} exact distributions and rates, {rows['page'].nunique()} pages. Noticed by {said}. One row was made after the other, the last on {made['date']},"
        f" in {rows['seconds'].astype(float).sum() / 60:.0f} minutes of a shared machine; `{made['command']}` makes all of them again:"
        f" {{download}}`mutants.csv </{MUTANTS}>`.\n\n````{{dropdown}} **All of them**\n"
        f"{figures.listed((8, 4, 4, 8, 3, 3), head, lines)}\n````"
    )


def stakes(project: execute.Project) -> str:
    """Return how many of the released clients violate their claim, as the end of a sentence; nothing before their table is made."""
    path = project.build / "released.csv"
    if not path.exists():
        return ""
    table = pd.read_csv(path)
    broken = table[table["verdict"].str.startswith("violates")]
    digits = broken["package"].isin(["diffprivlib", "ldpkit"]).sum()  # as on the page of released clients
    return (
        f": [{len(broken)} of {len(table)} clients](released/index) do, {digits} of them only in the last digits of their numbers"
    )


GENERATED: dict[str, Callable[[execute.Project], str]] = {
    "scoreboard": lambda project: scoreboard.page(project.root, project.root / "_build" / "scoreboard.csv"),
    "claims": lambda project: claims.page(project.root),
    "kills": trust,
    "overview": page_layout.overview,
    "stakes": stakes,
    "gallery": page_layout.gallery,
    "bars": page_layout.bars,
    "acronyms": lambda _: wording.glossary(wording.table()),
    "words": lambda _: wording.glossary(wording.table("words")),
    "execution": execution,
    "lessons": lessons.cards,
    "map": lessons.chart,
    "index": lambda project: errata.index(project.root),
    "lines": lines.summary,
    **{f"lines {paper}": functools.partial(lines.page, paper=paper) for paper in figures.PAPERS},
}
"""Generated parts of pages, by the word of the comment that marks their place."""


def _fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Take the executed copy of a notebook, and fill in the generated parts of a page."""
    project = execute.Project.of(app)
    if project.source(docname).exists():
        copy = project.executed(docname)
        source[0] = copy.read_text(encoding="utf-8") if copy.exists() else source[0]
        return
    if docname.startswith(f"{errata.FOLDER}/"):
        source[0] = errata.linked(project.root, source[0])
    for name, part in GENERATED.items():
        mark = f"<!-- {name} -->"
        source[0] = source[0].replace(mark, part(project)) if mark in source[0] else source[0]


def _tidied(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Remove identifiers and values that tell nothing, and mark what a phone breaks into lines."""
    for section in doctree.findall(nodes.section):  # sphinx-exercise gives them to all exercises and solutions alike
        section["ids"] = [i for i in section["ids"] if i not in ("exercise-content", "solution-content")]
    for formula in doctree.findall(nodes.math):
        formula["classes"] += ["long"] if len(formula.astext()) > _PHONE else []
    for code in doctree.findall(nodes.literal):
        code["classes"] += ["short"] if max(map(len, code.astext().split()), default=0) <= _WORD else []
    aliases = [text for text in doctree.findall(nodes.paragraph) if text.astext().startswith("alias of Annotated[")]
    for value in [*doctree.findall(addnodes.desc_annotation), *aliases]:  # paths of this machine, functions without a name
        if "Path('" in value.astext() or "<function" in value.astext():
            value.parent.remove(value)


def _formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers draw without a script."""
    tex, block = node.astext(), isinstance(node, nodes.math_block)
    for pattern, better in _TEX:
        tex = re.sub(pattern, better, tex)
    drawn = tex2mathml(tex, as_block=block)
    for pattern, better in _MATHML:
        drawn = re.sub(pattern, better, drawn)
    tag, before = "div" if block else "span", node.parent[: node.parent.index(node)]
    joiner = "\u2060" if before and before[-1].astext().endswith("(") else ""  # no line ends with the bracket before a formula
    scrolled = {"tabindex": "0"} if block or "long" in node["classes"] else {}
    start = translator.starttag(node, tag, "", CLASS="math notranslate", **scrolled)
    translator.body.append(f"{start}{joiner}{drawn}</{tag}>")
    raise nodes.SkipNode


def _whole(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Break a property's docstring after its first colon, because Sphinx would read the text before the colon as a type."""
    if what in ("property", "attribute", "data") and lines and ": " in lines[0]:
        lines[:1] = [part.lstrip() for part in re.split(r"(?<=:) ", lines[0], maxsplit=1)]


def _load(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Load on each page the styles and scripts that it needs, and no others.

    The scripts of thebe are removed, which is Jupyter Book's own way to run code in pages. They are added twice, which is an error
    in every browser's console, and they only run on machines of a third party.
    """
    body, project = context.get("body", ""), execute.Project.of(app)
    load: Any = functools.partial(app.add_js_file, loading_method="defer")
    told = ((script, f"{script.filename} {script.attributes.get('body', '')}".lower()) for script in context["script_files"])
    context["script_files"][:] = [script for script, text in told if "thebe" not in text]
    live = doctree is not None and provenance.executed(project, page) is not None
    said = (
        {"data-page": f"{context['pathto']('_live/', resource=True)}{page}.json"}
        | engine.offer(project, page.removeprefix("book/"))
        if live
        else {}
    )
    said |= engine.offer(project, page.removeprefix("book/")) if "data-own-python" in body else {}
    load("live.js", **said)
    for pattern, names in _LOADED.items():
        for name in names if re.search(pattern, body) else ():
            if name.endswith(".css"):
                app.add_css_file(name)
            else:  # a twin draws what is seen first: its script runs before the text
                app.add_js_file(name, loading_method=None if name == "twin.js" else "defer")
    if body:
        context["body"] = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")  # its text is its name
    if parts := set(re.findall("data-(twin|explorer|board|package|game)", body)):
        app.add_js_file("base.js", priority=400, loading_method=None if "twin" in parts else "defer")
    for name in dict.fromkeys(re.findall(r'data-explorer="(\w+)"', body)):
        for script in ("laws.js", "explore.js", f"explore/{name}.data.js", f"explore/{name}.js"):
            if any((Path(app.confdir) / folder / script).exists() for folder in app.config.html_static_path):
                load(script)


def _write(app: Sphinx, failure: Exception | None) -> None:
    """Write the files that stand next to the pages, and the page at the site's address that leads to the first page.

    The page that Jupyter Book writes there names no icon, so that a browser would ask the server for one that does not exist.
    """
    if failure or app.builder.format != "html":
        return
    project = execute.Project.of(app)
    about = {"first": app.builder.get_target_uri(app.config.master_doc), "title": app.config.html_title}
    made: list[tuple[str, str | bytes]] = [*provenance.files(app)]
    made.append(("index.html", _ENTRANCE.format(icon=Path(app.config.html_favicon).name, **about)))
    if not app.config.ldpkit_variant:
        made += [(lessons.SOLUTIONS, lessons.solutions(project)), (scoreboard.SCRIPT, scoreboard.script(project.root))]
    _put(app.outdir, made)
    downloads.lighten(app.outdir)


def _put(folder: Path, made: Iterable[tuple[str, str | bytes]]) -> None:
    for name, content in made:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def _meanwhile(app: Sphinx) -> None:
    """Write pictures and zips in a process of their own, because they do not depend on how pages are read."""
    if app.builder.format == "html" and not app.config.ldpkit_variant:
        project, tasks = execute.Project.of(app), (ParallelTasks if parallel_available else SerialTasks)(1)
        made = itertools.chain(page_layout.files(project), downloads.files(project))
        tasks.add_task(functools.partial(_put, app.outdir, made))
        app.connect("build-finished", lambda *_: tasks.join())


def _spread(app: Sphinx, env: Any) -> None:
    """Let several processes write the pages that one has read: an extension of Jupyter Book cannot be read in parallel."""
    app.parallel = 1 + executors.count(None)  # Sphinx counts the process that gives the pages out


def _contents(app: Sphinx, env: Any) -> None:
    """Give the contents beside a page the titles of all pages, without their sections.

    These are not shown. Sphinx would copy the sections of every page for every page, and then remove them.
    """
    titles = {page: toc.deepcopy() for page, toc in env.tocs.items()}
    for toc in titles.values():
        for item in [
            item for item in toc.findall(nodes.list_item) if item.parent is not toc and not [*item.findall(addnodes.toctree)]
        ]:
            item.parent.remove(item)

    def shorten(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
        toctree = context["toctree"]

        def without_sections(**options: Any) -> Any:
            whole, env.tocs = env.tocs, titles
            try:
                return toctree(**options)
            finally:
                env.tocs = whole

        context["toctree"] = without_sections

    app.connect("html-page-context", shorten, 100)  # before the theme


def _shown(change: Callable[[Sphinx, nodes.document, str], None], variants: bool = False) -> Callable[..., None]:
    """Return a handler that changes the pages of a site, and those of a reader's variants only if asked to."""

    def handler(app: Sphinx, doctree: nodes.document, page: str) -> None:
        if app.builder.format == "html" and (variants or not app.config.ldpkit_variant):
            change(app, doctree, page)

    return handler


HANDLERS = (
    ("builder-inited", _meanwhile, 500),
    ("source-read", _fill, 500),
    ("autodoc-process-docstring", _whole, 400),  # before napoleon
    ("env-updated", wording.name_pages, 500),
    ("env-updated", _contents, 500),
    ("env-updated", _spread, 500),
    ("doctree-resolved", struck.strike, 300),  # while a sentence is in few pieces
    ("doctree-resolved", _shown(downloads.offer), 400),  # before the foot of the page
    ("doctree-resolved", _shown(provenance.annotate, variants=True), 500),
    ("doctree-resolved", wording.explain, 500),
    ("doctree-resolved", wording.index_names, 500),
    ("doctree-resolved", _shown(lessons.head), 500),
    ("doctree-resolved", _tidied, 500),
    ("doctree-resolved", _shown(errata.mark), 600),  # after the line on what the page needs
    ("doctree-resolved", _shown(page_layout.arrange, variants=True), 900),  # after all that adds lines to a page
    ("html-page-context", downloads.heads, 500),
    ("html-page-context", _load, 500),
    ("build-finished", _write, 600),
)
"""The functions that are called at each event of Sphinx, with their priorities: the lowest is called first."""


def setup(app: Sphinx) -> dict[str, str | bool]:
    app.add_config_value("ldpkit_build", "_build", "env")
    app.add_config_value("ldpkit_variant", "", "env")  # the parameters of a page that was run apart from the book
    app.add_directive("quiz", lessons.Quiz)
    for role in ("when", "always"):
        app.add_role(role, struck.When())
    app.add_directive("drawing", page_layout.Drawing)
    app.add_search_language(wording.English)
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    app.add_js_file("sidebar.js", loading_method="defer")
    for event, handler, priority in HANDLERS:
        app.connect(event, handler, priority)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
