"""The commands ``ldpkit audit``, ``resume``, ``plan``, ``bound`` and ``exact``."""

import contextlib
import functools
import json
import math
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .. import __version__, attacks, checks, stats
from ..auditors import Audit
from ..auditors.result import AuditResult, Row
from ..cli.options import (
    FAILED,
    as_json,
    cli,
    conclude,
    integer,
    mechanism_of,
    mechanism_options,
    number,
    options,
    strict,
    together,
    write,
)
from ..digests import digest, replace, replaceable
from ..jit import waiting
from . import betting
from .clients import Client
from .clients.client import SeparateClient
from .exact import ExactResult, exact_client
from .options import anything, claims, curve_of, listed, target_of
from .page import OPENING, page
from .sequential import SequentialAudit
from .sequential.loop import Run

_PAIRS = 12  # most inputs with --all-pairs, because more would share too little wealth
_OPENING = '{"ldpkit": '
# files that the options write, each with a description and its beginning
_OUTPUTS = {
    "save": ("an audit that was kept", re.compile(re.escape(_OPENING))),
    "html": ("a page that an audit wrote", re.compile(re.escape(OPENING))),
}
_BETS = (
    "claim", "mu", "claim_points", "claim_lines", "all_pairs", "within", "max_time", "save",
)  # fmt: skip
_FILE = click.Path(dir_okay=False)
_COMPILES = "compiling, once on this machine: --max-time begins afterwards"

HTML = click.option("--html", type=_FILE, help="Write a report for others into one file.")

bets = together(
    click.option("--until-sure", is_flag=True, help="Bet, and stop when the claim is refuted or"
                 " --trials are spent."),
    click.option("--all-pairs", is_flag=True, help="Bet on every pair of the inputs."),
    options(SequentialAudit, only=["independent", "within", "max_time"], own=True,
            independent={"help": "State that reports do not depend on each other: those of a client"
                         " are then counted, and recordings are bet on faster."}),
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


def show(result: AuditResult, words: Row, *flags: str, run: Run | None = None) -> None:
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
@anything
@click.option(
    "--attack",
    multiple=True,
    help=f"One of {', '.join(attacks.ATTACKS)}, or learned (may be repeated).  [default: guess]",
)
@click.option(
    "--pair",
    type=number,
    nargs=2,
    multiple=True,
    help="The two audited inputs (may be repeated).  [default: those furthest apart]",
)
@options(Audit, only=("trials", "alpha", "faithful", "threads"))
@options(Audit.run)
@bets
@strict
@as_json
def audit(until_sure: bool, threads: int, strict: bool, as_json: bool, **words: Any) -> int:
    """Audit a mechanism, or any client, with a distinguishability attack.

    The reports of a --mechanism are counted. Every attack audits both directions of every pair, and
    alpha is divided among these questions. A --client, --command or --recordings is audited until
    sure, as with --until-sure: the audit bets, and all questions share one wealth. Without --report
    and --attack it learns from reports of any form and compares all inputs. A client is counted
    only with --independent, which states that its reports do not depend on each other.
    """
    names, pairs = list(words["attack"]) or ["guess"], words["pair"] or (None,)
    checks.need(
        len(set(names)) == len(names) and len(set(pairs)) == len(pairs),
        "--attack and --pair may be repeated, but not with the same value twice",
    )
    if not (words["mechanism"] or words["report"] or words["attack"]):
        words |= {"report": "any", "attack": (attacks.Learned.name,)}
        until_sure = True  # nothing is known about the reports, so the audit learns
    client = not words["mechanism"]
    if until_sure or words["recordings"] or (client and not words["independent"]):
        checks.need(
            threads == 1,
            f"--threads count reports, and an audit until sure bets on each, got {threads}",
        )
        return sure(words, as_json, strict)
    refuse(words)
    checks.need(
        client or not words["independent"], "--independent states a fact about a client's reports"
    )
    checks.need(
        len(names) * len(pairs) == 1 or not words["html"],
        "--html shows one result: give one --attack and one --pair",
    )
    writable(words)
    target, inputs, delta = target_of(words, threads)
    checks.need(
        inputs is None,
        "--inputs name those of a client with --report any; a mechanism takes --pair",
    )
    planned = [
        Audit(
            target,
            names,
            trials=words["trials"],
            alpha=words["alpha"],
            delta=delta,
            faithful=words["faithful"],
            pair=pair,
            questions=len(pairs) * len(names),
            independent=words["independent"],
            threads=threads,
        )
        for pair in pairs
    ]
    results = [result for plan in planned for result in plan.run(words["seed"])]
    status = conclude(results, as_json, strict)
    show(results[0], words)
    return status


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
@click.option("--client", required=True, metavar="MODULE:FUNCTION",
              help="An importable client f(values, rng) or f(value).")  # fmt: skip
@click.option("--inputs", required=True, metavar="JSON", help="List of inputs of any type.")
@click.option("--epsilon", type=float, required=True, help="The claim.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta of the claim.")
@options(exact_client, only=("ways", "tapes", "seconds"))
@as_json
def exact(
    client: str, inputs: str, as_json: bool, ways: int, tapes: int, seconds: float, **claim: Any
) -> int:
    """Compute the exact loss of a client by running every way through its code.

    If ways are left when the time is over, the loss is known as an interval. Exit status: 0 if its
    upper end keeps the claim. 1 if its lower end exceeds the claim by more than 1e-9. 2 if the
    input is invalid. 4 if neither is known, so that an audit of reports is next.
    """

    def start() -> ExactResult:
        separate = SeparateClient.of(client, values=listed(inputs), report="any", **claim)
        run = functools.partial(exact_client, ways=ways, tapes=tapes, seconds=seconds)
        return separate.function(run)

    result = start()
    # a client with a secret that it drew at its start seems to draw no coins
    undrawn = result.status == "violation" and min(map(len, result.ways)) == 1
    if undrawn and any(start().ways != result.ways for _ in range(10)):
        result = result._replace(
            reason="another start of the client has another distribution", ways=(), findings=[]
        )
    lines = [
        ("client", client),
        ("claim", f"epsilon = {result.epsilon:g}, delta = {result.delta:g}"),
        (
            "ways",
            f"{sum(map(len, result.ways)):,} for {len(result.inputs)} inputs, in"
            f" {result.seconds:.2f} s",
        ),
        *(("for", text.removeprefix("for ")) for text in result.leading()),
        *result.findings,
    ]
    write(result.row(), lines, result.verdict, as_json)
    return {"none found": 0, "violation": 1, "not exact": FAILED}[result.status]
