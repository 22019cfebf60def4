"""Write the page on trust: which comparison noticed each exact distribution that was changed on purpose."""

import csv
import json
from pathlib import Path

TABLE = Path("data") / "results" / "mutants.csv"


def page(root: Path) -> str:
    """Return the generated part of the page as MyST: how many changes were noticed, by what, and a list of all of them."""
    path = root / TABLE
    if not path.exists():
        return "No law has been broken yet: run `python -m ldpbook mutants --save`."
    with path.open() as file:
        rows = list(csv.DictReader(file))
    made = json.loads(path.with_suffix(".json").read_text())
    by: dict[str, int] = {}
    for row in rows:
        by[row["witness"] or "nothing"] = by.get(row["witness"] or "nothing", 0) + 1
    said = ", ".join(f"{word}: {n}" for word, n in sorted(by.items(), key=lambda one: -one[1]))
    pages = len({row["page"] for row in rows})
    minutes = sum(float(row["seconds"]) for row in rows) / 60
    lines = [
        f"{len(rows)} laws, {pages} pages. Noticed by {said}. The rows were made law by law, the last on {made['date']},"
        f" in {minutes:.0f} minutes of a shared machine; `{made['command']}` makes all of them again: {{download}}`mutants.csv </{TABLE}>`.",
        "", "````{dropdown} **All of them**", "```{list-table}", ":header-rows: 1", ":widths: 8 4 4 8 3 3", ":class: claims", "",
        "* - law", "  - change", "  - page", "  - noticed by", "  - found", "  - held against",
    ]  # fmt: skip
    for row in rows:
        numbers = [f"{float(row[name]):.4g}" if row[name] else "" for name in ("run", "against")]
        lines += [f"* - `{row['law'].removeprefix('ldpkit.')}`", f"  - `{row['change']}`", f"  - [{row['page']}](/book/{row['page']}.ipynb)",
                  f"  - {row['witness']}: {row['at']}", *(f"  - {n}" for n in numbers)]  # fmt: skip
    return "\n".join([*lines, "```", "````"])
