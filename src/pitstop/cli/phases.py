"""Shows that a command waits, and for what: a moving line on a terminal, plain lines elsewhere if it takes long."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pitstop.cli.terminal import terminal_of
from pitstop.errors import PitstopError
from pitstop.kit.plain_text import in_one_line

QUIET_SECONDS = 3.0
"""The seconds of waiting after which a command that is on no terminal says what it waits for."""

VARIABLE, OFF = "PITSTOP_PROGRESS", "off"

Follow = Callable[[threading.Event], Iterator[str]]
"""Yields the phases of the work as they come, in words, until the event is set."""


@contextmanager
def waiting(text: str, follow: Follow | None = None) -> Iterator[None]:
    """Show ``text`` on standard error while the context lasts, and then the phases that ``follow`` yields.

    ``$PITSTOP_PROGRESS`` set to ``off`` keeps all of it away.
    """
    if os.environ.get(VARIABLE) == OFF:
        yield
        return
    ended = threading.Event()
    on_terminal = sys.stderr.isatty()
    work = _on_terminal if on_terminal else _in_lines
    thread = threading.Thread(target=work, args=(text, follow or _nothing, ended), daemon=True, name="phases")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        if on_terminal:  # its line must be gone before the next one is printed
            thread.join(1.0)


def _nothing(ended: threading.Event) -> Iterator[str]:
    yield from ()


def _in_lines(text: str, follow: Follow, ended: threading.Event) -> None:
    if ended.wait(QUIET_SECONDS):
        return
    print(f"{text} ...", file=sys.stderr, flush=True)
    for phase in _until_an_error(follow(ended)):
        if ended.is_set():
            return
        print(in_one_line(phase), file=sys.stderr, flush=True)


def _on_terminal(text: str, follow: Follow, ended: threading.Event) -> None:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=terminal_of(sys.stderr)), transient=True) as progress:
        task = progress.add_task(text)

        def tell() -> None:
            for phase in _until_an_error(follow(ended)):
                progress.update(task, description=f"{text}: {in_one_line(phase)}")

        threading.Thread(target=tell, daemon=True, name="phases of the job").start()
        ended.wait()


def _until_an_error(phases: Iterator[str]) -> Iterator[str]:
    """Yield phases until the server does not answer: the command itself says so."""
    try:
        yield from phases
    except PitstopError:
        return
