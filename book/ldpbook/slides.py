"""Cut one slide show for each paper from the built pages (`python -m ldpbook slides`), so that no text is kept twice.

A show is one HTML file next to the built site, whose figures and formulas it uses. It is played by reveal.js, whose files lie
next to it. Right and left change the page, down and up step through the figures of a page. Escape shows all slides, and S opens
the speaker's view with the results. With ``?print-pdf`` at the end of its address it prints one slide a sheet. A show needs no
network and can be opened as a file.
"""

import html
import shutil
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from . import errata, figures, paths
from .execute import Project

PLAYER = Path("_build/reveal/sphinx_revealjs/_static/revealjs")
"""Folder into which `make` puts reveal.js, taken from the one package of the registry that contains it."""
FILES = ("dist/reset.css", "dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js", "LICENSE")
_SHOW = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="../html/_static/favicon.svg">
<link rel="stylesheet" href="reveal/dist/reset.css">
<link rel="stylesheet" href="reveal/dist/reveal.css">
<style>
.reveal-viewport {{ background: #fff; }}
.reveal {{ font: 30px/1.35 sans-serif; color: #16202b; }}
.reveal .slides {{ text-align: left; }}
.reveal .slides section.slide {{ box-sizing: border-box; height: 720px; padding: 24px 40px; display: flex; flex-direction: column; gap: 14px; }}
.reveal .slides section.first {{ justify-content: center; }}
h1 {{ font-size: 1.6em; line-height: 1.2; font-weight: 700; margin: 0; }} h2 {{ font-size: 1.1em; font-weight: 700; margin: 0; color: #0b5394; }}
figure {{ margin: 0; min-height: 0; flex: 1; display: flex; flex-direction: column; gap: 8px; }}
figure img {{ min-height: 0; flex: 1; object-fit: contain; max-width: 100%; max-height: none; }}
figcaption, small {{ font-size: 0.6em; line-height: 1.3; }} p, ul {{ margin: 0; }} ul {{ list-style: disc; padding-left: 1.2em; }} li {{ margin-bottom: 0.3em; }}
.reveal .slide-number {{ top: 8px; bottom: auto; color: #4a5563; background: none; }}
footer {{ margin-top: auto; font-size: 0.5em; color: #4a5563; }}
a {{ color: #0b5394; }}
</style>
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="reveal/dist/reveal.js"></script>
<script src="reveal/plugin/notes/notes.js"></script>
<script>
Reveal.initialize({{ width: 1280, height: 720, margin: 0.02, hash: true, center: false, display: "flex", slideNumber: "c/t", pdfSeparateFragments: false, plugins: [RevealNotes] }});
</script>
</body>
</html>
"""


def _article(project: Project, page: str) -> Tag:
    """Return the article of a built page, with links that lead to the built pages."""
    built = project.html(page)
    article = BeautifulSoup(built.read_text(encoding="utf-8"), "html.parser").find("article")
    assert isinstance(article, Tag)
    for found in article.select(".headerlink, .page-needs, .page-errata, .made-by"):
        found.decompose()
    for found in article.select("[href], [src]"):
        name = "href" if found.has_attr("href") else "src"
        if "://" not in str(found[name]):
            path, mark, place = str(found[name]).partition("#")
            target = (built.parent / path).resolve() if path else built
            found[name] = f"../html/{target.relative_to(project.html('index').parent).as_posix()}{mark}{place}"
    return article


def _inside(tag: Tag | None) -> str:
    return tag.decode_contents().strip() if tag else ""


def _slide(*parts: str, kind: str = "") -> str:
    return f'<section class="{" ".join(filter(None, ["slide", kind]))}">\n' + "\n".join(filter(None, parts)) + "\n</section>"


def _asked(article: Tag) -> list[str]:
    """Return the parts below the title of a page, which asks: the answer on the next step, and notes for the speaker.

    The notes are the page's section on how to read the figure. A page without an answer has its first paragraph.
    """
    answer = article.select_one(".answer")
    if answer is None:
        return [f"<p>{_inside(article.find('p'))}</p>"]
    notes = article.select_one("#how-to-read-it")
    return [
        f"<p>{_inside(article.select_one('.subtitle'))}</p>",
        f'<div class="fragment">{_inside(answer)}</div>',
        f'<aside class="notes">{_inside(notes)}</aside>' if notes else "",
    ]


def slides(project: Project, paper: str) -> Iterator[list[str]]:
    """Yield the columns of a show: the subject of the paper, each page's question and figures with captions, and the errata."""
    folder = f"book/{paper}/"
    opening = _article(project, f"{folder}index")
    yield [_slide(f"<h1>{_inside(opening.find('h1'))}</h1>", f"<p>{_inside(opening.find('p'))}</p>", kind="first")]
    for page in project.pages():
        if not page.startswith(folder) or page == f"{folder}index":
            continue
        article = _article(project, page)
        title = _inside(article.find("h1"))
        foot = f'<footer><a href="../html/{page}.html">{page.removeprefix("book/")}</a></footer>'
        column = [_slide(f"<h1>{title}</h1>", *_asked(article), foot)]
        for figure in article.select("figure[id^=fig-]"):
            image = figure.find("img")
            if isinstance(image, Tag):
                said = f"<figcaption>{_inside(figure.find('figcaption'))}</figcaption>"
                column.append(_slide(f"<h2>{title}</h2>", f"<figure>{image}{said}</figure>", foot))
        yield column
    wrong = [e for e in errata.entries(project.root) if e.name.rpartition("-")[0].replace("-", "_") == paper]
    column = []
    for at in range(0, len(wrong), 8):
        rows = (f'<li><a href="../html/book/errata.html#{e.name}">{html.escape(e.title.partition(". ")[2])}</a> <small>{e.effect}</small></li>'
                for e in wrong[at : at + 8])  # fmt: skip
        column.append(_slide("<h1>Errata</h1>", "<ul>" + "".join(rows) + "</ul>"))
    yield column


def main() -> None:
    """Write the slide shows of all papers."""
    project = Project(paths.ROOT)
    if not project.html("index").exists():
        raise SystemExit("There is no built book to cut slides from: run `make book` first")
    target = project.build / "slides"
    for name in FILES:
        (target / "reveal" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(project.root / PLAYER / name, target / "reveal" / name)
    for paper, title in figures.PAPERS.items():
        made = [column for column in slides(project, paper) if column]
        path = target / f"{paper}.html"
        stacks = "\n".join(f"<section>\n{chr(10).join(column)}\n</section>" for column in made)
        path.write_text(_SHOW.format(title=html.escape(title), slides=stacks), encoding="utf-8")
        print(f"{sum(map(len, made)):4} slides  {path.relative_to(project.root)}")
