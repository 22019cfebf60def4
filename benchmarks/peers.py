"""Audit six clients by this auditor and by three public ones, side by side.

The public code of the others is installed from its authors' repositories, at fixed commits::

    python benchmarks/peers.py --install   # makes an environment for each (Python 3.11, 3 GB)
    python benchmarks/peers.py             # measures with the environments that there are

It writes data/results/peers.csv, and a file next to it with the command, the settings, the machine
and all versions. Every run has a process of its own and is stored when it has ended. An interrupted
measurement therefore continues where it stopped. What each auditor is asked stands in
`peer_tools.py`.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import venv
from pathlib import Path

import bench
import click
import pandas as pd
from peer_tools import ALPHA, CASES, MOST, SECONDS, TOOLS

from ldpbook.paths import BUILD, ROOT

RESULTS = ROOT / "data" / "results"
PEERS = {
    "dp-auditorium": [
        "--no-deps",
        "dp-auditorium @ git+https://github.com/google/differential-privacy"
        "@b5b0286e313b64a692abfc8c528d54ef47d960a0#subdirectory=python/dp_auditorium",
    ],
    "statdp": [
        "statdp @ git+https://github.com/cmla-psu/statdp@d1f1e8fafa1fe15342dc9502654ec241585b9919"
    ],
    "dpsniper": [
        "dpsniper @ git+https://github.com/eth-sri/dp-sniper"
        "@ee087b2584ca97d1064154db5dd2bda0bb5a8ceb"
    ],
}
"""What pip installs for each peer."""
NEEDED = {
    "dp-auditorium": [
        "tensorflow-cpu~=2.15.0", "numpy~=1.26.3", "scipy~=1.11.4", "absl-py~=1.0", "etils~=1.5.2",
        "typing-extensions~=4.9.0", "setuptools~=69.0.3", "google-vizier==0.1.6",
        "protobuf==4.23.4", "googleapis-common-protos==1.56.4",
    ],
}  # fmt: skip
"""Packages that a peer imports on its way to the parts that are used here, at its own pins."""


def python(package, folder):
    """Return the Python that runs a tool."""
    return Path(sys.executable) if package == "ldpkit" else folder / package / "bin" / "python"


def install(folder):
    """Make an environment for each peer, and say which ones cannot be made."""
    for package, asked in PEERS.items():
        venv.create(folder / package, with_pip=True)
        pip = [python(package, folder), "-m", "pip", "install", "-q"]
        for wanted in filter(None, (NEEDED.get(package), asked)):
            if subprocess.run([*pip, *wanted], check=False).returncode:
                click.echo(f"{package} cannot be installed, and the table will say so", err=True)


def run(tool, client, seed, folder):
    """Return what one tool says of one client, or a reason `why` there is nothing."""
    program = python(TOOLS[tool].package, folder)
    if not program.exists():
        return {"why": "not installed where this was made"}
    script = Path(__file__).with_name("peer_tools.py")
    quiet = {"OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    said = subprocess.run(
        [program, script, tool, client, str(seed)],
        capture_output=True, text=True, env=os.environ | quiet, check=False,
    )  # fmt: skip
    if said.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"why": f"no verdict within {SECONDS} s"}
    if said.returncode:
        return {"why": said.stderr.strip().splitlines()[-1]}
    return json.loads(said.stdout.splitlines()[-1])


def row(tool, client, runs):
    """Return one row of the table from the runs of one tool on one client.

    Parameters
    ----------
    tool, client : str
    runs : list of dict
        Results of `run`.

    Returns
    -------
    dict
    """
    done = [one for one in runs if "why" not in one]
    line = {"client": client, "tool": tool, "version": "", "runs": len(done), "found": None,
            "reports": None, "seconds": None, "says": "",
            "why": next((one["why"] for one in runs if "why" in one), "")}  # fmt: skip
    if not done:
        return line
    found = sum(one["found"] for one in done)
    says = "violation" if found == len(done) else f"violation in {found} of {len(done)} runs"
    says, number = says if found else "not found", TOOLS[tool].number
    if number:
        says += "; " + number.format(statistics.median(one["number"] for one in done))
    middle = {name: statistics.median(one[name] for one in done) for name in ("reports", "seconds")}
    return line | middle | {"version": done[0]["version"], "found": found, "says": says}


def reason(tool, client):
    """Return why a tool cannot take a client, or nothing."""
    return "takes no delta" if CASES[client].delta and not TOOLS[tool].deltas else ""


@click.command()
@click.option("--runs", default=3, show_default=True, help="Seeds of each client and tool.")
@click.option("--environments", type=click.Path(path_type=Path), default=BUILD / "peers",
              help="Folder with an environment for each peer, named by its package.")  # fmt: skip
@click.option("--install", "first", is_flag=True, help="Make the environments.")
def cli(runs, environments, first):
    """Measure, and write the table."""
    if first:
        return install(environments)
    environments.mkdir(parents=True, exist_ok=True)
    path, done = environments / "runs.jsonl", {}
    for line in path.read_text().splitlines() if path.exists() else []:
        one = json.loads(line)
        done[one["tool"], one["client"], one["seed"]] = one
    for seed in range(1, runs + 1):
        for key in ((tool, client, seed) for client in CASES for tool in TOOLS):
            if reason(*key[:2]) or key in done:
                continue
            done[key] = run(*key, environments)
            with path.open("a") as file:
                named = dict(zip(("tool", "client", "seed"), key))
                file.write(json.dumps(named | done[key]) + "\n")
    rows = []
    for client in CASES:
        for tool in TOOLS:
            why = reason(tool, client)
            seeds = [] if why else range(1, runs + 1)
            rows.append(row(tool, client, [done[tool, client, s] for s in seeds]) | (
                {"why": why} if why else {}
            ))  # fmt: skip
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / "peers.csv", index=False, lineterminator="\n", float_format="%.4g")
    said = {
        "command": " ".join(["python benchmarks/peers.py", *sys.argv[1:]]),
        "seconds": round(sum(one.get("seconds", 0) for one in done.values()), 1),
        "alpha": ALPHA,
        "most reports of an input": MOST,
        "settings": {name: tool.settings for name, tool in TOOLS.items()},
        **bench.machine(),
    }
    (RESULTS / "peers.json").write_text(json.dumps(said, indent=1) + "\n")
    click.echo(table.to_string(index=False))


if __name__ == "__main__":
    cli()
