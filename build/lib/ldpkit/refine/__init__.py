"""Attack-aware refinement: protocols whose parameter is selected by attacks and error.

Source: Arcolezi and Gambs, "Revisiting Locally Differentially Private
Protocols: Towards Better Trade-offs in Privacy, Utility, and Attack Resistance".
"""

from .families import FAMILIES, Family, Front, build, front, refine, scores, success, table
from .pareto import STRATEGIES, nondominated, select

# fmt: off
__all__ = [
    "Family", "FAMILIES", "STRATEGIES", "Front", "front", "nondominated", "select",
    "refine", "build", "success", "scores", "table"
]
# fmt: on
