"""ldpkit audits local differential privacy.

`audit` takes a mechanism or your own `Client` and returns an `AuditResult`. `audits` runs several
attacks on the same reports. The modules, from the bottom up:

- `stats`: bounds of rates and of epsilon, and expected values;
- `once`: the bound from a single run with many canaries, `one_run`;
- `mechanisms`: clients, which turn values into reports;
- `attacks`: events and guesses that an adversary computes from reports;
- `auditors`: statements about epsilon that follow from counts;
- `refine`: protocols whose parameter is chosen against attacks;
- `beyond`: protocols that none of the five papers has;
- `blackbox`: audits of anybody's client. They bet against a claim and stop when it is refuted, or
  compute the exact distribution of the reports from the client's code;
- `testing`: the same audits for test suites;
- `grid` and `executors`: tables of audits over a grid of parameters;
- `cli`: the command line.

A module is imported when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import audit
    from .auditors import AuditResult, audits
    from .blackbox.clients import Client
    from .blackbox.exact import exact_client
    from .once import one_run

__version__ = "0.4.0"

_FROM = {
    "audit": "api",
    "audits": "auditors",
    "AuditResult": "auditors",
    "Client": "blackbox.clients",
    "exact_client": "blackbox.exact",
    "one_run": "once",
}
# fmt: off
__all__ = [
    "audit", "audits", "exact_client", "one_run", "AuditResult", "Client", "mechanisms", "reports",
    "attacks", "auditors", "refine", "beyond", "blackbox", "testing", "stats", "guess_success",
    "rng", "grid", "executors"
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
