"""The attack that learns from reports of any form."""

__all__ = ["Learned"]


class Learned:
    """Learn events from all entries of reports, in a sequential audit; see `ldpkit.sequential`."""

    name = "learned"
