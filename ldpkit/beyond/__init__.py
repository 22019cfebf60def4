"""Protocols that none of the five papers studies, one file per family."""
