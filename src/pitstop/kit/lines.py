"""Lines of logs in which each line is JSON."""

from __future__ import annotations


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, which end with a newline, or with a carriage return and a newline.

    ``str.splitlines`` also ends a line at characters that JSON has in its strings as they are, such as U+2028 and U+0085.
    """
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
