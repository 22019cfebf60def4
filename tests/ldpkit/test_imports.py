"""What importing the package costs, and what it offers."""

import json
import os
from pathlib import Path

import pytest
from commands import python

import ldpkit


def test_the_package_imports_nothing_before_it_is_used():
    code = "import json, sys, ldpkit; print(json.dumps([dir(ldpkit), sorted(sys.modules)]))"
    offered, loaded = json.loads(python(code)[0])
    assert {name for name in offered if not name.startswith("__")} == set(ldpkit.__all__)
    loaded = [name for name in loaded if name.startswith(("ldpkit", "numba", "numpy", "pandas"))]
    assert loaded == ["ldpkit"]
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
        out, err = python(code, *command.split())
        assert json.loads(out) and heavy & set(err.split()) == set(), command


@pytest.mark.parametrize("given", [{}, {"NUMBA_CACHE_DIR": "own"}])
def test_kernels_are_kept_in_the_folder_of_their_source_and_nobody_elses_are(tmp_path, given):
    code = (
        "import os, numba\nfrom ldpkit import digests, rng\nprint(numba.config.CACHE_DIR,"
        " os.environ.get('NUMBA_CACHE_DIR', ''), digests.CODE,"
        " rng.next_word.stats.cache_path, sep='\\n')"
    )
    settings = {"XDG_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    settings |= {k: str(tmp_path / v) for k, v in given.items()}
    config, environment, digest, kept = python(code, env=settings)[0].splitlines()
    assert config == environment == settings.get("NUMBA_CACHE_DIR", "")
    assert Path(kept).is_relative_to(config or tmp_path / "ldpkit" / "numba" / digest)
