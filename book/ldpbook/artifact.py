"""Fill in the generated parts of ARTIFACT.md, and write the manifest of the regenerated items (``codecheck.yml``).

Claims come from ``data/claims``, their verdicts from ``data/expected_claims.csv``, and times from ``durations.csv``.
"""

import math
import subprocess
import sys
from pathlib import Path

import pandas as pd
import yaml

from . import claims as judged
from . import execute, paths
from .figures import PAPERS, items, short

MAIN = ("ldp_auditor/grr_tight", "ldp_auditor/blh_worst", "ldp_auditor/oue_plateau", "ldp_auditor/falls_with_k", "ldp_auditor/gm_worst",
        "ldp_auditor/below_composition", "ldp_auditor/rsfd_grr_tightest", "ldp_auditor/guess_sees_fault",
        "refinement/orders_lower", "refinement/ass_two_orders", "refinement/alh_less_success", "refinement/rate_follows_formula",
        "refinement/adaptive_objective",
        "kv_auditor/record_tighter", "kv_auditor/fewer_keys_less", "kv_auditor/grr_mostly_first", "kv_auditor/oue_above_guess",
        "rad/exact_below_worst", "rad/success_beyond_record", "rad/advantage_within_record", "rad/better_than_ldp_auditor",
        "rad/grr_near_perfect",
        "ldp_sgd/dummy_reaches", "ldp_sgd/collusion_reaches", "ldp_sgd/measured_below_theory",
        "ldp_sgd/clients_2")  # fmt: skip
"""Identifiers of the claims on which the conclusions of the five papers rest."""
EXAMPLE = "audit --mechanism GRR --k 10 --epsilon 1 --seed 1"


def claims(root: Path) -> str:
    """Return the table of the main claims: the paper's statement, the test, the release's verdict, and the page."""
    ledger = judged.ledger(root).set_index("id").fillna("")
    found = pd.read_csv(root / "data" / "expected_claims.csv", dtype=str).set_index("id")["verdict"]
    lines = ["| paper, place | claim | holds if | found | page |", "|---|---|---|---|---|"]
    for name in MAIN:
        row = ledger.loc[name]
        tolerance = f" within {row.tolerance}" if row.tolerance not in ("", "0") else ""
        test = f"{row.cells}: {judged.SIGNS[row.relation]} {row.published}{tolerance}".removeprefix(": ")
        lines.append(f"| {PAPERS[row.paper]}, {row.place} | {row.claim} | {test} | {found[name]} | {row.page} |")
    counts = found.str.partition(":")[0].value_counts()
    return "\n".join([*lines, "", f"All {len(found)} claims: {', '.join(f'{n} {word}' for word, n in counts.items())}."])


def minutes(seconds: float) -> str:
    return "under 1 minute" if seconds < 60 else f"{math.ceil(seconds / 60)} minutes"


def experiments(root: Path) -> str:
    """Return the table of all figures and tables: the command that regenerates each alone, and the time that it takes."""
    seconds, known = execute.delivered_seconds(execute.Project(root)), items(root)
    lines = ["| item | command | machine |", "|---|---|---|"]
    for page, group in known.groupby("page", sort=False):
        names = ", ".join(short(item) for item in group["item"])
        paper = PAPERS[group["item"].iloc[0].partition("/")[0]]
        lines.append(f"| {paper}: {names} | `make page NB={page}` | {minutes(seconds.get(f'book/{page}', math.nan))} |")
    return "\n".join(lines)


def times(root: Path) -> str:
    seconds = execute.delivered_seconds(execute.Project(root))
    return "\n".join([
        "| what | machine, two cores | person |",
        "|---|---|---|",
        "| `make test`, with the installation | 8 minutes | 1 minute: start it, read its last line |",
        "| `make book SCALE=smoke` | 5 minutes | 2 minutes: open the page whose address it prints |",
        f"| `make book`, everything at the papers' own scale | {minutes(sum(seconds.values()) / 2 + 60)} | 10 minutes: scoreboard, claims, any figure |",
        "| `.venv` and `_build` | 2.5 GB of disk | |",
    ])  # fmt: skip


def audit() -> str:
    """Return the output of the example audit as a block of text."""
    command = [sys.executable, "-m", "ldpkit", *EXAMPLE.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return "\n".join(["```", *(line for line in done.stdout.splitlines() if not line.startswith("seconds")), "```"])


def filled(root: Path, text: str) -> str:
    """Return the text of the appendix with every generated part in place."""
    for name, part in {"times": times(root), "audit": audit(), "claims": claims(root), "experiments": experiments(root)}.items():
        head, mark, rest = text.partition(f"<!-- {name} -->\n")
        text = head + mark + part + "\n" + rest[rest.index("<!-- end -->") :]
    return text


def manifest(root: Path) -> str:
    """Return the manifest of CODECHECK, which names the file in which each item is regenerated."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    listed = [{"file": f"_build/executed/book/{row.page}.ipynb", "comment": f"{PAPERS[row.item.partition('/')[0]]}: {short(row.item)}"}
              for row in items(root).itertuples()]  # fmt: skip
    about = {"version": "https://codecheck.org.uk/spec/config/1.0", "paper": {"title": cited["title"], "authors": cited["authors"]},
             "manifest": listed}  # fmt: skip
    return yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=130)


def main() -> None:
    """Fill in both files."""
    root = paths.ROOT
    (root / "ARTIFACT.md").write_text(filled(root, (root / "ARTIFACT.md").read_text()))
    (root / "codecheck.yml").write_text(manifest(root))
    print("written   ARTIFACT.md, codecheck.yml", file=sys.stderr)
