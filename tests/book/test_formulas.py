"""Formulas are drawn as MathML, as TeX would draw them."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from notebooks import PROJECT, cells_of

from ldpbook import hooks

ROOT = Path(__file__).parents[2]
DRAWN = {
    r"\frac12": "<mfrac><mn>1</mn><mn>2</mn></mfrac>",
    r"\hat f_v": '<mover accent="true"><mi>f</mi><mo stretchy="false">ˆ</mo></mover><msub>',
    r"\hat\varepsilon_0": '<mover accent="true"><mi>ε</mi><mo stretchy="false">ˆ</mo></mover><msub>',
    "z'": "<msup><mi>z</mi><mi>′</mi></msup>",
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
    assert DRAWN[tex] in found and found.startswith(
        "<span>\u2060<math"
    )  # not parted from its bracket
    assert drawn(tex, nodes.math_block).startswith("<div>")


def test_every_formula_of_a_page_can_be_drawn():
    wrong, count = [], 0
    for page in PROJECT.pages():
        path = ROOT / f"{page}.md"
        text = path.read_text() if path.exists() else ""
        for cell in [] if text else cells_of(page):
            text += "".join(cell["source"]) + "\n\n" if cell["cell_type"] == "markdown" else ""
        text = re.sub(r"^(`{3,}).*?^\1`*$|(`+)[^`]+\2", "", text, flags=re.M | re.S)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|(?<!\\)\$([^$]+)\$", text, flags=re.S):
            count += 1
            try:
                drawn(block or inline, nodes.math_block if block else nodes.math)
            except Exception as error:
                wrong.append((page, block or inline, str(error)))
    assert wrong == [] and count > 1000
