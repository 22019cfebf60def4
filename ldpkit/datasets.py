"""Real data that travel with the checkout as counts; see ``data/README.md`` for sources and licences."""

import pandas as pd

from . import paths

__all__ = ["adult_ages"]


def adult_ages():
    """Return how many of the 48,842 people of the Adult data have each age, a series indexed by age 17 to 90."""
    table = pd.read_csv(paths.ROOT / "data" / "adult_age_counts.csv", index_col=0)
    return table["count_all"]
