"""What a run needs of an engine: a job's version opened, its query started, looked at and ended."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pitstop.control.ports import Ownership
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
        """True once it has done an epoch, or is idle and waits for data."""
        ...

    @property
    def first_epoch(self) -> bool:
        """True once this run has committed an epoch."""
        ...

    def look(self) -> Progress:
        """What the job has reached by now."""
        ...

    @property
    def outgrown(self) -> int | None:
        """How many bytes of memory its state takes, if it is to move to disk for that."""
        ...

    @property
    def holds_still(self) -> bool:
        """True while no epoch begins, because the state is to move to disk first."""
        ...

    def working_on(self) -> int | None:
        """The epoch that is under way; None if the query waits for data."""
        ...

    def failure(self) -> PitstopError | None:
        """Why it ended by itself."""
        ...

    def committed_at(self, epoch: int) -> float | None:
        """When an epoch was committed, in seconds since the epoch; None if it was not."""
        ...

    def stop(self, seconds: float) -> int:
        """End between two epochs; the last committed one."""
        ...

    def export(self, name: str, at_rest: bool = False) -> SnapshotRecord:
        """Save the state of the last committed epoch under a name; ``at_rest``: the query has been stopped."""
        ...


class Whole(Protocol):
    """A version whose sources all end: it is run once, in a thread of its own."""

    def run(self) -> None:
        """Read all there is and write all sinks; raises what keeps it from that."""
        ...

    def done(self) -> Hashable:
        """What it has done by now: another value whenever a task has ended."""
        ...

    def end(self) -> None:
        """Let it write nothing more and end, with an error."""
        ...


@dataclass(frozen=True)
class Opened:
    """A version that is compiled, on the checkpoint that it starts from."""

    plan: dict[str, Any]
    config: JobConfig
    lineage: str
    start: Callable[[Progress], Started]
    """Start its query; told what the runs before had reached."""
    whole: Whole | None = None
    """Instead, where all sources end: what runs it as one epoch."""
    placement: Placement | None = None
    """The members of ours that its query is planned for."""


FindSnapshot = Callable[[], Path | None]
"""The folder of the snapshot that a job starts from; None if it starts from none. SnapshotError if it is gone."""


@dataclass(frozen=True)
class Ties:
    """What ties a run's engine to its job."""

    ownership: Ownership
    """Whether the run still has the job."""
    snapshot: FindSnapshot
    when_compiled: Callable[[JobConfig], None]
    """Is told the options in force once the code is compiled and state is about to be restored."""
    poke: Callable[[], None]
    """Is called when there is something new to see."""


class Engine(Protocol):
    """What drives a job's code."""

    def open(self, job: Job, ties: Ties) -> Opened:
        """Compile a job's version and make its checkpoint ready.

        The snapshot is asked for only if the job has no checkpoint of its own that it can go on with.
        """
        ...

    def explain(self, error: Exception) -> Exception:
        """What an error of opening, starting or driving a job comes down to.

        A PitstopError with ``away`` or ``restartable`` in its details if the machine or the engine is at fault; else as it is.
        """
        ...
