"""The stored exact losses of released clients agree with what is known about these clients."""

import pandas as pd

from ldpbook.paths import ROOT


def test_stored_exact_losses_are_those_that_are_known():
    found = pd.read_csv(ROOT / "data" / "results" / "exact_released.csv")
    done = found[found["status"] != "not exact"]
    assert len(done) >= 30 and done["package"].nunique() >= 4
    known = done[done["exact"].notna()]
    assert len(known) >= 20
    assert (known["loss"] - known["exact"]).abs().max() < 1e-8  # ten digits are stored
    # bounds hold with probability 0.99 each
    assert (done["lower"] <= done["loss"]).sum() >= len(done) - 3
    assert ((done["loss"] > done["claim"] + 1e-8) == (done["status"] == "violation")).all()
    assert found.loc[found["status"] == "not exact", "reason"].notna().all()
