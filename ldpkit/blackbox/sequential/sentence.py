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
from ..clients.anything import Line
from ..clients.arrivals import ARRIVAL
from .bettor import EVENTS
from .experts import MOST, SIZES, SMALLER, gains
from .table import EDGES

if TYPE_CHECKING:
    from .loop import Run

__all__ = ["clear", "hidden", "one_in", "unseen", "weak"]

SPENT = 7.0
"""Nats that are lost before bets are on the right event: nine of ten planted leaks lose less."""
TIME = "time of reports, "
UNSEEN = (
    "three or more entries together (also a value with the change of another since the last"
    f" report), {TIME}encrypted or compressed content, what a"
    " generator of known state gives away, and inputs more than one report ago"
)
_DELAYS = 256  # delays that may be told
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
    return bool(won.max() >= _needed(run, spent))


def _needed(run: "Run", spent: float) -> float:
    """Return the nats that the bets on one event must win, see `_wins`."""
    bettor = run.main
    needed = bettor.wealth.goal - float(bettor.wealth.prior[:-1].min())
    if run.audit.learning:
        needed += spent + EVENTS[0][1] * math.log(max(bettor.table.used, 2))
    return needed


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


def hidden(run: "Run") -> float:
    """Return the delay that the noise of the arrival times hides, in seconds.

    A client that answers one input later by more would have been refuted with probability .9. The
    delay is infinite if times were not looked at, or if any delay could have been missed.

    Notes
    -----
    The times T that were seen are those of the other inputs, and T + d those of the late one. All
    of them are cut into intervals, as many as the audit makes, that have equally many. The promise
    of the bets on the intervals must reach what a bet must win in `one_in`. The smallest d of a
    grid is taken for which it does.
    """
    bettor, reports, k = run.main, int(run.asked.min()), run.cycle
    values = [x.value if isinstance(x, Line) else x for x in bettor.memory if x is not None]
    times = np.array([x[ARRIVAL] for x in values if run.timed and ARRIVAL in x])
    if not times.size:
        return math.inf
    claims, lines, parts = bettor.wealth.claims, bettor.wealth.lines, EDGES + 1

    def found(delay: float) -> bool:
        late, counts = times + delay, np.empty((parts, k), np.float32)
        every = np.append(np.tile(times, k - 1), late)
        edges = np.quantile(every, np.arange(1, parts) / parts)
        for column, own in ((slice(1, None), times), (slice(1), late)):
            bins = np.searchsorted(edges, own, side="right")
            counts[:, column] = np.bincount(bins, minlength=parts)[:, None] / times.size * reports
        promised, _ = gains(
            np.full(parts, -1, np.int32), counts, np.full(k, float(reports)),
            claims.grown[lines], claims.delta[lines], claims.ordered,
        )  # fmt: skip
        return bool(promised.sum() >= _needed(run, SPENT))

    delays = np.append(np.ptp(times) * np.geomspace(1e-6, 1, _DELAYS), math.inf)
    return float(delays[bisect.bisect_left(delays[:-1], True, key=found)])


def unseen(run: "Run") -> str:
    """Return sentences about what the audit would have found, and what it did not look at."""
    often = one_in(run)
    if not often:
        return ""
    lost, delay = int(run.main.table.state[1]), hidden(run)
    more = [f"{lost:,} things of the reports found no room and were not counted."] * (lost > 0)
    if delay < math.inf:
        more.append(
            f"A client that answers one input more than {1000 * delay:.2g} ms later would have been"
            " refuted with probability 0.9. The noise of this machine may hide shorter delays."
        )
    unseen = UNSEEN if run.live else UNSEEN_PAIRED
    return " ".join(
        [
            f"A client that sends its input in the clear in one report of {often:,} would have been"
            " refuted with probability 0.9, if it does so as a value of one entry, as two entries"
            " together, in a relation of consecutive reports, in the characters of a text, or by a"
            " failed call.",
            *more,
            f"Not looked at: {unseen.replace(TIME, '' if run.timed else TIME)}.",
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
