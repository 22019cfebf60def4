"""Draw the diagrams of the book that show numbers: `python book/_static/drawings/draw.py` writes the SVG files beside this script.

Every number comes from `ldpkit`, from a seed or from a formula; a test draws all of them again and compares. Diagrams without
numbers are drawn by hand: their SVG files are the source. Colours are variables of
the book's style sheet with a default each, so that a file also opens alone. Colour never carries a meaning alone.
"""

import html
import math
from pathlib import Path

import numpy as np
import scipy

from ldpkit import Client, audit, stats
from ldpkit.attacks import Guess, TwoValueTest
from ldpkit.auditors import KVAudit
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.mechanisms import GRR, PCKVUE, SUE, FaultyUE, make

HERE = Path(__file__).parent
STYLE = """<style>
.d { font: 14px system-ui, sans-serif; fill: var(--rd-ink, #222); } .d .s { font-size: 12.5px; } .d .t { font-weight: 600; }
.d .m { text-anchor: middle; } .d .e { text-anchor: end; } .d .i { font-style: italic; }
.d .ax { stroke: var(--rd-faint, #5f6b7a); fill: none; } .d .box { fill: none; stroke: var(--rd-line, #8b96a3); stroke-width: 1.5; }
.d .a { fill: var(--rd-a, #0072b2); } .d .b { fill: var(--rd-b, #b04a00); } .d .on { fill: var(--rd-paper, #fff); font-weight: 600; }
.d .la { stroke: var(--rd-a, #0072b2); fill: none; stroke-width: 2; } .d .lb { stroke: var(--rd-b, #b04a00); fill: none; stroke-width: 2; }
.d .li { stroke: var(--rd-ink, #222); fill: none; stroke-width: 2; } .d .dash { stroke-dasharray: 6 4; } .d .pale { fill-opacity: 0.22; }
</style>"""


def text(x, y, words, *classes):
    return f'<text class="{" ".join(classes)}" x="{x:.1f}" y="{y:.1f}">{html.escape(words, quote=False)}</text>'


def box(x, y, w, h, *classes, r=6):
    return f'<rect class="{" ".join(classes or ("box",))}" x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{r}"/>'


def path(d, *classes):
    return f'<path class="{" ".join(classes)}" d="{d}"/>'


def arrow(x1, y1, x2, y2, *classes):
    """A straight line with a head."""
    a = math.atan2(y2 - y1, x2 - x1)
    ends = [(x2 - 8 * math.cos(a + s), y2 - 8 * math.sin(a + s)) for s in (0.45, -0.45)]
    head = "".join(f"M{x2:.1f} {y2:.1f}L{x:.1f} {y:.1f}" for x, y in ends)
    return path(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}{head}", *(classes or ("ax",)))


def drawing(name, width, height, title, description, *parts):
    head = f'<svg class="diagram d" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-t {name}-d" xmlns="http://www.w3.org/2000/svg">'
    said = f'<title id="{name}-t">{html.escape(title)}</title>\n<desc id="{name}-d">{html.escape(description)}</desc>'
    return f"{head}\n{said}\n{STYLE}\n" + "\n".join(parts) + "\n</svg>\n"


def scale(low, high, start, end):
    """A function that puts numbers from `low` to `high` on a line from `start` to `end`."""
    return lambda v: start + (v - low) / (high - low) * (end - start)


def errors():
    """Two overlapping histograms with a threshold: scores N(0, 1) and N(2, 1), bins of a quarter, threshold 1.25."""
    apart, threshold, step, floor = 2.0, 1.25, 0.25, 230.0
    bins = np.arange(-3, 5, step)
    across, up, parts = scale(-3, 5, 40, 680), scale(0, 0.105, floor, floor - 180), []
    for solid in (False, True):
        for mean, colour in ((0.0, "a"), (apart, "b")):
            mass = np.diff(scipy.stats.norm.cdf(np.append(bins, bins[-1] + step) - mean))
            for left, p in zip(bins, mass):
                if p > 2e-4 and ((left >= threshold) == (colour == "a")) == solid:
                    parts.append(
                        box(across(left) + 0.6, up(p), 80 * step - 1.2, floor - up(p), colour, *["pale"] * (not solid), r=0)
                    )
            steps = "".join(f"V{up(p):.1f}H{across(left + step):.1f}" for left, p in zip(bins, mass))
            parts.append(path(f"M{across(-3):.1f} {floor}{steps}", f"l{colour}") if solid else "")
    fp, fn = scipy.stats.norm.sf(threshold), scipy.stats.norm.cdf(threshold - apart)
    middle = across(threshold)
    return drawing(
        "errors", 720, 300, "Two histograms and a threshold",
        f"The scores of reports of input A lie around 0, those of input B around 2, and the histograms overlap. A threshold stands at 1.25. "
        f"The bars of A to its right are the false positives, {100 * fp:.0f} percent. The bars of B to its left are the false negatives, {100 * fn:.0f} percent.",
        *parts, path(f"M40 {floor}H690", "ax"), path(f"M{middle:.1f} 34V236", "li", "dash"),
        text(middle, 24, "threshold", "m", "t"), text(middle - 12, 46, "the attack says A ←", "e", "s"), text(middle + 12, 46, "→ the attack says B", "s"),
        text(across(-1.9), 96, "reports of A", "m", "t", "a"), text(across(3.9), 96, "reports of B", "m", "t", "b"),
        text(across(1.5), 262, f"false positives: {100 * fp:.0f} % of A,", "s", "a"), text(across(1.5), 279, "solid, right of the threshold", "s", "a"),
        text(across(1.0), 262, f"false negatives: {100 * fn:.0f} % of B,", "e", "s", "b"), text(across(1.0), 279, "solid, left of the threshold", "e", "s", "b"),
        text(690, 248, "score of a report", "e", "s"),
    )  # fmt: skip


def supports():
    """One real report of the value 3 of eight, for four families, at epsilon 1 (seed 3)."""
    rng, parts, said = np.random.default_rng(3), [], []
    families = [("GRR", "one value", "the guess repeats it"), ("SS", "a set", "the guess is one of them"),
                ("OUE", "noisy bits", "the guess is one of them"), ("OLH", "hash and cell", "the guess is in the cell")]  # fmt: skip
    for i, (name, form, guess) in enumerate(families):
        mechanism, left = make(name, k=8, epsilon=1.0), 8 + 180 * i
        reports = mechanism.perturb(np.full(1, 3), rng)
        inside = [v for v in range(8) if bool(mechanism.report_type.supports(mechanism.read(reports), v)[0])]
        parts += [text(left + 4, 24, f"{name}: {form}", "t")]
        for v in range(8):
            x, y = left + 4 + v % 4 * 40, 46 + v // 4 * 40
            parts += [
                box(x, y, 34, 34, "a" if v in inside else "box", r=4),
                text(x + 17, y + 22, str(v), "m", "s", *["on"] * (v in inside)),
            ]
        parts += [
            box(left + 121, 43, 40, 40, "lb", "dash"),
            text(left + 4, 148, f"supports {len(inside)} of 8 values;", "s"),
            text(left + 4, 166, guess, "s"),
        ]
        said.append(f"the report of {name} supports {', '.join(map(str, inside)) or 'no value'}")
    return drawing(
        "supports", 720, 216, "Which values a report supports, for four families of protocols",
        "All four users hold the value 3 of eight values, at epsilon 1: " + "; ".join(said) + ".", *parts,
        box(12, 190, 16, 16, "a", r=3), text(34, 203, "supported by the report", "s"),
        box(212, 190, 16, 16, "lb", "dash", r=3), text(234, 203, "true value of the user (3), which a report may leave out", "s"),
    )  # fmt: skip


def reports_of_two_coins():
    """A thousand answers for the truth yes, and for the truth no."""
    rng, coin = np.random.default_rng(1), GRR(2, math.log(3))
    return [coin.perturb(np.full(1000, truth), rng).astype(bool) for truth in (1, 0)]


def coins():
    """How many answers say yes for both truths, the intervals of their rates, and the bound that their cautious ends give."""
    yes = [int(bits.sum()) for bits in reports_of_two_coins()]
    ends = [tuple(map(float, stats.clopper_pearson(n, 1000, 0.005))) for n in yes]
    return yes, ends, math.log(ends[0][0] / ends[1][1])


def ladder():
    """From counts to a claim, in five steps: two coins, a thousand reports of either truth."""
    yes, ((low, _), (_, high)), epsilon = coins()
    steps = [("Counts", f"{yes[0]} and {yes[1]}", "of 1,000 say yes", ""), ("Rates", f"{yes[0] / 1000:.3f} and {yes[1] / 1000:.3f}", "shares of yes", "divide by 1,000"),
             ("Bounds", f"≥ {low:.3f}, ≤ {high:.3f}", "the cautious ends", "Clopper–Pearson"), ("ε", f"ln({low:.3f}/{high:.3f})", f"at least {epsilon:.2f} leaks", "logarithm of the ratio"),
             ("Claim", f"{epsilon:.2f} ≤ 1.10", "not refuted", "compare")]  # fmt: skip
    parts = []
    for i, (head, numbers, meaning, how) in enumerate(steps):
        x, y = 4 + 144 * i, 156 - 32 * i
        parts += [
            box(x, y, 134, 84),
            text(x + 67, y + 23, head, "m", "t"),
            text(x + 67, y + 46, numbers, "m", "s"),
            text(x + 67, y + 68, meaning, "m", "s"),
        ]
        parts += [text(x + 67, y + 104, how, "m", "s", "i")] if how else []
    return drawing(
        "ladder", 720, 268, "From counts to a claim",
        f"Five steps that rise. Counts: {yes[0]} and {yes[1]} of 1,000 reports say yes. Rates: {yes[0] / 1000:.3f} and {yes[1] / 1000:.3f}. "
        f"Bounds: at least {low:.3f} and at most {high:.3f}. Epsilon: the logarithm of their ratio, {epsilon:.2f}. Claim: 1.10 is not refuted.", *parts,
    )  # fmt: skip


def guess_and_event():
    """The guess against the likelihood-ratio event, for the same reports of SUE: exact rates at 25 values and epsilon 1."""
    mechanism, parts, said = SUE(25, 1.0), [], []
    asked = [
        ("The guess", "Does a random one of the report name value 0?", Guess()),
        ("The likelihood-ratio event", "Is the bit of value 0 one, and that of value 24 zero?", TwoValueTest(1)),
    ]
    for i, (head, question, attack) in enumerate(asked):
        left, rates = 10 + 365 * i, attack.rates(mechanism, (0, 24))
        across, ratio = scale(0, 0.45, 0, 300), math.log(rates[0] / rates[1])
        parts += [text(left, 24, head, "t"), text(left, 46, question, "s")]
        for j, (rate, colour, who) in enumerate(zip(rates, "ab", ("value 0", "value 24"))):
            y = 68 + 50 * j
            parts += [
                box(left, y, across(rate), 30, colour, r=2),
                text(left + across(rate) + 8, y + 20, f"{rate:.3f}", "t"),
                text(left, y + 44, f"share of yes among reports of {who}", "s"),
            ]
        parts += [text(left, 192, f"ln({rates[0]:.3f} / {rates[1]:.3f}) = {ratio:.2f} of the claimed 1", "t")]
        said.append(f"{head}: yes in {rates[0]:.3f} and {rates[1]:.3f} of the reports, which shows {ratio:.2f}")
    return drawing(
        "guess-and-event", 740, 208, "Two questions about the same reports",
        "Reports of SUE with 25 values and epsilon 1. " + ". ".join(said) + ".", *parts, path("M358 12V196", "ax"),
    )  # fmt: skip


def lune(degrees=70):
    """The event of a randomised gradient, in the plane: it leans towards the second gradient and not towards the first."""
    cx, cy, r, half = 190, 168, 128, math.radians(degrees / 2)

    def at(angle):
        return cx + r * math.sin(angle), cy - r * math.cos(angle)

    (x1, y1), (x2, y2) = at(-half), at(half)
    begin, end = at(math.pi / 2 - half), at(math.pi / 2 + half)  # where the two half-planes end
    sector = f"M{cx} {cy}L{begin[0]:.1f} {begin[1]:.1f}A{r} {r} 0 0 1 {end[0]:.1f} {end[1]:.1f}Z"
    edges = "".join(
        f"M{at(a)[0]:.1f} {at(a)[1]:.1f}L{at(a + math.pi)[0]:.1f} {at(a + math.pi)[1]:.1f}"
        for a in (math.pi / 2 - half, math.pi / 2 + half)
    )
    return drawing(
        "lune", 720, 320, "The lune between two gradients",
        f"A circle of directions. Two arrows, the first and the second gradient, are {degrees} degrees apart. The directions that lean towards the second gradient and not "
        f"towards the first one form a sector of {degrees} degrees, {degrees / 360:.2f} of all directions without noise of the randomiser.",
        f'<circle class="box" cx="{cx}" cy="{cy}" r="{r}"/>', path(sector, "b", "pale"), path(sector, "lb"), path(edges, "ax", "dash"),
        arrow(cx, cy, x1, y1, "la"), arrow(cx, cy, x2, y2, "lb"), text(x1 - 8, y1 - 8, "first gradient", "e", "t", "a"), text(x2 + 8, y2 - 8, "second gradient", "t", "b"),
        text(370, 150, "The lune: directions that lean towards the second", "s"), text(370, 168, "gradient and not towards the first one.", "s"),
        text(370, 200, "A report points there e^ε times as often if the second", "s"), text(370, 218, "gradient was randomised as if the first one was.", "s"),
        text(370, 250, "Dashed: a right angle to one of the gradients.", "s"),
    )  # fmt: skip


def wealth():
    """Two wealth paths against the claim 1: the client of pure-ldp 1.1.2 and a sound one (seed 1, learned attack)."""
    goal, most, parts, said = 100, 2000, [], []
    logs, up = scale(math.log(8), math.log(most), 70, 590), scale(-math.log(10), 2.6 * math.log(10), 200, 30)

    def across(n):
        return logs(math.log(n))

    clients = [(FaultyUE(10, 1.0), "lb", "SUE of pure-ldp 1.1.2"), (SUE(10, 1.0), "la", "SUE that keeps ε = 1")]
    for mechanism, colour, who in clients:
        client = Client(mechanism.perturb, k=10, report="bits", epsilon=1.0)
        result = SequentialAudit(client, "tight", trials=most, alpha=0.01).run(1)[0]
        points = [(n, max(log, -math.log(10))) for n, log, _ in result.trajectory if n >= 8]
        parts.append(path("M" + "L".join(f"{across(n):.1f} {up(log):.1f}" for n, log in points), colour))
        n, log = points[-1]
        ends = f"refuted after {n:,} reports per input" if result.violated else f"not refuted by {n:,}"
        beside, below, side = (8, 24, []) if result.violated else (-4, 18, ["e"])
        parts += [
            text(across(n) + beside, up(log) - 8, who, "t", colour[1], *side),
            text(across(n) + beside, up(log) + below, ends, "s", *side),
        ]
        said.append(f"the wealth against the {who} ends at {math.exp(log):.3g}, {ends}")
    ticks = "".join(f"M64 {up(math.log(v)):.1f}H600" for v in (0.1, 1, 10))
    marks = [text(58, up(math.log(v)) + 4, f"{v:g}", "e", "s") for v in (0.1, 1, 10, 100)]
    counts = [text(across(v), 222, f"{v:,}", "m", "s") for v in (10, 30, 100, 300, 1000)]
    return drawing(
        "wealth", 720, 250, "Wealth of a bet against a claim",
        "Reports per input run to the right, wealth upwards, both on logarithmic axes. The goal is 100: " + "; ".join(said) + ".",
        path(ticks, "ax"), path(f"M64 {up(math.log(goal)):.1f}H600", "li", "dash"), text(606, up(math.log(goal)) + 4, "goal: 1/α", "s"),
        *marks, *counts, *parts, text(70, 16, "wealth", "s"), text(600, 242, "reports per input", "e", "s"),
    )  # fmt: skip


def answers():
    """A thousand answers for either truth, as squares."""
    parts, counts = [], coins()[0]
    for row, (bits, colour, truth) in enumerate(zip(reports_of_two_coins(), "ab", ("yes", "no"))):
        y = 34 + 250 * row
        dots = [
            "".join(f"M{20 + i % 40 * 8} {y + i // 40 * 8}h6v6h-6z" for i, bit in enumerate(bits) if bit == one)
            for one in (True, False)
        ]
        parts += [
            text(20, y - 12, f"truth: {truth}", "t"),
            path(dots[0], colour),
            f'<path class="box" style="stroke-width: 0.7" d="{dots[1]}"/>',
            text(20, y + 218, f"{counts[row]} of 1,000 say yes", "s"),
        ]
    said = (
        f"Two fields of a thousand squares. With the truth yes, {counts[0]} squares are filled; with the truth no, {counts[1]}."
    )
    return drawing("answers", 360, 514, "A thousand answers for either truth", said, *parts)


def rates():
    """The two rates of the coins."""
    yes, parts = [n / 1000 for n in coins()[0]], []
    for i, (rate, truth) in enumerate(zip(yes, ("yes", "no"))):
        parts += [
            text(60, 36 + 90 * i, f"truth: {truth}", "t"),
            box(60, 46 + 90 * i, rate * 320, 34, "ab"[i], r=2),
            text(68 + 320 * rate, 69 + 90 * i, f"{rate:.3f}", "t"),
        ]
    ticks = [
        path("M60 190H380M60 190v5M220 190v5M380 190v5", "ax"),
        text(60, 212, "0", "m", "s"),
        text(220, 212, "½", "m", "s"),
        text(380, 212, "1", "m", "s"),
    ]
    return drawing(
        "rates",
        440,
        222,
        "Two rates",
        f"Two bars: {yes[0]:.3f} for the truth yes, and {yes[1]:.3f} for the truth no.",
        *parts,
        *ticks,
    )


def bounds():
    """The cautious ends of the two rates."""
    (yes, ends, epsilon), parts = coins(), []
    low, high = ends[0][0], ends[1][1]
    for i, (least, most) in enumerate(ends):
        y = 46 + 90 * i
        parts += [
            box(60, y, 320 * yes[i] / 1000, 34, "ab"[i], "pale", r=2),
            path(f"M{60 + 320 * least:.1f} {y}v34m0 -17H{60 + 320 * most:.1f}m0 -17v34", "li"),
        ]
    return drawing(
        "bounds", 440, 236, "Two cautious ends",
        f"The interval of the first rate begins at {low:.3f}, and that of the second rate ends at {high:.3f}. Their ratio is {low / high:.2f}, which is e to the power of {epsilon:.2f}.",
        *parts, text(52 + 320 * low, 36, f"at least {low:.3f}", "e", "t", "a"), text(68 + 320 * high, 126, f"at most {high:.3f}", "t", "b"),
        text(60, 216, f"{low:.3f} / {high:.3f} = {low / high:.2f}, and ln {low / high:.2f} = {epsilon:.2f}", "t"),
    )  # fmt: skip


def claim():
    """The bound of the coins against two claims."""
    epsilon, low_claim, high_claim, across = coins()[2], 0.5, math.log(3), scale(0, 1.4, 40, 380)
    parts = [
        path(f"M40 130H400M40 130v6M{across(0.5):.1f} 130v6M{across(1):.1f} 130v6", "ax"),
        *(text(across(v), 152, f"{v:g}", "m", "s") for v in (0, 0.5, 1)),
        box(40, 106, across(epsilon) - 40, 24, "b", "pale", r=0),
        path(f"M{across(epsilon):.1f} 74V136", "la"),
        text(across(epsilon), 170, f"{epsilon:.2f} is proven", "m", "t", "a"),
    ]
    for value, word in ((low_claim, "refuted"), (high_claim, "not refuted")):
        parts += [
            path(f"M{across(value):.1f} 44V136", "li", "dash"),
            text(across(value), 20, f"claim {value:.2f}:", "m", "t"),
            text(across(value), 37, word, "m", "s"),
        ]
    return drawing(
        "claim", 420, 176, "The bound and two claims",
        f"A line from 0 to 1.4. The bound stands at {epsilon:.2f}. A claim of 0.50 lies to its left and is refuted. A claim of {high_claim:.2f} lies to its right and is not refuted.",
        *parts, text(46, 123, "refuted if claimed", "s"),
    )  # fmt: skip


def steps(name, title, said, boxes):
    """Three boxes from left to right, each of which leads to the function that does its step."""
    parts = []
    for i, (head, lines, address) in enumerate(boxes):
        x = 10 + 238 * i
        words = [text(x + 102, 62 + 19 * j, line, "m", "s") for j, line in enumerate(lines)]
        inside = "".join([box(x, 14, 204, 116), text(x + 102, 38, f"{i + 1}. {head}", "m", "t", "a"), *words])
        parts.append(f'<a href="../api/{address}">{inside}</a>')
        parts += [arrow(x - 32, 72, x - 4, 72)] if i else []
    told = "; ".join(f"{head}: {' '.join(lines)}" for head, lines, _ in boxes)
    return drawing(name, 700, 144, title, f"{said} {told}.", *parts)


def audit_steps():
    """The steps of an audit of GRR (100,000 reports per input, seed 1)."""
    result = audit(GRR(10, 1.0), trials=100_000, seed=1)
    seen = [f"{result.counts['tp']:,} reports about it", f"and {result.counts['fp']:,} about value 1"]
    return steps(
        "audit-steps", "The three steps of an audit", "Three boxes with arrows.",
        [("Inputs", ["two values that", "the reports may tell apart:", "0 and 1"], "mechanisms.html#ldpkit.mechanisms.base.Mechanism.pair"),
         ("Predictions", ["the guess names value 0 for", *seen], "attacks.html#ldpkit.attacks.base.Guess"),
         ("Estimate", ["a bound of each rate,", "and the logarithm of their", f"ratio: {result.epsilon_emp:.3f}"], "stats.html#ldpkit.stats.epsilon_lower")],
    )  # fmt: skip


def kv_steps():
    """The steps of an audit of PCKV-UE (10,000 users per group, seed 1)."""
    client = PCKVUE(2, 2.0)
    found, valid = (KVAudit(client, trials=10_000, estimator=name).run(1)[0] for name in ("released", "valid"))
    return steps(
        "kv-steps", "The three steps of an audit of key-value data", "Three boxes with arrows.",
        [("Input construction", ["two keys, and opposite", "ends of the values:", "⟨1, 1⟩ and ⟨2, −1⟩"], "auditors.html#ldpkit.auditors.kv.KVAudit.held"),
         ("Analyser collection", ["how often each group", f"sends each of {3**client.d} outputs,", "of 10,000 users"], "auditors.html#ldpkit.auditors.kv.KVAudit"),
         ("Analyser calculation", ["the largest ratio of shares:", f"estimate {found.epsilon_emp:.3f},", f"valid bound {valid.lower:.3f}"], "auditors.html#ldpkit.auditors.count_ratio.statistic")],
    )  # fmt: skip


DRAWINGS = {
    "errors": errors, "supports": supports, "ladder": ladder, "guess-and-event": guess_and_event, "lune": lune, "wealth": wealth,
    "answers": answers, "rates": rates, "bounds": bounds, "claim": claim,
    "audit-steps": audit_steps, "kv-steps": kv_steps,
}  # fmt: skip

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (HERE / f"{name}.svg").write_text(draw(), encoding="utf-8")
