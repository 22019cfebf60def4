"""Define the paths of the checkout in one place."""

from pathlib import Path

__all__ = ["ROOT", "BUILD", "STORE", "PACKAGES", "data"]

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
BUILD = ROOT / "_build"
"""The folder of everything that `make` generates."""
STORE = BUILD / "sweeps"
"""The folder of stored cells of sweeps."""
PACKAGES = BUILD / "packages"
"""The folder of third-party packages under audit, each in a directory of its own."""


def data(*parts: str) -> Path:
    """Return the path of a file of the checkout's folder ``data``."""
    return ROOT.joinpath("data", *parts)
