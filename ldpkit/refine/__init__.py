"""Attack-aware refinement: Pareto fronts of attack success, error and poisoning gain, and the rules
that select one point of them."""

from .pareto import STRATEGIES, nondominated, select
from .protocols import FAMILIES, LAWS, Family, Front, build, front, refine, scores, success, table

# fmt: off
__all__ = [
    "Family", "FAMILIES", "STRATEGIES", "LAWS", "Front", "front", "nondominated", "select",
    "refine", "build", "success", "scores", "table"
]
# fmt: on
