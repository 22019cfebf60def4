"""The grids behind the explorers are what the package computes today."""

import numpy as np
import pytest

from ldpbook import explore


@pytest.mark.parametrize("name, sample", [("rounds", 60), ("shuffle", 12), ("keyvalue", 60)])
def test_a_sample_of_every_grid_is_current(name, sample):
    """Six digits are stored; the settings are drawn with a fixed seed."""
    stored, settings = explore.read(name), explore.settings(name)
    assert stored["axes"] == explore.GRIDS[name][1]
    assert len(stored["values"]) == len(settings)
    quick = [i for i, s in enumerate(settings) if name != "shuffle" or s[-1] <= 5000]
    for i in np.random.default_rng(1).choice(quick, sample, replace=False):
        now, then = explore.GRIDS[name][0](*settings[i]), stored["values"][i]
        assert (now is None) == (then is None), settings[i]
        for a, b in zip(np.atleast_1d(now), np.atleast_1d(then)):
            assert (a is None and b is None) or a == pytest.approx(b, rel=2e-6, abs=1e-12), (
                settings[i]
            )


def test_the_file_is_what_the_tool_writes():
    for name in explore.GRIDS:
        text = (explore.STATIC / f"{name}.data.js").read_text()
        assert text == explore.written(name, explore.read(name)["values"])
