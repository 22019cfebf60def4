"""Programs whose coins anybody can know, found by four starts of the program."""

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...mechanisms.base import ClientError
from .program import Program

__all__ = ["CLOCK", "SAME", "Seed", "gains", "known_seed"]


class Seed(NamedTuple):
    """Fault of a program whose coins anybody can know.

    Attributes
    ----------
    cause, invalid, sentence : str
        The fault as a sentence that begins with "Cause", why counts of the reports prove nothing,
        and the sentence of a violation.
    """

    cause: str
    invalid: str
    sentence: str


_KNOWN = (
    "two starts gave the same answers to the same inputs, and a third one gave other answers to"
    " other inputs."
)
_NOTHING = ", so that its coins are known, and counts of its reports prove nothing"

SAME = Seed(
    "Cause: the same seed at every start.",
    f"the program has the same seed at every start{_NOTHING}",
    f"The program has the same seed at every start: {_KNOWN} A fourth start, more than a second"
    " later, gave the same answers again. Therefore anybody who knows the program knows its coins.",
)
CLOCK = Seed(
    "Cause: a seed from the second of the clock.",
    f"the program takes its seed from the second of the clock{_NOTHING}",
    f"The program takes its seed from the second of the clock: {_KNOWN} A fourth start, more than a"
    " second later, gave other answers to the same inputs. Therefore anybody who knows the program"
    " and the time knows its coins.",
)

_QUESTIONS, _PATIENCE = 2000, 5.0  # questions, and seconds for all of them
_SECOND = 1.1  # seconds after which the clock shows another second
_FRESH = 20  # so many changing answers repeat by chance with probability 2^-20 at most


def gains(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what the logarithm of the wealth gains if the third answer differs, and if not."""
    stake = math.exp(-min(epsilon, 700))
    return math.log1p((1 - delta) * stake), math.log1p(-delta * stake)


def known_seed(client: Any, inputs: Sequence[int], goal: float) -> tuple[float, Seed | None]:
    """Find out whether a program draws coins that anybody can know.

    Parameters
    ----------
    client : Client
        A client whose function is a `Program`. No other client or mechanism is examined.
    inputs : sequence of int
        The audited inputs, by their positions.
    goal : float
        Logarithm of the wealth at which to stop.

    Returns
    -------
    wealth : float
        The logarithm of the wealth.
    seed : Seed or None
        The fault, if the program seems to repeat its coins.

    Notes
    -----
    The program is started three times. The first two starts get the same inputs, and the third one
    gets other inputs. If the program seems to repeat its coins, a fourth start gets the inputs of
    the first one, more than a second later. It shows whether the seed is the second of the clock,
    and wins nothing. Let A, B and C be the answers to one question, let p be the distribution of A
    and of B, and q that of C. The claim implies 1 - q(y) <= exp(epsilon) (1 - p(y)) + delta for
    every answer y. Therefore, for every set S of answers,

        P(A = B != C, A in S) = sum over S of p(y)^2 (1 - q(y))
                             <= exp(epsilon) P(A != B) + delta P(A = B in S).

    Here S are the answers that differ from the previous one to the same input. Therefore a program
    that always repeats its answer, for example because it needs no coins, is not taken for one that
    repeats its coins. The bet multiplies its wealth by 1 + l (1 - delta) if A = B != C, by 1 - l
    delta if A = B = C, and by 1 - l exp(epsilon) if A != B, where l = exp(-epsilon). This wins
    nothing on average if the coins of the starts are independent, and an answer does not depend on
    earlier ones.
    """
    if not isinstance(client.function, Program):
        return -math.inf, None
    starts = [client.function.afresh() for _ in range(4)]
    values = [i if client.values is None else client.values[i] for i in inputs]
    won, lost = gains(client.epsilon, client.delta)
    last: dict[int, Any] = {}
    answers: list[tuple[Any, Any]] = []
    wealth, fresh, end = 0.0, 0, time.monotonic() + _PATIENCE
    for at in itertools.islice(itertools.cycle(range(len(values))), _QUESTIONS):
        try:
            first, again = [start(values[at]) for start in starts[:2]]
            other = starts[2](values[at - 1]) if first == again else None
        except ClientError:  # the audit will meet it, too
            return -math.inf, None
        if first != again:
            return -math.inf, None
        answers.append((values[at], first))
        if last.get(at, first) != first:
            fresh, wealth = fresh + 1, wealth + (won if other != first else lost)
        last[at] = first
        if wealth >= goal or time.monotonic() > end:
            break
    if wealth < goal and fresh < _FRESH:
        return wealth, None
    time.sleep(_SECOND)
    try:
        return wealth, SAME if all(starts[3](value) == said for value, said in answers) else CLOCK
    except ClientError:
        return -math.inf, None
