"""Clients of other people: a function, a program in any language, a process, or recordings."""

from ...mechanisms.base import ClientError
from .client import Client
from .program import Program
from .recordings import recorded

__all__ = ["Client", "ClientError", "Program", "recorded"]
