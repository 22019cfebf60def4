"""Sequential audits: bets against the claim, after every report, until the claim is refuted.

`SequentialAudit` is the planned audit, and `loop` runs it: draw reports, place the bets, refit the
learner. `columns` takes reports of any form apart, `counts` counts what they show for each input,
`bets` bets on what the counts of the past promise, and a `Screen` does all of it. `scores` bets on
everything at once, as models predict it. `wealth` holds the wealth process of all bets. The bets
are valid because each column depends on its own report alone.
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
