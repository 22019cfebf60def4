"""Sequential audits: ``ldpkit audit --until-sure``, ``resume``, ``plan`` and ``bound``."""

import hashlib
import json
import math
import re
import shlex
import time
from pathlib import Path
from typing import Any

import click

from .. import __version__, attacks, betting, checks, stats
from ..auditors.pair import PairResult
from ..auditors.report_html import OPENING, counted, leading, page
from ..auditors.result import Row
from ..buehler import LEAST, MOST, epsilon_buehler
from ..mechanisms import Client
from ..sequential import SequentialAudit
from ..sequential.loop import Run
from ..sequential.result import SequentialResult
from ..stats import down
from ..store import replace, replaceable
from .base import Command, Count, Line, as_json, cli, conclude, strict, write
from .claim import claims, curve_of
from .target import mechanism_of, mechanism_options, target_of

__all__ = ["bets", "bound", "plan", "resume", "show", "sure", "writable"]

_PAIRS = 12  # most inputs with --all-pairs, because more would share too little wealth
_FILE = click.Path(dir_okay=False, path_type=Path)
_OPENING = '{"ldpkit": '
# files that the options write, each with a description and its beginning
_OUTPUTS = {
    "save": ("an audit that was kept", re.compile(re.escape(_OPENING))),
    "html": ("a page that an audit wrote", re.compile(re.escape(OPENING))),
}
_BETS = (
    "claim", "mu", "claim_points", "claim_lines", "all_pairs", "within", "max_time", "independent",
    "save",
)  # fmt: skip

HTML = click.option("--html", type=_FILE, help="Write a report for others into one file.")
TIME = click.option("--max-time", type=float, help="Seconds after which to stop.")


def bets(command: Command) -> Command:
    """Give a command the options of a sequential audit."""
    command = claims(command)
    for option in (
        HTML,
        click.option("--save", type=_FILE, help="Keep the audit in this file for `ldpkit resume`."),
        click.option("--independent", is_flag=True, help="Recordings of different inputs are"
                     " independent, so bet faster (no effect on a live client)."),
        TIME,
        click.option("--within", type=float, help="Distance from bound to claim at which to stop."),
        click.option("--all-pairs", is_flag=True, help="Bet on every pair of the inputs."),
        click.option("--until-sure", is_flag=True, help="Bet, and stop when the claim is refuted or"
                     " --trials are spent."),
    ):  # fmt: skip
        command = option(command)
    return command


def refuse(given: Row) -> None:
    """Refuse the options of a sequential audit without --until-sure."""
    for name in _BETS:
        if given.pop(name) not in (None, False):
            raise click.UsageError(f"--{name.replace('_', '-')} needs --until-sure")


def planned(words: Row) -> SequentialAudit:
    """Return the audit that the options of ``ldpkit audit --until-sure`` describe."""
    if len(words["pair"]) > 1:
        raise click.UsageError("give one --pair, or --all-pairs of --inputs")
    claim, attack = curve_of(words), list(words["attack"])
    if claim is not None:
        attack = attack or [attacks.Learned.name]
        if not words["mechanism"]:  # a client states no claim of its own
            words = words | dict(zip(("epsilon", "delta"), claim.implied))
    target, inputs, delta = target_of(words)
    pair = tuple(words["pair"][0]) if words["pair"] else None
    learned = attack and {*attack} == {attacks.Learned.name}
    if learned and isinstance(target, Client) and pair is None:
        if words["all_pairs"]:
            click.echo(
                "--all-pairs changes nothing: each input is compared with the others", err=True
            )
    elif words["all_pairs"]:
        report_type: Any = target.report_type
        inputs = list(range(min(report_type.k, _PAIRS + 1))) if inputs is None else inputs
        if len(inputs) > _PAIRS:
            raise click.UsageError(
                f"--all-pairs takes {_PAIRS} inputs at most: name them with --inputs"
            )
    elif inputs is not None:
        if len(inputs) != 2 or pair is not None:
            raise click.UsageError("give two --inputs, or --all-pairs of them, and then no --pair")
        pair, inputs = (inputs[0], inputs[1]), None
    return SequentialAudit(
        target,
        attack or "guess",
        curve=claim,
        delta=delta if claim is None else None,
        pair=pair,
        inputs=inputs,
        independent=words["independent"] or None,
        **{name: words[name] for name in ("trials", "alpha", "faithful", "within", "max_time")},
    )


def sure(
    ctx: click.Context, words: Row, as_json: bool, strict: bool, begun: Run | None = None
) -> None:
    """Run a sequential audit, or go on with a run that has `begun`, and print its result."""
    writable(words)
    if words["save"] and words["html"] and Path(words["save"]) == Path(words["html"]):
        raise click.UsageError(f"--save and --html must name two files, got {words['html']} twice")
    run = begun or planned(words).start(words["seed"])
    kept = time.monotonic()
    for _ in run.pieces():
        if words["save"] and time.monotonic() - kept > 1:
            _keep(words, run)
            kept = time.monotonic()
    result = run.result
    if words["save"]:
        _keep(words, run)
    show(result, words, "--until-sure")
    conclude(ctx, [(result, _table(result))], as_json, strict)


def writable(words: Row) -> None:
    """Refuse to replace files that no audit has written."""
    for name, (what, opening) in _OUTPUTS.items():
        if words.get(name):
            replaceable(name, Path(words[name]), what, opening.match)


def show(result: PairResult, words: Row, *flags: str) -> None:
    """Write the page of a result, if the options name its file."""
    if words["html"]:
        replace(Path(words["html"]), page(result, _repeat(words, *flags)))


def _keep(words: Row, run: Run) -> None:
    """Write all that `resume` needs, in one atomic step."""
    plain = {
        name: str(value) if isinstance(value, Path) else value for name, value in words.items()
    }
    text = {"ldpkit": __version__, "audit": plain, "run": run.state()}
    text["check"] = _check(text)
    replace(Path(words["save"]), json.dumps(text))


def _check(kept: Row) -> str:
    """Return a digest of all other entries of a file, which detects changes."""
    rest = {name: value for name, value in kept.items() if name != "check"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _repeat(words: Row, *flags: str) -> str:
    """Return the command that repeats the audit."""
    command = ["ldpkit", "audit", *flags]
    for name, value in words.items():
        flag = f"--{name.replace('_', '-')}"
        for given in value if name in ("attack", "pair") else [value]:
            if given is True:
                command.append(flag)
            elif given not in (None, False, "") and name not in ("html", "save"):
                command += [flag, *map(str, given if isinstance(given, (list, tuple)) else [given])]
    return shlex.join(command)


def _table(result: SequentialResult) -> list[Line]:
    claim, bound = result.claimed, down(result.lower)
    if result.curve is not None:
        claim += f", which implies epsilon = {result.claim:g}"
        bound = f"mu = {down(result.mu_lower)}" if result.mu_lower else "none"
    e_value = "nothing is claimed" if result.e_value is None else f"{result.e_value:.4g}"
    origin = "all reports real" if result.faithful else "sampled from the exact distribution"
    return [
        ("mechanism", result.mechanism),
        ("claim", f"{claim}, delta = {result.delta:g}"),
        ("attack", f"{result.attack}, {origin}"),
        ("event", result.event),
        *([("cause", result.cause)] if result.cause else []),
        ("pair", f"{leading(result)}, one of {result.questions} bets"),
        ("reports", f"{result.reports:,} per input"),
        ("asked", ", ".join(f"{n:,}" for n in result.asked) + " reports, by input"),
        ("counts", counted(result.counts)),
        ("rates", ", ".join(f"{key} = {value:.6f}" for key, value in result.rates.items())),
        ("e-value", f"{e_value} (a violation from {1 / result.alpha:g} on)"),
        ("lower", f"{bound} at level {result.level}, at all times"),
        ("stopped", result.stopped),
        ("seconds", f"{result.seconds:.2f}"),
    ]


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--client", metavar="MODULE:FUNCTION", help="The client of the audit.")
@click.option("--command", metavar="PROGRAM", help="The program of the audit.")
@click.option("--recordings", nargs=2, metavar="FIRST SECOND", help="The recordings of the audit.")
@click.option("--trials", type=Count(), help="Reports per input, including those before the stop.")
@TIME
@HTML
@strict
@as_json
@click.pass_context
def resume(
    ctx: click.Context, /, file: Path, trials: int | None, max_time: float | None,
    html: Path | None, strict: bool, as_json: bool, **again: Any,
) -> None:  # fmt: skip
    """Go on with an audit that --save has kept, after a violation too, to raise the bound.

    No program that the file names is run. Give the --client, --command or --recordings of the audit
    again, which are compared with those that were audited.
    """
    try:
        kept = _kept(file)
        words, state = kept["audit"], kept["run"]
        words = words | {"save": str(file), "html": html, "max_time": max_time}
        words["pair"] = tuple(tuple(pair) for pair in words["pair"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise click.UsageError(f"{file} is no audit that was kept: {error}") from error
    for name, given in again.items():
        if bool(given) != bool(words.get(name)):
            flag, own = f"--{name}", words.get(name) or words.get("mechanism")
            raise click.UsageError(
                f"{flag} must be left out: {file} is an audit of {own}"
                if given
                else f"{flag} must name what {file} is an audit of"
            )
        words[name] = given
    if trials is not None:
        words["trials"] = trials
    try:
        begun = planned(words).start(words["seed"], state)
    except KeyError as error:
        raise click.UsageError(f"{file} was kept by another release: {error} is missing") from error
    except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError) as error:
        raise click.UsageError(f"{file} cannot be resumed: {error}") from error
    sure(ctx, words, as_json, strict, begun)


def _kept(file: Path) -> Row:
    """Read an audit that was kept, and refuse any other file by its beginning."""
    with file.open(encoding="utf-8") as lines:
        text = lines.read(len(_OPENING))
        if text != _OPENING:
            raise ValueError(f"it does not begin with {_OPENING}")
        text += lines.read()
    kept: Row = json.loads(text)
    if kept["ldpkit"] != __version__:
        raise ValueError(f"ldpkit {kept['ldpkit']} kept it, and this is {__version__}")
    if kept["check"] != _check(kept):
        raise ValueError("it was changed")
    return kept


@cli.command()
@mechanism_options
@click.option("--suspected", type=float, help="Epsilon that the mechanism may really have.")
@click.option("--attack", default="tight", show_default=True, help="Attack whose event is bet on.")
@click.option(
    "--tpr", type=float, help="Probability of the event with the first input, without --mechanism."
)
@click.option(
    "--fpr", type=float, help="Probability of the event with the second input, without --mechanism."
)
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Significance.")
@click.option("--rate", type=float, default=10**4, show_default=True,
              help="Reports per second that the client makes.")  # fmt: skip
@as_json
def plan(
    mechanism: str | None, suspected: float | None, attack: str, tpr: float | None,
    fpr: float | None, alpha: float, rate: float, as_json: bool, **own: Any,
) -> None:  # fmt: skip
    """Estimate how many reports, and how much time, the proof of a suspected leak would need.

    Give --mechanism, the claimed --epsilon and the --suspected one. Or give --epsilon, and --tpr
    and --fpr of an event.
    """
    claim, delta, alpha = own["epsilon"], own["delta"] or 0.0, stats.significance(alpha)
    if claim is None or (mechanism is None) == (tpr is None or fpr is None):
        raise click.UsageError(
            "give --epsilon, and either --mechanism with --suspected or --tpr with --fpr"
        )
    rate = checks.real("rate", rate, 0, closed="()")
    rates = (tpr, fpr)
    if mechanism is not None:
        if suspected is None:
            raise click.UsageError("--mechanism needs the epsilon that is --suspected")
        target = mechanism_of(mechanism, own | {"epsilon": suspected})
        rates = attacks.make(attack).choose(target, 10**6, stats.tail_mass(alpha)).rates(target)
        if rates is None:
            raise ValueError(
                f"mechanism must have known rates of the attack {attack}, got {mechanism}"
            )
    p, q = (checks.real(name, r, 0, 1) for name, r in zip(("tpr", "fpr"), rates))
    growth, goal = betting.joint_growth(p, q, claim, delta), -math.log(alpha)
    growth = growth if growth > 1e-12 else 0.0  # rounding alone may reach this
    row = {"tpr": p, "fpr": q, "claim": claim, "delta": delta, "alpha": alpha, "growth": growth,
           "least": None, "reports": None, "seconds": None}  # fmt: skip
    lines = [
        ("event", f"tpr = {p:.6g}, fpr = {q:.6g}, claimed epsilon = {claim:g}, delta = {delta:g}"),
        ("growth", f"{growth:.6g} nats per report of each input at most"),
    ]
    if not growth:
        write(row, lines, "These rates keep the claim: no number of reports refutes it.", as_json)
        return
    # Two directions share the wealth. Bets that do not know the rates needed 1.0 to 1.3 times as
    # many reports in four measured cases.
    least, usual = goal / growth, (goal + math.log(4)) / growth
    row |= {"least": least, "reports": math.ceil(usual), "seconds": 2 * usual / rate}
    lines += [
        (
            "reports",
            f"about {math.ceil(usual):,} per input, never fewer than {least:,.1f} on average",
        ),
        ("time", f"about {2 * usual / rate:,.3g} seconds at {rate:,.6g} reports per second"),
    ]
    write(row, lines, f"An audit until sure would find it, wrong with {alpha:g} at most.", as_json)


@cli.command()
@click.option(
    "--tp", type=Count(), required=True, help="Reports of the first input with the event."
)
@click.option("--fp", type=Count(), required=True, help="Reports of the second with the event.")
@click.option("--n", type=Count(), required=True, help="Reports of each input.")
@click.option("--alpha", type=float, default=0.01, show_default=True, help="Significance.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta of the claim.")
@as_json
def bound(tp: int, fp: int, n: int, alpha: float, delta: float, as_json: bool) -> None:
    """Bound epsilon by counts of your own, if event and n were chosen before the reports."""
    checks.integer("n", n, 1)
    tail = stats.tail_mass(alpha, "valid")
    lower = max(0.0, float(stats.epsilon_lower(tp, fp, n, delta, tail=tail)))
    low = float(stats.clopper_pearson(tp, n, tail)[0])
    high = float(stats.clopper_pearson(fp, n, tail)[1])
    able = n <= MOST and alpha >= LEAST  # the choice of the bound does not depend on the counts
    sharper = epsilon_buehler(tp, fp, n, alpha, delta) if able else None
    row = {"tp": tp, "fp": fp, "n": n, "alpha": alpha, "delta": delta, "tpr_low": low,
           "fpr_high": high, "lower": lower, "sharper": sharper}  # fmt: skip
    level = stats.confidence(alpha, share=False)
    lines = [
        ("counts", f"{tp:,} and {fp:,} of {n:,}"),
        ("rates", f"first at least {low:.6g}, second at most {high:.6g}"),
        ("lower", f"{down(lower, 6)} at level {level}, delta = {delta:g}, from two intervals"),
    ]
    if sharper is not None:
        both = f"{down(sharper, 6)} at the same level, from both counts together"
        lines.append(("sharper", both))
    best = lower if sharper is None else sharper
    verdict = f"With {stats.confidence(alpha)} confidence epsilon is at least {down(best)}."
    write(row, lines, verdict, as_json)
