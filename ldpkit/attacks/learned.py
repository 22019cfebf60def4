"""The attack that needs to know nothing about reports."""

__all__ = ["Learned"]


class Learned:
    """Look at everything that reports show, for audits that bet; see `ldpkit.sequential`."""

    name = "learned"
