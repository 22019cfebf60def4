"""Write the page of claims: every claim of the papers with its verdict in this build."""

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported late, because only the last step of an execution needs it
    import pandas as pd

FIRST = ["paper", "place", "claim", "relation", "verdict", "page"]
NEVER = "cannot be checked here"
SIGNS = {"=": "=", "<=": "≤", ">=": "≥"}
VERDICTS = ("holds", "holds in part", "does not hold", NEVER)


def _functions(path: Path) -> set[str]:
    """Return the names of the functions that a file defines."""
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def evaluators(root: Path, paper: str) -> set[str]:
    """Return the names of the functions that the claims of a paper may use, which are those in the modules of its folder."""
    return set().union(*map(_functions, sorted((root / "book" / paper).glob("*_claims.py"))))


def missing(root: Path) -> list[str]:
    """Return the claims that name no existing function or page, or that have neither a function nor a reason why not."""
    import pandas as pd

    wrong = []
    for path in sorted((root / "data" / "claims").glob("*.csv")):
        known = evaluators(root, path.stem)
        for row in pd.read_csv(path, dtype=str).fillna("").itertuples():
            if bool(row.code) == bool(row.why):
                wrong.append(f"{row.id}: either code or why")
            elif row.code and (name := row.code.partition("(")[0]) not in known:
                wrong.append(f"{row.id}: no function {name} in book/{path.stem}")
            elif row.code and not (root / "book" / f"{row.page}.ipynb").exists():
                wrong.append(f"{row.id}: no page {row.page}")
    return wrong


def merged(root: Path, found: "list[pd.DataFrame]") -> "pd.DataFrame":
    """Return all claims with the verdicts of this build."""
    import pandas as pd

    rows = pd.concat([pd.read_csv(path, dtype=str) for path in sorted((root / "data" / "claims").glob("*.csv"))])
    seen = pd.concat(found).set_index("id") if found else pd.DataFrame(columns=["verdict"])
    table = rows.merge(seen.reindex(columns=["verdict", "found", "at", "holding", "of", "differs", "mutant"]),
                       left_on="id", right_index=True, how="left")  # fmt: skip
    here = table["verdict"].fillna(NEVER + ": its page was not executed")
    table["verdict"] = here.where(table["why"].isna(), NEVER + ": " + table["why"].fillna(""))
    return table[FIRST + [name for name in table if name not in FIRST]].reset_index(drop=True)


def counts(table: "pd.DataFrame") -> dict[str, int]:
    """Return how many claims have each verdict."""
    words = table["verdict"].str.partition(":")[0]
    return {word: int((words == word).sum()) for word in VERDICTS}


def anchor(name: str) -> str:
    """Return the address of a claim within the page of claims."""
    return "claim-" + name.replace("/", "-")


def _table(rows: "pd.DataFrame", marked: bool) -> list[str]:
    """Return the lines of a table of claims; each claim has a place for links if it is `marked`."""
    lines = ["```{list-table}", ":header-rows: 1", ":widths: 3 9 8 6", ":class: claims", "",
             "* - place", "  - the paper says", "  - the test", "  - verdict"]  # fmt: skip
    for r in rows.itertuples():
        place = f'<span id="{anchor(r.id)}"></span>' if marked else ""
        place += f"[{r.place}](/book/{r.page}.ipynb)" if r.page else r.place
        test = f"{SIGNS.get(r.relation, '')} {r.published}"
        test += f" ± {float(r.tolerance):g}" if r.tolerance not in ("", "0") else ""
        word, _, why = r.verdict.partition(":")
        there = f", at {r.at}" if r.at and why else ""
        value = f" (furthest {float(r.found):.4g}{there})" if r.found != "" else ""
        lines += [f"* - {place}", f"  - {r.claim}", f"  - {f'{test}: {r.cells}' if r.relation else '–'}",
                  f"  - **{word}**{r.verdict[len(word) :]}{value}"]  # fmt: skip
    return [*lines, "```"]


def page(root: Path, path: Path, names: dict[str, str]) -> str:
    """Return the generated part of the page as MyST: counts, the claims that do not hold, then a table for each paper.

    `names` has the names of the papers.
    """
    if not path.exists():
        return "The book has not been executed yet: run `make book`."
    import pandas as pd

    table = pd.read_csv(path, dtype=str).fillna("")
    parts = [
        f"{len(table)} claims: " + "; ".join(f"{word}: {n}" for word, n in counts(table).items())
        + f". All of them: {{download}}`claims.csv </{path.relative_to(root)}>`."
    ]  # fmt: skip
    failed = table[table["verdict"].str.partition(":")[0] == VERDICTS[2]]
    if len(failed):
        failed = failed.assign(place=failed["paper"].map(names) + ", " + failed["place"])
        parts += ["### Claims that do not hold", "\n".join(_table(failed, marked=False)), "### All claims"]
    for paper, name in names.items():
        rows = table[table["paper"] == paper]
        said = "; ".join(f"{word}: {n}" for word, n in counts(rows).items())
        head = f"````{{dropdown}} **{name}** {len(rows)} claims. {said}"
        parts.append("\n".join([head, "", *_table(rows, marked=True), "````"]))
    return "\n\n".join(parts)
