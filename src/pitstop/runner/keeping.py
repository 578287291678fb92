"""The time for which a run keeps the history of its job. The leading server sets it, also while the run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pitstop.model.retention import USUAL, Retention
from pitstop.runner.logs import Log, log

LOOK_SECONDS = 30.0
"""The time between two looks of a run for a changed setting, in seconds."""


class FollowedRetention:
    """A callable that returns the retention in the server's file (DataFolder.retention); the usual one while there is no file."""

    def __init__(self, path: Path, say: Log = log, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._path, self._say, self._monotonic = path, say, monotonic
        self._known, self._seen, self._told = USUAL, b"", ""
        self._next = float("-inf")

    def __call__(self) -> Retention:
        if self._monotonic() >= self._next:
            self._next = self._monotonic() + LOOK_SECONDS
            self._look()
        return self._known

    def _look(self) -> None:
        """Read the file if it has changed. A file that cannot be read changes nothing: no run ends for its history."""
        try:
            content = self._path.read_bytes()
            if content != self._seen:
                self._seen = content
                self._known = Retention.from_json(content.decode())
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            if str(error) != self._told:
                self._told = str(error)
                self._say("WARN", "pitstop.runner", f"The file {self._path} does not tell how much history to keep: {error}")
