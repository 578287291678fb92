"""The verbs that are commands of one shape: each a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from pitstop.errors import ConflictError
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, PlainRequest, Restart, Resume, Suspend
from pitstop.service.job_results import JobStatus


@dataclass(frozen=True)
class Deed:
    """A verb as the command line tells of it."""

    request: PlainRequest
    doing: str
    """Its present participle."""
    past: str
    """Its past participle, for a job to which it was done."""
    help: str
    """The help of its command."""
    states: Collection[JobState]
    """The states of jobs that ``--all`` means."""
    all_help: str
    """The help of ``--all``."""
    refuse: Callable[[str, JobStatus], None]
    """A function that raises ConflictError if the job's state forbids it."""
    examples: tuple[tuple[str, str], ...]
    """The examples in its help: each a line and its purpose."""
    starts: bool = False
    """True if the job runs afterwards, which takes a while."""

    @property
    def name(self) -> str:
        """The name of its command."""
        return self.request.verb.value


def refuse_ended(name: str, job: JobStatus) -> None:
    """Raise ConflictError if the job has ended; ``name`` is the name or id that the user gave."""
    if job.status.terminal:
        raise ConflictError(f"Job '{name}' is not active. Current state: {job.display_status}")


def refuse_not_running(name: str, job: JobStatus) -> None:
    """Raise ConflictError if the job does not run."""
    if job.status is not JobState.RUNNING:
        raise ConflictError(f"Job '{name}' is not running. Current state: {job.display_status}")


def refuse_not_suspended(name: str, job: JobStatus) -> None:
    """Raise ConflictError if the job is not suspended."""
    if job.status is not JobState.SUSPENDED:
        raise ConflictError(f"Job '{name}' is not suspended. Current state: {job.display_status}")


def _refuse_not_stopped(name: str, job: JobStatus) -> None:
    if job.status not in (JobState.SUSPENDED, JobState.FAILED):
        raise ConflictError(f"Job '{name}' is not suspended. Current state: {job.display_status}")


_ACTIVE = tuple(state for state in JobState if not state.terminal)
DEEDS = (
    Deed(
        Suspend(),
        "Suspending",
        "suspended",
        "Suspend jobs after their present epoch.",
        (JobState.RUNNING,),
        "All jobs that run",
        refuse_not_running,
        (
            ("pitstop suspend speeds", ""),
            ("pitstop suspend speeds orders", ""),
            ("pitstop suspend --all --timeout 2m", ""),
        ),
    ),
    Deed(
        Resume(),
        "Resuming",
        "resumed",
        "Resume jobs where they stopped: suspended ones, or ones that have failed or were cancelled and keep their state.",
        (JobState.SUSPENDED,),
        "All jobs that are suspended",
        _refuse_not_stopped,
        (
            ("pitstop resume speeds", ""),
            ("pitstop resume --all", "all that are suspended"),
            ("pitstop resume --detach speeds", "do not wait until it runs"),
        ),
        starts=True,
    ),
    Deed(
        Restart(),
        "Restarting",
        "restarted",
        "Stop jobs after their present epoch and start them again.",
        (JobState.RUNNING,),
        "All jobs that run",
        refuse_not_running,
        (("pitstop restart speeds", ""), ("pitstop restart --all", "")),
        starts=True,
    ),
    Deed(
        Cancel(),
        "Cancelling",
        "cancelled",
        "Cancel jobs: they end at once. Their state is kept for a while, a day by default: resume brings a job back.",
        _ACTIVE,
        "All jobs that have not ended",
        refuse_ended,
        (
            ("pitstop cancel speeds", "resume brings it back within a day"),
            ("pitstop cancel speeds orders", ""),
            ("pitstop cancel --dry-run --all", "would it be allowed?"),
        ),
    ),
)
"""The verbs that are commands of one shape, in the order of ``--help``."""
