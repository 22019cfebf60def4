"""Measure how long audits take, next to the published way of making them, and write one table.

Run it by make::

    make bench         # writes _build/bench/benchmarks.csv and .json
    make bench SAVE=1  # and copies them to data/results, from where the book shows them

It takes about four minutes on two idle cores.

Every row is the time of one whole call after compilation, on one core unless `workers` says
otherwise. The time is the best of several repetitions, because the speed of a machine drifts. The
reference (`reference.py`) runs in its own environment, before everything else and after it.
"""

import csv
import datetime
import importlib.metadata
import io
import itertools
import json
import os
import platform
import subprocess
import time
from pathlib import Path

import click
import numpy as np

from ldpbook.paper_audits import ldp_auditor
from ldpbook.paths import BUILD, ROOT
from ldpkit import audit
from ldpkit.auditors import KVAudit
from ldpkit.executors import Processes
from ldpkit.grid import grid as sweep
from ldpkit.mechanisms import KEY_VALUE, Chained, Repeated, make
from ldpkit.mechanisms.histogram import FINEST

PURE = "GRR SS SUE OUE BLH OLH SHE THE".split()
NOISY = "SHE GM AGM".split()
COMPARED = (25, 100, 200)
"""Domain sizes at which the reference also runs."""
WIDE = (25, 100, 200, 1000, 10_000)
USERS = (10**4, 10**6, 10**8, 10**10, 10**12)
TAU = (1, 10, 100, 1000)
EPSILONS = (0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 6.0, 10.0)
COLUMNS = ["what", "protocol", "k", "n", "tau", "workers", "audits", "trials", "seconds"]


def best(repetitions, call, *arguments, **named):
    """Return the shortest time of a call and, separately, the time of its first call.

    The first call also compiles kernels and computes exact distributions.
    """
    times = []
    for seed in range(repetitions + 1):
        start = time.perf_counter()
        call(*arguments, seed=seed, **named)
        times.append(time.perf_counter() - start)
    return min(times[1:]), times[0]


def audits(trials):
    """Yield the times of every pure protocol with the guess, for its fast sampler and its real
    client.
    """
    for name, k in itertools.product(PURE, WIDE):
        mechanism = make(name, k=k, epsilon=1.0)
        yield {
            "what": "fast",
            "protocol": name,
            "k": k,
            "trials": trials,
            "seconds": best(3, audit, mechanism, trials=trials, both=False)[0],
        }
        if k in COMPARED:
            seconds = best(2, audit, mechanism, trials=trials, faithful=True, both=False)[0]
            yield {
                "what": "faithful",
                "protocol": name,
                "k": k,
                "trials": trials,
                "seconds": seconds,
            }


def reference(python, seconds):
    """Return the versions with which the published trial loop ran, and its times."""
    sizes = [text for k in COMPARED for text in ("--k", str(k))]
    command = [
        python,
        str(Path(__file__).with_name("reference.py")),
        "--seconds",
        str(seconds),
        *sizes,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    versions, table = done.stdout.split("\n", 1)
    return json.loads(versions), [
        {"what": "reference"} | row for row in csv.DictReader(io.StringIO(table))
    ]


def rounds(trials):
    """Yield the times of audits of repeated collections.

    Subsets of several values have no known exact distribution, so that all their reports are made.
    """
    for name, tau in itertools.product(PURE, TAU):
        mechanism, asked = (
            Repeated(make(name, k=25, epsilon=0.1), tau),
            trials // 100 if name == "SS" else trials,
        )
        seconds, first = best(3, audit, mechanism, trials=asked, both=False)
        for what, value in (("rounds", seconds), ("rounds, first", first)):
            yield {
                "what": what,
                "protocol": name,
                "k": 25,
                "tau": tau,
                "trials": asked,
                "seconds": value,
            }
    for name, tau in itertools.product(("SUE", "OSUE", "GRR"), TAU):
        seconds, first = best(3, audit, Chained(25, 1.0, 0.5, tau, name), trials=trials, both=False)
        for what, value in (("rounds", seconds), ("rounds, first", first)):
            yield {
                "what": what,
                "protocol": f"L-{name}",
                "k": 25,
                "tau": tau,
                "trials": trials,
                "seconds": value,
            }


def grids(trials):
    """Yield the times of clients that add noise, without an audit: their reports as doubles, and on
    a grid.
    """
    for name, grid in itertools.product(NOISY, (None, FINEST)):
        own = {} if name == "SHE" else {"delta": 1e-5}
        mechanism = make(name, k=100, epsilon=1.0, grid=grid, **own)
        values = mechanism.inputs(0, trials // 10)

        def reports(seed, client=mechanism, values=values):
            client.perturb(values, np.random.default_rng(seed))

        yield {
            "what": "grid" if grid else "doubles",
            "protocol": name,
            "k": 100,
            "trials": len(values),
            "seconds": best(3, reports)[0],
        }


def key_values():
    """Yield the times of key-value audits, which sample whole groups of users at once."""
    for (name, cls), users in itertools.product(KEY_VALUE.items(), USERS):
        k = 4 if name.startswith("PCKV") else 1

        def audit(seed, cls=cls, k=k, users=users):
            KVAudit(cls(k=k, epsilon=1.0), trials=users).run(seed)

        yield {"what": "kv", "protocol": name, "k": k, "n": users, "seconds": best(10, audit)[0]}


def cores(trials, runs):
    """Yield the times of one grid of audits in a pool of one and of two processes.

    Both pools are started before. They take turns, and the better of two times counts.
    """
    times: dict[int, list[float]] = {1: [], 2: []}
    grid = {"mechanism": PURE, "k": [100], "epsilon": EPSILONS, "runs": [runs]}
    for workers in (1, 2) * 2:
        with Processes(workers) as pool:
            sweep(ldp_auditor, grid | {"trials": [10]}, seed=1, executor=pool)
            start = time.perf_counter()
            sweep(ldp_auditor, grid | {"trials": [trials]}, seed=1, executor=pool)
            times[workers].append(time.perf_counter() - start)
    count = len(PURE) * len(EPSILONS) * runs
    for workers, found in times.items():
        yield {
            "what": "sweep",
            "k": 100,
            "workers": workers,
            "audits": count,
            "trials": trials,
            "seconds": min(found),
        }


def machine():
    """Return place and time of the measurement, and how busy the machine was."""
    info = Path("/proc/cpuinfo")
    names = (
        [
            line.split(":")[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        if info.exists()
        else []
    )
    packages = ("ldpkit", "numpy", "scipy", "numba")
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load at the start": round(os.getloadavg()[0], 2),
        "versions": (
            {"Python": platform.python_version()}
            | {name: importlib.metadata.version(name) for name in packages}
        ),
    }


@click.command()
@click.option("--trials", default=10**6, show_default=True, help="Reports per input of one audit.")
@click.option(
    "--seconds",
    default=2.0,
    show_default=True,
    help="About how long one loop of the reference takes.",
)
@click.option(
    "--runs",
    default=20,
    show_default=True,
    help="Audits per cell of the grid that two cores share.",
)
@click.option(
    "--python",
    default=str(BUILD / "bench" / "venv" / "bin" / "python"),
    help="Interpreter of the reference.",
)
@click.option("--save", is_flag=True, help="Write to data/results instead of _build/bench.")
def main(trials, seconds, runs, python, save):
    """Run all benchmarks."""
    said, start = machine(), time.perf_counter()
    said["versions of the reference"], before = reference(python, seconds)
    rows = []
    parts = audits(trials), rounds(trials), grids(trials), key_values(), cores(trials, runs)
    for part in parts:
        for row in part:
            rows.append(row)
            click.echo(
                "  ".join(
                    f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
                    for key, value in row.items()
                )
            )
    _, after = reference(
        python, seconds
    )  # the machine's speed drifts: the better of a loop at either end
    rows = [
        min(pair, key=lambda row: float(row["seconds"]) / int(row["trials"]))
        for pair in zip(before, after)
    ] + rows
    said["minutes"] = round((time.perf_counter() - start) / 60, 1)
    folder = ROOT / "data" / "results" if save else BUILD / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "benchmarks.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(row | {"seconds": f"{float(row['seconds']):.4g}"} for row in rows)
    (folder / "benchmarks.json").write_text(json.dumps(said, indent=1) + "\n")
    click.echo(f"{folder / 'benchmarks.csv'} after {said['minutes']} minutes")


if __name__ == "__main__":
    main()
