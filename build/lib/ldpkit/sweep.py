"""The name by which earlier programs import `ldpkit.grid`."""

from .grid import GridError as SweepError
from .grid import combinations as cells
from .grid import grid as sweep

__all__ = ["SweepError", "cells", "sweep"]
