"""The commands ``ldpkit audit``, ``resume``, ``plan`` and ``exact``."""

import contextlib
import functools
import json
import math
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import click

from .. import __version__, attacks, checks, stats
from ..auditors import Audit
from ..auditors.base import ALPHA, Alpha, Seed
from ..auditors.result import AuditResult, Row
from ..cli.frame import FAILED, NUMBER, PARAMETERS, Name, Table, mechanism_of, options
from ..digests import digest, replace, replaceable
from ..jit import waiting
from ..types import Word
from . import betting
from .clients import Client
from .clients.client import SeparateClient
from .clients.identity import place
from .exact import ExactResult, exact_client
from .findings import JUNIT, SARIF, Finding, baseline_of, judged, junit_of, sarif_of, without_values
from .options import curve_of, listed, target_of
from .page import OPENING, page
from .sequential import SequentialAudit
from .sequential.loop import Run

_PAIRS = 12  # most inputs with --all-pairs, because more would share too little wealth
_OPENING = '{"ldpkit": '
# files that the options write, each with a description and its beginning
_OUTPUTS = {
    "save": ("an audit that was kept", re.compile(re.escape(_OPENING))),
    "html": ("a page that an audit wrote", re.compile(re.escape(OPENING))),
    "sarif": ("a log in SARIF that an audit wrote", re.compile(re.escape(SARIF))),
    "junit": ("a report of tests that an audit wrote", re.compile(re.escape(JUNIT))),
}
_FILE = click.Path(dir_okay=False)
_COMPILES = "compiling, once on this machine: --max-time does not count this"

MaxTime = Annotated[float | None, "Seconds after which to stop, at least 0."]
"""A limit of time, as the type of an option."""


def told(
    results: Iterable[AuditResult],
    target: Any,
    repeat: str,
    *more: tuple[str | None, Callable[[], str]],
    html: Annotated[str | None, {"type": _FILE}, "Write a report for others into one file."] = None,
    sarif: Annotated[
        str | None, {"type": _FILE}, "Write refuted claims into a file, in SARIF 2.1.0."
    ] = None,
    junit: Annotated[
        str | None, {"type": _FILE}, "Write every claim into a file, as a test of JUnit."
    ] = None,
    baseline: Annotated[
        str | None,
        {"type": click.Path(exists=True, dir_okay=False)},
        "Accept the violations that a JSON file lists, each with reason and date.",
    ] = None,
    no_values: Annotated[
        bool, "Show no inputs and no parts of reports; only the file of --save has them."
    ] = False,
) -> Iterator[AuditResult]:
    """Yield results, and write the files that options name after the results were printed.

    Parameters
    ----------
    results, target
        Results of the audits, and the mechanism, client or source that was audited.
    repeat : str
        Command that repeats the audit.
    *more
        Further files with their texts, as in `write`.
    """
    accepted, made = baseline_of(baseline) if baseline else [], []
    for result in results:
        made.append(judged(without_values(result) if no_values else result, accepted))
        yield made[-1]
    found = [Finding.of(result, place(target)) for result in made] if sarif or junit else []
    write(
        (html, lambda: page(made[0], "" if no_values else repeat)),
        (sarif, lambda: sarif_of(found)),
        (junit, lambda: junit_of(found)),
        *more,
    )


_TOLD = "html", "sarif", "junit", "baseline", "no_values"


def planned(
    attack: Annotated[
        tuple[str, ...],
        {"multiple": True},
        f"One of {', '.join(attacks.ATTACKS)}, or learned (may be repeated).  [default: guess]",
    ] = (),
    pair: Annotated[
        tuple[tuple[float, float], ...],
        {"type": NUMBER, "nargs": 2, "multiple": True},
        "The two audited inputs (may be repeated).  [default: those furthest apart]",
    ] = (),
    all_pairs: Annotated[bool, "Bet on every pair of the inputs."] = False,
    independent: Annotated[
        bool,
        "State that reports do not depend on each other: those of a client are then counted, and"
        " recordings are bet on faster.",
    ] = False,
    within: Annotated[
        float | None, "Stop when the bound is this close to the claim, at least 0."
    ] = None,
    max_time: MaxTime = None,
    **words: Word,
) -> SequentialAudit:
    """Return the audit that the options of ``ldpkit audit --until-sure`` describe."""
    checks.need(len(pair) < 2, "give one --pair, or --all-pairs of --inputs")
    claim, names = curve_of(**words), list(attack)
    if claim is not None:
        names = names or [attacks.Learned.name]
        if not words["mechanism"]:  # a client states no claim of its own
            words |= dict(zip(("epsilon", "delta"), claim.implied))
    target, inputs, delta = target_of(**words)
    audited: Any = tuple(pair[0]) if pair else None
    learned = names and {*names} == {attacks.Learned.name}
    if learned and isinstance(target, Client) and not pair:
        if all_pairs:
            click.echo(
                "--all-pairs changes nothing: each input is compared with the others", err=True
            )
    elif all_pairs:
        report_type: Any = target.report_type
        inputs = list(range(min(report_type.k, _PAIRS + 1))) if inputs is None else inputs
        checks.need(
            len(inputs) <= _PAIRS,
            f"--all-pairs takes {_PAIRS} inputs at most: name them with --inputs",
        )
    elif inputs is not None:
        checks.need(
            len(inputs) == 2 and not pair,
            "give two --inputs, or --all-pairs of them, and then no --pair",
        )
        audited, inputs = (inputs[0], inputs[1]), None
    return SequentialAudit(
        target,
        names or "guess",
        curve=claim,
        delta=delta if claim is None else None,
        pair=audited,
        inputs=inputs,
        independent=independent or None,
        within=within,
        max_time=max_time,
        **{name: words[name] for name in ("trials", "alpha", "faithful")},
    )


def sure(
    begun: Run | None = None,
    *,
    seed: Seed = 1,
    save: Annotated[
        str | None, {"type": _FILE}, "Keep the audit in this file for `ldpkit resume`."
    ] = None,
    **words: Word,
) -> Iterator[AuditResult]:
    """Run a sequential audit, or go on with a run that has `begun`.

    Files are written after the result was printed.
    """
    writable(save=save, **words)
    run, asked = begun or planned(**words).start(seed), words | {"seed": seed}
    repeat, kept = _repeat(asked, "--until-sure"), (save, lambda: _state(asked, run))
    yield from told(_bet(run, *kept), run.mechanism, repeat, kept, **_those(words))


def _bet(run: Run, save: str | None, state: Callable[[], str]) -> Iterator[AuditResult]:
    """Yield the result of a run, whose state is saved once a second."""
    if run.audit.max_time is not None:
        waiting[:] = [lambda: click.echo(_COMPILES, err=True)]
    kept = time.monotonic()
    for _ in run.pieces():
        if save and time.monotonic() - kept > 1:
            with contextlib.suppress(OSError):  # at the end an error is told
                replace(Path(save), state())
            kept = time.monotonic()
    run.explain()
    yield run.result


def _those(words: Row) -> Row:
    """Return the options of `told`."""
    return {name: words[name] for name in _TOLD}


def writable(**words: Word) -> None:
    """Refuse to replace files that no audit has written, and to write two into one file."""
    files = {name: words[name] for name in _OUTPUTS if words.get(name)}
    for name, path in files.items():
        what, opening = _OUTPUTS[name]
        replaceable(name, Path(path), what, opening.match)
    twice = checks.repeated(files.values())
    names = " and ".join(f"--{name}" for name, path in files.items() if path == twice)
    checks.need(twice is None, f"{names} must name two files, got {twice} twice")


def write(*files: tuple[str | None, Callable[[], str]]) -> None:
    """Write texts into the files that options name.

    Raises
    ------
    OSError
        If a file cannot be written; the others are written all the same.
    """
    failed = []
    for path, text in files:
        if path:
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
            if name not in ("save", *_TOLD) and given not in (None, False, ""):
                parts = given if isinstance(given, (list, tuple)) else [given]
                command += [
                    f"--{name.replace('_', '-')}",
                    *map(str, () if given is True else parts),
                ]
    return shlex.join(command)


def audit(
    until_sure: Annotated[
        bool, "Bet, and stop when the claim is refuted or --trials are spent."
    ] = False,
    **given: Annotated[
        Word,
        options(target_of),
        options(planned),
        options(Audit, "trials", "alpha", "faithful"),
        options(sure, "seed", "save"),
        options(told, *_TOLD),
        options(curve_of),
        PARAMETERS,
    ],
) -> Iterator[AuditResult]:
    """Audit a mechanism, or any client, with a distinguishability attack.

    The reports of a --mechanism are counted. Every attack audits both directions of every pair, and
    alpha is divided among these questions. A --client, --command or --recordings is audited until
    sure, as with --until-sure: the audit bets, and all questions share one wealth. Without --report
    and --attack it learns from reports of any form and compares all inputs. A client is counted
    only with --independent, which states that its reports do not depend on each other.
    """
    words: Row = {name: option.default for name, option in options(audit).items()} | given
    threads, _ = (words.pop(name) for name in ("threads", "until_sure"))
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
        return sure(**words)
    bets = [*options(curve_of), "all_pairs", "within", "max_time", "save"]
    used = [name.replace("_", "-") for name in bets if words[name] not in (None, False)]
    checks.need(not used, f"--{''.join(used[:1])} needs --until-sure")
    checks.need(
        client or not words["independent"], "--independent states a fact about a client's reports"
    )
    checks.need(
        len(names) * len(pairs) == 1 or not words["html"],
        "--html shows one result: give one --attack and one --pair",
    )
    writable(**words)
    target, inputs, delta = target_of(threads=threads, **words)
    checks.need(
        inputs is None,
        "--inputs name those of a client with --report any; a mechanism takes --pair",
    )
    own = {name: words[name] for name in ("trials", "alpha", "faithful", "independent")}
    own |= {"delta": delta, "questions": len(pairs) * len(names), "threads": threads}
    made = [Audit(target, names, pair=pair, **own) for pair in pairs]
    results = (result for audit in made for result in audit.run(words["seed"]))
    return told(results, target, _repeat(words), **_those(words))


def resume(
    file: Annotated[Path, {"type": click.Path(exists=True, dir_okay=False, path_type=Path)}],
    trials: Annotated[
        int | None, "Reports per input, at least 1, including those before the stop."
    ] = None,
    max_time: MaxTime = None,
    **more: Annotated[
        Word,
        options(told, *_TOLD),
        options(
            target_of,
            *("client", "command", "recordings"),
            client="The client of the audit.",
            command="The program of the audit.",
            recordings="The recordings of the audit.",
        ),
    ],
) -> Iterator[AuditResult]:
    """Go on with an audit that --save has kept, after a violation too, to raise the bound.

    No program that the file names is run. Give the --client, --command or --recordings of the audit
    again, which are compared with those that were audited.
    """
    try:
        kept = _kept(file)
        words = kept["audit"] | {"save": str(file), "max_time": max_time}
        words["pair"] = tuple(tuple(pair) for pair in words["pair"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise click.UsageError(f"{file} is no audit that was kept: {error}") from error
    again = {name: more[name] for name in ("client", "command", "recordings")}
    for name, given in again.items():
        own = words.get(name) or words.get("mechanism")
        checks.need(given or not words.get(name), f"--{name} must name what {file} is an audit of")
        checks.need(
            not given or words.get(name), f"--{name} must be left out: {file} is an audit of {own}"
        )
    words |= more | ({} if trials is None else {"trials": trials})
    try:
        begun = planned(**words).start(words["seed"], kept["run"])
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        raise click.UsageError(f"{file} cannot be resumed: {error}") from error
    return sure(begun, **words)


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


def plan(
    mechanism: Name = None,
    suspected: Annotated[
        float | None, "Epsilon that the mechanism may really have, in [1e-6, 30]."
    ] = None,
    attack: Annotated[str, "Attack whose event is bet on."] = "tight",
    tpr: Annotated[
        float | None,
        "Probability of the event with the first input, in [0, 1], without --mechanism.",
    ] = None,
    fpr: Annotated[
        float | None,
        "Probability of the event with the second input, in [0, 1], without --mechanism.",
    ] = None,
    alpha: Alpha = ALPHA,
    rate: Annotated[float, "Reports per second that the client makes, above 0."] = 10**4,
    **own: Annotated[Word, PARAMETERS],
) -> Table:
    """Estimate how many reports, and how much time, the proof of a suspected leak would need.

    Give --mechanism, the claimed --epsilon and the --suspected one. Or give --epsilon, and --tpr
    and --fpr of an event.
    """
    claim: Any = own.get("epsilon")
    delta = own.get("delta") or 0.0
    alpha = stats.significance(alpha)
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
        return Table(row, lines, verdict)
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
    return Table(row, lines, verdict)


def exact(
    client: Annotated[
        str, {"metavar": "MODULE:FUNCTION"}, "An importable client f(values, rng) or f(value)."
    ],
    inputs: Annotated[str, {"metavar": "JSON"}, "List of inputs of any type."],
    epsilon: Annotated[float, "The claim, at least 0."],
    delta: Annotated[float, "Delta of the claim, in [0, 1)."] = 0.0,
    **most: Annotated[Word, options(exact_client, "ways", "tapes", "seconds")],
) -> Table:
    """Compute the exact loss of a client by running every way through its code.

    If ways are left when the time is over, the loss is known as an interval. Exit status: 0 if its
    upper end keeps the claim. 1 if its lower end exceeds the claim by more than 1e-9. 2 if the
    input is invalid. 4 if neither is known, so that an audit of reports is next.
    """

    def start() -> ExactResult:
        claim: Row = {"epsilon": epsilon, "delta": delta}
        separate = SeparateClient.of(client, values=listed(inputs), report="any", **claim)
        return separate.function(functools.partial(exact_client, **most))

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
    status = {"none found": 0, "violation": 1, "not exact": FAILED}[result.status]
    return Table(result.row(), lines, result.verdict, status)
