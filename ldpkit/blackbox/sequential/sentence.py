"""Leaks that an audit could not have seen, as follows from the reports that it read.

Let a leak show the input in the clear in one report of n. A bet is on what one input shows. Its
hits refute the claim when they have paid for 1/alpha, the share of the expert, and the choice of
the event among all tokens.
"""

import bisect
import math
from typing import TYPE_CHECKING

import numpy as np

from ...auditors.result import CLEAR, LEAST, in_the_clear, too_few
from .bettor import EVENTS
from .experts import MOST, SIZES, SMALLER

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["clear", "one_in", "unseen", "weak"]

SPENT = 7.0
"""Nats that are lost before bets are on the right event: nine of ten planted leaks lose less."""
UNSEEN = (
    "three or more entries together, time of reports, encrypted or compressed content, what a"
    " generator of known state gives away, and inputs more than one report ago"
)
_ROUGHLY = 1.05  # numbers of reports are found up to this factor


def _wins(run: "Run", reports: float, hits: float, spent: float = SPENT) -> bool:
    """Return whether so many hits, among so many reports of each input, refute the claim.

    Before them the bets have lost `spent` nats, if an attack learns.
    """
    (claim, delta), bettor = run.audit.claim, run.main
    k, grown = len(run.audit.inputs), math.exp(min(claim, 700))
    averaged = 1 if bettor.wealth.product or run.live else k
    stakes = MOST / grown / SMALLER ** np.arange(SIZES)
    won = hits * np.log1p(stakes / averaged) - k * reports * np.log1p(stakes * delta / k)
    needed = bettor.wealth.goal - float(bettor.wealth.prior[:-1].min())
    if run.audit.learning:
        tokens = max(bettor.table.used, 2)
        needed += spent + EVENTS[0][1] * math.log(tokens)
    return bool(won.max() >= needed)


def _refutes(run: "Run", reports: float, one_in: float) -> bool:
    """Return whether the audit refutes, with probability .9, a client that sends its input in the
    clear in one report of `one_in`."""
    return _wins(run, reports, (math.sqrt(reports / one_in + 1) - 1) ** 2)


def _rarest(run: "Run", reports: int) -> int:
    """Return the largest `one_in` that so many reports refute, 0 if there is none."""
    return bisect.bisect_left(
        range(1, reports + 1), True, key=lambda n: not _refutes(run, reports, n)
    )


def one_in(run: "Run") -> int:
    """Return how rarely a client may send its input in the clear and still be refuted.

    A client that does so in one report of so many would have been refuted with probability .9. The
    number is 0 if even a client that always does so could be missed, and if no attack learns.
    """
    learns = run.audit.learning and run.audit.claim[0] < math.inf
    return _rarest(run, int(run.asked.min())) if learns else 0


def clear(run: "Run") -> bool:
    """Return whether the reports so far refute a client that sends its input in the clear.

    If no attack learns, the client may send it in one report of ten.
    """
    reports, claim = int(run.asked.min()), run.audit.claim[0]
    if run.audit.learning and claim < math.inf:
        return _wins(run, reports, (math.sqrt(reports + 1) - 1) ** 2, spent=0.0)
    return claim == math.inf or _wins(run, reports, in_the_clear(max(reports, 1)))


def unseen(run: "Run") -> str:
    """Return sentences about what the audit would have found, and what it did not look at."""
    often = one_in(run)
    if not often:
        return ""
    lost = int(run.main.table.state[1])
    more = [f"{lost:,} things of the reports found no room and were not counted."] * (lost > 0)
    return " ".join(
        [
            f"A client that sends its input in the clear in one report of {often:,} would have been"
            " refuted with probability 0.9, if it does so as a value of one entry, as two entries"
            " together, in a relation of consecutive reports, in the characters of a text, or by a"
            " failed call.",
            *more,
            f"Not looked at: {UNSEEN if run.live else UNSEEN_PAIRED}.",
        ]
    )


UNSEEN_PAIRED = UNSEEN.replace("inputs more than one report ago", "inputs of other reports")


def weak(run: "Run", n: int) -> str:
    """Return why the audit could hardly have refuted the claim; an empty text if it could."""
    claim = run.audit.claim[0]
    if not run.audit.learning:

        def bound(reports: int) -> float:
            """The largest epsilon that a leak in one report of ten would refute."""
            claims, bettor = run.claims, run.main
            stakes = MOST / claims.grown
            costs = reports * np.log1p(stakes * claims.delta)
            won = in_the_clear(reports) * np.log1p(stakes) - costs
            needed = bettor.wealth.goal - float(bettor.wealth.prior[:-1].min())
            return float(claims.values[won >= needed].max(initial=0.0))

        return too_few(bound, max(n, 1), run.mechanism.epsilon, of=f" of {CLEAR}")
    if n and run.main.alike.all() and len({*run.main.wholes.tolist()}) == 1:
        return "all reports are the same"
    if claim == math.inf or _refutes(run, n, LEAST):
        return ""
    enough = next((m for m in 2.0 ** np.arange(60) if _refutes(run, m, LEAST)), math.inf)
    if enough == math.inf:
        return f"no number of reports per input would refute {CLEAR}: delta allows it"
    while enough / _ROUGHLY > n and _refutes(run, enough / _ROUGHLY, LEAST):
        enough /= _ROUGHLY
    size = 10 ** max(0, len(str(math.ceil(enough))) - 2)
    about = -(-math.ceil(enough) // size) * size
    return f"{n:,} reports per input are too few to refute {CLEAR}; about {about:,} are needed"
