"""The project's own files agree with each other."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import ldpkit
from ldpbook import artifact, supply

ROOT = Path(__file__).parents[2]


OWN, PAGES = (
    tomllib.loads((ROOT / name).read_text()) for name in ("pyproject.toml", "book/pyproject.toml")
)
PYPROJECT = OWN["project"]
RELEASES = supply.releases((ROOT / "requirements.lock").read_text())
MORE = supply.releases((ROOT / "requirements-dev.lock").read_text())
LOCK = [
    Requirement(f"{release.name}=={release.version}{release.marker and ' ; ' + release.marker}")
    for release in RELEASES + MORE
]
PINS = [ROOT / "requirements.lock", ROOT / "requirements-dev.lock", *supply.PINS]


# installed with Jupyter Book, and switched off or not used by the book
UNUSED = ("sphinx-comments", "sphinx-jupyterbook-latex", "sphinxcontrib-jsmath")


def wanted():
    texts = [PYPROJECT["dependencies"], PAGES["project"]["dependencies"]]
    for text in sum(
        [*texts, *PYPROJECT["optional-dependencies"].values(), *OWN["dependency-groups"].values()],
        [],
    ):
        if not text.startswith("ldpkit["):
            yield Requirement(text)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_lock_pins_every_dependency_in_its_range(python):
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
    }
    chosen = [r for r in LOCK if r.marker is None or r.marker.evaluate(environment)]
    pins = {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in chosen}
    assert len(pins) == len(chosen)
    for requirement in wanted():
        assert requirement.specifier.contains(Version(pins[canonicalize_name(requirement.name)]))


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.name)
def test_every_pin_has_the_check_sums_of_its_files_and_no_address(path):
    text = path.read_text()
    assert not re.search(r"://|@ |--(?!hash=sha256:[0-9a-f]{64}\b)", text)
    found = supply.releases(text)
    assert found and all(release.hashes for release in found)
    assert text.count("--hash") == sum(len(release.hashes) for release in found)


def test_everything_that_is_installed_is_checked():
    recipes = (ROOT / "Makefile").read_text().partition("packages: $(PACKAGES)")[2]
    recipes = recipes.partition("\nlock:")[0]
    installs = re.findall(r"(?:\$\(UV\)|pip install)[^;]*", recipes)
    assert len(installs) == 12  # one of them asks what would have to go
    assert all(("--require-hashes" in text) != ("-e ." in text) for text in installs)
    assert "--no-build-isolation" in (ROOT / "Makefile").read_text()
    # what builds ldpkit, and what installs it, is locked as well
    assert {"setuptools", "uv"} <= {release.name for release in RELEASES}


def test_audited_packages_are_pinned_exactly():
    for path in (ROOT / "book" / "packages").glob("*.txt"):
        first = supply.releases(path.read_text())[0]
        assert f"{first.name}-{first.version}" == path.stem
        pins = re.findall(r"^[^# \n].*$", path.read_text(), flags=re.M)
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+ \\", line) for line in pins)


def test_actions_are_pinned_by_commit():
    text = (ROOT / ".github" / "workflows" / "book.yml").read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", u) for u in used)
    assert len({line.partition("@")[0] for line in used}) == len(set(used))


def test_the_bill_of_materials_names_every_locked_release_and_is_the_same_for_the_same_lock():
    found = supply.document(ROOT)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert [(c["name"], c["version"]) for c in found["components"]] == [
        (release.name, release.version) for release in RELEASES
    ]
    references = [c["bom-ref"] for c in found["components"]]
    assert len(set(references)) == len(references)
    assert all(c["hashes"] for c in found["components"])
    assert found == supply.document(ROOT) and "://" not in json.dumps(found)
    assert found["metadata"]["component"]["version"] == ldpkit.__version__


def test_the_bill_of_materials_names_every_licence_as_the_releases_state_it():
    known = supply.licences()
    assert list(known) == sorted({release.name for release in RELEASES + MORE})
    for name, licence in known.items():
        assert canonicalize_license_expression(licence) == licence, name
        assert supply.stated(name) in ("", licence), name
    components = supply.document(ROOT)["components"]
    for component in [*components, *sum([c.get("components", []) for c in components], [])]:
        (licence,) = component["licenses"]
        assert canonicalize_license_expression(licence["expression"]) == licence["expression"]


def test_the_bill_of_materials_names_what_releases_bring_into_the_site():
    """Whatever says its version in a script or a style that the site takes over."""
    components = {c["name"]: c.get("components", []) for c in supply.document(ROOT)["components"]}
    version = re.compile(r'(?:^ *\*?[\w. ]*? v?|\bVERSION=")(\d+\.\d+\.\d+)\b', flags=re.M)
    for one in importlib.metadata.distributions():
        name = canonicalize_name(one.metadata["Name"])
        if name in UNUSED or not re.match(r"sphinx|pydata|myst-nb", name):
            continue
        scripts = [p for p in one.files or () if re.search(r"static/.*\.(css|js)$", str(p))]
        said = {found for path in scripts for found in version.findall(path.read_text())}
        assert said == {p["version"] for p in components[name] if "version" in p}, name
    names = {part["name"] for parts in components.values() for part in parts}
    assert {"Bootstrap", "MathJax", "Font Awesome Free"} <= names
    notice = " ".join((ROOT / "NOTICE").read_text().split())
    assert [name for name in names if name not in notice] == []


def test_every_part_of_others_in_the_site_is_named_with_its_licence():
    text = (ROOT / "NOTICE").read_text()
    parts = re.search(r"Parts of the built site.*?\n\n", text, re.S)[0]
    named = re.findall(r"^  (\S+)  +\S", parts, flags=re.M)
    assert set(named) <= {release.name for release in RELEASES}
    # whatever brings files of its own into a site
    found = {
        canonicalize_name(one.metadata["Name"])
        for one in importlib.metadata.distributions()
        if any(re.search(r"/_?static/.*\.(css|js)$", str(path)) for path in one.files or ())
        and re.match(r"sphinx|pydata|myst-nb", canonicalize_name(one.metadata["Name"]))
    }
    assert {"sphinx", "pydata-sphinx-theme"} < found <= {*named, *UNUSED}


def test_conda_environment_repeats_no_version():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["dependencies"] == ["python=3.11", "pip", {"pip": ["-r requirements.lock"]}]


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert PYPROJECT["dynamic"] == ["version"] and "version" not in PYPROJECT  # it is read there
    assert ldpkit.__version__ == citation["version"]
    assert f"version = {{{ldpkit.__version__}}}" in (ROOT / "book" / "cite.md").read_text()
    released = (ROOT / "CHANGELOG.md").read_text().splitlines()[2]
    assert released == f"## {ldpkit.__version__} ({citation['date-released']})"


def test_readme_names_the_commands_that_the_makefile_has():
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), flags=re.M)
    for command in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), flags=re.M):
        assert command in targets
    assert {"book", "test", "lab", "clean", "lock", "help"} <= set(targets)


def test_continuous_integration_runs_the_documented_commands():
    script = (ROOT / ".ci" / "run").read_text()
    assert "set -euo pipefail" in script
    assert re.findall(r"^make .+$", script, flags=re.M) == [
        "make test",
        "make book SCALE=smoke",
        "make browser",
    ]


def test_every_dependency_has_a_reason():
    reasons = (ROOT / "CONTRIBUTING.md").read_text().split("## Dependencies and why")[1]
    for requirement in wanted():
        assert requirement.name in reasons, requirement.name


# --- the environment that make installs -----------------------------------------------------------

PYTHON = """#!/bin/sh
echo "python $*" >>"$LOG"
if [ -n "$FAILS" ] && [ "$*" != "${*#*$FAILS}" ]; then exit 9; fi
case "$*" in "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python && ln -s python .venv/bin/uv ;; esac
"""


@pytest.fixture
def made(tmp_path):
    """Make the environment of a checkout whose Python only writes down what is asked of it."""
    (tmp_path / "book").mkdir()
    for name in ("Makefile", "pyproject.toml", "book/pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    python, log = tmp_path / "stub", tmp_path / "log"
    python.write_text(PYTHON)
    python.chmod(0o755)

    def make(fails=""):
        log.write_text("")
        environment = {"PATH": "/usr/bin:/bin", "LOG": str(log), "FAILS": fails}
        done = subprocess.run(
            ["make", ".venv/ready", f"PYTHON={python}"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        return done.returncode, log.read_text()

    return tmp_path, make


def test_an_environment_that_was_not_finished_is_made_again_from_nothing(made):
    root, make = made
    for step in ("-m venv", "-m pip", "requirements.lock", "-e ."):
        assert make(step)[0] == 2 and not (root / ".venv" / "ready").exists(), step
        if (root / ".venv").is_dir():
            (root / ".venv" / "left").touch()  # by what was killed
        status, asked = make()
        assert status == 0 and asked.startswith("python -m venv .venv\n"), step
        assert asked.rstrip().endswith("-e . -e book") and not (root / ".venv" / "left").exists()
        shutil.rmtree(root / ".venv")


def test_an_environment_is_made_again_for_other_content_and_not_for_other_dates(made):
    root, make = made
    assert make()[0] == 0
    (root / "pyproject.toml").touch()
    (root / "requirements.lock").touch()
    assert make() == (0, "")
    with (root / "requirements.lock").open("a") as lock:
        lock.write("\n# another\n")
    written = (root / ".venv" / "ready").stat().st_mtime + 1  # clocks of files may be coarse
    os.utime(root / "requirements.lock", (written, written))
    assert "-m venv" in make()[1]


def test_no_text_of_a_caller_is_run_by_make_and_no_other_python_leaks_in(tmp_path):
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text() + "\nsay:\n\t@env\n")
    names = ("NB", "NAME", "IP", "PARAMS", "SCALE", "JOBS", "BENCH")
    said = {name: f"$(shell touch {tmp_path}/{name}) `touch {tmp_path}/{name}`" for name in names}
    foreign = {f"PYTHON{name}": "/nowhere" for name in ("PATH", "HOME", "SAFEPATH", "OPTIMIZE")}
    done = subprocess.run(
        ["make", "-s", "say", *(f"{name}={text}" for name, text in said.items())],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"} | foreign,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert {f"{name}={text}" for name, text in said.items()} <= set(lines)
    assert "PYTHONNOUSERSITE=1" in lines and not [x for x in lines if "/nowhere" in x]
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
    recipes = re.findall(r"^\t.*$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert not [x for x in recipes if re.search(rf"(?<!\$)\$\(({'|'.join(names)})\)", x)]


def test_the_appendix_for_committees_is_what_ledger_times_and_results_say():
    text = (ROOT / "ARTIFACT.md").read_text()
    assert artifact.filled(ROOT, text) == text
    assert artifact.manifest(ROOT) == (ROOT / "codecheck.yml").read_text()
    for name in ("times", "audit", "claims", "experiments"):  # each part is there, and filled
        assert re.search(rf"<!-- {name} -->\n[|`]", text), name


def test_every_command_of_the_appendix_and_of_the_image_exists():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    for name in ("ARTIFACT.md", "Dockerfile", "README.md"):
        for command in re.findall(r"\bmake ([a-z]+)\b", (ROOT / name).read_text()):
            assert command in targets, (name, command)
