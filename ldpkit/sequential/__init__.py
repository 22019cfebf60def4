"""Sequential audits that look at every entry of reports of any form.

`columns` takes reports apart, `counts` counts what they show for each input, `bets` bets on what
the counts of the past promise, and a `Screen` does all of it. Bets are valid because each column
depends on its own report alone.
"""

from .bets import Bets, block_end
from .columns import read
from .counts import Counts
from .screen import Entry, Screen

__all__ = ["Bets", "Counts", "Entry", "Screen", "block_end", "read"]
