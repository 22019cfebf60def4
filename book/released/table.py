"""Audit every client of every adapter again, for the table of the chapter on released clients."""

import html
import math
import platform
import re
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
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
import opendp_clients
import pandas as pd
import pure_ldp_clients
import pydp_clients
import rappor_clients
import scipy.stats
from clients import ALPHA, Released, audit_released

import ldpkit
from ldpbook import paths
from ldpkit.digests import replace
from ldpkit.executors import Processes, count, isolated

HERE = Path(__file__).parent
ADAPTERS = (flwr_clients, opendp_clients, pure_ldp_clients, multi_freq_ldpy_clients, diffprivlib_clients, ldp_toolbox_clients,
            pydp_clients, clip_protocol_clients, rappor_clients, ldpkit_clients)  # fmt: skip
COLUMNS = "package,version,client,claim,stated,verdict,exact,lower,reports,event,fixed_in,delta".split(",")
STORED = HERE / "stored.csv"  # rows that `make book` does not make again: what `python -m ldpbook released` last found
HEAVY = {path.stem for kind in ("heavy", "debian") for path in (HERE / "pins" / kind).glob("*.txt")}
SLOW = {"multi-freq-ldpy-0.2.5"}  # each of its clients is compiled when it is first called, which takes longer than the audit


def clients(adapters: Iterable[ModuleType] = ADAPTERS) -> dict[str, Released]:
    """Return every client of the table by its path, ``module:name``, in the order of the adapters."""
    found = {}
    for module in adapters:
        found |= {f"{module.__name__}:{name}": c for name, c in vars(module).items() if isinstance(c, Released)}
    return found


def installed(folder: str) -> bool:
    return folder == "ldpkit" or (paths.PACKAGES / folder / ".tried").exists() or (paths.PACKAGES / folder / ".ready").exists()


def light(client: Released) -> bool:
    """Return whether every build audits this client; heavy releases are left out, and slow ones unless they violate a claim."""
    return client.folder not in HEAVY | SLOW or (client.folder in SLOW and client.true > client.claim + 1e-9 and not client.weak)


def stored() -> dict[str, dict[str, Any]]:
    """Return the rows that `python -m ldpbook released` stored, by path."""
    return pd.read_csv(STORED, index_col="path").to_dict("index") if STORED.exists() else {}


def process(folder: str) -> Processes:
    """Return a pool of one process that imports from the folder of a release first, and then from this folder."""
    return isolated(*([] if folder == "ldpkit" else [paths.PACKAGES / folder]), HERE, workers=1)


def audited(paths_: Iterable[str], trials: dict[str, int], alpha: float, seed: int) -> dict[str, dict[str, Any]]:
    """Audit clients of one release in a process that imports it first, and return their rows by path."""
    known = clients()
    asked = list(paths_)
    folder = known[asked[0]].folder
    if not installed(folder):
        missing = "not auditable: the release is not installed on this machine"
        return {path: stored().get(path) or known[path].row(missing) for path in asked}
    with process(folder) as pool:
        begun = {path: pool.submit(audit_released, path, trials[path], alpha, seed) for path in asked}
        return {path: future.result() for path, future in begun.items()}


def _word(verdict: str) -> str:
    """Return a verdict in a word or two, with a star if it is a stored one."""
    return re.split(" its | to ", verdict)[0] + "*" * verdict.endswith(" (stored)")


def _parted(name: str) -> str:
    """Return the name of a client as HTML whose lines may end behind ``_`` and ``(``, and not within a number."""
    return re.sub(r"(?<=[_(])", "<wbr>", html.escape(name))


def beside(path: str, trials: int = 0, alpha: float = ALPHA, seed: int = 1) -> pd.DataFrame:
    """Return the audits of the real client and of its corrected copy with the same event, for a page about a violation."""
    client = clients()[path]
    trials = trials or client.trials
    copy = client.copy()
    found = copy.audit(trials, alpha, seed)
    rows = [
        audited([path], {path: trials}, alpha, seed)[path],
        copy.row(copy.verdict(found.lower, trials), found.lower, trials) | found.counts,
    ]
    shown = pd.DataFrame(rows).reindex(columns=["client", "verdict", "lower", "claim", "tp", "fp", "reports"])
    shown["client"] = [_parted(name) for name in shown["client"]]
    shown["verdict"] = shown["verdict"].map(_word)
    return shown.rename(columns={"tp": "event, first input", "fp": "event, second input", "reports": "reports per input"})


def table(
    seed: int = 1, alpha: float = ALPHA, share: float = 1.0, adapters: Iterable[ModuleType] = ADAPTERS, everything: bool = False
) -> pd.DataFrame:
    """Audit every client whose release is installed and light; return one row for each, with counts next to the columns of the
    file.

    Parameters
    ----------
    seed, alpha
        As in an audit.
    share : float
        Share of the usual number of reports, in (0, 1]; a small share gives a first look.
    adapters : modules
        Modules that describe the clients.
    everything : bool
        Whether to repeat also the audits of the stored rows.
    """
    every, kept = clients(adapters), {} if everything else stored()
    asked = {path: c for path, c in every.items() if c.make}
    rows = {path: kept[path] for path, c in asked.items() if path in kept and not light(c)}
    folders: dict[str, list[str]] = {}
    for path in (path for path in asked if path not in rows):
        folders.setdefault(asked[path].folder, []).append(path)
    trials = {path: max(1, int(c.trials * share)) for path, c in asked.items()}
    with ThreadPoolExecutor(count(None)) as threads:  # each release has a process of its own
        for found in threads.map(lambda mine: audited(mine, trials, alpha, seed), folders.values()):
            rows |= found
    for path, client in every.items():
        rows.setdefault(path, client.row(f"not auditable: {client.source}"))
    return pd.DataFrame([rows[path] | {"path": path} for path in every])


def _p_value(ours: tuple[float, float], n: int, theirs: tuple[float, float], m: int, ratio: bool) -> float:
    """Return the p-value of a difference between two pairs of counts that should have the same exact rates.

    Fisher's exact test compares each rate. With `ratio`, only the ratio of the rates is compared, with a half added to all
    counts, because a count may be zero.
    """
    if ratio:
        loss = [math.log((first + 0.5) / (second + 0.5)) for first, second in (ours, theirs)]
        spread = sum(1 / (count + 0.5) for count in (*ours, *theirs)) - 2 / (n + 0.5) - 2 / (m + 0.5)
        return float(2 * scipy.stats.norm.sf(abs(loss[0] - loss[1]) / math.sqrt(spread)))
    tables = ([[one, n - one], [two, m - two]] for one, two in zip(ours, theirs, strict=True))
    return min(1.0, *(2 * scipy.stats.fisher_exact(table).pvalue for table in tables))  # two rates


def compared(found: pd.DataFrame, level: float = 0.01) -> pd.DataFrame:
    """Compare our counts with an earlier measurement of the same releases by other code (`earlier.csv`).

    All rows together are tested at `level`. If a client draws something public anew, such as its hash functions, its rates
    differ. Then the ratio of the rates is compared.
    """
    earlier = pd.read_csv(HERE / "earlier.csv", index_col="path")
    both = found.set_index("path").join(earlier.rename(columns=lambda name: f"{name} before"), how="inner")
    counted = both["tp"].notna() & both["p before"].notna()
    rows = []
    for (_, row), ran in zip(both.iterrows(), counted, strict=True):
        judged, notes = (
            row["verdict"].split()[0].rstrip(":"),
            [row["drawn before"]] if isinstance(row["drawn before"], str) else [],
        )
        said = "not compared"
        if ran:
            n, m = int(row["reports"]), int(row["reports before"])
            theirs = (round(row["p before"] * m), round(row["q before"] * m))
            chance = _p_value((row["tp"], row["fp"]), n, theirs, m, bool(notes))
            said = "agrees" if chance >= level / counted.sum() else "differs"
        if judged != row["verdict before"].split()[0]:
            notes.append(f"verdict before: {row['verdict before']}")
        rows.append({
            "package": row["package"], "version": row["version"], "client": row["client"],
            "rates": f"{row['tp'] / row['reports']:.4f}, {row['fp'] / row['reports']:.4f}" if ran else "",
            "rates before": f"{row['p before']:.4f}, {row['q before']:.4f}" if ran else "", "exact": row["exact"], "exact before": row["exact before"],
            "counts": said, "note": "; ".join(notes),
        })  # fmt: skip
    return pd.DataFrame(rows)


def shown(found: pd.DataFrame) -> pd.DataFrame:
    """Return the table in the form of a page: few narrow columns, and the event of each client folded below its name, as HTML."""
    rows = []
    for row in found.astype(object).fillna("").itertuples():
        word, _, why = row.verdict.removesuffix(" (stored)").partition(": ")
        parts = {
            "Why": why, "Asked": row.event, "Reports": f"{row.reports:,.0f} per input" if row.reports else "", "Claimed in": row.stated,
            "With delta": f"{row.delta:g}" if row.delta else "", "Fixed in": row.fixed_in,
        }  # fmt: skip
        lines = "<br>".join(f"{name}: {html.escape(str(said))}" for name, said in parts.items() if said)
        exact, lower = ("" if x == "" else f"{x:.2f}".replace("inf", "∞") for x in (row.exact, row.lower))
        rows.append({
            "client": f"<details data-package='{row.package}'><summary>{row.package} {row.version}: {_parted(row.client)}</summary>{lines}</details>",
            "claim": f"{row.claim:.3g}", "exact": exact, "lower": lower,
            "verdict": f"<span class='badge-{_word(word).split()[0]}'>{_word(word)}{'*' * row.verdict.endswith(' (stored)')}</span>",
        })  # fmt: skip
    return pd.DataFrame(rows)


def write(found: pd.DataFrame) -> Path:
    """Write ``_build/released.csv`` completely, or leave the old file as it is."""
    path = paths.BUILD / "released.csv"
    replace(path, found[COLUMNS].to_csv(index=False, float_format="%.6g"))
    return path


def store(found: pd.DataFrame) -> None:
    """Store the rows that other builds do not compute again, with the command and the versions that made them."""
    heavy = {path for path, client in clients().items() if not light(client)}
    kept = found[found["path"].isin(heavy) & found["lower"].notna()].copy()
    kept["verdict"] += " (stored)"
    kept["command"], kept["made"] = "python -m ldpbook released", time.strftime("%Y-%m-%d", time.gmtime())
    kept["with"] = f"Python {platform.python_version()}, ldpkit {ldpkit.__version__}, numpy {np.__version__}"
    kept.set_index("path").to_csv(STORED, float_format="%.6g")


if __name__ == "__main__":
    sys.modules["table"] = sys.modules["__main__"]
    found = table(everything=True)
    write(found)
    store(found)
    print(found[["package", "version", "client", "claim", "exact", "lower", "reports", "verdict"]].to_string(index=False))
