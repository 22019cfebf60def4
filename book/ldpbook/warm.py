"""Read the imports of the packages when this module is imported.

The prepared process imports it. Therefore its copies know what a sweep of audits depends on, which takes a third of a second.
"""

from .stored import PACKAGE

FILES = PACKAGE.files("from ldpbook.paper_audits import ldp_auditor")
"""Files on which an audit of a grid depends."""
