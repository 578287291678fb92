"""The command that shows a job's log."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer

from pitstop.cli.arguments import JobArgument
from pitstop.cli.away import AWAY_SECONDS, say_away
from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.errors import UnreachableError, UsageError
from pitstop.kit.counts import counted
from pitstop.kit.durations import milliseconds
from pitstop.machine.log_levels import LogLevel
from pitstop.machine.log_lines import OF_ONE_JOB, Line
from pitstop.service.api import Service
from pitstop.service.log_results import LogPage

POLL_SECONDS = 0.3
PAGE_LINES = 10_000
_LEVELS = tuple(level.value for level in (LogLevel.TRACE, LogLevel.DEBUG, LogLevel.INFO, LogLevel.WARN, LogLevel.ERROR))


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, logs)


def logs(
    call: Call,
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow new lines until the job ends")] = False,
    tail: Annotated[
        int | None, typer.Option("--tail", min=0, metavar="LINES", help="Only the last lines, of those that match")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Only lines after a time, as 10m (ago) or 2026-11-22T12:24 (UTC)"),
    ] = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help=f"Only lines of this level and graver ones: {', '.join(word.lower() for word in _LEVELS)}",
            autocompletion=lambda: [word.lower() for word in _LEVELS],
        ),
    ] = None,
    grep: Annotated[str | None, typer.Option(metavar="REGEX", help="Only lines that match this regular expression")] = None,
) -> None:
    """Show a job's log, oldest first.

    With -o json, lines are JSON as they are stored. With -v, each line also tells its thread and its run.
    """
    sieve = Sieve.of(since, level, grep)
    service = call.service()
    job_id = service.job(job).id
    after = 0
    if tail is not None:
        last: deque[Line] = deque(maxlen=tail)
        for page in _pages(service, job_id):
            last.extend(sieve.passed(page.lines))
            after = page.next
        _print(call, last)
        if not follow:
            return
    if follow:
        for lines in _followed(call, job_id, after):
            _print(call, sieve.passed(lines), flush=True)
    else:
        for page in _pages(service, job_id):
            _print(call, sieve.passed(page.lines))


@dataclass
class Sieve:
    """The lines that the user has asked for."""

    since: str | None = None
    """In the form of a line's time."""
    gravest: int = 0
    """Index of the least grave level."""
    pattern: re.Pattern[str] | None = None
    _has_come: bool = False

    @classmethod
    def of(cls, since: str | None, level: str | None, grep: str | None) -> Sieve:
        """Return the sieve for the options of the command. UsageError if one of them cannot be read."""
        try:
            pattern = re.compile(grep) if grep is not None else None
        except re.error as error:
            raise UsageError(f"--grep {grep!r} is not a regular expression: {error}.") from None
        word = (level or _LEVELS[0]).upper()
        word = {"WARNING": "WARN", "FATAL": "ERROR", "CRITICAL": "ERROR"}.get(word, word)
        if word not in _LEVELS:
            raise UsageError(f"--level '{level}' is not a level: write one of {', '.join(each.lower() for each in _LEVELS)}.")
        return cls(_moment(since) if since is not None else None, _LEVELS.index(word), pattern)

    def passed(self, raw_lines: Iterable[str]) -> Iterator[Line]:
        """Yield the lines that come through, in their order."""
        for raw in raw_lines:
            line = Line.of(raw)
            if self._passes(line):
                yield line

    def _passes(self, line: Line) -> bool:
        if self.since is not None and not self._has_come:
            # A line without a time belongs to the one before.
            self._has_come = str(line.facts.get("time", "")) >= self.since
            if not self._has_come:
                return False
        level = str(line.facts.get("level", LogLevel.INFO.value)).upper()
        if level in _LEVELS and _LEVELS.index(level) < self.gravest:
            return False
        return self.pattern is None or bool(self.pattern.search(line.raw) or self.pattern.search(line.text(OF_ONE_JOB)))


def _moment(text: str) -> str:
    """Return a moment in the form of a line's time, in UTC. ``text`` is a duration before now, or a moment in ISO 8601."""
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment
    except ValueError:
        try:
            moment = datetime.fromtimestamp(time.time() - milliseconds(text) / 1000, UTC)
        except UsageError:
            raise UsageError(
                f"--since {text!r} is no time: write 10m, '2 hours', or a moment in UTC as 2026-11-22T12:24."
            ) from None
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds").replace(".", ",")


def _print(call: Call, lines: Iterable[Line], flush: bool = False) -> None:
    for line in lines:
        text = call.output.line(line.facts) if call.structured else line.text(() if call.verbose else OF_ONE_JOB)
        print(text, flush=flush)


def _pages(service: Service, job_id: str) -> Iterator[LogPage]:
    """Yield what is written so far, page by page."""
    after = 0
    while (page := service.logs(job_id, after, PAGE_LINES)).lines:
        yield page
        after = page.next


def _followed(call: Call, job_id: str, after: int) -> Iterator[list[str]]:
    """Yield lines as they are written, until the job has ended.

    Reading goes on from a byte position: no line is lost or repeated.
    """
    service = call.service()
    away_since: float | None = None
    quiet = False
    while True:
        try:
            # Asked before the lines are read: the log of a job that has ended is complete.
            ended = not service.job(job_id).active
            page = service.logs(job_id, after)
            away_since = None
        except UnreachableError as error:
            now = time.monotonic()
            if away_since is None:
                say_away(call, error)
                away_since = now
            if now - away_since > AWAY_SECONDS:
                raise
            time.sleep(POLL_SECONDS)
            continue
        if page.lost:
            call.warn(f"{counted(page.lost, 'byte')} of the log rotated away before anybody read them.")
        yield page.lines
        after = page.next
        if not page.lines:
            # What a run prints last is on its way through a pipe when the job has just ended.
            if ended and quiet:
                return
            time.sleep(POLL_SECONDS)
        quiet = ended and not page.lines
