"""Audit one client again and again under other seeds, and store every audit on its own.

An interrupted measurement therefore continues where it stopped.
"""

import collections
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import click
import numpy as np

from ldpbook.paths import BUILD
from ldpkit.blackbox.sequential import SequentialAudit

STORE = BUILD / "blackbox"
ROUNDS = 100
"""Number of rounds; each has a share of every series, so that all advance alike."""


@dataclass(frozen=True)
class Series:
    """Audits that differ in their seeds only.

    Parameters
    ----------
    labels : dict
        Labels that distinguish the series from others.
    runs : int
    audit : callable
        ``f(run)``: the audit number `run`, of a fresh client.
    known : dict
        Facts that are known in advance.
    paused : bool
        Whether to stop every audit at a random time, and continue it from its stored state.
    """

    labels: dict
    runs: int
    audit: Callable[[int], SequentialAudit]
    known: dict = field(default_factory=dict)
    paused: bool = False

    def one(self, run):
        """Return one run: reports per input until the claim is refuted, or None, and the event."""
        tick, audit = time.process_time(), self.audit(run)
        started = audit.start(run + 1)
        if self.paused:
            started.go(trials=int(np.random.default_rng(run).integers(1, audit.trials)))
            if not started.refuted:
                started = audit.start(run + 1, json.loads(json.dumps(started.state())))
        if not started.refuted:
            started.go()
        found = started.result
        return {
            "run": run,
            "reports": found.reports if found.violated else None,
            "event": found.event,
            "one_in": found.one_in,
            "seconds": round(time.process_time() - tick, 4),
        }


def measured(name, series, minutes=math.inf):
    """Run all series, and return their runs.

    Parameters
    ----------
    name : str
        Name of the file that stores the runs; runs in this file are not repeated.
    minutes : float
        Stop after so long, and return the runs that exist by then.

    Returns
    -------
    list of (Series, list of dicts)
    """
    STORE.mkdir(parents=True, exist_ok=True)
    path, done = STORE / f"{name}.jsonl", collections.defaultdict(dict)
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        done[json.dumps(row.pop("labels"))][row["run"]] = row
    end = time.monotonic() + 60 * minutes
    with path.open("a") as file:
        for step in range(ROUNDS):
            for one in series:
                mine = done[json.dumps(one.labels)]
                for run in range(one.runs * step // ROUNDS, one.runs * (step + 1) // ROUNDS):
                    if run in mine or time.monotonic() > end:
                        continue
                    mine[run] = one.one(run)
                    file.write(json.dumps({"labels": one.labels, **mine[run]}) + "\n")
                    file.flush()
            if step % 10 == 9:
                click.echo(f"{name}: round {step + 1} of {ROUNDS}", err=True)
    return [(s, [r for r in done[json.dumps(s.labels)].values() if r["run"] < s.runs])
            for s in series]  # fmt: skip


def found(series, runs):
    """Return one row: how many audits found a violation, and after how many pairs of reports."""
    used = np.array([math.inf if r["reports"] is None else r["reports"] for r in runs])
    certain, events = used[np.isfinite(used)], [r["event"] for r in runs]
    spread = certain.std(ddof=1) / math.sqrt(len(certain)) if len(certain) > 1 else math.nan
    return {
        **series.labels,
        **series.known,
        "runs": len(runs),
        "found": len(certain),
        "mean": certain.mean() if len(certain) else math.nan,
        "se": spread,
        "median": np.median(used) if len(used) else math.nan,
        "event": max(set(events), key=events.count) if events else "",
        "seconds": sum(r["seconds"] for r in runs),
    }


def accused(series, runs, alpha):
    """Return one row: how often a correct client was refuted, and how often it may be."""
    n = max(len(runs), 1)
    return {
        **series.labels,
        **series.known,
        "runs": len(runs),
        "accused": sum(r["reports"] is not None for r in runs),
        "alpha": alpha,
        "allowed": alpha + 3 * math.sqrt(alpha * (1 - alpha) / n),
        "seconds": sum(r["seconds"] for r in runs),
    }
