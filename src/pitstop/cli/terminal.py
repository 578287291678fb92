"""Text for a terminal, without the control codes that stand in data."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

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


@contextlib.contextmanager
def plain_output() -> Iterator[None]:
    """Whatever is printed within arrives as :func:`shown`, on standard output and standard error."""
    out, err = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast(TextIO, _Screen(out)), cast(TextIO, _Screen(err))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def terminal_of(stream: TextIO) -> TextIO:
    """Return the stream for control codes of our own, such as those that draw a moving sign."""
    return stream.stream if isinstance(stream, _Screen) else stream


class _Screen:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(shown(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
