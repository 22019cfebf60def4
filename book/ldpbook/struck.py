"""Strike the sentences of a page whose condition the page's run found false; `ldpbook.conditions` explains the conditions."""

import html
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxRole

from . import conditions, execute, parameters, provenance

END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bal)(?<!\bcf)(?<!\b[A-Z])[.!?][)\"'”’\]]*(?=\s+[(\"'“‘\[]*[A-Z0-9ε]|\s*$)")
"""The end of a sentence."""


def remark(notebook: execute.Json) -> str:
    """Return the remark on a struck sentence: at which values of the changed parameters it is true, and at which it is not."""
    own, built = parameters.of(notebook), provenance.built_with(notebook)
    changed = [
        name for name in built if name in own and parameters.evaluate(built[name]) != parameters.evaluate(own[name].literal)
    ]
    book, here = (f" ({', '.join(words)})" if words else "" for words in (
        [f"{name} = {own[name].literal}" for name in changed], [f"{name} = {built[name]}" for name in changed]))  # fmt: skip
    return f"true for the book's parameters{book}, not for the values that this site was built with{here}"


class When(SphinxRole):
    """The beginning of a sentence that has a condition or a reason."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        condition = " ".join(self.text.split())
        return ([] if conditions.reason(condition) else [nodes.inline(condition=condition)]), []


def _stop(start: nodes.inline) -> int:
    """Return the position behind the sentence that begins at a node; a text that goes on behind its end is split."""
    place = start.parent
    for at in range(place.index(start) + 1, len(place)):
        node = place[at]
        if isinstance(node, nodes.inline) and "condition" in node:
            return at
        text = node.astext()
        end = END.search(text)
        if isinstance(node, nodes.Text) and end:
            place[at : at + 1] = [nodes.Text(text[: end.end()]), nodes.Text(text[end.end() :])]
        if end and (isinstance(node, nodes.Text) or end.end() == len(text)):
            return at + 1
    return len(place)


def strike(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Enclose every sentence that has a condition in an element, which is struck where the page's run found the condition false."""
    starts = [node for node in doctree.findall(nodes.inline) if "condition" in node]
    notebook = provenance.executed(execute.Project.of(app), page) if starts else None
    found, said = (conditions.shown(notebook), remark(notebook)) if notebook else ({}, "")
    for start in starts:
        condition = start["condition"]
        state = str(bool(found[condition])).lower() if condition in found else "unknown"
        place, stop = start.parent, _stop(start)  # by position, as breaks of lines are equal texts
        first = place.index(start)
        before, after = "", "</span>"
        if state == "false":
            before = '<span class="visually-hidden">Not for these parameters: </span>'
            after = f'</span><em class="when-remark"> {html.escape(said, quote=False)}.</em>'
        role = ' role="deletion"' if state == "false" else ""
        head = f'<span data-when="{html.escape(condition)}" data-condition="{state}"{role}>{before}'
        place[first:stop] = [provenance.raw(head), *place[first + 1 : stop], provenance.raw(after)]
