"""The exact distribution of a client's reports, from its code.

`exact_client` forks every draw of a client, so that each way through it is run once and weighed.
`replay` gives the same coins to several inputs. Both work on a client in Python whose sources of
chance are Python's or NumPy's generators or those of the system.
"""

from .verdict import ExactResult, Finding, Way, exact_client, replay

__all__ = ["exact_client", "replay", "ExactResult", "Finding", "Way"]
