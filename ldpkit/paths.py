"""Where things lie in a checkout; the only place that says so."""

from pathlib import Path

__all__ = ["ROOT", "PUBLISHED", "BUILD", "STORE", "PACKAGES"]

ROOT = Path(__file__).resolve().parent.parent
"""The checkout (the book's sources and data are not part of an installed wheel)."""
PUBLISHED = ROOT / "data" / "published"
"""Numbers printed in or read off the papers."""
BUILD = ROOT / "_build"
"""Everything `make` generates."""
STORE = BUILD / "sweeps"
"""Finished cells of sweeps."""
PACKAGES = BUILD / "packages"
"""Third-party packages under audit, each in a directory of its own."""
