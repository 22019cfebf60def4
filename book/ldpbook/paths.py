"""Where things of the checkout lie; the only place that says so."""

from pathlib import Path

__all__ = ["ROOT", "BUILD", "STORE", "PACKAGES", "data"]

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
BUILD = ROOT / "_build"
"""Everything `make` generates."""
STORE = BUILD / "sweeps"
"""Finished cells of sweeps."""
PACKAGES = BUILD / "packages"
"""Third-party packages under audit, each in a directory of its own."""


def data(*parts: str) -> Path:
    """Return the path of a file of the checkout's folder ``data``."""
    return ROOT.joinpath("data", *parts)
