"""Tests of a client's privacy, and conformance checks of a mechanism.

`assert_private` audits a client in one line of a test, and `ldpkit.testing.plugin` is its plugin
for pytest. `check_mechanism` tests whether a mechanism has the properties that audits rely on. Its
checks can be run on any mechanism, and the tests of this package run them on every registered one.
A check ends if the property holds, or with the reason why it does not apply. It fails with one
sentence. Most checks are exact. Five of them judge random reports. Together they fail a correct
mechanism with probability at most `FALSE_ALARM`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .case import FALSE_ALARM
    from .private import assert_private
    from .suite import CHECKS, Check, Conformance, check_mechanism, checks

# fmt: off
__all__ = [
    "CHECKS", "FALSE_ALARM", "Check", "Conformance", "assert_private", "check_mechanism", "checks"
]
# fmt: on


def __getattr__(name: str) -> Any:  # late, because pytest imports the plugin in every project
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import case, private, suite

    return next(getattr(own, name) for own in (suite, case, private) if hasattr(own, name))
