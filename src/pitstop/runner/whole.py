"""Runs a version whose sources all end, beside the steps of its run, which look at its progress and can end it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from pitstop.control.lanes import Spawn
from pitstop.model.job import Progress
from pitstop.runner.runtime import Whole


class WholeRun:
    """Runs a version once. ``poke`` is called when it has come to its end."""

    def __init__(self, whole: Whole, spawn: Spawn, poke: Callable[[], None]) -> None:
        self._whole, self._spawn, self._poke = whole, spawn, poke
        self.ended = False
        self.error: Exception | None = None
        """The error that kept it from its end; None if there is none."""

    def begin(self) -> None:
        """Start the version; return at once."""
        self._spawn(self._work)

    def done(self) -> Hashable:
        """Return a value that changes whenever a task has ended."""
        return self._whole.done()

    @property
    def progress(self) -> Progress:
        """The rows that were read and written so far."""
        return self._whole.progress

    def end(self) -> None:
        """Let the version write nothing more."""
        self._whole.end()

    def _work(self) -> None:
        try:
            self._whole.run()
        except Exception as error:  # this thread has nobody to tell: the next step does
            self.error = error
        self.ended = True
        self._poke()
