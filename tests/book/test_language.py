"""The command that counts what the rules of style can count, and the language of docstrings, comments and captions."""

import language
import pandas as pd
import pytest

from ldpbook.paths import ROOT

# the share of sentences of more than 25 words, by the row of the command's table; it only falls
SHARES = {"ldpbook docstrings": 0, "chapters docstrings": 0, "captions": 0.003, "book": 0.012}
CHAPTERS = "background course developers explore kv_auditor ldp_auditor ldp_sgd rad refinement"
SHARES |= {f"book/{name}": 0.012 for name in [*CHAPTERS.split(), "released"]}
LONG = " ".join(["word"] * language.LONGEST)


def found(text, folder):
    """The faults of every sentence of a text, in the order of its lines."""
    path = folder / "text.md"
    path.write_text(text)
    return [language.faults(one) for one in language.read(path, folder)]


TOLD = [  # a sentence, and the only rule that it breaks
    (f"{LONG} more.", "long"),
    (f"{LONG}.", ""),
    (f"{LONG[5:]} `a name of many words` more.", "long"),
    (f"{LONG[10:]} `a name of many words` $x + y$.", ""),
    ("What the column shows is left-over owners.", "opening"),
    ("Whoever keeps the letters names their folder.", "opening"),
    ("Who reads this is a student.", "opening"),
    ("That which is sent is a report.", "opening"),
    ("What does the column show?", ""),
    ("What you should see", ""),
    ("**What would make the paper right.** The bound is wrong.", ""),
    ("What would make the paper right: an exchange of both words.", ""),
    ("The column shows what is left.", ""),
    ("The interval is short; both ends of it.", "fragment"),
    ("The interval is short; both ends are exact.", ""),
    ("Source: a paper of 2001; a book of 2002.", ""),
    ("The law of large numbers holds in each room for servers, and it holds no house style.", ""),
    ("Call `law` or open `the witness of the hall`, see https://example.org/law.", ""),
    ('The paper says "this law is the ledger of a purse".', ""),
    ("This kind of argument needs no witnessless proof in-house.", ""),
]
TERMS_TOLD = {
    "law": "Counts come from the laws of reports.",
    "convicted, innocent, accused": "An innocent client is safe.",
    "witness": "The code is a second witness.",
    "two-value event": "The two-value event is stronger.",
    "kind": "Another kind of report is a list.",
    "held against": "The number is held against the paper.",
    "purse": "Each question has a purse.",
    "course of an audit": "The course of an audit is a loop.",
    "the paper's words": "The paper's own words are these.",
    "ledger": "A ledger has all claims.",
    "house, hall, room, door": "The functions are doors to it.",
    "speaks for": "The report speaks for one value.",
    "a table says": "The table says so.",
}


def test_each_rule_finds_its_sentences_and_no_others(tmp_path):
    for text, rule in TOLD:
        faults = {name for some in found(text, tmp_path) for name in some}
        assert faults == ({rule} if rule else set()), text
    for name, text in TERMS_TOLD.items():
        assert found(text, tmp_path) == [{"term": [name]}]
    assert set(TERMS_TOLD) == set(language.TERMS)
    assert {rule for _, rule in TOLD} | {"term"} == {"", *language.RULES}


BROKEN = "What it is is bad."


def test_the_command_counts_lists_and_judges(tmp_path, capsys):
    (tmp_path / "a.md").write_text(f"{BROKEN} Good. The law is a ledger.\n")
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "b.md").write_text(BROKEN)

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            language.main([*map(str, words)])
        return ended.value.code, capsys.readouterr().out.splitlines()

    status, said = run(tmp_path)
    assert status == 0 and said[-1].split() == ["all", "3", "0", "0.0%", "1", "1", "0"]
    status, said = run(tmp_path / "a.md", "--list", "--strict")
    assert status == 1
    assert said[:2] == [f"{tmp_path}/a.md:1: opening: {BROKEN}", f"{tmp_path}/a.md:1: law, ledger: The law is a ledger."]  # fmt: skip
    assert run(tmp_path / "a.md", "--list", "--rule", "term")[1][0] == said[1]
    (tmp_path / "a.md").write_text(f"{LONG} more. Good.\n")
    assert run(tmp_path)[0] == 0 and run(tmp_path, "--strict")[0] == 1
    (tmp_path / "a.md").write_text(f"{LONG} more." + 30 * " Good." + "\n")
    assert run(tmp_path, "--strict")[0] == 0
    assert run(tmp_path / "nowhere.md")[0] == 2


def test_docstrings_and_comments_of_ldpkit_do_not_get_worse():
    read = [s for path in (ROOT / "ldpkit").rglob("*.py") for s in language.read(path)]
    read = [s for s in read if s.part in ("docstring", "comment")]
    wrong = [(s.path, s.line, s.text) for s in read if {"opening", "term"} & {*language.faults(s)}]
    counted = language.count(read)
    assert counted["sentences"] > 2000
    assert wrong == [], f"{wrong}: see book/developers/style.md, and `ldpbook language --list`"
    assert counted["long"] <= 0.013 * counted["sentences"]  # this share only falls


def test_pages_captions_and_docstrings_of_the_book_do_not_get_worse():
    paths = language._sources([ROOT / "book"])
    rows = language.table(sentence for path in paths for sentence in language.read(path))
    for name, share in SHARES.items():
        assert rows[name]["sentences"] > 100 and rows[name]["opening"] == rows[name]["term"] == 0
        assert rows[name]["long"] <= share * rows[name]["sentences"], name


def test_claims_are_stated_in_the_terms_of_the_field():
    """These columns stand on the pages of claims and figures."""
    for path in sorted((ROOT / "data" / "claims").glob("*.csv")):
        table = pd.read_csv(path, keep_default_na=False)
        for name in ("claim", "cells", "why"):
            told = [language.Sentence(path.name, 1, "page", text) for text in table[name]]
            assert [one for one in told if "term" in language.faults(one)] == []
