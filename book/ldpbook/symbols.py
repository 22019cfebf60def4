"""Write short formulas in HTML, so that a page without displayed formulas loads no script for formulas."""

import html
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["replaced", "written"]

_GREEK = {
    name: chr(code)
    for code, name in enumerate("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi".split(), 0x3B1)
} | {
    "varepsilon": "ε", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "omega": "ω",
    "vartheta": "ϑ", "ell": "ℓ",
}  # fmt: skip
_UPRIGHT = {
    "Phi": "Φ", "Delta": "Δ", "|": "‖", "big": "", "bigl": "", "bigr": "", "Big": "", "infty": "∞", "sum": "∑", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lvert": "|", "rvert": "|",
    "lVert": "‖", "rVert": "‖", "dots": "…", "ldots": "…", ",": "\u202f", "{": "{", "}": "}", "%": "%", "left": "", "right": "",
}  # fmt: skip
_BETWEEN = {
    "=": "=", "<": "&lt;", ">": "&gt;", "+": "+", "-": "−", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "to": "→",
    "approx": "≈", "in": "∈", "cdot": "·", "times": "×", "sim": "∼", "propto": "∝", "bmod": "mod", "pm": "±", "mid": "|",
}  # fmt: skip
_LONG = 24  # characters; a phone shows about forty
_ACCENTS = {"hat": "\u0302", "bar": "\u0304"}
_NAMES = ("ln", "log", "exp", "min", "max", "lim", "tanh", "cosh", "Pr")
_TOKEN = re.compile(r"\\([A-Za-z]+|[,{}%|])|([A-Za-z])|(\d)|(\s+)|(.)", re.S)
_FORMULA = re.compile(r'<span class="(?:long )?math[^"]*">\\\((.*?)\\\)</span>', re.S)


class _Unknown(Exception):
    """A formula has a command that HTML cannot write."""


def _short(text: str) -> bool:
    """Return whether HTML shows a number, one symbol, or a number and a symbol, which need no brackets."""
    return bool(re.fullmatch(r"\d*(<i>.</i>)?", text))


def _atom(tokens: Iterator[Any]) -> str:
    """Return the HTML of the next token or group."""
    for token in tokens:
        command, *_, space, mark = token.groups()
        if mark == "{":
            return _run(tokens, "}")
        if not space:
            return _BETWEEN.get(command or mark) or _single(tokens, token)
    raise _Unknown


def _single(tokens: Iterator[Any], token: Any) -> str:
    """Return the HTML of one token, which may take the following ones."""
    command, letter, number, _, mark = token.groups()
    if letter or command in _GREEK:
        return f"<i>{letter or _GREEK[command]}</i>"
    if command in _NAMES:
        return f"{command} "
    if command in ("mathrm", "text", "operatorname"):
        return re.sub("</?i>", "", _atom(tokens))
    if command == "mathcal":
        return _atom(tokens)
    if command in _ACCENTS:
        return _atom(tokens).replace("</i>", f"{_ACCENTS[command]}</i>")
    if command == "sqrt":
        inner = _atom(tokens)
        return f"√{inner}" if _short(inner) else f"√({inner})"
    if command in ("frac", "tfrac"):
        above, below = _atom(tokens), _atom(tokens)
        if _short(above) and _short(below):
            return f"<sup>{above}</sup>⁄<sub>{below}</sub>"
        return "({}/{})".format(*(text if _short(text) else f"({text})" for text in (above, below)))
    if (command and command not in _UPRIGHT) or (mark and mark not in "()[]|,.;:/!'*"):
        raise _Unknown
    return number or {"'": "′", ",": ", ", ";": "; "}.get(mark) or mark or _UPRIGHT[command]


def _run(tokens: Iterator[Any], stop: str = "") -> str:
    """Return the HTML of all tokens until `stop`."""
    found, bare = "", True  # bare: a sign that follows belongs to its number
    for token in tokens:
        command, *_, space, mark = token.groups()
        sign = _BETWEEN.get(command or mark)
        if space:
            continue
        if mark and mark == stop:
            stop = ""
            break
        if mark in ("^", "_"):
            tag = "sup" if mark == "^" else "sub"
            found = f"{found.rstrip(' ')}<{tag}>{_atom(tokens)}</{tag}>"
        elif sign:
            found += sign if bare else f"\u00a0{sign}\u00a0"
        else:
            apart = command in _NAMES and re.search(r"[\d>]$", found)  # 2 ln 2
            found += ("\u202f" if apart else "") + (_run(tokens, "}") if mark == "{" else _single(tokens, token))
        bare = bool(sign) or mark in ("(", "[", ",")
    if stop:
        raise _Unknown
    return re.sub(rf"({'|'.join(_NAMES)}) \(", r"\1(", found.strip(" "))


def written(formula: str) -> str | None:
    """Return a formula in HTML, or ``None`` if it needs more than symbols, indices, powers, roots and fractions on a line.

    A long formula may be broken at its signs.
    """
    try:
        found = _run(_TOKEN.finditer(formula))
    except _Unknown:
        return None
    long = len(re.sub("<.*?>", "", found)) > _LONG
    return (
        f'<span class="symbols long">{found.replace(chr(0xA0), " ")}</span>' if long else f'<span class="symbols">{found}</span>'
    )


def replaced(*texts: str) -> list[str] | None:
    """Return texts of a page in which all formulas are HTML, or ``None`` if that is not possible."""
    known = {found: written(html.unescape(found)) for text in texts for found in _FORMULA.findall(text)}
    if None in known.values():
        return None
    found = [_FORMULA.sub(lambda match: known[match[1]] or "", text) for text in texts]
    return None if any(re.search(r'class="[^"]*\bmath\b', text) for text in found) else found
