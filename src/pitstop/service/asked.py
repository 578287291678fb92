"""What is asked for and not answered yet, as a value: whoever waits for it decides how, with a thread or without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pitstop.errors import WaitTimeoutError
from pitstop.model.job import JobState
from pitstop.service.changes import Changes

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""How often to look at the store while waiting: runners write to it from processes that cannot notify this one."""


@dataclass(frozen=True)
class JobIs:
    """A job is in one of these states, or gone."""

    job_id: str
    states: tuple[JobState, ...]


@dataclass(frozen=True)
class Answered:
    """An operation is answered, or gone."""

    operation: int


@dataclass(frozen=True)
class JobHappened:
    """Something has happened to a job after that number of its events, or the job is gone."""

    job_id: str
    after: int


Sign = JobIs | Answered | JobHappened
"""What an answer is not to be had before. The signs of thousands who wait are read in one query."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """Look when the sign has come, until there is an answer or the time is up."""

    sign: Sign
    look: Callable[[], T | None]
    """The answer, None if there is none yet; raises what went wrong. Reads the store, quickly."""
    late: Callable[[], T]
    """The answer when the time is up, or raises what is told then."""
    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that may still be waited."""
        return self.began + self.seconds - time.monotonic()


def not_in_time(name_or_id: str, status: JobState, states: Collection[JobState], seconds: float) -> WaitTimeoutError:
    """What is told to those who have waited for a job to be in one of these states."""
    return WaitTimeoutError(f"Job '{name_or_id}' is {status}, not {' or '.join(states)}, after {seconds:.0f} seconds.")


def wait(asked: Asked[T], changes: Changes) -> T:
    """The answer; blocks this thread until there is one, or the time is up."""
    while True:
        seen = changes.seen
        found = asked.look()
        if found is not None:
            return found
        if asked.left <= 0:
            return asked.late()
        changes.wait(seen, min(LOOK_SECONDS, asked.left))
