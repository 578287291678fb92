"""Output on a terminal, without the control codes that stand in data."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast

from pitstop.kit.plain_text import shown


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
