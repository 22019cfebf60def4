"""What importing the package costs, and what it offers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ldpkit


def test_the_package_imports_nothing_before_it_is_used():
    code = "import json, sys, ldpkit; print(json.dumps([dir(ldpkit), sorted(sys.modules)]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    offered, loaded = json.loads(done.stdout)
    assert {name for name in offered if not name.startswith("__")} == set(ldpkit.__all__)
    assert [name for name in loaded if name.startswith(("ldpkit", "numba", "numpy", "pandas"))] == [
        "ldpkit"
    ]
    assert all(getattr(ldpkit, name) for name in ldpkit.__all__)
    with pytest.raises(AttributeError, match="module 'ldpkit' has no attribute 'numba'"):
        ldpkit.numba  # noqa: B018


def test_an_audit_from_the_exact_distribution_loads_no_compiler():
    code = (
        "import sys; from ldpkit.cli import main\ntry: main(sys.argv[1:])\n"
        "except SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    )
    heavy = {"numba", "pandas", "matplotlib", "sklearn", "scipy.stats", "joblib", "cloudpickle"}
    for command in (
        "audit --mechanism SUE --k 100 --epsilon 0.5 --tau 50 --attack tight --json",
        "rates --mechanism OUE --k 100 --epsilon 1 --attack tight --json",
        "audit-kv --mechanism pckv-ue --epsilon 1.6 --json",
        "audit-gradient --adversary dummy --epsilon 4 --json",
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *command.split()],
            capture_output=True,
            check=True,
            text=True,
        )
        assert json.loads(done.stdout) and heavy & set(done.stderr.split()) == set(), command


@pytest.mark.parametrize("given", [{}, {"NUMBA_CACHE_DIR": "own"}])
def test_kernels_are_kept_in_the_folder_of_their_source_and_nobody_elses_are(tmp_path, given):
    code = (
        "import os, numba\nfrom ldpkit import digests, rng\nprint(numba.config.CACHE_DIR,"
        " os.environ.get('NUMBA_CACHE_DIR', ''), digests.CODE,"
        " rng.next_word.stats.cache_path, sep='\\n')"
    )
    settings = {
        "XDG_CACHE_HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        **{k: str(tmp_path / v) for k, v in given.items()},
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settings
    )
    config, environment, digest, kept = done.stdout.splitlines()
    assert config == environment == settings.get("NUMBA_CACHE_DIR", "")
    assert Path(kept).is_relative_to(config or tmp_path / "ldpkit" / "numba" / digest)
