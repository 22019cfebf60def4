"""What leaves this checkout: archives that stand alone, and nothing that waits for its maintainers."""

import fnmatch
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_pytest_alone_collects_files_of_one_name_and_needs_none_of_its_private_modules():
    pair = ["tests/test_live.py", "tests/browser/test_live.py"]
    options = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    bare = Path(sys.executable).with_name("pytest")
    done = subprocess.run([bare, *options, *pair], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert all(f"\n{path}::" in f"\n{done.stdout}" for path in pair)
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests"]  # nothing of what was built or installed
    for path in (ROOT / "tests").rglob("*.py"):
        assert not re.search(r"^(from|import) _pytest", path.read_text(), flags=re.M), path


def test_every_file_of_data_has_its_row():
    """A row names files or patterns in its first column; a pattern of the whole folder of results
    stands for the records beside tables alone."""
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
        versions = "ldpkit 0." in said or "SAVE=1" in said or result.stem in BESIDE
        assert result.with_suffix(".json").exists() or versions, result.name


BESIDE = {"sgd_cifar10_training"}
"""Tables whose record lies beside the other table of one run."""


def test_the_citation_names_every_paper_and_the_notice_every_source():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    cited = {reference["title"] for reference in citation["references"]}
    bibliography = (ROOT / "book" / "references.bib").read_text()
    keys = ("arcolezi2024", "arcolezi2025", "xu2025", "guerrabalboa2026", "ldpsgd2024")
    for key in keys:
        entry = bibliography.partition(f"{{{key},")[2]
        title = re.search(r"title = \{(.*)\}", entry)[1].replace("{", "").replace("}", "")
        assert title in cited, title
    assert len(cited) == len(keys)
    notice = " ".join((ROOT / "NOTICE").read_text().split())
    for source in ("Adult", "SDNist", "CIFAR-10", "CC BY-SA 3.0", "ldp-audit", "DP-Sniper"):
        assert source in notice, source
