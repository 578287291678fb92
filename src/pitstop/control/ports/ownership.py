"""The ports by which a run reaches the store, and keeps its job."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from pitstop.control.ports.launcher import RunHandle
from pitstop.model.job import Job, Progress
from pitstop.model.run import Command, Observation
from pitstop.model.snapshot import SnapshotRecord

T = TypeVar("T")


class RunnerLink(Protocol):
    """The access of one run to the store. Every call but ``claim`` raises FencedError once the run has lost its job."""

    def claim(self, job_id: str, token: int, handle: RunHandle, lease_seconds: float) -> Job:
        """Take the lease of the run and read its job; FencedError if a higher token exists, or another process has the run."""
        ...

    def renew(self, lease_seconds: float) -> None: ...

    def commands(self, after: int) -> list[Command]:
        """Return the commands for this run with id > ``after``, oldest first."""
        ...

    def observe(self, observation: Observation) -> None:
        """Record a fact and wake the control plane."""
        ...

    def report(self, progress: Progress) -> None: ...

    def check(self) -> None:
        """Return if this run still owns its job; raise FencedError if not."""
        ...

    def held(self) -> AbstractContextManager[int | None]:
        """Return a context in which no other run can take the job, so that check and write are one step. Others wait: be short.

        The context gives the update whose new version's writes may have to be withdrawn (model.job.Job.withdrawable).
        """
        ...

    def get_snapshot(self, name: str) -> SnapshotRecord | None: ...

    def progress(self) -> Progress:
        """Return the progress that the runs before this one had reported."""
        ...


class Ownership(Protocol):
    """A run's claim to its job while the run writes an epoch. While the store is away, every call waits until it is back."""

    def check(self) -> None:
        """Return if the run still has its job; raise FencedError if not."""
        ...

    def held(self) -> AbstractContextManager[int | None]:
        """Return a context as RunnerLink.held, for writes that only the job's owner may make; FencedError if the job is lost."""
        ...

    def patiently(self, work: Callable[[], T]) -> T:
        """Repeat ``work`` until the store is there, and return its result. If it raises StoreError it has changed nothing."""
        ...


class NoOtherRun:
    """The ownership of a job that only this process knows."""

    def check(self) -> None:
        """Do nothing: no other run can have taken the job."""

    def held(self) -> AbstractContextManager[int | None]:
        return nullcontext()

    def patiently(self, work: Callable[[], T]) -> T:
        return work()
