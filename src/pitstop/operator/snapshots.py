"""What a JetJobSnapshot asks for, decided from what is seen (resources.md, JetJobSnapshot). Nothing is done here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pitstop.model.job import JobState
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator.jobs import PHASES
from pitstop.operator.moments import moment
from pitstop.operator.resources import JetJobSnapshot, JetJobSnapshotStatus, SnapshotState

ONLY_OF_RUNNING = "a snapshot can be exported only from a JetJob with Running status"


@dataclass(frozen=True)
class Namesake:
    """A JetJobSnapshot whose snapshot has the same name on the same cluster: a second export would replace the first."""

    name: str
    """metadata.name"""
    older: bool
    """Than the one in question."""
    state: SnapshotState | None
    leaving: bool
    """It is being deleted, and what it has saved with it."""

    def comes_first(self, state: SnapshotState | None) -> bool:
        """Whether the name is its own, not that of the one in question, which is in ``state``."""
        saving = self.state in (SnapshotState.EXPORTING, SnapshotState.EXPORTED)
        if state is SnapshotState.EXPORTING:  # both are, if both were made at one moment
            return saving and self.older
        return saving or (self.older and self.state is not SnapshotState.FAILED)


@dataclass(frozen=True)
class SeenSnapshot:
    """A JetJobSnapshot, and all that decides about it."""

    name: str
    """metadata.name"""
    generation: int
    resource: JetJobSnapshot
    job_there: bool
    """There is a JetJob of the name that it names."""
    reached: bool = True
    """The job's cluster answers."""
    actual: JobState | None = None
    """The state of that JetJob's job; None if its cluster has no such job."""
    kept: SnapshotRecord | None = None
    """The snapshot as its control plane keeps it; None if it has none of that name and job that is younger than the resource."""
    namesake: Namesake | None = None
    """Another JetJobSnapshot to which that name belongs."""

    @property
    def snapshot_name(self) -> str:
        """The name of the snapshot on its cluster."""
        return self.resource.spec.name or self.name


@dataclass(frozen=True)
class SnapshotDecision:
    """Whether to export now, and what the status is to say."""

    export: bool
    status: JetJobSnapshotStatus


def decide_snapshot(seen: SeenSnapshot) -> SnapshotDecision:
    """What a JetJobSnapshot asks for now. It is exported once; what has failed stays so."""
    known = seen.resource.status
    state = known.state if known is not None else None
    if known is not None and state in (SnapshotState.EXPORTED, SnapshotState.FAILED):
        return SnapshotDecision(False, known.model_copy(update={"observed_generation": seen.generation}))
    if seen.namesake is not None and seen.namesake.leaving:
        return SnapshotDecision(False, _status(seen, SnapshotState.WAITING, f"JetJobSnapshot {seen.namesake.name} has yet to go"))
    if seen.namesake is not None:
        message = f"JetJobSnapshot {seen.namesake.name} already uses the same name"
        return SnapshotDecision(False, _status(seen, SnapshotState.FAILED, message))
    if seen.kept is not None and state is SnapshotState.EXPORTING:
        return SnapshotDecision(False, _status(seen, SnapshotState.EXPORTED, None, seen.kept))
    if seen.job_there and not seen.reached:
        return SnapshotDecision(False, _status(seen, state or SnapshotState.WAITING, "the job's cluster does not answer yet"))
    obstacle = _obstacle(seen)
    if obstacle is None:
        return SnapshotDecision(True, _status(seen, SnapshotState.EXPORTING, None))
    if state is SnapshotState.EXPORTING and seen.actual is not None and not seen.actual.terminal:
        return SnapshotDecision(False, _status(seen, SnapshotState.EXPORTING, None))  # it is under way: it may end the job, too
    return SnapshotDecision(False, _status(seen, SnapshotState.FAILED, obstacle))


def folder_of(record: SnapshotRecord) -> str:
    """What tells a saved state from all others that its cluster has, has had or will have under that name."""
    return Path(record.path).name


def its_own(
    resource: JetJobSnapshot, name: str, job: str | None, made: float, records: Iterable[SnapshotRecord]
) -> SnapshotRecord | None:
    """The one of a cluster's saved states that was exported for this resource; None if there is none.

    ``name``: of its snapshot; ``job``: the id of its job, None for any; ``made``: when the resource was made, in seconds since
    the epoch. As long as its status does not say which one it is, one of that name from before is another one.
    """
    known = resource.status.saved_as if resource.status is not None else None
    for record in records:
        if record.name != name:
            continue
        if folder_of(record) == known if known is not None else record.created >= made and job in (None, record.job_id):
            return record
    return None


def could_not_export(seen: SeenSnapshot, reason: str) -> JetJobSnapshotStatus:
    """What the status is to say once the job's cluster has refused."""
    return _status(seen, SnapshotState.FAILED, reason)


def _obstacle(seen: SeenSnapshot) -> str | None:
    name = seen.resource.spec.jet_job_resource_name
    if not seen.job_there:
        return f"JetJob '{name}' not found"
    if seen.actual is JobState.RUNNING:
        return None
    return f"{ONLY_OF_RUNNING}: '{name}' is {PHASES[seen.actual].value if seen.actual is not None else 'new'}"


def _status(
    seen: SeenSnapshot, state: SnapshotState, message: str | None, kept: SnapshotRecord | None = None
) -> JetJobSnapshotStatus:
    known = seen.resource.status
    return JetJobSnapshotStatus(
        observed_generation=seen.generation,
        conditions=list(known.conditions) if known is not None else [],
        state=state,
        creation_time=moment(kept.created) if kept is not None else None,
        saved_as=folder_of(kept) if kept is not None else None,
        message=message,
    )
