"""The plan of ``pitstop apply``: for each job the steps that lead from what there is to what the file says. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

from pitstop.cli.apply_file import DesiredJob
from pitstop.model.config import OF_ONE_START
from pitstop.model.job import DisplayStatus, JobState


class Step(StrEnum):
    """Something that is done to a job, in the order in which it is done."""

    CREATE = "create"
    UPDATE = "update"
    RESUME = "resume"
    SUSPEND = "suspend"
    DELETE = "delete"


@dataclass(frozen=True)
class PresentJob:
    """A job as the server has it."""

    id: str
    name: str | None
    status: DisplayStatus
    state: JobState
    has_state: bool
    artifact: str
    """Name of the file."""
    sha256: str | None
    """Of the file's content; None if the server does not know it."""
    entry: str | None
    args: tuple[str, ...]
    options: Mapping[str, Any]

    @property
    def active(self) -> bool:
        return not self.state.terminal

    @property
    def counts(self) -> bool:
        """True if it has not ended, has done all its work, or can be brought back with its state."""
        return self.state is not JobState.FAILED or self.has_state


@dataclass(frozen=True)
class Change:
    """A difference between a job and the file."""

    what: str
    before: str
    after: str


@dataclass(frozen=True)
class JobPlan:
    """The steps for one job."""

    name: str
    steps: tuple[Step, ...]
    job_id: str | None = None
    """The job that there is; None: it is made."""
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


def plan_job(desired: DesiredJob, digest: str | None, jobs: Iterable[PresentJob]) -> JobPlan:
    """Return the plan for a job of the file. ``digest``: SHA-256 of its artifact, None if the server reads that itself.

    ``jobs`` are those of its name, the newest first. A job that has failed or was cancelled and keeps its state is brought back:
    a new one would read everything from the beginning. A job that has completed is made anew only if the file has changed.
    """
    present = _present(jobs)
    changes = _changes(desired, digest, present) if present is not None else []
    if present is None or (present.state is JobState.COMPLETED and changes):
        return JobPlan(desired.name, (Step.CREATE, Step.SUSPEND) if desired.suspended else (Step.CREATE,))
    steps = [Step.UPDATE] if changes else []
    if desired.suspended:
        # An update leaves a job that has failed suspended. Without one it stays as it is: to suspend it, it would have to run.
        steps += [Step.SUSPEND] if present.active and present.state not in _SUSPENDED else []
    elif present.state in (*_SUSPENDED, JobState.FAILED):
        steps.append(Step.RESUME)
    return JobPlan(desired.name, tuple(steps), present.id, tuple(changes), tuple(_notes(desired, present)))


_SUSPENDED = (JobState.SUSPENDED, JobState.SUSPENDED_EXPORTING_SNAPSHOT)


def plan_pruned(desired: Iterable[DesiredJob], jobs: Iterable[PresentJob]) -> list[JobPlan]:
    """Return the plans for the active jobs with a name that the file leaves out: they are deleted."""
    names = {job.name for job in desired}
    return [JobPlan(job.name, (Step.DELETE,), job.id) for job in jobs if job.active and job.name and job.name not in names]


def _present(jobs: Iterable[PresentJob]) -> PresentJob | None:
    newest_first = list(jobs)
    active = next((job for job in newest_first if job.active), None)
    newest = next(iter(newest_first), None)
    return active or (newest if newest is not None and newest.counts else None)


def _changes(desired: DesiredJob, digest: str | None, present: PresentJob) -> list[Change]:
    changes = []
    name = PurePosixPath(desired.artifact).name
    if name != present.artifact:
        changes.append(Change("artifact", present.artifact, name))
    elif digest is not None and digest != present.sha256:
        changes.append(Change("artifact", f"{name} {_short(present.sha256)}", f"{name} {_short(digest)}"))
    if desired.entry is not None and desired.entry != present.entry:
        changes.append(Change("entry", present.entry or "-", desired.entry))
    # Without arguments an update takes those of the version before.
    if desired.args and desired.args != present.args:
        changes.append(Change("args", _shown(list(present.args)), _shown(list(desired.args))))
    for option, value in desired.options.items():
        if option not in OF_ONE_START and not _same(value, present.options.get(option)):
            before = _shown(present.options[option]) if option in present.options else "-"
            changes.append(Change(f"option {option}", before, _shown(value)))
    return changes


def _notes(desired: DesiredJob, present: PresentJob) -> Iterable[str]:
    if present.state.terminal:
        yield f"it is {present.status}"
    left_out = [
        f"{name}={_shown(value)}"
        for name, value in present.options.items()
        if name not in (*OF_ONE_START, "initial_snapshot") and name not in desired.options and value not in (None, {}, [])
    ]
    if left_out:
        yield f"keeps options that the file does not name: {', '.join(left_out)}"
    if desired.is_remote and PurePosixPath(desired.artifact).name == present.artifact:
        yield "the server reads the artifact: only its name is compared"


def _same(one: Any, other: Any) -> bool:
    """Return True if two values of an option are written alike: a file has 4 where a command line has '4'."""
    if isinstance(one, dict) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return _shown(one) == _shown(other)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(digest: str | None) -> str:
    return f"({digest[:12]})" if digest else "(unknown)"
