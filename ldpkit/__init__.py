"""ldpkit audits local differential privacy.

`audit` takes a mechanism or your own `Client` and returns an `AuditResult`. `audits` runs several
attacks on the same reports. The modules, from the bottom up:

- `stats`: bounds of rates and of epsilon, and expected values;
- `mechanisms`: clients, which turn values into reports;
- `attacks`: events and guesses that an adversary computes from reports;
- `auditors`: statements about epsilon that follow from counts;
- `sequential`: audits that bet against a claim, and stop when it is refuted;
- `replay`: the exact distribution of the reports of a client, from its code;
- `refine`: protocols whose parameter is chosen against attacks;
- `sweep` and `executors`: tables of audits over a grid of parameters;
- `cli`: the command line.

A module is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditors import AuditResult, audit, audits
    from .mechanisms import Client
    from .replay import exact_client

__version__ = "0.3.1"

_FROM = {
    "audit": "auditors",
    "audits": "auditors",
    "AuditResult": "auditors",
    "Client": "mechanisms",
    "exact_client": "replay",
}
# fmt: off
__all__ = [
    "audit", "audits", "exact_client", "AuditResult", "Client", "mechanisms", "reports", "attacks",
    "auditors", "sequential", "refine", "stats", "exact", "betting", "curve", "rng", "sweep",
    "executors", "replay", "testing"
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        module = importlib.import_module(f"{__name__}.{_FROM.get(name, name)}")
    except ModuleNotFoundError as error:
        from .digests import missing

        raise missing(error) from error
    return getattr(module, name) if name in _FROM else module


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
