"""Programs with the same seed at every start, found by three starts of the program."""

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any

from ...mechanisms.base import ClientError
from .process import Program

__all__ = ["gains", "same_seed"]

_QUESTIONS, _PATIENCE = 2000, 5.0  # questions, and seconds for all of them
_FRESH = 20  # so many changing answers repeat by chance with probability 2^-20 at most


def gains(epsilon: float, delta: float) -> tuple[float, float]:
    """Return what the logarithm of the wealth gains if the third answer differs, and if not."""
    stake = math.exp(-min(epsilon, 700))
    return math.log1p((1 - delta) * stake), math.log1p(-delta * stake)


def same_seed(client: Any, inputs: Sequence[int], goal: float) -> tuple[float, bool]:
    """Find out whether a program draws the same coins at every start.

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
    wealth, repeats : float, bool
        The logarithm of the wealth, and whether the program seems to repeat its coins.

    Notes
    -----
    The program is started three times. The first two starts get the same inputs, and the third one
    gets other inputs. Let A, B and C be the answers to one question, let p be the distribution of A
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
        return -math.inf, False
    starts = [Program(client.function.words, client.function.limit) for _ in range(3)]
    values = [i if client.values is None else client.values[i] for i in inputs]
    won, lost = gains(client.epsilon, client.delta)
    last: dict[int, Any] = {}
    wealth, fresh, end = 0.0, 0, time.monotonic() + _PATIENCE
    for at in itertools.islice(itertools.cycle(range(len(values))), _QUESTIONS):
        try:
            first, again = [start(values[at]) for start in starts[:2]]
            other = starts[2](values[at - 1]) if first == again else None
        except ClientError:  # the audit will meet it, too
            return -math.inf, False
        if first != again:
            return -math.inf, False
        if last.get(at, first) != first:
            fresh, wealth = fresh + 1, wealth + (won if other != first else lost)
        last[at] = first
        if wealth >= goal or time.monotonic() > end:
            break
    return wealth, fresh >= _FRESH
