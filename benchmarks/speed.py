"""Measure what a user waits for: an audit, a command, pages, the book, and a grid on a cluster.

Run it on a quiet machine::

    python benchmarks/speed.py               # prints the table
    python benchmarks/speed.py --save        # and writes it to data/results
    python benchmarks/speed.py --book        # with the minutes of `make book` and `make test`

Pages are measured if the book is built. By default the two workers of the cluster get a grid of
20,000 audits (`--cells`), since a million take long. The column `loops` is the time relative to ten
million steps of an empty loop in Python, so that machines can be compared.
"""

import contextlib
import hashlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench
import click
import pandas as pd
from distributed import LocalCluster

from ldpbook.execute import fresh
from ldpbook.paths import BUILD, ROOT
from ldpkit import audit
from ldpkit.auditors import Audit
from ldpkit.grid import grid as sweep
from ldpkit.mechanisms import OUE

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0}
FIRST = """
import time
start = time.perf_counter()
from ldpkit import audit
loaded = time.perf_counter()
from ldpkit.mechanisms import OUE
audit(OUE(100, 1.0), "tight")
print(loaded - start, time.perf_counter() - loaded)
"""


def fixed():
    """Return the seconds of ten million steps of an empty loop, the best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(10**7):
            pass
        times.append(time.perf_counter() - start)
    return min(times)


def audits():
    """Yield the milliseconds of an audit from the exact distribution, here and in a new process."""
    mechanism = OUE(100, 1.0)
    audit(mechanism, "tight")
    start = time.process_time()
    for seed in range(1000):
        audit(mechanism, "tight", seed=seed)
    yield "one of 1,000 audits from the exact distribution", "ms", time.process_time() - start, 1
    started = [
        subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    loaded, first = (
        min(map(float, each)) for each in zip(*(done.stdout.split() for done in started))
    )
    yield "from ldpkit import audit", "ms", 1000 * loaded, 300
    yield "the first audit of a process", "ms", 1000 * first, 300
    command, times = [str(Path(sys.executable).with_name("ldpkit")), "--help"], []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    yield "ldpkit --help", "ms", 1000 * min(times), 200


def grid(cells, folder, address=None, seed=1):
    """Run a grid of so many audits on a cluster or in this process; return its table's digest."""
    from distributed import Client

    folder.mkdir(exist_ok=True)
    asked = {
        "mechanism": ["GRR", "OUE"],
        "k": list(range(10, 110, 10)),
        "epsilon": [0.1 + 10**4 * i / cells for i in range(cells // 1000)],
        "pair": list(itertools.permutations(range(10), 2))[:50],
    }
    place = {"store": folder / "cells", "table": folder / "table.csv"}
    with Client(address) if address else contextlib.nullcontext() as client:
        executor = client and client.get_executor(pure=False)
        sweep(Audit.cell, asked, seed=seed, workers=1, executor=executor, **place)
    return hashlib.sha256(place["table"].read_bytes()).hexdigest()


def cluster(cells):
    """Yield what a grid costs on two workers of Dask, killed once, and in one process."""
    what = f"an audit of a grid of {cells:,}"
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as made,
        tempfile.TemporaryDirectory() as folder,
    ):
        address, killed = made.scheduler_address, Path(folder, "killed")
        grid(1000, Path(folder, "warm"), address)
        asked = f"{cells}, pathlib.Path({str(killed)!r}), {address!r}"
        program = f"import pathlib, speed; speed.grid({asked})"
        command = [sys.executable, "-c", program]
        start = time.perf_counter()
        (killed / "cells").mkdir(parents=True)
        process = subprocess.Popen(command, cwd=Path(__file__).parent, start_new_session=True)
        while len(os.listdir(killed / "cells")) < cells // 3 and process.poll() is None:
            time.sleep(1)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        again = time.perf_counter()
        digest = grid(cells, killed, address)
        end = time.perf_counter()
        took = 1000 * (end - start) / cells
        yield f"{what} on two workers of Dask, killed once", "ms", took, None
        yield "the rest of that grid after the kill", "min", (end - again) / 60, None
        made.close()
        start = time.perf_counter()
        same = grid(cells, Path(folder, "here")) == digest
        took = 1000 * (time.perf_counter() - start) / cells
        yield f"{what} in one process", "ms", took, None
        yield "the same bytes on Dask and in one process", "1: yes, 0: no", float(same), None


def pages():
    """Yield what the front page and the largest of some pages of figures weigh, with gzip."""
    command = [sys.executable, "-m", "browser.measure", "--weights"]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, check=True)
    weights = json.loads(done.stdout)
    yield "the front page", "KB", weights.pop("intro"), 700
    yield f"the largest of {len(weights)} pages of figures", "KB", max(weights.values()), 1200


def books():
    """Yield the minutes of `make book` and `make test` in a fresh checkout, after installation."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", str(ROOT), folder], check=True)
        subprocess.run(["make", ".venv/ready-dev", "packages"], cwd=folder, check=True)
        for target, goal in (("book", 7), ("test", 4)):
            start = time.perf_counter()
            subprocess.run(["make", target], cwd=folder, env=fresh(Path(folder)), check=True)
            yield f"make {target}", "min", (time.perf_counter() - start) / 60, goal


@click.command()
@click.option("--cells", default=20_000, show_default=True, help="Multiple of 1000; 0: none.")
@click.option("--book", is_flag=True, help="Build and test a fresh checkout, too.")
@click.option("--save", is_flag=True, help="Write to data/results.")
def main(cells, book, save):
    """Measure all of it."""
    if cells % 1000:
        raise click.UsageError(f"--cells must be a multiple of 1000, got {cells}")
    said, start, loop, rows = bench.machine(), time.perf_counter(), fixed(), []
    built = (BUILD / "html" / "index.html").exists()
    parts = (
        audits(),
        pages() if built else (),
        cluster(cells) if cells else (),
        books() if book else (),
    )
    for what, unit, value, goal in itertools.chain(*parts):
        loops = value * SECONDS[unit] / loop if unit in SECONDS else None
        rows.append({"what": what, "value": value, "unit": unit, "goal": goal, "loops": loops})
        click.echo(f"{what}: {value:.4g} {unit}" + (f" (goal: at most {goal})" if goal else ""))
    said |= {
        "loop (s)": round(loop, 3),
        "cells": cells,
        "minutes": round((time.perf_counter() - start) / 60, 1),
    }
    if save:
        folder = ROOT / "data" / "results"
        table = pd.DataFrame(rows)
        table.to_csv(folder / "speed.csv", index=False, float_format="%.4g", lineterminator="\n")
        (folder / "speed.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
