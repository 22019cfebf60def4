"""Do once, in the process that is copied for each page, what each of its copies would have to do.

It makes the imports of most pages. It reads which file imports which, for the digests of stored sweeps (`ldpbook.stored`). The
garbage collector of the copies passes over all objects that exist by then.
"""

import gc

import ipykernel.kernelapp  # noqa: F401
import myst_nb  # noqa: F401
import papermill  # noqa: F401
import scipy.stats  # noqa: F401

import ldpkit.mechanisms  # noqa: F401

from . import claims, paper_audits, paper_values, plots, stored  # noqa: F401

stored.PACKAGE.files("import ldpkit, ldpbook")
stored.identity(paper_audits.ldp_auditor)
gc.freeze()
