"""Sequential audits, which bet against the claim after every report until the claim is refuted.

`SequentialAudit` is the planned audit, and `loop` runs it: draw reports, observe their events, bet,
learn. `columns` reads reports of any form, `counts` counts their records for each input, and a
`Screen` bets on the events that these counts promise. `Scores` bet on whole reports, as models
predict their input. `Wealth` is the wealth process of all bets. The bets are valid because each
column depends on its own report alone.
"""

from .audit import SequentialAudit
from .columns import read
from .counts import Counts
from .events import Declared, Entry, Event
from .result import SequentialResult
from .scores import Scores
from .screen import Screen, block_end

# fmt: off
__all__ = [
    "SequentialAudit", "SequentialResult", "Declared", "Event", "Counts", "Entry",
    "Scores", "Screen", "block_end", "read"
]
# fmt: on
