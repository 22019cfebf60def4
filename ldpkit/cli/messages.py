"""Messages of the command line, which are short and have one line each."""

import re

__all__ = ["brief"]

_LONG, _MOST = 200, 2000  # characters of a value in a message, and of a message


def brief(message: str) -> str:
    """Return a message in one line, in which long values are shortened."""
    line = re.sub(
        rf"""(?<!\w)'[^']{{{_LONG},}}'|(?<!\w)"[^"]{{{_LONG},}}"|\S{{{_LONG},}}""",
        lambda value: _cut(value[0], _LONG // 2),
        " ".join(message.split()),
    )
    return _cut(line, _MOST) if len(line) > _MOST else line


def _cut(text: str, most: int) -> str:
    """Return a text without its middle."""
    ends = text[: most * 3 // 4], text[-most // 4 :]
    return f" ...({len(text) - most:,} characters)... ".join(ends)
