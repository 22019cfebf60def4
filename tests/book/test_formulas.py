"""Formulas are drawn as MathML, as TeX would draw them."""

import html
import re
import unicodedata
from types import SimpleNamespace

import pytest
from docutils import nodes
from fontTools.ttLib import TTFont
from notebooks import PROJECT, ROOT, cells_of

from ldpbook import hooks

FONT = ROOT / "book" / "_static" / "formulas.woff"
DRAWN = {
    r"\frac12": "<mfrac><mn>1</mn><mn>2</mn></mfrac>",
    r"\hat f_v": '<mover accent="true"><mi>f</mi><mo stretchy="false">ˆ</mo></mover><msub>',
    r"\hat\varepsilon_0": '<mover accent="true"><mi>ε</mi><mo stretchy="false">ˆ</mo></mover><msub>',
    "z'": "<mi>z</mi><mi>′</mi>",
    "x.": '<mi>x</mi><mo stretchy="false" lspace="0em" rspace="0em">.</mo>',
    r"k/\ln k": '<mo stretchy="false" lspace="0em" rspace="0em">/</mo><mi>ln</mi><mspace',
    r"2\ln k": '<mn>2</mn><mspace width="0.1667em"></mspace><mi>ln</mi>',
}


def drawn(tex, kind=nodes.math):
    """What a page has for a formula behind a bracket."""
    node = kind("", tex)
    nodes.paragraph("", "", nodes.Text("so ("), node)
    translator = SimpleNamespace(body=[], starttag=lambda node, tag, *_, **__: f"<{tag}>")
    with pytest.raises(nodes.SkipNode):
        hooks._formula(translator, node)
    return translator.body[0]


@pytest.mark.parametrize("tex", DRAWN)
def test_what_docutils_would_draw_in_another_way_is_mended(tex):
    found = drawn(tex)
    assert DRAWN[tex] in found and found.startswith("<span>\u2060<math")  # not parted from "("
    assert drawn(tex, nodes.math_block).startswith("<div>")


def italic(sign):
    """The sign that a browser draws for a letter that stands alone."""
    kind = "SMALL" if sign.islower() else "CAPITAL"
    letter = unicodedata.name(sign).split()[-1]
    return "ℎ" if sign == "h" else unicodedata.lookup(f"MATHEMATICAL ITALIC {kind} {letter}")


def test_every_formula_of_a_page_can_be_drawn():
    wrong, count, signs = [], 0, set()
    for page in PROJECT.pages():
        path = ROOT / f"{page}.md"
        text = path.read_text() if path.exists() else ""
        for cell in [] if text else cells_of(page):
            text += "".join(cell["source"]) + "\n\n" if cell["cell_type"] == "markdown" else ""
        text = re.sub(r"^(`{3,}).*?^\1`*$|(`+)[^`]+\2", "", text, flags=re.M | re.S)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|(?<!\\)\$([^$]+)\$", text, flags=re.S):
            count += 1
            try:
                made = drawn(block or inline, nodes.math_block if block else nodes.math)
                signs |= set(html.unescape(re.sub("<[^>]+>", "", made)))
                signs |= set("√") if "<msqrt>" in made else set()  # the browser adds it
                letters = {sign for sign in re.findall("<mi>(.)</mi>", made) if sign.isalpha()}
                signs |= {italic(sign) for sign in letters if ord(sign) < 0x3CA}
            except Exception as error:
                wrong.append((page, block or inline, str(error)))
    assert wrong == [] and count > 1000
    signs -= set(" \u2060\u2061")  # these show nothing
    assert {ord(sign) for sign in signs} <= set(TTFont(FONT).getBestCmap()), (
        "fonttools subset latinmodern-math.otf --flavor=woff --layout-features=ssty,dtls "
        f"--output-file={FONT} --unicodes={','.join(f'{ord(sign):X}' for sign in sorted(signs))}"
    )
