"""The exact distribution of a client's own code, and the same coins for several inputs.

`exact_client` forks every coin of a client, so that each way through it is run once and weighed.
`replay` gives the same coins to several inputs. Both work on a client in Python whose sources of
chance are Python's or NumPy's generators or those of the system.
"""

from .law import Distribution, ExactResult, Way, distributions, exact_client, replay
from .sources import NotExact
from .tapes import Finding

# fmt: off
__all__ = [
    "exact_client", "distributions", "replay", "ExactResult", "Distribution", "Way", "Finding",
    "NotExact"
]
# fmt: on
