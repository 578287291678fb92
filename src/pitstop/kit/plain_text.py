"""Text without the control codes that stand in data, for terminals and lines of logs."""

from __future__ import annotations

_PLAIN = "\n\t"
_CONTROL = [*range(0x20), *range(0x7F, 0xA0)]
_REVERSING = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Marks that let text be shown in another order than it is written in."""
_SHOWN = {code: f"\\u{code:04x}" for code in (*_CONTROL, *_REVERSING) if chr(code) not in _PLAIN}


def shown(text: str) -> str:
    """Return the text with control codes written as ``\\u001b``, which JSON reads as the same again."""
    return text.translate(_SHOWN)


def in_one_line(text: str) -> str:
    """Return a word as :func:`shown` for a line or table: no end of line, no tab."""
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")
