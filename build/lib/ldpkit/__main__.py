"""The command ``python -m ldpkit``, which is the same as ``ldpkit``."""

from .cli import main

main()
