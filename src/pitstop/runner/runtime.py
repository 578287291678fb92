"""The protocols by which a run opens a job's version, and starts, looks at and ends its query."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pitstop.control.ports.ownership import Ownership
from pitstop.errors import PitstopError
from pitstop.model.cluster import Placement
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, Progress
from pitstop.model.snapshot import SnapshotRecord


class Started(Protocol):
    """A query that runs."""

    @property
    def active(self) -> bool: ...

    @property
    def up(self) -> bool:
        """True once the query has done an epoch, or is idle and waits for data."""
        ...

    @property
    def first_epoch(self) -> bool:
        """True once this run has committed an epoch."""
        ...

    def look(self) -> Progress:
        """Return the progress of the job by now."""
        ...

    @property
    def outgrown(self) -> int | None:
        """The bytes of memory that its state takes, if the state is to move to disk for that; else None."""
        ...

    @property
    def holds_still(self) -> bool:
        """True while no epoch begins, because the state is to move to disk first."""
        ...

    def working_on(self) -> int | None:
        """Return the epoch that is under way; None if the query waits for data."""
        ...

    def failure(self) -> PitstopError | None:
        """Return the error for which the query ended by itself; None if there is none."""
        ...

    def committed_at(self, epoch: int) -> float | None:
        """Return the time at which an epoch was committed, in seconds since 1970; None if it was not."""
        ...

    def execution(self, epochs: int) -> dict[str, Any]:
        """Return the ``stages`` of the last epochs as model.execution.epochs_of takes them, ``plan`` and ``peekable`` stages."""
        ...

    def peek(self, stage: str, limit: int, seconds: float) -> dict[str, Any]:
        """Return ``columns``, ``rows`` and ``more`` (model.task.StateRows) of a stage in the next epoch that gives any.

        WaitTimeoutError if none comes in so many seconds.
        """
        ...

    def stop(self, seconds: float) -> int:
        """End between two epochs; return the last committed one."""
        ...

    def export(self, name: str, at_rest: bool = False) -> SnapshotRecord:
        """Save the state of the last committed epoch under a name; ``at_rest``: the query has been stopped."""
        ...


class Whole(Protocol):
    """A version whose sources all end. It is run once, in a thread of its own."""

    def run(self) -> None:
        """Read all data and write all sinks; raise the error that keeps it from that."""
        ...

    @property
    def progress(self) -> Progress:
        """The rows that were read and written so far. The numbers change with each sink that is written."""
        ...

    def done(self) -> Hashable:
        """Return a value that changes whenever a task has ended."""
        ...

    def end(self) -> None:
        """Let the version write nothing more and end with an error."""
        ...


@dataclass(frozen=True)
class Opened:
    """A version that is compiled, on the checkpoint that it starts from."""

    plan: dict[str, Any]
    config: JobConfig
    lineage: str
    start: Callable[[Progress], Started]
    """Starts its query, given the progress of earlier runs."""
    whole: Whole | None = None
    """Runs the version as one epoch, instead of a query, if all its sources end."""
    placement: Placement | None = None
    """The members of our cluster that its query is planned for."""


FindSnapshot = Callable[[], Path | None]
"""Returns the folder of the snapshot that a job starts from; None if it starts from none. SnapshotError if it is gone."""


@dataclass(frozen=True)
class Ties:
    """The ties of a run's runtime to its job."""

    ownership: Ownership
    """Checks that the run still has the job."""
    snapshot: FindSnapshot
    when_compiled: Callable[[JobConfig], None]
    """Called with the options in force once the code is compiled and state is about to be restored."""
    poke: Callable[[], None]
    """Called when there is something new to see."""


class Runtime(Protocol):
    """The software that carries out a job's version: Spark, or a script in tests."""

    def open(self, job: Job, ties: Ties) -> Opened:
        """Compile a job's version and make its checkpoint ready.

        The snapshot is asked for only if the job has no checkpoint from which it can go on.
        """
        ...

    def has_ended(self) -> bool:
        """Return True if the run shares an engine with other jobs, and that engine has ended."""
        ...

    def explain(self, error: Exception) -> Exception:
        """Return the cause of an error of opening, starting or driving a job.

        It is a PitstopError with ``away`` or ``restartable`` in its details if the machine or the engine is at fault; else the
        error as it is.
        """
        ...
