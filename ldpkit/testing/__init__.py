"""Conformance checks of a mechanism: does it have the properties that audits rely on?

They can be run on any mechanism, and the tests of this package run them on every registered one. A
check returns nothing if it passes, and the reason if it does not apply. It fails with one sentence.
Most checks are exact. Five of them judge random reports. Together they fail a correct mechanism
with probability at most `FALSE_ALARM`.
"""

from .case import FALSE_ALARM
from .suite import CHECKS, Check, Conformance, check_mechanism, checks

__all__ = ["CHECKS", "FALSE_ALARM", "Check", "Conformance", "check_mechanism", "checks"]
