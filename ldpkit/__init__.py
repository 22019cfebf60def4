"""ldpkit: audit local differential privacy.

Rooms, from the bottom up: `stats` (bounds and expectations), `mechanisms`
(client side), `attacks` (what an adversary concludes from reports), `auditors`
(counts turned into statements about epsilon). The hall: `sweep` (grids to
tables), `published` (the papers' numbers), `plots`, and the command line.
"""

import hashlib
import os
from pathlib import Path

import numba

__version__ = "0.1.0"


def code_digest() -> str:
    """Return a short digest of the package's own source files.

    It names the directory of compiled kernels and is part of the key of every
    stored result, so neither can outlive the code that made it.
    """
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


# numba does not notice an edited helper in another file: a cache directory per digest does.
if not os.environ.get("NUMBA_CACHE_DIR"):
    _cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    numba.config.CACHE_DIR = str(Path(_cache) / "ldpkit" / "numba" / code_digest())  # type: ignore[attr-defined]  # set by numba at run time
