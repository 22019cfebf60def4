"""Sequential audits that look at every entry of reports of any form.

`columns` takes reports apart, `counts` counts what they show for either input, `bets` bets on what
the counts of the past promise. Bets are valid because each column depends on its own report alone.
"""

from .columns import read

__all__ = ["read"]
