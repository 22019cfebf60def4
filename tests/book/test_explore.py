"""The grids behind the explorers are what the package computes today."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "book" / "_static" / "explore"
TOOL = runpy.run_path(str(FOLDER / "grids.py"))


@pytest.mark.parametrize("name, sample", [("rounds", 60), ("shuffle", 12), ("keyvalue", 60)])
def test_a_sample_of_every_grid_is_current(name, sample):
    """Six digits are stored; the settings are drawn with a fixed seed."""
    text = (FOLDER / f"{name}.data.js").read_text(encoding="utf-8")
    stored = json.loads(text[text.index("Grid: ") + 6 : text.rindex(" });")])
    settings = TOOL["settings"](name)
    assert text == TOOL["written"](name, stored["values"])
    assert stored["axes"] == TOOL["GRIDS"][name][1]
    assert len(stored["values"]) == len(settings)
    quick = [i for i, s in enumerate(settings) if name != "shuffle" or s[-1] <= 5000]
    for i in np.random.default_rng(1).choice(quick, sample, replace=False):
        now, then = TOOL["GRIDS"][name][0](*settings[i]), stored["values"][i]
        assert (now is None) == (then is None), settings[i]
        for a, b in zip(np.atleast_1d(now), np.atleast_1d(then)):
            assert a is b is None or a == pytest.approx(b, rel=2e-6, abs=1e-12), settings[i]
