"""The command that counts what the rules of style can count, and the language of docstrings, comments and captions."""

import language
import pytest

from ldpbook.paths import ROOT

# what docstrings and comments of ldpkit may hold; these numbers only fall
OPENINGS = 0  # sentences that begin with a clause instead of their subject
TERMS = 0  # sentences with a word that has a standard term
SHARE = 0.013  # sentences of more than 25 words, among all
# the same of the book, by the row of the command's table
LIMITS = {
    "ldpbook docstrings": {"openings": 0, "terms": 0, "share": 0.0},
    "chapters docstrings": {"openings": 0, "terms": 0, "share": 0.0},
    "captions": {"openings": 0, "terms": 0, "share": 0.003},
    "book": {"openings": 0, "terms": 0, "share": 0.012},
} | {
    f"book/{name}": {"openings": 0, "terms": 0, "share": 0.012}
    for name in (
        "background course developers explore kv_auditor ldp_auditor ldp_sgd rad refinement"
        " released"
    ).split()
}

LONG = " ".join(["word"] * language.LONGEST)


def found(text, suffix=".md", folder=None):
    """The faults of every sentence of a text, in the order of its lines."""
    path = folder / f"text{suffix}"
    path.write_text(text)
    return [(one.line, language.faults(one)) for one in language.read(path, folder)]


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


def problems(folder):
    """The known sentences of which a rule finds too much or too little."""
    wrong = []
    for text, rule in TOLD:
        faults = {name for _, some in found(text, folder=folder) for name in some}
        wrong += [text] if faults != ({rule} if rule else set()) else []
    for name, text in TERMS_TOLD.items():
        faults = [some for _, some in found(text, folder=folder)]
        wrong += [text] if faults != [{"term": [name]}] else []
    return wrong


def test_each_rule_finds_its_sentences_and_no_others(tmp_path):
    assert problems(tmp_path) == [] and set(TERMS_TOLD) == set(language.TERMS)
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
    counted = language.count(s for s in read if s.part in ("docstring", "comment"))
    assert counted["sentences"] > 2000
    assert counted["opening"] <= OPENINGS and counted["term"] <= TERMS
    assert counted["long"] <= SHARE * counted["sentences"]


@pytest.fixture(scope="module")
def rows():
    """The table of the command for the book."""
    paths = language._sources([ROOT / "book"])
    return language.table(sentence for path in paths for sentence in language.read(path))


@pytest.mark.parametrize("name", LIMITS)
def test_pages_captions_and_docstrings_of_the_book_do_not_get_worse(name, rows):
    row, limits = rows[name], LIMITS[name]
    assert row["sentences"] > 100
    assert row["opening"] <= limits["openings"] and row["term"] <= limits["terms"]
    assert row["long"] <= limits["share"] * row["sentences"]
