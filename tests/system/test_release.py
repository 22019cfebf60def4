"""What leaves this checkout: archives that stand alone, and nothing that waits for its maintainers."""

import datetime
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from ldpbook import dependencies, release

ROOT = Path(__file__).parents[2]


def test_every_file_of_data_has_its_row():
    """A row names files or patterns in its first column."""
    text = (ROOT / "data" / "README.md").read_text()
    rows = [row.split(" | ") for row in re.findall(r"^\| .* \|$", text, flags=re.M)[1:]]
    named = [name for first, *_ in rows for name in re.findall(r"`([^`]+)`", first)]
    files = [p for p in (ROOT / "data").rglob("*") if p.is_file() and p.name != "README.md"]
    for path in files:
        short = path.relative_to(ROOT / "data").as_posix()
        assert any(fnmatch.fnmatch(short, name) for name in named), short
    for name in named:
        assert any((ROOT / "data").glob(name)), name
    for result in (ROOT / "data" / "results").glob("*.[cn]*"):
        said = next(" ".join(row) for row in rows if f"`results/{result.name}`" in row[0])
        versions = any(words in said for words in ("ldpkit 0.", "SAVE=1", "--save"))
        # the record of this table lies beside the other table of one run
        versions = versions or result.stem == "sgd_cifar10_training"
        assert result.with_suffix(".json").exists() or versions, result.name


IGNORED = [".git", *(ROOT / ".gitignore").read_text().replace("/", "").split()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Sources and wheel, made twice: files that others may read and files for the owner alone, in
    folders of other names, written in another order, in other time zones."""
    folder, found = tmp_path_factory.mktemp("made"), []
    for name, mask, zone in (("one", 0o022, "UTC"), ("two, longer", 0o077, "Asia/Kathmandu")):
        source, reverse = folder / name / "source", name != "one"
        before = os.umask(mask)
        try:
            shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*IGNORED))
            for path in sorted(source.glob("*/*"), reverse=reverse):
                if path.is_file():  # written again: another place in the folder, and other rights
                    text = path.read_bytes()
                    path.unlink()
                    path.write_bytes(text)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TZ", zone)
                found.append(release.packages(source, folder / name / "made", 1_700_000_000))
        finally:
            os.umask(before)
    return folder, found


def test_sources_and_wheel_are_the_same_bytes_whoever_makes_them(made):
    for first, second in zip(*made[1], strict=True):
        assert first.name == second.name and first.read_bytes() == second.read_bytes()


def test_the_archive_of_the_sources_holds_every_file_and_its_tests_run(made):
    folder, ((sources, _), _) = made
    with tarfile.open(sources) as archive:
        archive.extractall(folder, filter="data")
    (place,) = folder.glob("ldpkit-*")
    held = {p.relative_to(place) for p in place.rglob("*") if p.is_file()}
    copy = folder / "one" / "source"
    assert {p.relative_to(copy) for p in copy.rglob("*") if p.is_file()} <= held
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "row or unpublished or cores",
         "tests/ldpkit/test_executors.py", "tests/system/test_release.py"],
        cwd=place, env=os.environ | {"PYTHONPATH": f"{place}:{place / 'book'}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 4


def test_the_workflow_signs_all_that_it_adds_to_a_release_and_runs_nothing_where_it_may_sign():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text())["jobs"]
    signing = [name for name, job in jobs.items() if "attestations" in job.get("permissions", {})]
    assert signing == ["archive"]
    archive, build = jobs["archive"], jobs["build"]["steps"]
    assert archive["permissions"]["id-token"] == "write"
    assert archive["needs"] == ["check", "build", "everything"]
    steps = archive["steps"]
    used = [step.get("uses", "").partition("@")[0] for step in steps]
    assert "actions/checkout" not in used
    signed = used.index("actions/attest-build-provenance")
    (added,) = [i for i, step in enumerate(steps) if "gh release upload" in step.get("run", "")]
    assert signed < added and steps[signed]["with"]["subject-path"] == "dist/*"
    assert "dist/* " in steps[added]["run"]
    taken = {step["with"]["name"] for step in steps if "download-artifact" in step.get("uses", "")}
    kept = [step for step in build if "upload-" in step.get("uses", "")]
    assert taken == {step["with"].get("name", "github-pages") for step in kept}
    assert any(step.get("run", "").endswith("ldpbook release --packages") for step in build)
    assert kept[-1]["with"]["path"] == "_build/dist"


def test_every_installed_file_is_looked_up_and_what_could_not_be_is_told(
    tmp_path, monkeypatch, capsys
):
    """The tools themselves say whether they were answered: nothing here knows an address."""
    assert not re.search(r"pypi\.org|socket", (ROOT / "Makefile").read_text())
    tool, npm = tmp_path / "_build" / "pip-audit" / "bin" / "pip-audit", tmp_path / "npm"
    tool.parent.mkdir(parents=True)
    for name in dependencies.INSTALLED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(dependencies, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    script = '#!/bin/sh\necho "$0 $*" >>{log}\ncase "$*$PWD" in *{part}*) echo "{said}" >&2; exit 1 ;; esac\n'
    for part, said, expected in (
        ("requirements.lock", "ERROR:pip_audit._cli:Could not connect to PyPI's feed", 4),
        ("dev.lock", "requests.exceptions.ConnectionError: Max retries exceeded", 4),
        ("flwr", "ERROR:pip_audit._cli:flwr: could not be audited: flwr", 4),
        ("flwr", "Found 1 known vulnerability in 1 package", 0),
        ("pip-audit.txt", "Found 1 known vulnerability in 1 package", 1),
        ("js", "npm error audit endpoint returned an error", 4),
        ("js", "1 high severity vulnerability", 1),
        ("nothing", "", 0),
    ):
        log = tmp_path / "log"
        log.write_text("")
        for path in (tool, npm):
            path.write_text(script.format(log=log, part=part, said=said))
            path.chmod(0o755)
        with pytest.raises(SystemExit) as ended:
            dependencies.vulnerabilities()
        out = capsys.readouterr().out
        assert ended.value.code == expected and said in out, said
        assert ("this file was not looked up" in out) == (expected == 4)
        asked = log.read_text().splitlines()
        *read, engine = [line.partition(" -r ")[2] for line in asked if " -r " in line]
        assert read == [str(tmp_path / name) for name in dependencies.INSTALLED[:-1]]
        assert "numpy==" in Path(engine).read_text() and "--no-deps" in asked[-1]
        assert asked[-2].endswith("npm audit --package-lock-only")
    npm.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        dependencies.vulnerabilities()
    assert ended.value.code == 4


def test_the_notice_names_what_a_bundle_passes_on(tmp_path):
    notice = (ROOT / "NOTICE").read_text()
    own = [path for path in release.wanted(ROOT, tmp_path) if path.is_relative_to(ROOT)]
    for name in (path.relative_to(ROOT) for path in own):
        assert str(name) in notice or str(name.parent / "*.txt") in notice, name


LETTER = """---
published: {published}
sent: {sent}
release: faulty-1.0
clients: [Faulty]
words: ['a wooden_coin betrays']
---
# To the maintainers

The true answer always stands in the first of the three places of the list.

```python
from faulty import Faulty
print(Faulty().report(3))
```
"""
LONG = "the true answer always stands in the first of the three places"
GIVEN_AWAY = {
    "page.html": "<p>A <code>wooden_coin</code>\n <b>betrays</b> it</p>",
    "_sources/page.ipynb": '["A wooden_coin\\n",\n    "betrays it"]',
    "searchindex.js": 'titles:["A Wooden_Coin Betrays"]',
    "page.md": f"| {LONG.title()} |",
    "table.csv": LONG.replace(" ", ","),
    "program.py": f"near = x < 3  # {LONG}\nfar = x > 4\n",
}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A folder with one letter, which is not published."""
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "faulty.md").write_text(LETTER.format(published="false", sent="2026-11-01"))
    monkeypatch.setenv("LDPKIT_LETTERS", str(folder))
    return folder


@pytest.mark.parametrize("name", GIVEN_AWAY)
@pytest.mark.parametrize("packed", [False, True])
def test_a_phrase_of_a_letter_is_found_in_whatever_form_it_stands(kept, tmp_path, name, packed):
    site = tmp_path / "site"
    path = site / name
    path.parent.mkdir(parents=True)
    other = "<p>betrays, the wooden_coin; the true answer stands first</p>"
    (site / "index.html").write_text(other)
    assert release.found(release.letters(), site) == []
    if packed:
        with zipfile.ZipFile(site / "paper.zip", "w") as archive:
            archive.writestr(name, GIVEN_AWAY[name])
    else:
        path.write_text(GIVEN_AWAY[name])
    found = release.found(release.letters(), site)
    assert found and all(Path(name).name in line and "the letter faulty" in line for line in found)
    (kept / "faulty.md").write_text(LETTER.format(published="true", sent="2026-11-01"))
    assert release.found(release.letters(), site) == []


@pytest.mark.parametrize("sent, published, said", [
    ("null", "false", "not sent"),
    ("2026-11-01", "false", "sent 2026-11-01, 1 days left"),
    ("2026-10-31", "false", "sent 2026-10-31, 90 days are over"),
    ("null", "true", "published"),
])  # fmt: skip
def test_a_letter_says_how_many_days_are_left(kept, sent, published, said):
    (kept / "faulty.md").write_text(LETTER.format(published=published, sent=sent))
    assert release.letters()[0].state(datetime.date(2027, 1, 29)) == said


@pytest.mark.parametrize("change, said", [
    (("sent: 2026-11-01\n", ""), "must say published, sent, release, clients, words"),
    (("sent: 2026-11-01", "sent: soon"), "sent cannot be 'soon'"),
    (("sent: 2026-11-01", "sent: 2026-11-01 12:00:00"), "sent cannot be datetime.datetime(2026"),
    (("published: false", "published: no idea"), "published cannot be 'no idea'"),
    (("words: ['a wooden_coin betrays']", "words: []"), "words cannot be []"),
])  # fmt: skip
def test_a_letter_that_cannot_be_read_ends_a_release(kept, change, said):
    path = kept / "faulty.md"
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(SystemExit, match=re.escape(said)):
        release.letters()
    path.unlink()
    with pytest.raises(SystemExit, match="LDPKIT_LETTERS must name a folder with letters"):
        release.letters()


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make a release of a small tree, with a page instead of a book."""
    root = tmp_path / "root"

    def packages(tree, target, date):
        target.mkdir()
        made = [target / name for name in ("ldpkit-1.tar.gz", "ldpkit-1.whl")]
        for path in made:
            path.write_bytes(b"made")
        return made

    def make(source="nothing", page="nothing", alone=False):
        def unpacked(root, place):
            (place / "tree").mkdir()
            (place / "tree" / "source.md").write_text(source)
            return place / "tree"

        def book(tree, scale):
            (tree / "site").mkdir()
            (tree / "site" / "page.html").write_text(page)
            return tree / "site"

        for function in (packages, unpacked, book):
            monkeypatch.setattr(release, function.__name__, function)
        release.main.callback(scale="paper", alone=alone)

    (root / "_build").mkdir(parents=True)
    (root / "CITATION.cff").write_text("date-released: 2026-01-02\n")
    monkeypatch.setattr(release, "ROOT", root)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return root / "_build", make


PRODUCTS = ["SHA256SUMS", "ldpkit-1.tar.gz", "ldpkit-1.whl", "ldpkit-book-1.tar.gz"]


def test_a_release_was_compared_with_the_letters(kept, make, capsys):
    folder, make = make
    make()
    assert sorted(path.name for path in (folder / "release").iterdir()) == PRODUCTS
    assert "letter to faulty: sent 2026-11-01" in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["release"]


@pytest.mark.parametrize("place", ["source", "page"])
def test_nothing_is_released_that_gives_a_letter_away(kept, make, place):
    folder, make = make
    with pytest.raises(SystemExit, match="phrases of letters that are not published: nothing"):
        make(**{place: LONG})
    assert not list(folder.iterdir())


def test_what_was_compared_with_no_letter_is_no_release(make, monkeypatch):
    folder, make = make
    monkeypatch.delenv("LDPKIT_LETTERS", raising=False)
    with pytest.raises(SystemExit, match="^No release: _build/draft .* Set LDPKIT_LETTERS"):
        make(page=LONG)
    assert [path.name for path in folder.iterdir()] == ["draft"]
    assert sorted(path.name for path in (folder / "draft").iterdir()) == PRODUCTS


def test_the_packages_alone_need_no_letters_and_no_book(make, monkeypatch, capsys):
    folder, make = make
    monkeypatch.delenv("LDPKIT_LETTERS", raising=False)
    make(page=LONG, alone=True)
    assert [path.name for path in folder.iterdir()] == ["dist"]
    made = {path.name for path in (folder / "dist").iterdir()}
    assert made == {line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert made and made < set(PRODUCTS)


def test_a_release_is_made_from_a_commit_and_not_from_the_folder(tmp_path):
    root, git = tmp_path / "root", ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    root.mkdir()
    with pytest.raises(SystemExit, match="A release is made from the last commit of a clone"):
        release.unpacked(root, tmp_path / "none")
    (root / "kept").write_text("committed")
    for command in (["init", "-q"], ["add", "kept"], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], cwd=root, check=True)
    (root / "kept").write_text("changed")
    (root / "other").touch()
    tree = release.unpacked(root, tmp_path / "place")
    assert {path.name: path.read_text() for path in tree.iterdir()} == {"kept": "committed"}


def test_nothing_in_the_tree_says_that_it_is_unpublished():
    refused = re.compile(r"""(?mi)^\W*published["']?\s*[:=,]\s*["']?(false|no|off)\b""")
    assert refused.search("---\npublished: false\n") and refused.search('"published": no')
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if name not in IGNORED]
        for name in names:
            if name.endswith((".md", ".yml", ".yaml", ".csv")):
                path = Path(folder) / name
                assert not refused.search(path.read_text(errors="replace")), path
