"""Sequential audits that look at every entry of reports of any form.

`columns` takes reports apart, `counts` counts what they show for either input, `bets` bets on what
the counts of the past promise. Bets are valid because each column depends on its own report alone.
"""

from .bets import Bets, block_end
from .columns import read
from .counts import Counts

__all__ = ["Bets", "Counts", "block_end", "read"]
