"""Measure the auditor that bets and learns, beside what others published.

    python benchmarks/blackbox.py leaks --runs 20     # twelve broken clients, found by themselves
    python benchmarks/blackbox.py sound --runs 20     # six that keep their claim
    python benchmarks/blackbox.py means --runs 500    # four mean mechanisms that are not private
    python benchmarks/blackbox.py sniper              # twenty mechanisms, 10^7 reports per input

Each writes a table to data/results, and beside it what made it: the command, the time, the machine
and all versions.
"""

import json
import math
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small models: threads would wait for each other

import bench
import click
import leaks
import means
import numpy as np
import pandas as pd
import sniper

from ldpkit import betting
from ldpkit.auditors import AnytimeAudit
from ldpkit.paths import ROOT

RESULTS = ROOT / "data" / "results"


@click.group()
def cli():
    """Measure the auditor that bets and learns."""


def kept(name, rows, start, whole=True):
    """Write a table and, when it is whole, what made it."""
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / f"{name}.csv", index=False, lineterminator="\n", float_format="%.6g")
    if not whole:
        return
    said = {
        "command": "python benchmarks/blackbox.py " + " ".join(sys.argv[1:]),
        "seconds": round(time.perf_counter() - start, 1),
        **bench.machine(),
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n")
    click.echo(table.to_string(index=False))


def asked(made, runs, attack, trials, alpha, independent, **given):
    """Pairs that audits of fresh clients took; infinite where nothing was found."""
    found, events = [], []
    for run in range(runs):
        function, values, epsilon, delta = made(run)
        client = leaks.audited(function, values, epsilon, delta)
        audit = AnytimeAudit(
            client, attack, trials=trials, alpha=alpha, independent=independent, **given
        )
        result = audit.run(seed=run + 1)[0]
        found.append(result.reports if result.violated else math.inf)
        events.append(result.event)
    return np.array(found), events


def summary(found):
    """How many audits found a violation, and after how many pairs."""
    certain = found[np.isfinite(found)]
    spread = certain.std(ddof=1) / math.sqrt(len(certain)) if len(certain) > 1 else math.nan
    return {
        "found": len(certain),
        "mean": certain.mean() if len(certain) else math.nan,
        "se": spread,
        "median": np.median(found),
    }


@cli.command("leaks")
@click.option("--runs", default=20)
@click.option("--trials", default=10_000)
def broken(runs, trials):
    """Twelve broken clients at alpha = .01: pairs until they are found, and what was found."""
    start, rows = time.perf_counter(), []
    for name, leak in leaks.leaks().items():

        def made(run, name=name):
            return (*leaks.fresh(name, run), 1.0, 0.0)

        for independent in (True, None):
            tick = time.perf_counter()
            found, events = asked(made, runs, "learned", trials, 0.01, independent)
            limit = math.log(100) / betting.joint_growth(*leak.rates, 1.0)
            common = max(set(events), key=events.count)
            rows.append({
                "client": name, "declared": leak.event, "limit": limit,
                "bets": "any" if independent else "linear", "runs": runs, **summary(found),
                "event": common, "seconds": time.perf_counter() - tick,
            })  # fmt: skip
            click.echo(json.dumps(rows[-1]), err=True)
    kept("blackbox_leaks", rows, start)


@cli.command("sound")
@click.option("--runs", default=20)
@click.option("--trials", default=200)
def correct(runs, trials):
    """Six clients that keep epsilon = 1, at alpha = .01: how often they are accused."""
    start, rows = time.perf_counter(), []
    for name, (function, values) in leaks.sound().items():

        def made(run, f=function, v=values):
            return f, v, 1.0, 0.0

        tick = time.perf_counter()
        found, _ = asked(made, runs, "learned", trials, 0.01, True)
        rows.append({"client": name, "pairs": trials, "runs": runs,
                     "accused": int(np.isfinite(found).sum()),
                     "allowed": 0.01 + 3 * math.sqrt(0.01 * 0.99 / runs),
                     "seconds": time.perf_counter() - tick})  # fmt: skip
        click.echo(json.dumps(rows[-1]), err=True)
    kept("blackbox_sound", rows, start)


@cli.command("means")
@click.option("--runs", default=500)
@click.option("--trials", default=4000)
def nonprivate(runs, trials):
    """Four mean mechanisms that are not private, at alpha = .05."""
    start, rows = time.perf_counter(), []
    for case in means.CASES:

        def made(run, case=case):
            return case.client, (0, 1), case.epsilon, case.delta

        for way, attack in case.attacks():
            tick = time.perf_counter()
            found, events = asked(made, runs, attack, trials, 0.05, True)
            rows.append({
                "mechanism": case.name, "epsilon": case.epsilon, "way": way, "runs": runs,
                **summary(found), **case.limits(), **case.published,
                "event": max(set(events), key=events.count),
                "seconds": time.perf_counter() - tick,
            })  # fmt: skip
            click.echo(json.dumps(rows[-1]), err=True)
    kept("blackbox_means", rows, start)


@cli.command("sniper")
@click.option("--draws", default=10**7)
@click.option("--only", default="")
def suite(draws, only):
    """The twenty mechanisms of DP-Sniper at confidence .9: lower bounds of epsilon."""
    start = time.perf_counter()
    rows = []
    for row in sniper.rows(draws, [name for name in only.split(",") if name]):
        rows.append(row)
        click.echo(json.dumps(row), err=True)
        kept("blackbox_sniper", rows, start, whole=False)
    kept("blackbox_sniper", rows, start)


if __name__ == "__main__":
    cli()
