"""`make slides`: one slide show for each paper, cut from the built pages, so that no text and no figure is kept twice.

A show is one HTML file beside the built site, whose figures, style and formulas it uses: arrow keys, a swipe or the space
bar turn pages, printing gives one slide a sheet. It asks nobody for anything, and works from a file.
"""

import html
from collections.abc import Iterator
from pathlib import Path

import errata
import front
from bs4 import BeautifulSoup, Tag
from execute import Project

_SHOW = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="../html/_static/favicon.svg">
<style>
html {{ scroll-snap-type: y mandatory; font: min(2.6vw, 3.6vh)/1.35 sans-serif; color: #16202b; background: #fff; }}
body {{ margin: 0; }}
section {{ box-sizing: border-box; height: 100vh; padding: 4vh 5vw; scroll-snap-align: start; display: flex; flex-direction: column; gap: 1.5vh; overflow: hidden; break-after: page; }}
h1 {{ font-size: 1.6em; margin: 0; }} h2 {{ font-size: 1.15em; margin: 0; color: #0b5394; }}
.first {{ justify-content: center; }}
figure {{ margin: 0; min-height: 0; flex: 1; display: flex; flex-direction: column; gap: 1vh; }}
img {{ min-height: 0; flex: 1; object-fit: contain; max-width: 100%; }}
figcaption, small {{ font-size: 0.62em; line-height: 1.3; }} p, ul {{ margin: 0; }} li {{ margin-bottom: 0.3em; }}
footer {{ margin-top: auto; font-size: 0.5em; color: #4a5563; }}
a {{ color: #0b5394; }}
@page {{ size: 297mm 167mm; margin: 0; }} @media print {{ html {{ font-size: 5.5mm; }} section {{ height: 166mm; }} }}
</style>
<script>window.MathJax = {{"startup": {{"typeset": true}}}};</script>
<script defer src="../html/_static/mathjax/tex-chtml.js"></script>
</head>
<body>
{slides}
<script>
addEventListener("keydown", (event) => {{
  const step = {{ ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Home: -1e6, End: 1e6 }}[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [...document.querySelectorAll("section")], now = Math.round(scrollY / innerHeight);
  all[Math.max(0, Math.min(all.length - 1, now + step))].scrollIntoView();
}});
</script>
</body>
</html>
"""


def _article(project: Project, page: str) -> Tag:
    """The article of a built page, its links leading to the built pages."""
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
    return f"<section{kind and f' class={chr(34)}{kind}{chr(34)}'}>\n" + "\n".join(parts) + "\n</section>"


def slides(project: Project, paper: str) -> Iterator[str]:
    """The slides of a paper: what it is about, every page's question, every figure with its caption, its errata."""
    folder = f"book/{paper}/"
    opening = _article(project, f"{folder}index")
    yield _slide(f"<h1>{_inside(opening.find('h1'))}</h1>", f"<p>{_inside(opening.find('p'))}</p>", kind="first")
    for page in project.pages():
        if not page.startswith(folder) or page == f"{folder}index":
            continue
        article = _article(project, page)
        title = _inside(article.find("h1"))
        foot = f'<footer><a href="../html/{page}.html">{page.removeprefix("book/")}</a></footer>'
        yield _slide(f"<h1>{title}</h1>", f"<p>{_inside(article.find('p'))}</p>", foot)
        for figure in article.select("figure[id^=fig-]"):
            image = figure.find("img")
            if isinstance(image, Tag):
                said = f"<figcaption>{_inside(figure.find('figcaption'))}</figcaption>"
                yield _slide(f"<h2>{title}</h2>", f"<figure>{image}{said}</figure>", foot)
    wrong = [e for e in errata.entries(project.root) if e.name.rpartition("-")[0].replace("-", "_") == paper]
    for at in range(0, len(wrong), 8):
        rows = (f'<li><a href="../html/book/errata.html#{e.name}">{html.escape(e.title.partition(". ")[2])}</a> <small>{e.effect}</small></li>'
                for e in wrong[at : at + 8])  # fmt: skip
        yield _slide("<h1>Errata</h1>", "<ul>" + "".join(rows) + "</ul>")


def main(project: Project) -> None:
    if not project.html("index").exists():
        raise SystemExit("There is no built book to cut slides from: run `make book` first")
    target = project.build / "slides"
    target.mkdir(exist_ok=True)
    for paper, title in front.PAPERS.items():
        made = list(slides(project, paper))
        path = target / f"{paper}.html"
        path.write_text(_SHOW.format(title=html.escape(title), slides="\n".join(made)), encoding="utf-8")
        print(f"{len(made):4} slides  {path.relative_to(project.root)}")


if __name__ == "__main__":
    main(Project(Path(__file__).parents[2]))
