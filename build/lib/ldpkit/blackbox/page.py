"""A result as a page for others, in one file of HTML."""

import html
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..auditors.result import AuditResult, against, table

__all__ = ["OPENING", "page"]

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


def _wealth(
    trajectory: Sequence[tuple[int, float, float]], claim: float, alpha: float, of: str = "epsilon"
) -> str:
    """Draw wealth and lower bound against the number of reports.

    Parameters
    ----------
    trajectory, claim, alpha
        Attributes of an `AuditResult`.
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


def _line(values: Mapping[str, Sequence[float]]) -> str:
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


def _framed(parts: Iterable[str], label: str, wide: int, high: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}"'
        f' height="{high}" role="img" aria-label="{html.escape(label)}" font-family='
        f'"system-ui,sans-serif" font-size="12" fill="#111"><rect width="100%" height="100%" fill='
        f'"#fff" stroke="none"/>{"".join(parts)}</svg>'
    )


def _evidence(result: AuditResult) -> str:
    """Draw the wealth of an audit that bet, and otherwise bound and estimates on one axis."""
    curve = result.evidence.get("curve")
    if result.trajectory:
        claim = result.claim if curve is None else curve.get("mu", math.inf)
        of = "epsilon" if curve is None else "mu"
        return _wealth(result.trajectory, claim, result.alpha, of)
    values = {"claim": [result.claim], "lower bound": [result.lower]}
    if result.epsilon_emp is not None:
        values["epsilon_emp"] = [result.epsilon_emp]
    if result.exact is not None:
        spread = 2 * (result.exact_sd or 0.0)
        values["exact, two deviations"] = [result.exact - spread, result.exact + spread]
    return _line(values)


_TITLES = {"lower": "Lower bound", "epsilon_emp": "Statistic", "e-value": "Wealth"}
_SHOWN = ("event", "pair", "tp", "first", "fp", "second", "lower", "e_value")
_DIRECTIONS = 20  # directions on a page


def page(result: AuditResult, command: str = "") -> str:
    """Return a self-contained HTML page about an audit.

    Parameters
    ----------
    result : AuditResult
        The result that the page shows.
    command : str
        Command that repeats the audit, if there is one.
    """
    now = float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    row = result.to_dict()
    lines = {_TITLES.get(name, name.capitalize()): text for name, text in result.lines().items()}
    lines |= {
        "Client": f"digest {result.digest}" if result.digest else "a mechanism of ldpkit",
        "Date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now)),
        "Seed": str(result.seed),
    }
    asked = [one | {"pair": against(result.parameters, one["pair"])} for one in result.directions]
    asked.sort(key=lambda one: -one["e_value" if "e_value" in one else "lower"])
    columns = [name for name in _SHOWN if any(name in one for one in asked)]
    table_of = [columns, *([one.get(name, "") for name in columns] for one in asked[:_DIRECTIONS])]
    questions = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_cell(x))}</td>' for x in each)}</tr>"
        for each in table_of
    )
    versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
    warnings = "".join(f"<p><strong>Mind:</strong> {html.escape(w)}.</p>" for w in result.warnings)
    again = f"<h2>To repeat it</h2><p><code>{html.escape(command)}</code></p>" if command else ""
    return f"""{OPENING}{html.escape(result.mechanism)}</title><style>{_STYLE}</style></head><body>
<h1>Audit of {html.escape(result.mechanism)}</h1>
<p class="verdict">{html.escape(result.verdict)}</p>{warnings}
<h2>What was claimed, asked and found</h2>{table(lines)}
<h2>The evidence</h2>{_evidence(result)}<p>{html.escape(result.meaning)}</p>
<h2>The questions that found most</h2><table>{questions}</table>{again}
<h2>Made with</h2><p>{html.escape(versions)}, {sys.platform}</p></body></html>
"""


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
