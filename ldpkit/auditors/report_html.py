"""Results in words, and as drawings, tables and pages in HTML."""

import html
import importlib.metadata
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import digests
from ..stats import down

__all__ = [
    "OPENING", "Drawing", "counted", "drawing", "facts", "leading", "line", "page", "table",
    "titled",
]  # fmt: skip

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


def _scale(
    low: float, high: float, start: float, end: float, log: bool = False
) -> Callable[[float], float]:
    """Return the function that maps the numbers of an axis to its pixels."""
    place = math.log if log else float
    return lambda x: start + (end - start) * (place(x) - place(low)) / (place(high) - place(low))


def _ticks(low: float, high: float, log: bool) -> list[float]:
    if log:
        first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**power for power in range(first, last + 1, max(1, (last - first) // 5 + 1))]
    rough = (high - low) / 4
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * s for s in (1, 2, 5, 10) if size * s >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


def _number(x: float) -> str:
    return f"{x:,.0f}" if 1 <= abs(x) < 10**6 and x == int(x) else f"{x:.3g}"


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{text}</text>'


def _labels(across: Callable[[float], float], floor: float, ticks: Iterable[float]) -> list[str]:
    """Return the ticks of a horizontal axis, each with its number."""
    return [
        f'<path d="M{across(x):.1f} {floor:.1f}v4" stroke="#111"/>'
        + _text(across(x), floor + 16, _number(x), "middle")
        for x in ticks
    ]


def _panel(
    at: int, title: str, points: Sequence[tuple[float, float]], line: float, called: str, log: bool
) -> list[str]:
    """Return the parts of one panel: a curve over numbers of reports, and a dashed line."""
    xs, ys = [x for x, _ in points], [y for _, y in points] + [line]
    (x0, x1), (y0, y1) = (min(xs), max(xs)), (min(ys), max(ys))
    x1, y0 = max(x1, 1.01 * x0), y0 if log else min(0.0, y0)
    y1 = y1 * 1.5 if log else y1 + 0.08 * (y1 - y0 or 1.0)
    left, right, floor = at + _LEFT, at + _WIDE - 10, _HIGH - 46
    across, up = _scale(x0, x1, left, right, log=True), _scale(y0, y1, floor, _TOP, log)
    path = "L".join(f"{across(x):.1f} {up(y):.1f}" for x, y in points)
    return [
        f'<text x="{left}" y="16" font-weight="600">{title}</text>',
        f'<path d="M{left} {_TOP}V{floor}H{right}" fill="none" stroke="#111"/>',
        *_labels(across, floor, _ticks(x0, x1, True) or [x0, x1]),
        *(_text(left - 6, up(y) + 4, _number(y), "end") for y in _ticks(y0, y1, log)),
        _text((left + right) / 2, _HIGH - 6, "reports per input", "middle"),
        f'<path d="M{left} {up(line):.1f}H{right}" stroke="#b00" stroke-dasharray="6 4"/>',
        _text(right, up(line) - 5, called, "end", ' fill="#b00"'),
        f'<path d="M{path}" fill="none" stroke="#0057b8" stroke-width="2"/>',
    ]


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
    left, right, floor = 150, 2 * _WIDE - 20, 20 + 22 * len(shown)
    across = _scale(low, high, left, right)
    parts = [f'<path d="M{left} {floor}H{right}" fill="none" stroke="#111"/>']
    parts += _labels(across, floor, _ticks(low, high, False))
    for row, (name, ends) in enumerate(shown.items()):
        y, colour = 18 + 22 * row, "#b00" if name == "claim" else "#0057b8"
        parts += [_text(left - 8, y + 4, name, "end"),
                  f'<path d="M{across(ends[0]):.1f} {y}H{across(ends[-1]):.1f}" fill="none"'
                  f' stroke="{colour}" stroke-width="8" stroke-linecap="round"/>']  # fmt: skip
    parts.append(_text(left + _WIDE - 75, floor + 34, "epsilon", "middle"))
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


def titled(name: str, parameters: Mapping[str, object]) -> str:
    """Return a mechanism with its parameters in one line."""
    named = [f"{key} = {x}" for key, x in parameters.items() if key not in ("epsilon", "delta")]
    return f"{name} ({', '.join(named)})" if named else name


def against(result: Any, pair: Sequence[Any]) -> str:
    """Return the two inputs of a pair as they were given; *the others* stay words."""
    values = result.parameters.get("values")
    return " against ".join(
        str(values[v] if values and not isinstance(v, str) else v) for v in pair
    )


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


def facts(result: Any) -> dict[str, str]:
    """Return the lines that describe the result of any audit, by their names.

    They are the table of the command line, and the first table of a `page`.
    """
    claim = "none" if result.claim == math.inf else f"epsilon = {result.claim:g}"
    origin = "all real" if result.faithful else "sampled from the exact distribution"
    found = {
        "mechanism": titled(result.mechanism, result.parameters),
        "claim": f"{claim}, delta = {result.delta:g}",
        "attack": f"{result.attack}, {result.trials:,} reports per input, {origin}",
        "pair": "",
        "counts": ", ".join(f"{key} = {value:,}" for key, value in result.counts.items()),
        "rates": ", ".join(f"{key} = {value:.6f}" for key, value in result.rates.items()),
    }
    more = _of_bets if getattr(result, "bets", False) else _of_counts
    found |= more(result, f"at level {result.level}") | {"seconds": f"{result.seconds:.2f}"}
    return {name: text for name, text in found.items() if text}


def _of_bets(result: Any, level: str) -> dict[str, str]:
    """Return the lines of a sequential audit."""
    e_value = "nothing is claimed" if result.e_value is None else f"{result.e_value:.4g}"
    found = {
        "event": result.event,
        "cause": result.cause,
        "pair": f"{leading(result)}, one of {result.questions} bets",
        "asked": ", ".join(f"{n:,}" for n in result.asked) + " reports, by input",
        "counts": counted(result.counts),
        "e-value": f"{e_value} (a violation from {1 / result.alpha:g} on)",
        "lower": f"{down(result.lower, claim=result.claim)} {level}, at all times",
        "stopped": result.stopped,
    }
    if result.curve is None:
        return found
    claim = result.curve.get("mu", math.inf)
    shown = result.mu_lower and down(result.mu_lower, claim=claim)
    mu = f"mu = {shown} {level}, at all times" if shown else "none"
    implied = f"which implies epsilon = {result.claim:g}, delta = {result.delta:g}"
    return found | {"claim": f"{result.claimed}, {implied}", "lower": mu}


_ESTIMATES = {
    "tight": "exact epsilon of the two batches",
    "upper": "numerical bound for all batches",
    "pooled": "epsilon of the accuracy, nearly unbiased",
}
"""The meanings of the `AuditResult.estimates` that a table shows."""


def _of_counts(result: Any, level: str) -> dict[str, str]:
    """Return the lines of an audit of a fixed number of reports."""
    directions, interval = getattr(result, "directions", ()), getattr(result, "interval", None)
    exact = "unknown, like the exact distribution of these reports" if directions else ""
    if result.exact is not None:
        exact = f"{result.exact:.4f} (sd {result.exact_sd:.4f}) is its expectation"
    ends = "[{:.4f}, {:.4f}]".format(*interval) if interval else ""
    questions = f", shared by {result.questions} questions" if directions else ""
    return {
        "pair": ", and ".join(against(result, row["pair"]) for row in directions),
        "epsilon_emp": f"{result.epsilon_emp:.4f} as the paper computes it",
        "exact": exact,
        "limit": "" if result.limit is None else f"{result.limit:.4f} without sampling noise",
        **{
            name: f"{result.estimates[name]:.4f} {meaning}"
            for name, meaning in _ESTIMATES.items()
            if name in result.estimates
        },
        "interval": ends and f"{ends} {level}, if the reports are those of {result.mechanism}",
        "reverse": "".join(
            f"tp = {row['tp']:,}, fp = {row['fp']:,},"
            f" lower = {down(row['lower'], claim=result.claim)}"
            for row in directions[1:]
        ),
        "lower": f"{down(result.lower, claim=result.claim)} {level}{questions}",
    }


_TITLES = {"lower": "Lower bound", "epsilon_emp": "Statistic", "e-value": "Wealth"}


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
    now = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    lines = [
        *((_TITLES.get(name, name.capitalize()), text) for name, text in facts(result).items()),
        ("Client", f"digest {result.digest}" if result.digest else "a mechanism of ldpkit"),
        ("Date", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))),
        ("Seed", result.seed),
    ]
    own = "e_value" if bets else "lower"
    fixed = {"first": result.trials, "second": result.trials}
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
<h2>What was claimed, asked and found</h2>{table(lines)}
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
