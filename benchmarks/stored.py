"""Repeat the runs behind pages that take too long for `make book`.

Each run has its own command::

    python benchmarks/stored.py images mnist --runs 8000          # RAD, Figure 3
    python benchmarks/stored.py images fashion_mnist --runs 8000
    python benchmarks/stored.py imputation adult                   # RAD, Table 1
    python benchmarks/stored.py imputation acs
    python benchmarks/stored.py ages                               # refinement, Figure 1
    python benchmarks/stored.py cifar                              # LDP-SGD, Figures 4, 5 and 8
    python benchmarks/stored.py digits                             # released, floating point

Each writes a table to data/results, and a file next to it with the command, the time, the machine
and all versions. Finished parts are stored, so that an interrupted run continues where it stopped.
Data outside the checkout are read from the folder that `ldpbook.datasets.folder` returns. Their
sources are in data/README.md.
"""

import contextlib
import hashlib
import itertools
import json
import sys
import time
from pathlib import Path

import bench
import click
import numpy as np
import pandas as pd

from ldpbook import datasets, paths
from ldpkit.grid import grid as sweep
from ldpkit.rng import derive

BOOK = Path(__file__).resolve().parents[1] / "book"
sys.path += [str(BOOK / chapter) for chapter in ("ldp_sgd", "rad", "refinement", "released")]

import adult  # noqa: E402
import curves  # noqa: E402
import doubles  # noqa: E402
import dpsgd  # noqa: E402
import imputation  # noqa: E402
import standins  # noqa: E402

RESULTS = paths.data("results")


@click.group()
def cli():
    """Repeat stored runs."""


def said(name, start, **more):
    """Write a file next to a table with the command, machine and versions that made it."""
    facts = {"command": "python benchmarks/stored.py " + " ".join(sys.argv[1:])} | more
    facts |= {"seconds": round(time.perf_counter() - start, 1), **bench.machine()}
    (RESULTS / f"{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
    click.echo(f"wrote {RESULTS / name}")


def kept(name, table, start, **more):
    """Write a table, and the file with the command, machine and versions that made it."""
    table.to_csv(RESULTS / f"{name}.csv", index=False, lineterminator="\n", float_format="%.8g")
    said(name, start, **more)


@cli.command()
@click.argument("data", type=click.Choice(["mnist", "fashion_mnist"]))
@click.option("--runs", type=click.IntRange(dpsgd.RUNS_PER_CELL), default=8000, show_default=True,
              help="Per noise multiplier.")  # fmt: skip
@click.option("--seed", default=1, show_default=True)
@click.option("--workers", default=1, show_default=True, help="Processes.")
def images(data, runs, seed, workers):
    """Train on images and one of eight candidates: 0.07 seconds a run on an idle core."""
    start, name = time.perf_counter(), f"rad_dpsgd_{data}"
    try:
        table = dpsgd.train(data, runs, seed, workers=workers)
    except ValueError as error:  # the number of runs does not fit
        raise click.UsageError(str(error)) from None
    fine = {"loglik": 2.0**-12, "dot": 2.0**-7}  # nats, units of the noise: a run varies by more
    table |= {
        column: np.rint(table[column] / step).astype(np.float32) * np.float32(step)
        for column, step in fine.items()
    }
    np.savez_compressed(RESULTS / f"{name}.npz", **table)
    said(name, start, runs=len(table["truth"]))


@cli.command("imputation")
@click.argument("data", type=click.Choice(["adult", "acs"]))
@click.option("--runs", default=5, show_default=True)
@click.option("--seed", default=1, show_default=True)
def guesses(data, runs, seed):
    """Guess a sensitive attribute from the public ones."""
    start, asked = time.perf_counter(), imputation.STORED[data]
    kept(f"rad_table1_{data}", imputation.attack(asked, runs, seed, workers=1), start)


@cli.command()
@click.option("--runs", default=100, show_default=True, help="Populations.")
@click.option("--seed", default=1, show_default=True)
@click.option("--workers", default=1, show_default=True, help="Processes.")
def ages(runs, seed, workers):
    """Make every report of 100 populations of 48,842 people, for 12 protocols and 33 budgets."""
    start = time.perf_counter()
    grid = {"protocol": curves.PROTOCOLS, "k": 100, "epsilon": adult.BUDGETS, "runs": runs}
    table = sweep(adult.made, grid, seed=seed, workers=workers, store=paths.STORE, label="made")
    kept("refinement_adult", table, start)


@cli.command()
@click.option("--seed", default=1, show_default=True)
def cifar(seed):
    """Audit a convolutional network on real photographs, by five adversaries and in training."""
    start, file = time.perf_counter(), "cifar10_subset.npz"  # no path: it would decide the seeds
    common = {"name": standins.OWN, "pairs": 1000, "trials": 1000, "measurements": 10,
              "start": seed, "images": file}  # fmt: skip
    five = {"adversary": list(standins.ADVERSARIES), "training": 1.0, "epsilon": [[0.5, 1, 2, 4]],
            "rule": "cosine"}  # fmt: skip
    course = {"iterations": [[0, 10, 30, 100, 300, 1000]], "epsilon": 4}
    given = {"seed": seed, "workers": 1, "store": paths.STORE}
    with contextlib.chdir(datasets.folder()):
        found = sweep(standins.cell, common | five, **given)
        over = sweep(standins.training_cell, common | course, **given)
        network = standins.checkpoints(standins.OWN, seed, (0,), file)[0]
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    facts = {"sha256 of the images": digest, "parameters": network.d}
    for name, table in (("five", found), ("training", over)):
        table = table.drop(columns=[*common, "iterations", "rule"], errors="ignore")
        kept(f"sgd_cifar10_{name}", table, start, **facts)


@cli.command()
@click.option("--reports", default=10**8, show_default=True, help="Of each input and client.")
@click.option("--seed", default=1, show_default=True)
def digits(reports, seed):
    """Count the last digits of 10^8 reports of every client that sends doubles, unchanged and on a
    grid.
    """
    start, rows = time.perf_counter(), []
    for name, grid, which in itertools.product(doubles.clients(), (None, doubles.GRID), (0, 1)):
        n = reports // 100 if name == "PrivUnit" else reports  # its quantiles take their time
        event = doubles.counted(name, grid, which, n, derive(seed, name, grid, which))
        sent = "grid" if grid else "doubles"
        rows.append({"client": name, "sent": sent, "input": which, "reports": n, "event": event})
        click.echo(rows[-1])
    kept("float_digits", pd.DataFrame(rows), start)


if __name__ == "__main__":
    cli()
