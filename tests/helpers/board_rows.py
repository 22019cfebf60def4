"""Make rows of an invented scoreboard."""

from ldpbook.paper_values import AGREES

SAID = ("=", "closed form", "printed number")
OWN = ("=", "real reports", "own stand-in")
CURVE = ("=", "closed form", "digitised curve")
ROWS = [
    ("rad/fig1", "one", 0.5, 0.13378, 5e-6, 0.13379, 0.0, None, "differs-explained", "misprint", *SAID),
    ("rad/fig1", "two", 0.5, 0.12341, 1e-3, 0.12342, 0.0, None, "reproduced", "", *SAID),
    ("rad/fig1", "three", 1.0, None, None, 2.0, 0.1, 2.25, "no-published-value", "", *OWN),
    *(("rad/fig1", "curve", x, 1.0, 0.1, 1.02, 0.0, None, "reproduced", f"k = {x}", *CURVE) for x in range(19)),
    ("rad/fig1", "curve", 19, 1.0, 0.1, 1.04, 0.0, None, "reproduced", "fitted", *CURVE),
    ("rad/fig1", "most", 1, 2.0, 0.0, 1.5, 0.0, 1.5, "reproduced", "", "<=", "closed form", "claim in words"),
    ("rad/fig1", "theirs", 1, None, None, 2.0, 0.1, 2.1, AGREES, "", "=", "released code", "own stand-in"),
    ("kv_auditor/table2", "mean", 3, 1234.0, 0.5, 1234.0, 1.5, None, "reproduced", "", *SAID),
]  # fmt: skip
