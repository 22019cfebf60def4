"""Short formulas in HTML."""

import re

import pytest

from ldpbook import symbols

READ = {
    r"\varepsilon = 1": "ε = 1",
    r"(4.38, 10^{-5})": "(4.38, 10^−5)",
    r"1/(e^\varepsilon + 1)": "1/(e^ε + 1)",
    r"\frac12 + \frac1{2k}": "^1⁄_2 + ^1⁄_2k",
    r"\ln\frac{p(1-q)}{q(1-p)}": "ln((p(1 − q))/(q(1 − p)))",
    r"-(r^2 - 1)/(2r)": "−(r^2 − 1)/(2r)",
    r"\kappa_- \le \mathrm{TV}": "κ_− ≤ TV",
    r"\sqrt{100}\sqrt{k-1}": "√100√(k − 1)",
    r"\bigl[\frac{1}{1 + r}\bigr] \|\, \bar p \mid \Delta": "[(1/(1 + r))]‖\u202fp̄ | Δ",
    r"k_10": "k_10",
    r"2\ln 2, -\rho\tanh(x)": "2\u202fln 2, −ρ\u202ftanh(x)",
    r"p' < \hat p": "p′ &lt; p̂",
}


def test_formulas_read_as_they_are_written():
    for formula, wanted in READ.items():
        text = re.sub(r"<sup>(.*?)</sup>", r"^\1", symbols.written(formula).replace("<sub>", "_"))
        assert re.sub("<.*?>", "", text).replace("\u00a0", " ") == wanted, formula


@pytest.mark.parametrize("formula", [r"\int f", r"\begin{cases}", "{a", "^", r"\sqrt", "a & b"])
def test_what_html_cannot_write_is_left_to_the_script(formula):
    assert symbols.written(formula) is None
    span = '<span class="math notranslate nohighlight">\\({}\\)</span>'
    assert symbols.replaced(span.format("k"), span.format(formula)) is None


def test_a_long_formula_can_be_broken_at_its_signs():
    assert "\u00a0+\u00a0" in symbols.written("a + b")
    assert "\u00a0" not in symbols.written("a + b + c + d + e + f + g + h")


def test_a_page_with_a_displayed_formula_keeps_all_its_formulas():
    inline = '<span class="long math notranslate">\\(k &lt; 2\\)</span>'
    assert symbols.replaced(inline) == ['<span class="symbols"><i>k</i>\u00a0&lt;\u00a02</span>']
    for other in ('<div class="math notranslate">', '<span class="new math">'):
        assert symbols.replaced(inline + other) is None
