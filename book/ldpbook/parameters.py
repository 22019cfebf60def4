"""Read the parameter cell of a notebook: names, values, meanings, ranges, and the paper's values.

Every line of the cell has the form ``name = value  # meaning, range (the paper: its value)``. The line also determines which
values a reader may enter: their type is that of the present value, and their range stands in the comment.
"""

import ast
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

TAG = "parameters"
INJECTED = "injected-parameters"  # papermill's own cell with the replaced parameters

_LINE = re.compile(r"^(\w+) = (.+?)  # (.+)$")
_PAPER = re.compile(r" ?\(([^()]*paper[^()]*)\)$")
_NUMBER = r"-?\d[\d,_]*(?:\.\d+)?(?:e-?\d+|\^\d+)?(?![\w,.^]*\w)"
_WITHIN = re.compile(rf"\bin ([\[(])({_NUMBER}), ({_NUMBER})([\])])")
_LEAST = re.compile(rf"\b(at least|above) ({_NUMBER})")
_STEP = re.compile(rf"\ba multiple of ({_NUMBER})|, even\b")
_COST = re.compile(r"[^,;:()]*\bminutes\b[^,;:()]*")
_CHOICE = re.compile(r'"([^"]*)"')
_ONE_OF = re.compile(r"\bone of (\d+(?:, \d+)+)")
_RANGES = re.compile("|".join(p.pattern for p in (_STEP, _WITHIN, _LEAST, _ONE_OF)))
_BEGUN = re.compile(r"(?:\bin [\[(]|\b(?:at least|above|a multiple of|one of) [-+.\d]).*")  # what only a range can be
_PAPERS_OWN = re.compile(rf"^the papers?: ({_NUMBER})(?!\.\d|\d)")
_MANTISSAS = (1, 1.5, 2, 3, 5, 7)  # stops of a slider within each power of ten
_EVERY = 60  # whole numbers up to which a slider stops at each
_CHIPS = 20  # elements up to which a list is shown as chips

_WORDS = {"integer": ("an integer", "integers"), "number": ("a number", "numbers"), "boolean": ("True or False", "truth values"),
          "text": ("a text in quotes", "texts in quotes"), "other": ("a value of the same form", "values of the same form"),
          "any": ("any plain value", "")}  # fmt: skip


def _number(text: str) -> float:
    """Return a number from the form that comments use: 1,000 or 1_000 or 1e-6 or 10^12."""
    base, _, power = re.sub("[,_]", "", text).partition("^")
    return float(base) ** int(power) if power else float(base)


def _shown(x: float) -> str:
    """Return a number in the form that comments use, large powers of ten as 10^6."""
    power = f"{x:e}".partition("e+")
    if abs(x) >= 1e6 and float(power[0]) == 1:
        return f"10^{int(power[2])}"
    return f"{x:_.0f}" if abs(x) >= 1e4 and x == int(x) else f"{x:g}".replace("e-0", "e-")


def literal(x: Any) -> str:
    """Return a value as it would be written in the cell."""
    if isinstance(x, str):
        return f'"{x}"'
    if isinstance(x, float):
        return literal(int(x)) if x.is_integer() and abs(x) < 1e15 else f"{x:g}".replace("e-0", "e-")
    return f"{x:_}" if isinstance(x, int) and abs(x) >= 10_000 else str(x)


@dataclass(frozen=True)
class Parameter:
    """One parameter: the value in the notebook and what may replace it.

    `kind` is ``integer``, ``number``, ``text``, ``boolean``, ``other`` (for example a list of lists) or ``any`` (where the
    notebook has ``None``). `many` means that the value is a list of these, and `none` that ``None`` is also allowed. `low` and
    `high` bound a number, or every number of a list; an open bound itself is not allowed. A whole number may have to be a
    multiple of `step`. If the comment names `choices`, only they are allowed: texts in quotes, or "one of 1, 2, 3". A `pair` is a
    list of two. `cost` is the comment's warning about a change that takes minutes.
    """

    name: str
    literal: str
    meaning: str
    paper: str
    kind: str
    many: bool
    none: bool
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    step: int | None = None
    choices: tuple[str | float, ...] = ()
    pair: bool = False
    cost: str = ""

    def expects(self) -> str:
        """Return in words which values are allowed."""
        one, several = _WORDS[self.kind]
        if self.choices:
            named = ", ".join(f'"{c}"' if isinstance(c, str) else _shown(c) for c in self.choices)
            one, several = f"one of {named}" if "," in named else named, f"these: {named}"
            return (f"a list of {several}" if self.many else one) + (" or None" if self.none else "")
        words = f"a {'pair' if self.pair else 'list'} of {several}" if self.many else one
        if self.low is not None and self.high is not None:
            words += f" in {'(' if self.low_open else '['}{_shown(self.low)}, {_shown(self.high)}{')' if self.high_open else ']'}"
        elif self.low is not None:
            words += f" {'above' if self.low_open else 'of at least'} {_shown(self.low)}"
        if self.step:
            words += f" that {'are multiples' if self.many else 'is a multiple'} of {self.step}"
        return words + (" or None" if self.none else "")

    def problem(self, value: Any) -> str | None:
        """Return one line that explains why `value` is not allowed, or None."""
        if self.kind == "any" or (value is None and self.none):
            return None
        many = isinstance(value, list)  # a tuple of the command line would be another value in the cell
        length = many == self.many and (not many or (len(value) == 2 if self.pair else len(value) > 0))
        if not length or not all(map(self._fits, value if many else [value])):
            return f"{self.name} must be {self.expects()}, got {value!r}"
        return None

    def _fits(self, value: Any) -> bool:
        if self.kind == "other":
            return isinstance(value, (dict, list))
        if self.kind in ("text", "boolean"):
            return isinstance(value, str if self.kind == "text" else bool) and (not self.choices or value in self.choices)
        if isinstance(value, bool) or not isinstance(value, int if self.kind == "integer" else (int, float)):
            return False
        above = self.low is None or (value > self.low if self.low_open else value >= self.low)
        below = self.high is None or (value < self.high if self.high_open else value <= self.high)
        named = not self.choices or value in self.choices
        return math.isfinite(value) and above and below and named and not (self.step and value % self.step)

    def specification(self) -> dict[str, Any]:
        """Return the same as plain data, for the page's form."""
        return asdict(self) | {"expects": self.expects()} | self.control()

    def control(self) -> dict[str, Any]:
        """Return the control by which a reader changes this parameter: a slider, a choice, chips, or a line of text.

        `stops` are the values that a slider, a choice or a row of chips offers, in the form of the cell. Each of them is allowed.
        `mark` is the value that the paper used, or the notebook's own, where `by` is ``book``.
        """
        value = evaluate(self.literal)
        if self.many:
            stops = self._elements()
            return {"control": "chips" if stops else "text", "stops": stops}
        if self.kind == "boolean":
            return {"control": "flag", "stops": []}
        if self.choices:
            offered = {literal(c): c for c in self.choices} | ({"None": None} if self.none else {})
            theirs = self.paper.endswith(f": {value}")
            own = next(words for words, choice in offered.items() if choice == value)
            return {"control": "choice", "stops": list(offered), "mark": own, "by": "paper" if theirs else "book"}
        if self.low is None or value is None or self.name == "seed":
            return {"control": "text", "stops": []}
        found = _PAPERS_OWN.match(self.paper)
        said = _number(found.group(1)) if found else math.nan
        theirs = self._fits(int(said) if found and self.kind == "integer" else said)
        mark = said if theirs else float(value)
        words = {v: literal(v) for v in self._places(float(value), mark)} | {float(value): self.literal}
        return {"control": "slider", "stops": [words[v] for v in sorted(words)], "mark": words[mark],
                "by": "paper" if theirs else "book"}  # fmt: skip

    def _elements(self) -> list[str]:
        """Return the values that the chips of a list offer, or nothing where the order of the list may matter.

        These are the list's own elements, and further values that the comment names.
        """
        tree = ast.parse(self.literal, mode="eval").body
        if not isinstance(tree, ast.List) or self.pair or self.kind not in ("integer", "number", "text"):
            return []
        offered = {ast.literal_eval(e): ast.get_source_segment(self.literal, e) or "" for e in tree.elts}
        ordered = self.kind == "text" or any(list(offered) == sorted(offered, reverse=down) for down in (False, True))
        if not ordered or len(offered) < len(tree.elts) or len(offered) > _CHIPS:
            return []
        return list(({c: literal(c) for c in self.choices} | offered).values())

    def _places(self, *own: float) -> list[float]:
        """Return the values at which a slider stops: whole numbers, even steps, or steps within powers of ten, for ever wider
        ranges.

        A range without an end is shown up to ten times the largest value of the notebook and the paper. Far below these values,
        by more than three powers of ten, only the end of the range is shown.
        """
        low = self.low or 0.0
        high = self.high if self.high is not None else 10 * (max(own) or 1.0)
        unit = float(self.step or 1)
        least = low
        if self.kind == "integer" and high - low <= _EVERY * unit:
            found = [low + i * unit for i in range(int((high - low) / unit) + 1)]
        elif own[0] > 0 and (high >= 100 * low if low > 0 else own[0] < high / 20):
            least = max(low, min(own) / 1000)
            powers = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
            found = [float(f"{m}e{e}") for e in powers for m in _MANTISSAS]
        else:
            size = 10.0 ** math.floor(math.log10((high - low) / 40))
            size *= max(m for m in (1, 2, 5) if m * size <= (high - low) / 40)
            found = [round(i * size, 12) for i in range(math.ceil(low / size), math.floor(high / size) + 1)]
        if self.kind == "integer":
            found = [unit * round(v / unit) for v in found]
        places = {low, high, *own, *(v for v in found if least <= v <= high)}
        return [v for v in places if self._fits(int(v) if self.kind == "integer" else v)]


def evaluate(literal: str) -> Any:
    """Return the value of a parameter's source, which in the book may also be a list comprehension over a range."""
    try:
        return ast.literal_eval(literal)
    except ValueError:
        return eval(literal, {"__builtins__": {}, "range": range})  # the book's own source, not a reader's input


def _kind(value: Any, bounds: Iterable[float | None]) -> str:
    if isinstance(value, bool) or value is None:
        return "any" if value is None else "boolean"
    if isinstance(value, int) and all(b is None or b == int(b) for b in bounds):
        return "integer"
    return {float: "number", int: "number", str: "text"}.get(type(value), "other")


def _range(meaning: str) -> dict[str, Any]:
    """Return the bounds, the step and the choices of numbers that a comment names, as fields of `Parameter`."""
    found: dict[str, Any] = {}
    if multiple := _STEP.search(meaning):
        found["low"] = found["step"] = int(_number(multiple[1] or "2"))
    if within := _WITHIN.search(meaning):
        found |= {
            "low": _number(within[2]),
            "high": _number(within[3]),
            "low_open": within[1] == "(",
            "high_open": within[4] == ")",
        }
    elif least := _LEAST.search(meaning):
        found |= {"low": _number(least[2]), "low_open": least[1] == "above"}
    elif listed := _ONE_OF.search(meaning):
        numbers = tuple(map(int, listed[1].split(", ")))
        found |= {"low": numbers[0], "high": numbers[-1], "choices": numbers}
    elif "non-negative" in meaning:
        found["low"] = 0.0
    return found


def parse(line: str) -> Parameter:
    """Return the parameter that one line of the cell defines, or raise ValueError."""
    found = _LINE.match(line)
    if not found:
        raise ValueError(f"not a parameter line: {line!r}")
    name, literal, comment = found.groups()
    value, paper, cost, meaning = evaluate(literal), _PAPER.search(comment), _COST.search(comment), _PAPER.sub("", comment)
    allowed, many = _range(meaning), isinstance(value, (list, tuple))
    kinds = {_kind(v, (allowed.get("low"), allowed.get("high"))) for v in (value if many else [value])}
    kind = kinds.pop() if len(kinds) == 1 else "number" if kinds == {"integer", "number"} else "other"
    if kind == "any" and "low" in allowed:
        kind = "number"
    if kind not in ("integer", "number"):
        allowed = {}
    elif unread := _BEGUN.search(_RANGES.sub("", meaning)):
        raise ValueError(f"{name} must have a range such as in [1, 1_000] or at least 1e-6 in its comment, got {unread[0]!r}")
    if kind == "text" and (quoted := _CHOICE.findall(meaning)):
        allowed["choices"] = tuple(dict.fromkeys([*(value if many else [value]), *quoted]))
    said = re.sub(r"(?<=: )these$", lambda _: literal, paper[1]) if paper else ""
    return Parameter(
        name, literal, meaning, said, kind, many, none=value is None or " None" in meaning, pair=many and "a pair" in meaning,
        cost=cost[0].strip() if cost else "", **allowed,
    )  # fmt: skip


def of(notebook: dict[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of a notebook, by name and in order."""
    for cell in notebook["cells"]:
        if TAG in cell["metadata"].get("tags", []):
            lines = "".join(cell["source"]).splitlines()
            return {p.name: p for p in map(parse, filter(str.strip, lines))}
    return {}


def _plain(literal: str) -> Any:
    """Return the value of a literal, in which whole numbers may be written as ``1e6``, on the command line and in forms."""
    tree = ast.parse(literal, mode="eval")
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, float)
            and "e" in (ast.get_source_segment(literal, node) or "").lower()
        ):
            node.value = int(node.value) if node.value.is_integer() and node.value < 2**53 else node.value
    return ast.literal_eval(tree)


def read(text: str) -> dict[str, Any]:
    """Return the names and Python values in a text such as ``k=[2, 10] trials=100000``, or raise ValueError with the reason."""
    values: dict[str, Any] = {}
    for part in filter(str.strip, re.split(r"(?:^|\s+)(?=\w+\s*=)", text)):
        name, equals, literal = part.partition("=")
        if not equals:
            raise ValueError(f"expected name=value, got {part.strip()!r}")
        if name.strip() in values:
            raise ValueError(f"{name.strip()} is given twice")
        try:
            values[name.strip()] = _plain(literal.strip())
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):  # errors of a text that is no literal
            raise ValueError(f"{name.strip()} must be a plain Python value, got {literal.strip()[:400]!r}") from None
    return values


def refuse(parameters: dict[str, Parameter], values: dict[str, Any]) -> list[str]:
    """Return one line for each of `values` that cannot replace its parameter, or that names no parameter."""
    found = [
        parameters[name].problem(value) if name in parameters else f"there is no parameter {name}"
        for name, value in values.items()
    ]
    return [line for line in found if line]
