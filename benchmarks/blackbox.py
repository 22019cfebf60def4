"""Measure the auditor that bets and learns, next to published results of others.

Each measurement has its own command::

    python benchmarks/blackbox.py leaks --runs 20   # twelve broken clients, found by themselves
    python benchmarks/blackbox.py sound             # six that keep their claim, with a pause
    python benchmarks/blackbox.py means             # four mean mechanisms that are not private
    python benchmarks/blackbox.py nulls             # false alarms at the edge of the claim
    python benchmarks/blackbox.py honest            # fifty clients at the edge, 10^6 reports
    python benchmarks/blackbox.py suite             # false alarms of fifty tests under one rate
    python benchmarks/blackbox.py clients           # 69 clients, found and not found
    python benchmarks/blackbox.py tested            # the same by assert_private and by their code
    python benchmarks/blackbox.py planted           # leaks as rare as audits say they find
    python benchmarks/blackbox.py curves            # claims that are trade-off curves
    python benchmarks/blackbox.py overhead          # what a report costs
    python benchmarks/blackbox.py scale             # memory of long audits
    python benchmarks/blackbox.py sniper            # twenty mechanisms, 10^7 reports per input
    python benchmarks/blackbox.py half              # the same, report by report, half the claim
    python benchmarks/blackbox.py limits            # what the best event gives for five of them

Each writes a table to data/results, and a file next to it with the command, the time, the machine
and all versions. Every audit but those of `half` is stored in _build/blackbox as soon as it has
ended. An interrupted measurement therefore continues where it stopped.
"""

import json
import math
import os
import statistics
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small models: threads would wait for each other

import bench
import cause_clients
import click
import entry_clients
import innocent
import leaks
import means
import numpy as np
import overhead
import pandas as pd
import planted
import scale
import sniper
import sniper_limits
import suite
import tradeoffs
from series import Series, accused, found, measured

from ldpbook.paths import ROOT
from ldpkit import Client, exact_client
from ldpkit.blackbox import betting
from ldpkit.blackbox.clients import ClientError
from ldpkit.blackbox.sequential import SequentialAudit
from ldpkit.testing import assert_private

RESULTS = ROOT / "data" / "results"


@click.group()
def cli():
    """Measure the auditor that bets and learns."""


def kept(name, rows, seconds=None):
    """Write a table, and a file with the command, machine and versions that made it."""
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / f"{name}.csv", index=False, lineterminator="\n", float_format="%.6g")
    said = {
        "command": "python benchmarks/blackbox.py " + " ".join(sys.argv[1:]),
        "seconds": round(table["seconds"].sum() if seconds is None else seconds, 1),
        "seeds": "1, 2, ..., one for each run; 1 for every mechanism of the suite",
        **bench.machine(),
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n")
    click.echo(table.to_string(index=False))


minutes = click.option("--minutes", default=math.inf, help="Stop then, with what there is.")


@cli.command("leaks")
@click.option("--runs", default=20)
@click.option("--trials", default=20_000)
@minutes
def broken(runs, trials, minutes):
    """Measure twelve broken clients at alpha = .01: pairs until they are found, and the event
    found.
    """

    def audit(name, run):
        client = leaks.audited(*leaks.fresh(name, run))
        return SequentialAudit(client, "learned", trials=trials, alpha=0.01)

    series = []
    for name, leak in leaks.leaks().items():
        limit = math.log(100) / betting.joint_growth(*leak.rates, 1.0)
        known = {"declared": leak.event, "limit": limit}
        series.append(Series({"client": name}, runs, lambda run, n=name: audit(n, run), known))
    kept("blackbox_leaks", [found(*one) for one in measured("leaks", series, minutes)])


@cli.command("clients")
@click.option("--runs", default=5)
@minutes
def everything(runs, minutes):
    """Measure 69 clients that claim epsilon = 1, at alpha = .01: how many reports each takes."""
    few, most = 5_000, 250_000
    clear = {name: (lambda f=f: f, 2) for name, f in entry_clients.CLEAR.items()}
    correct = {name: (lambda f=f: f, 2) for name, f in entry_clients.CORRECT.items()}
    correct |= {name: (make, 2) for name, make in entry_clients.INNOCENT.items()}

    def audit(make, k, trials):
        function = entry_clients.numbered(make())
        given = {"values": list(range(k)), "epsilon": 1.0, "on_error": "report"}
        client = Client(function, report="any", **given)
        return SequentialAudit(client, "learned", trials=trials, alpha=0.01)

    def broken(name, run):
        client = leaks.audited(*leaks.fresh(name, run))
        return SequentialAudit(client, "learned", trials=most, alpha=0.01)

    series = []
    for kind, some in (("clear", clear | entry_clients.UNUSUAL), ("correct", correct)):
        for name, (make, k) in some.items():
            hidden = entry_clients.NOT_SEEN.get(name, "")
            said = "broken" if name in entry_clients.FINITE else kind
            short = hidden or kind == "correct"
            series.append(Series(
                {"client": name}, 1 if short else runs,
                lambda run, m=make, k=k, n=few if short else most: audit(m, k, n),
                {"kind": said, "not looked at": hidden},
            ))  # fmt: skip
    for name in leaks.leaks():
        labels = {"client": f"{name} (leaks)"}
        known = {"kind": "broken", "not looked at": ""}
        series.append(Series(labels, runs, lambda run, n=name: broken(n, run), known))
    done = measured("clients", series, minutes)
    kept("blackbox_clients", [found(*one) | {"one in": overlooked(one[1])} for one in done])


@cli.command()
@click.option("--seconds", default=10.0, help="Time of each audit.")
def tested(seconds):
    """Print what `assert_private` and `exact_client` find among the clients that claim epsilon = 1.

    No table is stored.
    """
    clear = {name: (lambda f=f: f, 2) for name, f in entry_clients.CLEAR.items()}
    correct = {name: (lambda f=f: f, 2) for name, f in entry_clients.CORRECT.items()}
    correct |= {name: (make, 2) for name, make in entry_clients.INNOCENT.items()}
    for name, (make, k) in (clear | entry_clients.UNUSUAL | correct).items():
        row = {"client": name, "keeps its claim": name in correct}
        tick = time.perf_counter()
        try:
            told = assert_private(
                entry_clients.numbered(make()), 1.0, inputs=range(k), seconds=seconds
            ).status
        except (AssertionError, ClientError) as error:
            told = str(error).splitlines()[0]
        row |= {"test": told, "test seconds": round(time.perf_counter() - tick, 1)}
        tick = time.perf_counter()
        own = {"epsilon": 1.0, "inputs": range(k), "ways": 20_000}
        try:
            exact = exact_client(entry_clients.numbered(make()), **own)
            row |= {"exact": exact.status, "loss": exact.loss, "reason": exact.reason}
        except ClientError as error:  # it fails on purpose
            row |= {"exact": "not exact", "reason": str(error)}
        row |= {"exact seconds": round(time.perf_counter() - tick, 1)}
        click.echo(json.dumps(row))


@cli.command("causes")
@click.option("--seconds", default=120.0, help="Time of the search of each cause.")
@click.option("--trials", default=5_000)
def caused(seconds, trials):
    """Print the cause that the audit names for thirty leaks, and the true one.

    No table is stored.
    """
    for name, (make, cause) in cause_clients.CLIENTS.items():
        client = Client(make(), report="any", values=[0, 1], epsilon=1.0, on_error="report")
        run = SequentialAudit(client, "learned", trials=trials, explain=seconds).start()
        run.go()
        run.explain()
        result, named = run.result, run.result.cause.partition("Cause: ")[2]
        said = {"client": name, "status": result.status, "reports": result.reports}
        click.echo(json.dumps(said | {"named": named, "true": cause, "event": result.event}))


def overlooked(runs):
    """Return n such that a leak in fewer than one of n reports may be overlooked."""
    quiet = [run["one_in"] for run in runs if run["reports"] is None]
    return min(quiet) if quiet else math.nan


@cli.command("sound")
@click.option("--times", default=1.0, help="As many runs as were planned, times this.")
@minutes
def correct(times, minutes):
    """Measure how often six clients that keep epsilon = 1 are refuted, at alpha = .01."""
    done = measured("sound", innocent.clients(times), minutes)
    kept("blackbox_sound", [accused(*one, innocent.ALPHA) for one in done])


@cli.command("nulls")
@click.option("--times", default=1.0, help="As many runs as were planned, times this.")
@click.option("--only", default="", help="Names of audits, with commas between; others stay.")
@minutes
def edges(times, only, minutes):
    """Measure how often a client at the very edge of its claim is refuted, at alpha = .01."""
    planned = innocent.nulls(times)
    some = [one for one in planned if one.labels["audit"] in only.split(",")]
    measured("nulls", some or planned, minutes)
    done = measured("nulls", planned, 0)
    kept("blackbox_nulls", [accused(*one, innocent.ALPHA) for one in done])


@cli.command("honest")
@click.option("--pairs", default=0, help="Only audits with so many reports per input.")
@minutes
def many(pairs, minutes):
    """Measure how often fifty clients at the edge of their claims are refuted, at alpha = .01."""
    rows = []
    for length, series in innocent.honest().items():
        done = measured("honest", series, minutes if pairs in (0, length) else 0)
        whole = [run for _, runs in done for run in runs]
        planned = {"wanted": sum(one.runs for one in series)}
        of_all = Series(
            {"client": f"{len(series)} clients", "pairs": length}, len(whole), None, planned
        )
        rows.append(accused(of_all, whole, innocent.ALPHA))
    kept("blackbox_honest", rows)


@cli.command("suite")
@click.option("--runs", default=200)
@click.option("--reports", default=100, help="Most reports per input of each audit.")
@minutes
def fifty(runs, reports, minutes):
    """Measure how often a suite fails whose fifty clients keep their claims, at alpha = .01."""
    labels = {"tests": len(suite.NAMES), "reports": reports}
    series = suite.Suite(labels, runs, lambda run: suite.failed(run + 1, reports))
    done = measured("suite", [series], minutes)
    kept("blackbox_suite", [accused(*one, innocent.ALPHA) for one in done])


@cli.command("means")
@click.option("--runs", default=500)
@click.option("--trials", default=4000)
@minutes
def nonprivate(runs, trials, minutes):
    """Measure four mean mechanisms that are not private, at alpha = .05."""

    def audit(case, attack):
        client = leaks.audited(case.client, (0, 1), case.epsilon, case.delta)
        both = attack == "learned"  # a declared event already names its likelier input
        return SequentialAudit(client, attack, trials=trials, alpha=means.ALPHA, both=both)

    series = [
        Series({"mechanism": case.name, "epsilon": case.epsilon, "way": way}, runs,
               lambda run, c=case, a=attack: audit(c, a), case.limits() | case.published)
        for case in means.CASES for way, attack in case.attacks()
    ]  # fmt: skip
    kept("blackbox_means", [found(*one) for one in measured("means", series, minutes)])


@cli.command("planted")
@click.option("--runs", default=20)
@minutes
def promised(runs, minutes):
    """Measure how often leaks are found that an audit says it would have found."""
    series = [*planted.series(runs)]
    kept("blackbox_planted", [found(*one) for one in measured("planted", series, minutes)])


@cli.command("curves")
@click.option("--runs", default=400, help="Runs of each client that leaks too much.")
@click.option("--times", default=1.0, help="As many runs at the edge as were planned, times this.")
@minutes
def curved(runs, times, minutes):
    """Measure claims that are trade-off curves, at alpha = .05: false alarms and reports needed."""
    planned = [*tradeoffs.broken(runs), *tradeoffs.nulls(times)]
    measured("curves", planned, minutes)
    rows = []
    for series, done in measured("curves", planned, 0):
        both = found(series, done) | accused(series, done, tradeoffs.ALPHA)
        if series.labels["kind"] == "beyond":
            del both["accused"], both["allowed"]
        rows.append(both)
    kept("blackbox_curves", rows)


@cli.command("overhead")
def costs():
    """Measure the time of an audit, without the time of making reports."""
    kept("blackbox_overhead", list(overhead.rows()))


@cli.command("scale")
def long():
    """Measure memory and processor time of long audits, with the time of making reports."""
    kept("blackbox_scale", list(scale.rows()))


@cli.command("sniper")
@click.option("--draws", default=10**7)
@click.option("--only", default="", help="Names of mechanisms, with commas between.")
@click.option("--seed", default=1)
def twenty(draws, only, seed):
    """Measure lower bounds of epsilon for the twenty mechanisms of DP-Sniper, at confidence .9."""
    rows = []
    for row in sniper.rows(draws, [name for name in only.split(",") if name], seed):
        rows.append(row)
        click.echo(json.dumps(row), err=True)
    name = "blackbox_sniper" if draws <= 10**7 else "blackbox_sniper_long"
    kept(name, rows, sum(row["learning seconds"] + row["counting seconds"] for row in rows))


@cli.command("half")
@click.option("--trials", default=200_000)
def half_of_sniper(trials):
    """Audit the twenty mechanisms of DP-Sniper report by report, against half of their bounds, at
    alpha = .01.
    """
    stored, start, rows = pd.read_csv(RESULTS / "blackbox_sniper.csv"), time.perf_counter(), []
    for row in stored.itertuples():
        made = sniper.Made(row.mechanism, 1)
        pair = [np.array(text.split(), float) for text in (row.first, row.second)]

        def perturb(values, rng, made=made, pair=pair):
            out, values = np.empty((len(values), made.width)), np.asarray(values)
            for value in (0, 1):
                here = np.empty((np.count_nonzero(values == value), made.width))
                made.pour(pair[value], rng, here)
                out[values == value] = here
            return out.tolist()

        client = Client(perturb, report="any", values=[0, 1], epsilon=row.lower / 2)
        tick = time.process_time()
        audit = SequentialAudit(client, "learned", trials=trials, alpha=0.01)
        results = [audit.run(seed)[0] for seed in (1, 2, 3)]
        rows.append({
            "mechanism": row.mechanism, "claim": row.lower / 2,
            "found of 3": sum(one.violated for one in results),
            "median": statistics.median(one.reports for one in results),
            "seconds": time.process_time() - tick,
        })  # fmt: skip
        click.echo(json.dumps(rows[-1]), err=True)
    kept("blackbox_half", rows, time.perf_counter() - start)


@cli.command()
@click.option("--draws", default=10**7)
def limits(draws):
    """Compute what the best event gives for five of these mechanisms, beside the stored bounds."""
    start, stored = time.perf_counter(), pd.read_csv(RESULTS / "blackbox_sniper.csv")
    ours = stored.set_index("mechanism")["lower"]
    rows = list(sniper_limits.rows(draws, ours))
    kept("blackbox_sniper_limits", rows, time.perf_counter() - start)


if __name__ == "__main__":
    cli()
