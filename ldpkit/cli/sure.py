"""Sequential audits: ``ldpkit audit --until-sure``, ``resume``, ``plan`` and ``bound``."""

import contextlib
import json
import math
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .. import __version__, attacks, betting, checks, stats
from ..auditors.report_html import OPENING, page
from ..auditors.result import PairResult, Row
from ..digests import digest, replace, replaceable
from ..jit import waiting
from ..mechanisms import Client
from ..sequential import SequentialAudit
from ..sequential.loop import Run
from ..stats import epsilon_buehler
from .options import (
    as_json,
    claims,
    cli,
    conclude,
    curve_of,
    integer,
    mechanism_of,
    mechanism_options,
    options,
    strict,
    target_of,
    together,
    write,
)

_PAIRS = 12  # most inputs with --all-pairs, because more would share too little wealth
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
_FILE = click.Path(dir_okay=False)
_COMPILES = "compiling, once on this machine: --max-time begins afterwards"

HTML = click.option("--html", type=_FILE, help="Write a report for others into one file.")

bets = together(
    click.option("--until-sure", is_flag=True, help="Bet, and stop when the claim is refuted or"
                 " --trials are spent."),
    click.option("--all-pairs", is_flag=True, help="Bet on every pair of the inputs."),
    options(SequentialAudit, only=["independent", "within", "max_time"], own=True),
    click.option("--save", type=_FILE, help="Keep the audit in this file for `ldpkit resume`."),
    HTML,
    claims,
)  # fmt: skip
"""The options of a sequential audit."""


def refuse(given: Row) -> None:
    """Refuse the options of a sequential audit without --until-sure."""
    used = [name.replace("_", "-") for name in _BETS if given.pop(name) not in (None, False)]
    checks.need(not used, f"--{''.join(used[:1])} needs --until-sure")


def planned(words: Row) -> SequentialAudit:
    """Return the audit that the options of ``ldpkit audit --until-sure`` describe."""
    checks.need(len(words["pair"]) < 2, "give one --pair, or --all-pairs of --inputs")
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
        checks.need(
            len(inputs) <= _PAIRS,
            f"--all-pairs takes {_PAIRS} inputs at most: name them with --inputs",
        )
    elif inputs is not None:
        checks.need(
            len(inputs) == 2 and pair is None,
            "give two --inputs, or --all-pairs of them, and then no --pair",
        )
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


def sure(words: Row, as_json: bool, strict: bool, begun: Run | None = None) -> int:
    """Run a sequential audit, or go on with a run that has `begun`, and print its result."""
    writable(words)
    save, html = (words[name] and Path(words[name]) for name in ("save", "html"))
    checks.need(
        not save or save != html, f"--save and --html must name two files, got {html} twice"
    )
    run = begun or planned(words).start(words["seed"])
    if words["max_time"] is not None:
        waiting[:] = [lambda: click.echo(_COMPILES, err=True)]
    kept = time.monotonic()
    for _ in run.pieces():
        if save and time.monotonic() - kept > 1:
            with contextlib.suppress(OSError):  # at the end an error is told
                replace(save, _state(words, run))
            kept = time.monotonic()
    result = run.result
    status = conclude([result], as_json, strict)
    show(result, words, "--until-sure", run=run)
    return status


def writable(words: Row) -> None:
    """Refuse to replace files that no audit has written."""
    for name, (what, opening) in _OUTPUTS.items():
        if words.get(name):
            replaceable(name, Path(words[name]), what, opening.match)


def show(result: PairResult, words: Row, *flags: str, run: Run | None = None) -> None:
    """Write the files that the options name, after the result was printed.

    Raises
    ------
    OSError
        If a file cannot be written; the others are written all the same.
    """
    texts: dict[str, Callable[[], str]] = {"html": lambda: page(result, _repeat(words, *flags))}
    if run is not None:
        texts["save"] = lambda: _state(words, run)
    failed = []
    for name, text in texts.items():
        if path := words[name]:
            try:
                replace(Path(path), text())
            except OSError as error:
                failed.append(f"{path} could not be written: {error.strerror or error}")
    if failed:
        raise OSError("; ".join(failed))


def _state(words: Row, run: Run) -> str:
    """Return the text of all that `resume` needs."""
    text = {"ldpkit": __version__, "audit": words, "run": run.state()}
    return json.dumps(text | {"check": digest(text)})


def _repeat(words: Row, *flags: str) -> str:
    """Return the command that repeats the audit."""
    command = ["ldpkit", "audit", *flags]
    for name, value in words.items():
        for given in value if name in ("attack", "pair") else [value]:
            if name not in ("html", "save") and given not in (None, False, ""):
                parts = given if isinstance(given, (list, tuple)) else [given]
                command += [
                    f"--{name.replace('_', '-')}",
                    *map(str, () if given is True else parts),
                ]
    return shlex.join(command)


@cli.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--client", metavar="MODULE:FUNCTION", help="The client of the audit.")
@click.option("--command", metavar="PROGRAM", help="The program of the audit.")
@click.option("--recordings", nargs=2, metavar="FIRST SECOND", help="The recordings of the audit.")
@click.option("--trials", type=integer, help="Reports per input, including those before the stop.")
@options(SequentialAudit, only=["max_time"], own=True)
@HTML
@strict
@as_json
def resume(
    file: Path, trials: int | None, max_time: float | None, html: str | None, strict: bool,
    as_json: bool, **again: Any,
) -> int:  # fmt: skip
    """Go on with an audit that --save has kept, after a violation too, to raise the bound.

    No program that the file names is run. Give the --client, --command or --recordings of the audit
    again, which are compared with those that were audited.
    """
    try:
        kept = _kept(file)
        words = kept["audit"] | {"save": str(file), "html": html, "max_time": max_time}
        words["pair"] = tuple(tuple(pair) for pair in words["pair"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise click.UsageError(f"{file} is no audit that was kept: {error}") from error
    for name, given in again.items():
        own = words.get(name) or words.get("mechanism")
        checks.need(given or not words.get(name), f"--{name} must name what {file} is an audit of")
        checks.need(
            not given or words.get(name), f"--{name} must be left out: {file} is an audit of {own}"
        )
    words |= again | ({} if trials is None else {"trials": trials})
    try:
        begun = planned(words).start(words["seed"], kept["run"])
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise click.UsageError(f"{file} cannot be resumed: {error}") from error
    return sure(words, as_json, strict, begun)


def _kept(file: Path) -> Row:
    """Read an audit that was kept, and refuse any other file by its beginning."""
    with file.open(encoding="utf-8") as lines:
        opening = lines.read(len(_OPENING))
        checks.need(opening == _OPENING, f"it does not begin with {_OPENING}")
        kept: Row = json.loads(opening + lines.read())
    release, check = kept["ldpkit"], kept.pop("check")  # the digest of all other entries
    checks.need(release == __version__, f"ldpkit {release} kept it, and this is {__version__}")
    checks.need(check == digest(kept), "it was changed")
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
) -> int:  # fmt: skip
    """Estimate how many reports, and how much time, the proof of a suspected leak would need.

    Give --mechanism, the claimed --epsilon and the --suspected one. Or give --epsilon, and --tpr
    and --fpr of an event.
    """
    claim, delta, alpha = own["epsilon"], own["delta"] or 0.0, stats.significance(alpha)
    checks.need(
        claim is not None and (mechanism is None) != (tpr is None or fpr is None),
        "give --epsilon, and either --mechanism with --suspected or --tpr with --fpr",
    )
    rate = checks.real("rate", rate, 0, closed="()")
    rates = (tpr, fpr)
    if mechanism is not None:
        checks.need(suspected is not None, "--mechanism needs the epsilon that is --suspected")
        target = mechanism_of(mechanism, own | {"epsilon": suspected})
        rates = attacks.make(attack).choose(target, 10**6, stats.tail_mass(alpha)).rates(target)
        checks.need(
            rates is not None,
            f"mechanism must have known rates of the attack {attack}, got {mechanism}",
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
        verdict = "These rates keep the claim: no number of reports refutes it."
        return write(row, lines, verdict, as_json)
    # Two directions share the wealth. Bets that do not know the rates needed 1.0 to 1.3 times as
    # many reports in four measured cases.
    least, usual = goal / growth, (goal + math.log(4)) / growth
    reports, seconds = math.ceil(usual), 2 * usual / rate
    row |= {"least": least, "reports": reports, "seconds": seconds}
    lines += [
        ("reports", f"about {reports:,} per input, never fewer than {least:,.1f} on average"),
        ("time", f"about {seconds:,.3g} seconds at {rate:,.6g} reports per second"),
    ]
    verdict = f"An audit until sure would find it, wrong with {alpha:g} at most."
    return write(row, lines, verdict, as_json)


@cli.command()
@options(
    epsilon_buehler,
    tp={"help": "Reports of the first input with the event."},
    fp={"help": "Reports of the second with the event."},
    trials={"flag": "--n", "help": "Reports of each input."},
    alpha={"required": False, "default": 0.01, "show_default": True, "help": "Significance."},
    delta={"help": "Delta of the claim."},
)
@as_json
def bound(tp: int, fp: int, trials: int, alpha: float, delta: float, as_json: bool) -> int:
    """Bound epsilon by counts of your own, if event and n were chosen before the reports."""
    n, tail = checks.integer("n", trials, 1), stats.tail_mass(alpha, "valid")
    lower = max(0.0, float(stats.epsilon_lower(tp, fp, n, delta, tail=tail)))
    low, high = stats.clopper_pearson(tp, n, tail)[0], stats.clopper_pearson(fp, n, tail)[1]
    # the choice of the bound does not depend on the counts
    able = n <= stats.MOST_TRIALS and alpha >= stats.LEAST_ALPHA
    sharper = epsilon_buehler(tp, fp, n, alpha, delta) if able else None
    level, best = stats.confidence(alpha, share=False), lower if sharper is None else sharper
    row = {"tp": tp, "fp": fp, "n": n, "alpha": alpha, "delta": delta, "tpr_low": float(low),
           "fpr_high": float(high), "lower": lower, "sharper": sharper}  # fmt: skip
    lines = [
        ("counts", f"{tp:,} and {fp:,} of {n:,}"),
        ("rates", f"first at least {low:.6g}, second at most {high:.6g}"),
        (
            "lower",
            f"{stats.down(lower, 6)} at level {level}, delta = {delta:g}, from two intervals",
        ),
    ]
    if sharper is not None:
        lines.append(
            ("sharper", f"{stats.down(sharper, 6)} at the same level, from both counts together")
        )
    verdict = f"With {stats.confidence(alpha)} confidence epsilon is at least {stats.down(best)}."
    return write(row, lines, verdict, as_json)
