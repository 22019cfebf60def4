"""Time one audit per protocol: drawn from the deciding coordinates, and with every report made in full.

    .venv/bin/python benchmarks/audits.py [--trials 1000000] [--k 100] [--epsilon 1]

Seconds are for both inputs together on one thread, after compilation; the
first line says what importing and compiling cost. Run it twice: the second
time the kernels come from the cache.
"""

import time

start = time.perf_counter()

import click  # noqa: E402

from ldpkit.auditors import audit  # noqa: E402
from ldpkit.mechanisms import MECHANISMS, make, takes  # noqa: E402

imported = time.perf_counter() - start


@click.command()
@click.option("--trials", default=10**6, show_default=True)
@click.option("--k", multiple=True, type=int, default=[100], show_default=True, help="May be given several times.")
@click.option("--epsilon", default=1.0, show_default=True)
@click.option("--faithful/--no-faithful", default=True, help="Also make all reports in full.")
def main(trials, k, epsilon, faithful):
    def build(name, size):
        own = {"epsilon": epsilon, "g": 4, "delta": 1e-5, "d": 2, "first": epsilon / 2, "buckets": size, "bits": 2}
        return make(name, k=size, **{key: value for key, value in own.items() if takes(name, key)})

    begin = time.perf_counter()
    for name in MECHANISMS:
        for attack in ("guess", "tight"):
            for full in (False, True):
                audit(build(name, 10), attack, trials=10, faithful=full)
    print(f"import {imported:.1f} s, compile or load all kernels {time.perf_counter() - begin:.1f} s")
    print(f"{'':12}{'k':>7}{'guess':>9}{'tight':>9}{'guess, full':>13}{'tight, full':>13}   seconds at T = {trials:,}")
    for name in MECHANISMS:
        for size in k:
            times = [
                min(audit(build(name, size), attack, trials=trials, seed=s, faithful=full).seconds for s in range(3 - 2 * full))
                for full in ((False, True) if faithful else (False,))
                for attack in ("guess", "tight")
            ]
            widths = (9, 9, 13, 13)
            print(f"{name:12}{size:7}" + "".join(f"{t:{w}.3f}" for t, w in zip(times, widths)), flush=True)


if __name__ == "__main__":
    main()
