"""Drawings, tables and pages of results in HTML."""

import html
import importlib.metadata
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import digests
from ..stats import down

__all__ = ["Drawing", "drawing", "leading", "line", "OPENING", "page", "table"]

_WIDE, _HIGH, _LEFT, _TOP = 340, 220, 62, 30  # size and margins of one panel, in pixels
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;"
    "color:#111;background:#fff}table{border-collapse:collapse;margin:1rem 0}th,td{text-align:left;"
    "padding:.25rem .75rem .25rem 0;vertical-align:top;border-bottom:1px solid #ccc}th{white-space:"
    "nowrap;font-weight:600}svg{max-width:100%;height:auto}code{overflow-wrap:anywhere}"
    ".verdict{font-size:1.1rem;border-left:.3rem solid #111;padding-left:1rem}"
)


OPENING = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Audit of """
"""Beginning of every `page`, by which a page is recognised."""


@dataclass(frozen=True)
class Drawing:
    """A drawing that notebooks show.

    Attributes
    ----------
    svg : str
        Source of the drawing.
    """

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def _ticks(low: float, high: float, log: bool) -> list[float]:
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        step = max(1, (last - first) // 5 + 1)
        return [10.0**power for power in range(first, last + 1, step)]
    rough = (high - low) / 4
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * s for s in (1, 2, 5, 10) if size * s >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _number(x: float) -> str:
    return f"{x:,.0f}" if 1 <= abs(x) < 10**6 and x == int(x) else f"{x:.3g}"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{text}</text>'


def _panel(
    at: int, title: str, points: Sequence[tuple[float, float]], line: float, called: str, log: bool
) -> Iterable[str]:
    """Yield the parts of one panel: a curve over numbers of reports, and a dashed line."""
    xs, ys = [x for x, _ in points], [y for _, y in points] + [line]
    (x0, x1), (y0, y1) = (min(xs), max(xs)), (min(ys), max(ys))
    x1, y0 = max(x1, 1.01 * x0), y0 if log else min(0.0, y0)
    y1 = y1 * 1.5 if log else y1 + 0.08 * (y1 - y0 or 1.0)

    def across(x: float) -> float:
        return at + _LEFT + (_WIDE - _LEFT - 10) * math.log(x / x0) / math.log(x1 / x0)

    def up(y: float) -> float:
        height = math.log(y / y0) / math.log(y1 / y0) if log else (y - y0) / (y1 - y0)
        return _TOP + (_HIGH - _TOP - 46) * (1 - height)

    left, right, floor = at + _LEFT, at + _WIDE - 10, up(y0)
    yield f'<text x="{left}" y="16" font-weight="600">{title}</text>'
    yield f'<path d="M{left} {_TOP}V{floor:.1f}H{right}" fill="none" stroke="#111"/>'
    for x in _ticks(x0, x1, True) or [x0, x1]:
        yield f'<path d="M{across(x):.1f} {floor:.1f}v4" stroke="#111"/>'
        yield _text(across(x), floor + 16, _number(x), "middle")
    for y in _ticks(y0, y1, log):
        yield _text(left - 6, up(y) + 4, _number(y), "end")
    yield _text((left + right) / 2, _HIGH - 6, "reports per input", "middle")
    yield f'<path d="M{left} {up(line):.1f}H{right}" stroke="#b00" stroke-dasharray="6 4"/>'
    yield _text(right, up(line) - 5, called, "end", ' fill="#b00"')
    path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)
    yield f'<path d="M{path}" fill="none" stroke="#0057b8" stroke-width="2"/>'


def drawing(
    trajectory: Sequence[tuple[int, float, float]], claim: float, alpha: float, of: str = "epsilon"
) -> Drawing:
    """Draw wealth and lower bound against the number of reports.

    Parameters
    ----------
    trajectory, claim, alpha
        Attributes of a `SequentialResult`.
    of : str
        The number that is bounded.
    """
    seen = [row for row in trajectory if row[0] > 0] or [(1, 0.0, 0.0)]
    wealth = [(float(n), math.exp(min(max(log, -690), 690))) for n, log, _ in seen]
    bound = [(float(n), lower) for n, _, lower in seen]
    claimed = claim < math.inf
    parts = [
        *_panel(0, "wealth (e-value)", wealth, 1 / alpha, f"refuted: {1 / alpha:g}", True),
        *_panel(_WIDE + 20, f"lower bound of {of}", bound, claim if claimed else 0.0,
                f"claim: {claim:g}" if claimed else "nothing is claimed", False),
    ]  # fmt: skip
    label = (
        f"Wealth grew to {wealth[-1][1]:.3g} and the bound of {of} to {bound[-1][1]:.3g} after"
        f" {seen[-1][0]:,} reports per input."
    )
    return _framed(parts, label, 2 * _WIDE + 20, _HIGH)


def line(values: Mapping[str, Sequence[float]]) -> Drawing:
    """Draw numbers and intervals on one axis of epsilon, each in a row of its own.

    Parameters
    ----------
    values : mapping
        One number, or the ends of an interval, by name. Entries that are not finite are left out.
    """
    shown = {name: ends for name, ends in values.items() if all(map(math.isfinite, ends))}
    low = min(0.0, *(min(ends) for ends in shown.values()))
    high = max(0.1, *(max(ends) for ends in shown.values())) * 1.05
    left, floor = 150, 20 + 22 * len(shown)

    def across(x: float) -> float:
        return left + (2 * _WIDE - left - 20) * (x - low) / (high - low)

    parts = [f'<path d="M{left} {floor}H{2 * _WIDE - 20}" fill="none" stroke="#111"/>']
    for x in _ticks(low, high, False):
        parts += [f'<path d="M{across(x):.1f} {floor}v4" stroke="#111"/>',
                  _text(across(x), floor + 16, _number(x), "middle")]  # fmt: skip
    for row, (name, ends) in enumerate(shown.items()):
        y, colour = 18 + 22 * row, "#b00" if name == "claim" else "#0057b8"
        parts += [_text(left - 8, y + 4, name, "end"),
                  f'<path d="M{across(ends[0]):.1f} {y}H{across(ends[-1]):.1f}" fill="none"'
                  f' stroke="{colour}" stroke-width="8" stroke-linecap="round"/>']  # fmt: skip
    parts.append(_text((left + 2 * _WIDE) / 2, floor + 34, "epsilon", "middle"))
    label = "; ".join(f"{name} {' to '.join(map(_number, ends))}" for name, ends in shown.items())
    return _framed(parts, label, 2 * _WIDE, floor + 44)


def _framed(parts: Iterable[str], label: str, wide: int, high: int) -> Drawing:
    return Drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}"'
        f' height="{high}" role="img" aria-label="{html.escape(label)}" font-family='
        f'"system-ui,sans-serif" font-size="12" fill="#111"><rect width="100%" height="100%" fill='
        f'"#fff" stroke="none"/>{"".join(parts)}</svg>'
    )


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Return names and values as an HTML table."""
    cells = (
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f"<table>{''.join(cells)}</table>"


def against(result: Any, pair: Sequence[Any]) -> str:
    """Return the two inputs of a pair as they were given."""
    values = result.parameters.get("values")
    return " against ".join(str(v if values is None else values[v]) for v in pair)


def leading(result: Any) -> str:
    """Return the pair of a result in words; among several pairs it is the worst one."""
    pairs = {frozenset(map(repr, row["pair"])) for row in result.directions}
    several = f", the worst of {len(pairs)} pairs" if len(pairs) > 1 else ""
    return against(result, result.pair) + several


def counted(counts: Mapping[str, Any]) -> str:
    """Return in words how often the event was seen, unless a bet weighs whole reports."""
    if "tp" not in counts:
        return "no yes or no: the whole report is weighed"
    return (
        f"in {counts['tp']:,} of {counts['first']:,} reports of the first input, in"
        f" {counts['fp']:,} of {counts['second']:,} of the second"
    )


def page(result: Any, command: str = "") -> str:
    """Return a self-contained HTML page about an audit that tells inputs apart.

    Parameters
    ----------
    result : PairResult
        The result that the page shows, of an audit of fixed size or of a sequential one.
    command : str
        Command that repeats the audit, if there is one.
    """
    bets: bool = result.bets
    claim = "nothing" if result.claim == math.inf else f"epsilon = {result.claim:g}"
    claim, of, lower = f"{claim}, delta = {result.delta:g}", "epsilon", result.lower
    if bets and result.curve is not None:
        claim, of, lower = result.claimed, "mu", result.mu_lower
    now = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    shared = "bets shared one wealth" if bets else "questions shared alpha"
    fixed = {"first": result.trials, "second": result.trials}
    facts = [
        ("Audited", result.mechanism),
        *((f"its {name}", value) for name, value in result.parameters.items()),
        ("Client", f"digest {result.digest}" if result.digest else "a mechanism of ldpkit"),
        ("Date", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))),
        ("Claimed", claim),
        ("Asked", f"{result.attack}; {result.questions} {shared}"),
        ("Reports", f"{result.trials:,} per input, "
                    + ("all of them real" if result.faithful else
                       "sampled from the exact distribution")),
        *([("Event", result.event)] if bets else []),
        *([("Cause", result.cause)] if result.cause else []),
        ("Inputs", leading(result)),
        ("Counted", counted(fixed | result.counts)),
        ("Rates", ", ".join(f"{name} = {rate:.6g}" for name, rate in result.rates.items())),
        *([("Wealth", "nothing is claimed" if result.e_value is None else f"{result.e_value:.6g}")]
          if bets else []),
        ("Lower bound", "none" if lower is None else f"{of} is at least {down(lower)}, wrong with"
                        f" probability at most {result.alpha:g}"),
        *([("Stopped", result.stopped)] if bets else []),
        ("Time", f"{result.seconds:.2f} seconds"),
        ("Seed", result.seed),
    ]  # fmt: skip
    own = "e_value" if bets else "lower"
    directions = "".join(
        f"<tr><td>{html.escape(d.get('event', result.attack))}</td>"
        f"<td>{html.escape(against(result, d['pair']))}</td>"
        f"<td>{counted(fixed | d)}</td><td>{d[own]:.4g}</td></tr>"
        for d in sorted(result.directions, key=lambda d: -d[own])[:20]
    )
    packages = {"ldpkit": importlib.metadata.version("ldpkit"), **digests.versions()}
    versions = ", ".join(f"{name} {version}" for name, version in packages.items())
    warnings = "".join(f"<p><strong>Mind:</strong> {html.escape(w)}.</p>" for w in result.warnings)
    again = f"<h2>To repeat it</h2><p><code>{html.escape(command)}</code></p>" if command else ""
    return f"""{OPENING}{html.escape(result.mechanism)}</title><style>{_STYLE}</style></head><body>
<h1>Audit of {html.escape(result.mechanism)}</h1>
<p class="verdict">{html.escape(result.verdict)}</p>{warnings}
<h2>What was claimed, asked and found</h2>{table(facts)}
<h2>The evidence</h2>{result.plot().svg}
<p>{_BETS.format(1 / result.alpha, result.alpha) if bets else _COUNTS.format(result.alpha)}</p>
<h2>The {"bets that won most" if bets else "questions"}</h2><table><tr><th>event</th><th>inputs</th>
<th>seen</th><th>own {"wealth" if bets else "bound"}</th></tr>{directions}</table>{again}
<h2>Made with</h2><p>{html.escape(versions)}, {sys.platform}</p></body></html>
"""


_BETS = """The audit bets against the claim with a stake of 1. While the claim holds, wealth does
not grow on average, however long one waits and whenever one stops: it reaches {:g} with probability
{:g} at most. The bound is found in the same way, by bets against every smaller epsilon; it held at
every moment shown."""
_COUNTS = """The number of reports was fixed before the first one. The bound follows from the
counts. It exceeds the true epsilon with probability {:g} at most, in all questions together."""
