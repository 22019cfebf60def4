"""Sequential audits that look at every entry of reports of any form.

`columns` takes reports apart, `counts` counts what they show for each input, `bets` bets on what
the counts of the past promise, and a `Screen` does all of it. `scores` bets on everything at once,
as models foretell it. Bets are valid because each column depends on its own report alone.
"""

from .bets import Bets, block_end
from .columns import read
from .counts import Counts
from .scores import Scores
from .screen import Entry, Screen

__all__ = ["Bets", "Counts", "Entry", "Scores", "Screen", "block_end", "read"]
