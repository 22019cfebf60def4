"""The table of the chapter on released clients: every client of every adapter, audited again."""

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import clip_protocol_clients
import diffprivlib_clients
import flwr_clients
import ldp_toolbox_clients
import ldpkit_clients
import multi_freq_ldpy_clients
import numpy as np
import nvflare_clients
import opendp_clients
import pandas as pd
import petina_clients
import pure_ldp_clients
import pydp_clients
import rappor_clients
import yaml
from hall import ALPHA, Released, seeded

import ldpkit
from ldpkit import paths
from ldpkit.mechanisms.client import ClientError, load
from ldpkit.pools import isolated

HERE = Path(__file__).parent
ADAPTERS = (flwr_clients, opendp_clients, pure_ldp_clients, multi_freq_ldpy_clients, diffprivlib_clients, ldp_toolbox_clients,
            pydp_clients, clip_protocol_clients, petina_clients, nvflare_clients, rappor_clients, ldpkit_clients)  # fmt: skip
COLUMNS = "package,version,client,claim,stated,verdict,exact,lower,reports,event,fixed_in,delta".split(",")
STORED = HERE / "stored.csv"  # rows of heavy releases: what `make released` last found
WITHHELD = "withheld: a finding goes to its maintainers first"


def clients(adapters: Iterable[ModuleType] = ADAPTERS) -> dict[str, Released]:
    """Every client of the table by its path, ``module:name``, in the order of the adapters."""
    found = {}
    for module in adapters:
        found |= {f"{module.__name__}:{name}": c for name, c in vars(module).items() if isinstance(c, Released)}
    return found


def installed(folder: str) -> bool:
    return folder == "ldpkit" or (paths.PACKAGES / folder / ".tried").exists() or (paths.PACKAGES / folder / ".ready").exists()


def audit_released(path: str, trials: int, alpha: float, seed: int) -> dict[str, Any]:
    """Audit one client of the table: its row, with the counts."""
    client, start = load(path), time.process_time()
    try:
        found = client.audit(trials, alpha, seed)
    except ClientError as error:
        return client.row(f"not auditable: {error}")
    said = client.verdict(found.lower, trials) if "valid audit" not in found.verdict else f"not auditable: {found.verdict}"
    return client.row(said, found.lower, trials) | found.counts | {"seconds": time.process_time() - start}


def sample(path: str, which: int, n: int, seed: int) -> list[Any]:
    """Some reports of one client of the table, as it sends them."""
    seeded(np.random.default_rng(seed))
    return load(path).reports(which, n)


def audited(paths_: Iterable[str], trials: dict[str, int], alpha: float, seed: int) -> dict[str, dict[str, Any]]:
    """Audit clients of one release, in processes that import it first; rows by path."""
    known = clients()
    asked = list(paths_)
    folder = known[asked[0]].folder
    if not installed(folder):
        kept = pd.read_csv(STORED, index_col="path").to_dict("index") if STORED.exists() else {}
        return {
            path: kept.get(path) or known[path].row("not auditable: the release is not installed on this machine")
            for path in asked
        }
    at = [paths.PACKAGES / folder] if folder != "ldpkit" else []
    with isolated(*at, HERE, workers=1 if len(asked) == 1 else None) as pool:
        begun = {path: pool.submit(audit_released, path, trials[path], alpha, seed) for path in asked}
        return {path: future.result() for path, future in begun.items()}


def beside(path: str, trials: int = 0, alpha: float = ALPHA, seed: int = 1) -> pd.DataFrame:
    """The real client and its mended copy, asked about the same event: what a page of a violation shows."""
    client = clients()[path]
    trials = trials or client.trials
    copy = client.copy()
    found = copy.audit(trials, alpha, seed)
    rows = [
        audited([path], {path: trials}, alpha, seed)[path],
        copy.row(copy.verdict(found.lower, trials), found.lower, trials) | found.counts,
    ]
    shown = pd.DataFrame(rows).reindex(columns=["client", "reports", "tp", "fp", "lower", "claim", "verdict"])
    return shown.rename(columns={"reports": "reports per input", "tp": "event, first input", "fp": "event, second input"})


def table(seed: int = 1, alpha: float = ALPHA, share: float = 1.0, adapters: Iterable[ModuleType] = ADAPTERS) -> pd.DataFrame:
    """Audit every client whose release is installed; one row each, with counts beside the columns of the file.

    Parameters
    ----------
    seed, alpha
        As in an audit.
    share : float
        Of the reports that the clients are asked for, in (0, 1]; less for a first look.
    adapters : modules
        Where to take clients from.
    """
    every, rows = clients(adapters), {}
    for folder in dict.fromkeys(c.folder for c in every.values()):
        mine = {path: c for path, c in every.items() if c.folder == folder}
        asked = [path for path, c in mine.items() if c.make and not c.withheld]
        if asked:
            rows |= audited(asked, {path: max(1, int(c.trials * share)) for path, c in mine.items()}, alpha, seed)
        for path, client in mine.items():
            rows.setdefault(path, client.row(WITHHELD if client.withheld else f"not auditable: {client.source}"))
    return pd.DataFrame([rows[path] | {"path": path} for path in every if path in rows])


def write(found: pd.DataFrame) -> Path:
    """Write ``_build/released.csv``, whole or not at all."""
    path = paths.BUILD / "released.csv"
    part = path.with_suffix(".tmp")
    found[COLUMNS].to_csv(part, index=False, float_format="%.6g")
    part.replace(path)
    return path


def store(found: pd.DataFrame) -> None:
    """Keep the rows of the releases that are too heavy for every build, with what made them."""
    heavy = {path.stem for path in (HERE / "pins" / "heavy").glob("*.txt")}
    folders = found["path"].map({path: client.folder for path, client in clients().items()})
    kept = found[folders.isin(heavy) & found["lower"].notna()].copy()
    kept["verdict"] += " (stored)"
    kept["command"], kept["made"] = "make released", time.strftime("%Y-%m-%d", time.gmtime())
    kept["with"] = f"Python {platform.python_version()}, ldpkit {ldpkit.__version__}, numpy {np.__version__}"
    kept.set_index("path").to_csv(STORED, float_format="%.6g")


def letters() -> None:
    """Run the script of every letter whose release is installed, and print what it finds: for the person at the keyboard only."""
    for letter in sorted((HERE / "letters").glob("*.md")):
        _, front, body = letter.read_text().split("---\n", 2)
        folder = paths.PACKAGES / yaml.safe_load(front)["release"]
        for script in re.findall(r"^```python\n(.*?)^```$", body, flags=re.M | re.S) if folder.exists() else ():
            print(f"\n{letter.stem}: withheld until its letter says `published: true`", flush=True)
            subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(folder)}, check=True)


if __name__ == "__main__":
    sys.modules["table"] = sys.modules["__main__"]
    everything = table()
    write(everything)
    store(everything)
    print(everything[["package", "version", "client", "claim", "exact", "lower", "reports", "verdict"]].to_string(index=False))
    letters()
