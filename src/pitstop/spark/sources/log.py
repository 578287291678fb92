"""Log lines of sources. A source runs in a process of its own, whose standard error is the job's log."""

from __future__ import annotations

import logging

from pitstop.machine.logs import FACTS, follow_levels, show


class SourceLog:
    """A log that writes JSON lines with the source's kind and stage, as far as the levels of the run want them."""

    def __init__(self, kind: str, stage: str) -> None:
        self._name, self._more = f"pitstop.source.{kind}", {FACTS: {"stage": stage}}
        show("pitstop")

    def debug(self, message: str) -> None:
        self._write(logging.DEBUG, message)

    def info(self, message: str) -> None:
        self._write(logging.INFO, message)

    def warning(self, message: str) -> None:
        self._write(logging.WARNING, message)

    def _write(self, level: int, message: str) -> None:
        follow_levels()
        logging.getLogger(self._name).log(level, "%s", message, extra=self._more)
