"""List the symbols of LDP-Auditor's Table 1 with the glossary's words, their names in code, and their values in one audit."""

import re

import pandas as pd

from ldpbook import wording
from ldpbook.paths import ROOT
from ldpkit import stats


def rows(client, result, repeated, attributes):
    """Return symbol, word of the glossary (or a meaning), name in code, and value of each symbol of the table."""
    ceiling = stats.epsilon_ceiling(result.trials, tail=stats.tail_mass(result.alpha))
    pair = "{0, 1, ..., " + str(client.k - 1) + "}"
    return [
        ("[a]", "The whole numbers from 1 to a; in code from 0 to a - 1.", "range", ""),
        ("a with index i", "The entry i of a vector, counted from 0 in code.", "reports[i]", ""),
        ("V", "domain", "range(k)", pair),
        ("k", "The size of the domain.", "k", client.k),
        ("n", "The number of users, each of whom sends a report.", "users", ""),
        ("ε", "ε", "epsilon", result.claim),
        ("δ", "The probability with which the promise may fail.", "delta", result.delta),
        ("ε_emp", "The logarithm of the ratio of two bounds, which an audit shows.", "epsilon_emp", result.epsilon_emp),
        ("ε_OPT", "The most that so many trials can show.", "epsilon_ceiling", ceiling),
        ("M", "client", "mechanism", client.name),
        ("A", "attack", "attack", result.attack),
        ("A with L", "The guess from repeated reports.", "Repeated", f"{repeated.tau} reports"),
        ("A with RS+FD", "The guess from the report of one attribute.", "RSFD", f"{attributes.d} attributes"),
        ("A with index M", "guess", "guess", f"{type(client.report_type).__name__}.guess"),
        ("1 with index M", "support", "supported", f"{type(client.report_type).__name__}.supported"),
        ("T", "The number of trials, that is, of reports for each input.", "trials", result.trials),
        ("α", "significance", "alpha", result.alpha),
        ("d", "The number of attributes of a record.", "d", attributes.d),
        ("τ", "The number of collections from one user.", "tau", repeated.tau),
    ]


def table(client, result, repeated, attributes):
    """Return the symbols with meanings, names, values, and the number of pages of this chapter whose code has the name."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "book" / "ldp_auditor").glob("*.ipynb"))]
    words, found = wording.table("words"), []
    for symbol, word, name, value in rows(client, result, repeated, attributes):
        bare = re.sub(r"\W.*", "", name)
        uses = sum(bool(re.search(rf"\b{bare}\b", text)) for text in pages)
        found.append((symbol, words.get(word, word), name, f"{value:.4g}" if isinstance(value, float) else value, uses))
    return pd.DataFrame(found, columns=["symbol", "meaning", "in code", "in this audit", "pages"])
