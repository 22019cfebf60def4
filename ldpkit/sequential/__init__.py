"""Sequential audits, which bet against the claim after every report until the claim is refuted.

`SequentialAudit` is the planned audit, and `loop` runs it: draw reports, observe their events, bet,
learn. `columns` reads reports of any form, `counts` counts their records for each input, and `bets`
bets on the events that these counts promise. A `Screen` joins the three. `scores` bets on whole
reports, as models predict their input. `wealth` holds the wealth process of all bets. The bets are
valid because each column depends on its own report alone.
"""

from .audit import SequentialAudit
from .bets import Bets, block_end
from .columns import read
from .counts import Counts
from .events import Declared, Event
from .result import SequentialResult
from .scores import Scores
from .screen import Entry, Screen

# fmt: off
__all__ = [
    "SequentialAudit", "SequentialResult", "Declared", "Event", "Bets", "Counts", "Entry",
    "Scores", "Screen", "block_end", "read"
]
# fmt: on
