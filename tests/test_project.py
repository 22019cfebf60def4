"""The project's own files agree with each other."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import ldpkit

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = [
    Requirement(line)
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line.strip()
]


def wanted():
    extras = PYPROJECT["optional-dependencies"]
    for text in [*PYPROJECT["dependencies"], *extras["book"], *extras["dev"]]:
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


def test_lock_and_pins_hold_no_addresses():
    for path in [ROOT / "requirements.lock", *(ROOT / "book" / "packages").glob("*.txt")]:
        assert not re.search(r"://|@ |--", path.read_text())


def test_audited_packages_are_pinned_exactly():
    for path in (ROOT / "book" / "packages").glob("*.txt"):
        lines = [
            line for line in path.read_text().splitlines() if line and not line.startswith("#")
        ]
        assert lines[0] == path.stem[::-1].replace("-", "==", 1)[::-1]
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)


def test_conda_environment_repeats_no_version():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["dependencies"] == [
        "python=3.11",
        "pip",
        {"pip": ["-r requirements.lock", "-e ."]},
    ]


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert ldpkit.__version__ == PYPROJECT["version"] == citation["version"]
    assert f"## {ldpkit.__version__}" in (ROOT / "CHANGELOG.md").read_text()


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
