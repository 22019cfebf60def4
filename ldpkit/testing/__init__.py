"""Does a mechanism keep the promises that audits rely on? Checks for anybody's, run here on every
registered one.

A check returns nothing if it is passed, says why it does not apply, or fails with one sentence.
Most are exact. Five judge random draws; all together they fail a correct mechanism with probability
`FALSE_ALARM` at most.
"""

from .case import FALSE_ALARM
from .suite import CHECKS, Check, Conformance, check_mechanism, checks

__all__ = ["CHECKS", "FALSE_ALARM", "Check", "Conformance", "check_mechanism", "checks"]
