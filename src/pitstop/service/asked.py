"""A pending answer as a value: the caller decides how to wait for it, with a thread or without one."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pitstop.errors import WaitTimeoutError
from pitstop.model.job import DisplayStatus, JobState
from pitstop.service.changes import Changes

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""The time between two looks at the store while waiting: runners write to it from processes that cannot notify this one."""


@dataclass(frozen=True)
class JobIs:
    """The sign that a job is in one of these states, or gone."""

    job_id: str
    states: tuple[JobState, ...]


@dataclass(frozen=True)
class Answered:
    """The sign that an operation is answered, or gone."""

    operation: int


@dataclass(frozen=True)
class JobHappened:
    """The sign that a job has an event with a higher number, or that the job is gone."""

    job_id: str
    after: int


Sign = JobIs | Answered | JobHappened
"""A condition without which there is no answer. One query reads the signs of thousands of waiting callers."""


@dataclass(frozen=True)
class Asked(Generic[T]):
    """A pending answer: look when the sign has come, until there is an answer or the time is up."""

    sign: Sign
    look: Callable[[], T | None]
    """A function that returns the answer, None if there is none yet, or raises its error. It only reads the store, quickly."""
    late: Callable[[], T]
    """A function that returns the answer when the time is up, or raises an error."""
    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The number of seconds that are left to wait."""
        return self.began + self.seconds - time.monotonic()


def not_in_time(name_or_id: str, status: DisplayStatus, states: Collection[JobState], seconds: float) -> WaitTimeoutError:
    """Return the error for a caller that has waited in vain for a job to be in one of these states."""
    return WaitTimeoutError(f"Job '{name_or_id}' is {status}, not {' or '.join(states)}, after {seconds:.0f} seconds.")


def wait(pending: Asked[T], changes: Changes) -> T:
    """Return the answer. Block this thread until there is one, or the time is up."""
    while True:
        number = changes.seen
        answer = pending.look()
        if answer is not None:
            return answer
        if pending.left <= 0:
            return pending.late()
        changes.wait(number, min(LOOK_SECONDS, pending.left))
