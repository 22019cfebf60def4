"""``python -m ldpkit`` is the command ``ldpkit``."""

from .cli import main

main()
