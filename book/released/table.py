"""The table of the chapter on released clients: every client of every adapter, audited again."""

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
import nvflare_clients
import opendp_clients
import pandas as pd
import petina_clients
import pure_ldp_clients
import pydp_clients
import rappor_clients
from hall import ALPHA, Released

from ldpkit import paths
from ldpkit.mechanisms.client import ClientError, load
from ldpkit.pools import isolated

HERE = Path(__file__).parent
ADAPTERS = (flwr_clients, opendp_clients, pure_ldp_clients, multi_freq_ldpy_clients, diffprivlib_clients, ldp_toolbox_clients,
            pydp_clients, clip_protocol_clients, petina_clients, nvflare_clients, rappor_clients, ldpkit_clients)  # fmt: skip
COLUMNS = "package,version,client,claim,stated,verdict,exact,lower,reports,event,fixed_in,delta".split(",")
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
        if asked and not installed(folder):
            rows |= {path: mine[path].row("not auditable: the release is not installed on this machine") for path in asked}
            asked = []
        if asked:
            at = [paths.PACKAGES / folder] if folder != "ldpkit" else []
            with isolated(*at, HERE) as pool:
                begun = {
                    path: pool.submit(audit_released, path, max(1, int(mine[path].trials * share)), alpha, seed) for path in asked
                }
                rows |= {path: future.result() for path, future in begun.items()}
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
