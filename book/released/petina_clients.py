"""Clients of PETINA: a finding goes to its maintainers first."""

from hall import Released

laplace, gaussian, exponential, divergence, pruning = (
    Released("PETINA", "0.0.19", name, delta=delta, stated="docstring", withheld=True)
    for name, delta in (
        ("applyDPLaplace", 0.0),
        ("applyDPGaussian", 1e-5),
        ("applyDPExponential", 0.0),
        ("applyRDPGaussian", 0.0),
        ("applyPruningDP", 0.0),
    )
)
