"""Find the sentences of pages, docstrings, comments and messages that break a countable rule of ``book/developers/style.md``.

A sentence ends at a full stop, a question mark or an exclamation mark before a word that can begin one. A code span, a formula
and an address count as one word each, and no rule reads inside them. Listings, headings and quotations of papers are not read.
"""

import ast
import collections
import dataclasses
import functools
import io
import json
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from ldpbook.conditions import ROLE
from ldpbook.paths import ROOT

__all__ = ["LONGEST", "RULES", "TERMS", "Sentence", "count", "faults", "read", "table"]

LONGEST = 25
"""Number of words that a sentence may have."""
SHARE = 0.05
"""Share of longer sentences that ``--strict`` allows in a part; it allows no opening and no term."""
SOURCES = ("README.md", "CONTRIBUTING.md", "ldpkit", "book")
EXEMPT = "book/developers/style.md"
"""The page of the rules, which names the words that it forbids and is therefore not read."""

OPENINGS = re.compile(r"(?:What|Whoever|Who|That which)\b", flags=re.I)
TERMS = {
    "law": r"laws?\b(?! of (?:large|total|physics)\b)",
    "convicted, innocent, accused": r"(?:convict|innocen|accus)\w+",
    "witness": r"witness(?:es|ed)?",
    "two-value event": r"two-value (?:event|test)s?",
    "kind": r"kinds? of (?:\w+ ){0,2}reports?|(?:a|the|its|this|that|each|every|own|known|unknown) kinds?\b(?! of\b)",
    "held against": r"h(?:eld|olds?|olding) (?:(?:it|them|this|these) )?against",
    "purse": r"purses?",
    "course of an audit": r"courses? of (?:an|the|this|one|sequential) audits?",
    "the paper's words": r"papers?'s? (?:own )?words",
    "ledger": r"ledgers?",
    "house, hall, room, door": r"(?<!in-)(?:houses?(?! style)|halls?|doors?|(?<!no )(?<!enough )rooms?\b(?! (?:for|to|left)\b))",
    "speaks for": r"sp(?:eaks?|oke|oken|eaking) for",
    "a table says": r"(?:tables?|columns?|rows?|figures?|curves?|bounds?|proofs?) (?:says?|said|speaks?|tells?)",
}
"""Terms that the table of the page of rules replaces by a standard word, each as a pattern of the replaced meaning."""
_TERMS = {name: re.compile(rf"\b(?:{pattern})\b", flags=re.I) for name, pattern in TERMS.items()}

_FINITE = (
    "is are was were be has have had does do did can cannot could may might must shall should will would adds? agrees? allows? appears? asks? "
    "becomes? begins? belongs? brings? calls? carr(?:y|ies) chooses? comes? costs? decides? depends? differs? exceeds? fails? falls? finds? "
    "attains? cancels? draws? lists levels? overstates points? publish raises? rises? rounds sets? survives? vanish(?:es)? "
    "follows? gets? gives? goes go grows? helps? holds? impl(?:y|ies) keeps? knows? learns? leaves? lets? lies lie loses? makes? means? needs? "
    "passes pass proves? reaches reach reads? refuses? remains? replaces? requires? returns? says? sees? sends? shows? stands? stops? stays? "
    "takes? tells? tr(?:y|ies) turns? uses? wants? wins? works? writes?"
)
_VERB = re.compile(rf"\b(?:{'|'.join(_FINITE.split())})\b|\w+n't\b|\w's\b", flags=re.I)

# the space and the line break of a piece that counts as one word
_SPACE, _BREAK = "\ue000", "\ue001"
_PIECE = re.compile(
    r"(?:\{[\w:-]+\})?((`+)(?:(?!`).)+?\2(?!`)|\$\$?[^$]+?\$\$?|https?://\S+)", flags=re.S
)
_ABBREVIATION = r"(?<!\be\.g)(?<!\bi\.e)(?<!\bal)(?<!\bcf)(?<!\bvs)(?<!\bEq)(?<!\bEqs)(?<!\bFig)(?<!\bSec)(?<!\bNo)(?<!\bpp)(?<!\b[A-Z])"
_END = re.compile(rf"{_ABBREVIATION}[.!?]+[)\"'”’\]]*\s+(?=[(\"'“‘\[]*[A-Z0-9`$ε])")
_LABEL = re.compile(
    r"\s*(?:What would make the paper right:|(\*{1,2}|_{1,2})(?:(?!\1)[^`$])+?(?:[.:]\1|\1[.:]|\1\s*$))"
)
_LISTINGS = "{eval-rst} {index} {literalinclude} {bibliography} {math} {code} {code-block} {toctree}".split()
_ITEMS = "Parameters;Attributes;Returns;Yields;Raises;Warns;See Also;Other Parameters".split(";")
_LEFT_OUT = re.compile(r"[-= ]{3,}$|\s*(>>>|\.\.\.|\.\. )")
_FORMULAS = ("math_block", "math_block_label", "amsmath")
_REFERENCES = re.compile(r"Sources?:")
_SWITCH = re.compile(r"#\s*(?:type:|noqa|fmt:|ruff:|pragma|mypy:|!|-{3,})")

Lines = list[tuple[int, str]]
"""Numbered lines of one paragraph."""


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence and its place; `part` is ``page``, ``caption``, ``docstring``, ``comment`` or ``message``."""

    path: str
    line: int
    part: str
    text: str


def _within(text: str) -> str:
    return text.replace(" ", _SPACE).replace("\n", _BREAK)


def _plain(text: str) -> str:
    """Return a paragraph without markup, in which every code span, formula and address is one word."""
    text = _PIECE.sub(lambda found: _within(found[1]), re.sub(r"\[\^[^\]]+\]", "", text))
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    marks = r"(`[^`]*`|\$[^$]*\$)|(?<!\w)[*_]{1,3}(?=[^\s*_])|(?<=[^\s*_])[*_]{1,3}(?![\w*_])"
    return re.sub(marks, lambda found: found[1] or "", text)


def _sentences(lines: Lines) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph, each with the number of its first line."""
    text = "\n".join(line for _, line in lines)
    text = ROLE.sub(
        lambda found: re.sub(r"[^\n]", "", found[0]), text
    )  # a condition is no word of its sentence
    if label := _LABEL.match(text):  # such as *What you should see*
        text = re.sub(r"[^\n]", "", text[: label.end()]) + " " + text[label.end() :]
    text, at = _plain(text), 0
    for end in [*(found.end() for found in _END.finditer(text)), len(text)]:
        piece = text[at:end]
        first = at + len(piece) - len(piece.lstrip())
        if re.search(r"[A-Za-z]", re.sub(r"`+[^`]*`+|\$[^$]*\$", "", piece)):
            number = len(re.findall(rf"[\n{_BREAK}]", text[:first]))
            yield lines[min(number, len(lines) - 1)][0], re.sub(r"\s+", " ", piece).strip()
        at = end


@functools.cache
def _parser() -> MarkdownIt:
    """Return the parser of pages, for which indented lines are text."""
    extensions = {"amsmath", "colon_fence", "deflist", "dollarmath"}
    parser = create_md_parser(MdParserConfig(enable_extensions=extensions), RendererHTML)
    return parser.disable(["code", "html_block", "lheading", "reference"])


def _page(text: str, first: int = 1) -> Iterator[Lines]:
    """Yield the paragraphs, list items and table cells of a text, without headings, listings, options and quotations."""
    tags = r"<!--.*?-->|<(script|style)\b.*?</\1>|</?(?:a|b|br|button|div|em|i|img|input|kbd|label|p|span|strong|sub|sup|svg)\b[^<>]*>"
    text = re.sub(tags, lambda found: re.sub(r"[^\n]", "", found[0]), text, flags=re.S)
    text = re.sub(r"^ *(?::[\w-]+:( .*)?|- \*\*Effect\*\*:.*)$", "", text, flags=re.M)
    block: Lines = []
    tokens, quoted, goes_on = _parser().parse(text), 0, False
    for token, before in zip(tokens, [None, *tokens]):
        at = first + (token.map or [0])[0]
        quoted += token.nesting if token.type.startswith("blockquote") else 0
        if token.type in _FORMULAS:  # one that stands alone is a word of the sentence around it
            block, goes_on = [*block, (at, "$formula$")], True
        elif token.type == "inline" and before and before.type != "heading_open" and not quoted:
            if block and not goes_on:
                yield block
            block = [*(block if goes_on else []), *enumerate(token.content.split("\n"), at)]
            goes_on = False
        elif token.type not in ("paragraph_open", "paragraph_close"):
            goes_on = False
        if (named := re.match(r"\{[\w:-]+\}", token.info.strip())) and named[0] not in _LISTINGS:
            yield from _page(token.content, at + 1)
    if block:
        yield block


def _docstring(text: str, first: int) -> Iterator[Lines]:
    """Return the paragraphs of a docstring in NumPy's form, without names, types, listings and examples."""
    lines = text.expandtabs().splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    lines = [*lines[:1], *(line[margin:] for line in lines[1:])]
    kept, named, listing = [], False, False
    for i, line in enumerate(lines):
        following = lines[i + 1] if i + 1 < len(lines) else ""
        indented = line[:1] == " "
        listing = listing and (indented or not line.strip())
        if re.fullmatch(r"[-=]{3,}", following) and line.strip():
            named, line = line in _ITEMS, ""
        elif (named and not indented) or listing or _LEFT_OUT.match(line):
            line = ""
        if line.endswith("::"):
            listing, line = True, line[:-1]
        kept.append(line.strip())
    return _page("\n".join(kept), first)


def _comments(text: str) -> Iterator[Lines]:
    """Yield the comments of a program, where comments that fill consecutive lines count as one."""
    block: Lines = []
    column = -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.string.split("# type:")[0].lstrip("#: ")
        if token.type != tokenize.COMMENT or _SWITCH.match(token.string) or not said:
            continue
        row, at = token.start
        at = -1 if token.line[:at].strip() else at
        if block and not (row == block[-1][0] + 1 and at == column != -1):
            yield block
            block = []
        block.append((row, said))
        column = at
    if block:
        yield block


def _text(node: ast.AST) -> str:
    """Return the text of a literal, with a word in the place of every value, or an empty text for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "`value`" for part in node.values)
    return ""


def _messages(tree: ast.AST) -> Iterator[Lines]:
    """Yield the literal messages of errors, and the help texts of the command line."""
    for node in ast.walk(tree):
        said: list[ast.expr] = []
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            said = node.exc.args[:1]
        elif isinstance(node, ast.Call):
            helps = ("help", "epilog", "short_help")
            said = [word.value for word in node.keywords if word.arg in helps]
            said += node.args[1:2] if re.search(r"\bneed$", ast.unparse(node.func)) else []
        yield from (
            [(each.lineno, re.sub(r"\s+", " ", text))] for each in said if (text := _text(each))
        )


def _program(text: str) -> Iterator[tuple[str, Lines]]:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and (said := _text(node.value)):
            yield from (("docstring", block) for block in _docstring(said, node.lineno))
    yield from (("comment", block) for block in _comments(text))
    yield from (("message", block) for block in _messages(tree))


def _notebook(text: str) -> Iterator[tuple[str, Lines]]:
    """Yield the paragraphs and captions of a notebook, with line numbers of its file."""
    written = text.splitlines()
    at = 0
    for cell in json.loads(text)["cells"]:
        source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        at = _place(written, source.partition("\n")[0], at)
        if cell["cell_type"] == "markdown":
            yield from (("page", block) for block in _page(source, at))
        shown = cell["metadata"].get("mystnb", {})
        for said in (shown.get("figure", {}).get("caption"), shown.get("image", {}).get("alt")):
            if said:
                yield "caption", [(_place(written, said), said)]


def _place(lines: list[str], wanted: str, start: int = 0) -> int:
    """Return the number of the first line after line `start` whose JSON contains a text."""
    text = json.dumps(wanted, ensure_ascii=False)[1:-1]
    return 1 + next((i for i in range(start, len(lines)) if text in lines[i]), start)


def read(path: Path, root: Path = ROOT) -> list[Sentence]:
    """Return the sentences of a page, a notebook or a program, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    forms: dict[str, Callable[[str], Iterable[tuple[str, Lines]]]] = {
        ".py": _program,
        ".ipynb": _notebook,
        ".md": lambda page: (("page", block) for block in _page(page)),
    }
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    found = [
        Sentence(name, number, part, sentence)
        for part, block in forms[path.suffix](text)
        for number, sentence in _sentences(block)
    ]
    return sorted(found, key=lambda one: one.line)


def _spoken(text: str) -> str:
    """Return a sentence without code, formulas and quotations."""
    return re.sub(r"`+[^`]*`+|\$+[^$]*\$+|https?://\S+|\"[^\"]*\"|“[^”]*”", "`x`", text)


def _opens(sentence: Sentence) -> bool:
    """Return whether a sentence, and no label of a page, begins with a clause instead of its subject."""
    text, label = sentence.text, sentence.part in ("page", "caption")
    ended = not label or text.rstrip("\"')”’")[-1:] in ".:!"
    return ended and not text.endswith("?") and bool(OPENINGS.match(text.lstrip("(\"'“‘")))


def _length(text: str) -> int:
    """Return the number of words of a sentence, or 0 for a list of references."""
    return 0 if _REFERENCES.match(text) else len(re.findall(r"\S*[\w`$]\S*", text))


def _joined(text: str) -> bool:
    """Return whether a semicolon has a piece without a verb on one of its sides."""
    pieces = [piece for piece in re.sub(r"\([^()]*\)", "", text).split(";") if piece.strip()]
    whole = all(_VERB.search(piece) for piece in pieces)
    return len(pieces) > 1 and not _REFERENCES.match(text) and not whole


RULES: dict[str, Callable[[Sentence], list[str]]] = {
    "long": lambda s: [f"{n} words"] if (n := _length(s.text)) > LONGEST else [],
    "opening": lambda s: ["opening"] if _opens(s) else [],
    "term": lambda s: [name for name, pattern in _TERMS.items() if pattern.search(_spoken(s.text))],
    "fragment": lambda s: ["fragment"] if _joined(_spoken(s.text)) else [],
}
"""Functions that return what each rule finds in a sentence.

The rule of fragments guesses verbs from a list, so that its count is an estimate.
"""


def faults(sentence: Sentence) -> dict[str, list[str]]:
    """Return what each broken rule found, by the rule's name."""
    return {name: found for name, rule in RULES.items() if (found := rule(sentence))}


def count(sentences: Iterable[Sentence]) -> dict[str, int]:
    """Return the number of sentences, and of those that break each rule."""
    found = collections.Counter({"sentences": 0} | dict.fromkeys(RULES, 0))
    for sentence in sentences:
        found.update(["sentences", *faults(sentence)])
    return dict(found)


def _row(sentence: Sentence) -> str:
    """Return the row of the table in which a sentence counts: a part of a package, or a folder of pages."""
    parts = sentence.path.split("/")
    if sentence.part == "caption":
        return "captions"
    if sentence.part != "page":
        chapter = parts[0] == "book" and "ldpbook" not in parts[:2]
        return f"{'chapters' if chapter else 'ldpbook' if parts[0] == 'book' else parts[0]} {sentence.part}s"
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def table(sentences: Iterable[Sentence]) -> dict[str, dict[str, int]]:
    """Return `count` for every part, and for all of them together."""
    groups = collections.defaultdict(list)
    for sentence in sentences:
        groups[_row(sentence)].append(sentence)
    return {name: count(groups[name]) for name in sorted(groups)} | {
        "all": count(s for some in groups.values() for s in some)
    }


def _sources(given: Iterable[Path]) -> Iterator[Path]:
    """Yield the files to read: all named files, and all files in named folders that are not exempt."""
    for path in given:
        inside = path.is_dir()
        for file in sorted(path.rglob("*")) if inside else [path]:
            name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
            hidden = any(part[0] == "." or part in ("_static", "_build") for part in name.parts)
            exempt = inside and (hidden or name.as_posix() == EXEMPT)
            if file.suffix in (".py", ".md", ".ipynb") and not exempt:
                yield file


PATH = click.Path(exists=True, path_type=Path, resolve_path=True)
RULE = {"type": click.Choice([*RULES]), "multiple": True}
JUDGED = f"status 1 for an opening, a term, or more than {SHARE:.0%} of long sentences in a part"


@click.command()
@click.argument("paths", nargs=-1, type=PATH, metavar="[PATH]...")
@click.option("--list", "shown", is_flag=True, help="show every place as path:line: rule: text")
@click.option("--rule", "rules", **RULE, help="list one rule only; may be given again")
@click.option("--strict", is_flag=True, help=JUDGED)
def main(paths: tuple[Path, ...], shown: bool, rules: tuple[str, ...], strict: bool) -> None:
    """Count the sentences in files and folders, by default in the whole project, that break a rule of its language."""
    files = _sources(paths or [ROOT / name for name in SOURCES])
    sentences = [sentence for path in files for sentence in read(path)]
    if shown:
        for one in sentences:
            for rule, found in faults(one).items():
                if rule in (rules or RULES):
                    text = re.sub(f"[{_SPACE}{_BREAK}]", " ", one.text)
                    print(f"{one.path}:{one.line}: {', '.join(found)}: {text}")
        print()
    counted = table(sentences)
    form = "{:22} {:>9} {:>6} {:>6} {:>8} {:>6} {:>9}"
    print(form.format(*"part sentences long share openings terms fragments".split()))
    passed = []
    for name, row in counted.items():
        share = row["long"] / max(1, row["sentences"])
        said, long, *others = row.values()
        print(form.format(name, said, long, f"{share:.1%}", *others))
        if share > SHARE or row["opening"] or row["term"]:
            passed.append(name)
    sys.exit(strict and bool(passed))


if __name__ == "__main__":
    main(prog_name="python -m ldpbook language")
