"""Where things lie; the only place that says so."""

from pathlib import Path

from .compiled import CACHE

__all__ = ["ROOT", "BUILD", "STORE", "PACKAGES", "data"]

_BESIDE = Path(__file__).resolve().parents[1]
ROOT = _BESIDE if (_BESIDE / "pyproject.toml").exists() else None
"""The checkout, or ``None``: the book's sources and data are no part of an installed wheel."""
BUILD = ROOT / "_build" if ROOT else CACHE
"""Everything `make` generates; without a checkout, the user's cache folder."""
STORE = BUILD / "sweeps"
"""Finished cells of sweeps."""
PACKAGES = BUILD / "packages"
"""Third-party packages under audit, each in a directory of its own."""


def data(*parts: str) -> Path:
    """Return the path of a file of the checkout's folder ``data``.

    Raises
    ------
    FileNotFoundError
        If there is no checkout.
    """
    if ROOT is None:
        raise FileNotFoundError(
            f"{'/'.join(('data', *parts))} is part of the checkout of ldpkit, not of the installed"
            " package"
        )
    return ROOT.joinpath("data", *parts)
