"""Add the parts of the course: answer boxes that check themselves, requirements of each page, and one file of all solutions.

The number that a box accepts is never written in a page. The number comes from the executed notebook (`:glue:`). Otherwise the
reader's browser computes it from the exact distributions at the moment of the click (`:law:`, `:with:`, `:take:`).
"""

import ast
import collections
import contextlib
import functools
import html
import json
import re
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from . import figures
from .execute import Project
from .provenance import raw

LEVELS = {1: ("●○○", "easy"), 2: ("●●○", "takes thought"), 3: ("●●●", "hard")}
SOLUTIONS = "_course/solutions.md"
_BOX = re.compile(r"^````\{(exercise|solution)\}([^\n]*)\n(.*?)^````$", flags=re.M | re.S)
_GLUED = "scrapbook"  # where the executed notebook keeps a value: see myst_nb.glue
_FORM = """\
<p class="quiz-answer"><input type="text" inputmode="decimal" autocomplete="off" size="10" aria-labelledby="{0}"> \
<button type="button">Check</button> <span role="status"></span></p><details class="quiz-why"><summary>The answer, and why</summary>"""


@functools.cache
def needs(root: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of the course's map for each page: ``level``, ``minutes`` (of lessons) and ``needs``."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((root / "book" / "course" / "map.yml").read_text())
    return {f"book/{page}": said | {"needs": [f"book/{name}" for name in said.get("needs", [])]} for page, said in found.items()}


def lessons(root: Path) -> list[str]:
    """Return the pages of the course that are lessons, in their order."""
    return [page for page, said in needs(root).items() if "minutes" in said]


def _texts(project: Project, page: str) -> list[str]:
    """Return the running text of a page's source, one text for each cell."""
    if not project.source(page).exists():
        return [(project.root / f"{page}.md").read_text(encoding="utf-8")]
    cells = json.loads(project.source(page).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def title(project: Project, page: str) -> str:
    """Return the first heading of a page."""
    return _texts(project, page)[0].partition("\n")[0].removeprefix("# ")


def glued(notebook: dict[str, Any], name: str) -> float | None:
    """Return the number that an executed notebook glued under a name, or None."""
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", [])):
        if output.get("metadata", {}).get(_GLUED, {}).get("name") == name:
            with contextlib.suppress(ValueError, SyntaxError):  # a text
                return float(ast.literal_eval("".join(next(iter(output["data"].values())))))
    return None


class Quiz(SphinxDirective):
    """A question with a box for a number, and below it the folded answer with its reason.

    A reader without scripts opens the answer.
    """

    has_content, required_arguments, final_argument_whitespace = True, 1, True
    option_spec: ClassVar = dict.fromkeys(("glue", "law", "with", "take"), directives.unchanged_required) | {"tolerance": float}

    def run(self) -> list[nodes.Node]:
        said = self.options
        if set(said) not in ({"glue", "tolerance"}, {"law", "with", "take", "tolerance"}) or not said["tolerance"] > 0:
            raise self.error("a quiz needs tolerance, and either glue, or law, with and take")
        name = f"quiz-{self.env.new_serialno('quiz') + 1}"
        data = {"tolerance": f"{said['tolerance']:g}"}
        if "glue" in said:
            path = Project(self.env.app.srcdir, self.env.app.config.ldpkit_build).executed(self.env.docname)
            value = glued(json.loads(path.read_text(encoding="utf-8")), said["glue"]) if path.exists() else None
            if value is None:
                raise self.error(f"{self.env.docname} glued no number as {said['glue']}")
            data["answer"] = repr(value)
        else:
            json.loads(said["with"])
            data |= {"law": said["law"], "with": said["with"], "take": said["take"]}
        question, messages = self.state.inline_text(self.arguments[0], self.lineno)
        attributes = "".join(f' data-{key}="{html.escape(value)}"' for key, value in data.items())
        why = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, why)
        return [
            raw(f'<div class="quiz" data-quiz="{name}"{attributes}>'),
            nodes.paragraph("", "", *question, ids=[name], classes=["quiz-question"]),
            raw(_FORM.format(name)),
            *why.children,
            raw("</details></div>"),
            *messages,
        ]


def _short(app: Sphinx, page: str) -> str:
    """Return the name of a page without its question or subject: "Lesson 3", "Figure 2"."""
    name, colon, _ = app.env.longtitles[page].astext().partition(": ")
    return name.partition(", ")[2] or name if colon else name


def head(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Show below the title of a page its level, and the pages that it needs; a subtitle shares its line with their short names."""
    said = needs(Path(app.srcdir)).get(page)
    if said is None:
        return
    top = next(doctree.findall(nodes.section), doctree)
    subtitle = next((n[0] for n in top.children if isinstance(n, nodes.container) and "subtitle" in n["classes"]), None)
    chart = f"{app.builder.get_relative_uri(page, 'book/course/index')}#which-page-needs-which-lesson"
    marks, words = LEVELS[said["level"]]
    parts = [f'<span aria-hidden="true">{marks}</span> {words}']
    if "minutes" in said:
        order = lessons(Path(app.srcdir))
        parts.insert(0, f"Lesson {order.index(page) + 1} of {len(order)}")
        parts.append(f"{said['minutes']} minutes")
    if known := [to for to in said["needs"] if to in app.env.titles]:  # a chapter built alone has no other pages
        names = [app.env.titles[to].astext() if subtitle is None else _short(app, to) for to in known]
        links = [
            f'<a href="{app.builder.get_relative_uri(page, to)}">{html.escape(name)}</a>'
            for to, name in zip(known, names, strict=True)
        ]
        parts.append("needs " + ", ".join(links))
    if isinstance(subtitle, nodes.paragraph):
        for paper in subtitle.findall(nodes.reference):  # the year alone: what it needs shares the line with its subject
            paper.children = [nodes.Text(paper.astext().rpartition(", ")[2])]
        parts[0] = f'<a href="{chart}" title="{words}" aria-label="{words}: map of all pages">{marks}</a>'
        subtitle += raw(f' <span class="page-needs">{" ".join(parts)}</span>')
    else:
        parts.append(f'<a href="{chart}">map</a>')
        top.insert(1, raw(f'<p class="page-needs">{" · ".join(parts)}</p>'))


def cards(project: Project) -> str:
    """Return the lessons as tiles in HTML."""
    lines = []
    for number, page in enumerate(lessons(project.root), 1):
        said = needs(project.root)[page]
        lines.append(f'<li><a href="{page.rpartition("/")[2]}.html"><span class="item-name">{number}. '
                     f'{html.escape(title(project, page).partition(": ")[2].capitalize())}</span> <span class="item-state">'
                     f'{LEVELS[said["level"]][1]}, {said["minutes"]} minutes</span></a></li>')  # fmt: skip
    return "```{raw} html\n" + '<ul class="item-grid">\n' + "\n".join(lines) + "\n</ul>\n```"


def chart(project: Project) -> str:
    """Return a table, for every part of the contents, of the pages that each page needs."""
    above = {page: part for page, _, part in project.contents()}
    parts = collections.defaultdict[str, list[tuple[str, ...]]](list)
    for page, said in needs(project.root).items():
        wanted = ", ".join(f"[{title(project, need)}](/{need})" for need in said["needs"]) or "nothing"
        parts[above[page]].append((f"[{title(project, page)}](/{page})", LEVELS[said["level"]][0], wanted))
    head = ("page", "level", "needs")
    tables = {part: figures.listed((9, 2, 9), head, rows) for part, rows in parts.items()}
    return "\n\n".join(f"````{{dropdown}} {part}\n{table}\n````" for part, table in tables.items())


def boxes(text: str, kind: str) -> list[tuple[str, str]]:
    """Return the argument and the body of every exercise, or of every solution, in a text."""
    return [(argument.strip(), body) for name, argument, body in _BOX.findall(text) if name == kind]


def solutions(project: Project) -> str:
    """Return all exercises of the course with their solutions as one page, for teachers."""
    parts = ["# Solutions of the course\n"]
    for page in lessons(project.root):
        text = _texts(project, page)[-1]
        parts.append(f"## {title(project, page)}\n")
        for (name, asked), (_, body) in zip(boxes(text, "exercise"), boxes(text, "solution"), strict=True):
            task = re.sub(r"^:label:.*\n|^```.*?^```\n", "", asked, flags=re.M | re.S).strip()
            parts.append(f"### {name}\n\n{task}\n\n**Solution.** {body.removeprefix(':class: dropdown').strip()}\n")
    return "\n".join(parts)
