"""The chapter on released clients: models against the real clients, mended copies, withheld findings, and the table.

Rates are held to their laws by Clopper-Pearson intervals that miss with probability 1e-6 each; the file looks at
fewer than 100 of them, so a correct project fails it with probability below 1e-4.
"""

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from laws import P_MIN, same_rate_p
from packaging.version import Version

from ldpkit import paths, stats
from ldpkit.pools import isolated

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "book" / "released"
sys.path.insert(0, str(CHAPTER))

import hall  # noqa: E402
import table  # noqa: E402

CLIENTS = table.clients()
LETTERS = {path: path.read_text().split("---\n", 2) for path in (CHAPTER / "letters").glob("*.md")}
HEAVY = {path.stem for path in (CHAPTER / "pins" / "heavy").glob("*.txt")}
FAULTY = [
    path
    for path, c in CLIENTS.items()
    if c.model and c.true > c.claim + 1e-9 and c.folder not in HEAVY and table.installed(c.folder)
]
SMALL = [path for path in FAULTY if "diffprivlib" not in path]
LAWFUL = [
    path
    for path, c in CLIENTS.items()
    if c.folder in ("pure-ldp-1.2.0", "opendp-0.11.1") and c.make and c.law
]
TRIALS = 2000
pytestmark = pytest.mark.xdist_group("released")


@pytest.fixture(scope="module")
def live():
    """Reports and audits of real clients, one process for each release: starting one takes seconds."""
    wanted, found = dict.fromkeys([*FAULTY, *LAWFUL]), {}
    for folder in dict.fromkeys(CLIENTS[path].folder for path in wanted):
        with isolated(paths.PACKAGES / folder, CHAPTER, workers=1) as pool:
            begun = {}
            for path in wanted:
                if CLIENTS[path].folder == folder:
                    begun[path] = pool.submit(table.audit_released, path, TRIALS, hall.ALPHA, 3)
                    for which in (0, 1) if path in SMALL else ():
                        begun[path, which] = pool.submit(
                            table.sample, path, which, TRIALS, 7 + which
                        )
            found |= {key: future.result() for key, future in begun.items()}
    return found


def _plain(report):
    return report if isinstance(report, (bool, bytes, float)) else tuple(int(x) for x in report)


@pytest.mark.parametrize("path", SMALL)
def test_a_model_reports_as_the_real_client_does(path, live):
    """Bit by bit where a report has many, and every whole report where there are few."""
    client, n = CLIENTS[path], TRIALS
    for which in (0, 1):
        real = [_plain(y) for y in live[path, which]]
        model = client.copy(mended=False)
        made = [_plain(y) for y in model.reports(which, n)]
        assert {type(y) for y in real} == {type(y) for y in made}
        for part in _parts(real) | _parts(made):
            counts = [sum(part in _parts([y]) for y in reports) for reports in (real, made)]
            assert same_rate_p(counts[0], n, counts[1], n) > P_MIN, (which, part, counts)


def _parts(reports):
    """What can be counted in reports: whole ones, or the places of long ones with what stands there."""
    long = any(isinstance(y, tuple) and len(y) > 20 for y in reports)
    if long:  # a subset: its first element, and whether the two inputs are in it
        return {("first", y[0]) for y in reports if y[0] < 2} | {
            ("in", v) for y in reports for v in (0, 1) if v in y
        }
    if any(isinstance(y, tuple) for y in reports):
        return {(i, entry) for y in reports for i, entry in enumerate(y)}
    return set(reports)


@pytest.mark.parametrize("path", FAULTY)
def test_a_faulty_release_is_convicted_and_its_mended_copy_passes_the_same_audit(path, live):
    client, trials = CLIENTS[path], TRIALS
    assert live[path]["verdict"] == "violates its claim"
    mended = client.copy().audit(trials)
    assert not mended.violated and client.verdict(mended.lower, trials).startswith("keeps")
    assert client.copy(mended=False).audit(trials).violated


@pytest.mark.parametrize("path", [*LAWFUL, *(path for path in FAULTY if CLIENTS[path].law)])
def test_rates_of_a_real_client_agree_with_their_law(path, live):
    for count, rate in zip((live[path]["tp"], live[path]["fp"]), CLIENTS[path].law):
        low, high = stats.clopper_pearson(count, TRIALS, 5e-7)
        assert low - 1e-12 <= rate <= high + 1e-12, (count, rate)


def test_nobody_is_accused_without_a_second_reason():
    bare = hall.Released("p", "1", "client", claim=1.0)
    assert not bare.verdict(5.0, 100).startswith("violates")
    law_only = hall.Released("p", "1", "client", claim=1.0, law=(0.9, 0.1))
    assert not law_only.verdict(1.5, 100).startswith("violates")
    assert (
        hall.Released("p", "1", "client", claim=1.0, law=(0.9, 0.1), source="line 3")
        .verdict(1.5, 100)
        .startswith("violates")
    )
    assert (
        hall.Released("p", "1", "client", claim=1.0, law=(0.9, 0.1), source="line 3")
        .verdict(0.9, 100)
        .startswith("keeps")
    )
    for path, client in CLIENTS.items():
        if client.make and client.true > client.claim + 1e-9 and not client.weak:
            assert client.source, path


def test_doubles_that_one_input_cannot_reach():
    rng = np.random.default_rng(5)
    reached = [hall.lattice(y) for y in (1 + rng.laplace(size=20_000)).tolist()]
    free = [hall.lattice(y) for y in rng.laplace(size=20_000).tolist()]
    assert sum(reached) == 0 and sum(free) > 3000
    assert not any(hall.lattice(round(y * 2**20) / 2**20) for y in rng.laplace(size=5000).tolist())


# --- what is withheld ---------------------------------------------------------------------------------------


def withheld():
    return {
        (f"{yaml.safe_load(front)['release']}", name)
        for _, front, _ in LETTERS.values()
        for name in yaml.safe_load(front)["clients"]
    }


def test_every_withheld_client_has_a_letter_and_nothing_else():
    hidden = {path: c for path, c in CLIENTS.items() if c.withheld}
    assert {(c.folder, c.name) for c in hidden.values()} == withheld() and len(LETTERS) == 7
    for client in hidden.values():
        row = client.row(table.WITHHELD)
        assert client.make is client.event is client.law is client.exact is client.model is None
        assert not (client.said or client.source or client.weak or client.thread or client.fixed_in)
        assert (
            row["verdict"] == table.WITHHELD
            and np.isnan(row["exact"])
            and np.isnan(row["lower"])
            and not row["event"]
        )


def test_no_word_of_a_letter_stands_anywhere_else():
    words = [
        word
        for _, front, _ in LETTERS.values()
        if not yaml.safe_load(front)["published"]
        for word in yaml.safe_load(front)["words"]
    ]
    assert words
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split("\n")
    places = [ROOT / name for name in listed if name and "released/letters/" not in name] + [
        *(ROOT / "_build" / "html").rglob("*.html")
    ]
    for path in places:
        if path.is_file() and path.suffix in {
            ".py",
            ".md",
            ".ipynb",
            ".csv",
            ".yml",
            ".toml",
            ".html",
            ".txt",
        }:
            text = path.read_text(errors="ignore")
            assert not [word for word in words if word in text], path


def test_letters_are_no_part_of_site_archive_or_package():
    toc, config = (
        (ROOT / "_toc.yml").read_text(),
        yaml.safe_load((ROOT / "_config.yml").read_text()),
    )
    assert (
        "letters" not in toc
        and "book/released/letters" in config["exclude_patterns"]
        and config["only_build_toc_files"]
    )
    assert "book/released/letters export-ignore" in (ROOT / ".gitattributes").read_text()
    assert not list((ROOT / "ldpkit").rglob("*letters*"))
    for _, front, _ in LETTERS.values():
        assert yaml.safe_load(front)["published"] in (True, False)


# --- the table and its packages ----------------------------------------------------------------------------------


def test_the_table_is_as_wide_as_the_chapter_says():
    assert len({c.package for c in CLIENTS.values()}) >= 10 and len(CLIENTS) >= 50
    assert len({(c.folder, c.name) for c in CLIENTS.values()}) == len(CLIENTS)
    convicted = [
        c
        for c in CLIENTS.values()
        if c.make and c.true > c.claim + 1e-9 and not c.weak and not c.withheld
    ]
    assert len(convicted) >= 8
    assert Counter(c.withheld for c in CLIENTS.values())[True] == 18


def test_the_file_has_the_stated_columns_and_verdicts(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "BUILD", tmp_path)
    found = table.table(
        share=0.02, adapters=[table.ldpkit_clients, table.petina_clients, table.rappor_clients]
    )
    with table.write(found).open() as file:
        rows = list(csv.DictReader(file))
    assert (
        list(rows[0])
        == "package,version,client,claim,stated,verdict,exact,lower,reports,event,fixed_in,delta".split(
            ","
        )
    )
    assert len(rows) == len(found) == 13
    for row in rows:
        assert re.match("violates|keeps|weak|withheld|not auditable", row["verdict"])
        assert all(
            row[name] in ("", "inf") or float(row[name]) >= 0
            for name in ("claim", "exact", "lower")
        )


def test_a_release_that_is_not_installed_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "PACKAGES", tmp_path)
    monkeypatch.setattr(table, "STORED", tmp_path / "none.csv")
    found = table.table(adapters=[table.flwr_clients])
    assert found["verdict"].tolist() == [
        "not auditable: the release is not installed on this machine",
        table.WITHHELD,
    ]


def test_pins_name_one_release_and_check_every_file():
    pins = [*(CHAPTER / "pins").rglob("*.txt")]
    assert {c.folder for c in CLIENTS.values() if c.make} - {"ldpkit"} <= {
        p.stem for p in [*pins, *(ROOT / "book" / "packages").glob("*.txt")]
    }
    for path in pins:
        entries = re.split(r"\n(?=\S)", path.read_text().strip())[1:]
        name, _, version = path.stem.rpartition("-")
        assert entries[0].startswith(f"{name}=={version} ") and Version(version)
        assert all(
            re.fullmatch(r"[\w.-]+==[\w.]+( \\\n +--hash=sha256:[0-9a-f]{64})+", entry)
            for entry in entries
        )
