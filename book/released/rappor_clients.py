"""RAPPOR in Java as Android ships it; not audited here yet: it needs Java and two Debian packages."""

import math

from hall import Released

WHY = "it needs Java and the Debian packages librappor-aosp-java and libguava-java"
HALF = 2 * math.log(3)
ordinal, again, flag, text = (
    Released("librappor-aosp-java", "9.0.0+r35", name, claim=claim, stated="parameters f, p, q and h, by the formula of the RAPPOR paper", source=WHY)
    for name, claim in (("Encoder.encodeOrdinal, permanent", HALF), ("Encoder.encodeOrdinal, instantaneous", 0.5371),
                        ("Encoder.encodeBoolean", HALF), ("Encoder.encodeString, h = 2", 2 * HALF))
)  # fmt: skip
