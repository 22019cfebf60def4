"""Clients with loops that end with probability one, and clients whose ways look alike and are not."""

import itertools
import math
import random
import secrets

SEEN = [0]
REGISTER = {}


def rejection(v):
    """Generalised randomised response for four values: propose one, keep a lie with exp(-1)."""
    while True:
        w = random.randrange(4)
        if w == v or random.random() < math.exp(-1):
            return w


def geometric(v):
    """A two-sided geometric number in which 0 is twice as likely: the loss is 1 + ln 2."""
    x, sign = 0, random.random() < 0.5
    while random.random() < math.exp(-1):
        x += 1
    return v + (x if sign else -x)


def capped(v):
    """The same, in eight rounds at most: the loss is infinite."""
    x, sign = 0, random.random() < 0.5
    while x < 8 and random.random() < math.exp(-1):
        x += 1
    return v + (x if sign else -x)


def unit(n, d):
    """Return true with probability exp(-n / d), for n <= d, by the series."""
    k = 1
    while secrets.randbelow(d * k) < n:
        k += 1
    return k % 2 == 1


def decay(n, d):
    while n > d:
        if not unit(1, 1):
            return False
        n -= d
    return unit(n, d)


def series(v):
    return decay(1, 2) if v else not decay(1, 2)


def discrete_laplace(scale, least=0):
    while True:
        u = random.randrange(scale)
        if not decay(u, scale):
            continue
        x = u
        while unit(1, 1):
            x += scale
        sign = random.randrange(2)
        if sign and x <= least:
            continue
        return -x if sign else x


def laplace(v):
    return v + discrete_laplace(1)


def laplace_off_by_one(v):
    return v + discrete_laplace(1, -1)  # 0 is twice as likely


def gauss(v):
    while True:
        y = discrete_laplace(2)
        z = abs(y) * 2 - 1
        if decay(z * z, 8):
            return v + y


# --- ways that come to the same line with the same variables, and differ nevertheless -------------


def below(n):
    low = n < 2
    n = 0
    low = False
    return low or n > 0


def narrowed(v):
    u = random.randrange(4)
    below(u)
    return u < 2


class Holder:
    kept = 0


def keep(x):
    Holder.kept = x


def attribute(v):
    x = int(random.random() < 0.5)
    keep(x)
    x = 0
    return Holder.kept + x


def item(v):
    x = int(random.random() < 0.5)
    SEEN[0] = x
    x = 0
    return SEEN[0] + x


def registered():
    REGISTER["toss"]()
    y = 0
    return y


def enclosing(v):
    x = 0

    def toss():
        nonlocal x
        x = int(random.random() < 0.5)

    REGISTER.update(toss=toss)
    return registered() + x


def stacked(v):
    def toss():
        x = random.randrange(2)
        x = x + 0
        return x

    return toss() + 2 * toss()


def iterated(v):
    x = 0
    for step in (1, 2):
        y = random.randrange(2)
        x = x + step * y
        y = 0
    return x


def generated(v):
    tosses = (random.randrange(2) for _ in itertools.count())
    x = next(tosses)
    x = next(tosses) + 2 * next(tosses)
    return x


def negative_zero(v):
    x = -0.0 if random.random() < 0.5 else 0.0
    x = x * 1
    return str(x)


def toss(n):
    return random.randrange(n)


def again(v):
    return toss(2) + 2 * toss(2)


def drawn(n):
    x = random.random()
    return x if x < n else x + 0


def again_drawn(v):
    x, y = drawn(0.25), drawn(0.25)
    return [x < 0.5, y < 0.5]


def low(x):
    return x < 0.5


def again_given(v):
    x = random.random()
    return [low(x), low(random.random()), low(x)]


def risky(n):
    if random.randrange(n):
        raise LookupError
    return 0


def again_raised(v):
    out = []
    for _ in range(2):
        try:
            out.append(risky(2))
        except LookupError:
            out.append(1)
    return out


def recursive(n):
    return n if random.random() < 0.5 else recursive(1 - n)


def again_recursive(v):
    return [recursive(0) > 2, toss(2) > 0, toss(2) > 0]


def mark():
    REGISTER["kept"] = 1


def rare(n):
    if random.random() < n:
        mark()
    return 0


def again_kept(v):
    REGISTER.clear()
    rare(0.25)
    rare(0.25)
    return len(REGISTER)


def counted(n, kept=None):
    kept = kept or Holder
    return random.randrange(n)


def again_object(v):
    return counted(2) + 2 * counted(2, Holder)


def positive(n):
    return random.randrange(n) > 0


def refusing(v):
    """Takes only numbers that are drawn, as a compiled function does."""
    out = [positive(3), positive(3), random.randrange(4)]
    if type(out[2]) is not int:
        raise TypeError
    return out


HALF, QUARTER = [0.5] * 2, [0.25] * 4
ALIKE = {"narrowed": HALF, "attribute": HALF, "item": HALF, "enclosing": HALF, "stacked": QUARTER,
         "iterated": QUARTER, "generated": QUARTER, "negative_zero": HALF, "again": QUARTER,
         "again_drawn": QUARTER, "again_given": QUARTER, "again_raised": QUARTER, "again_recursive": QUARTER,
         "again_object": QUARTER, "again_kept": [0.4375, 0.5625]}  # fmt: skip
