"""The next step for a JetJobSnapshot, decided from what is seen. This module only decides; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pitstop.model.job import JobState
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator.jobs import PHASES
from pitstop.operator.moments import moment
from pitstop.operator.resources.job import FINISHED, JobPhase
from pitstop.operator.resources.snapshot import JetJobSnapshot, JetJobSnapshotStatus, SnapshotState

MISSING_SECONDS = 120.0
"""The time for which a new snapshot waits for a JetJob that is not there: it may be applied with it, or a moment later."""
ON_ITS_WAY = (JobState.NOT_RUNNING, JobState.STARTING)
ONLY_OF_RUNNING = "a snapshot can be exported only from a JetJob with Running status"


@dataclass(frozen=True)
class Namesake:
    """Another JetJobSnapshot whose snapshot has this name on this cluster. A second export would replace the first."""

    name: str
    """metadata.name"""
    older: bool
    """True if it is older than the resource in question."""
    state: SnapshotState | None
    leaving: bool
    """True if the namesake is being deleted, together with its saved state."""

    def comes_first(self, state: SnapshotState | None) -> bool:
        """True if the namesake has the first right to the name, before the resource in question, which is in ``state``."""
        saving = self.state in (SnapshotState.EXPORTING, SnapshotState.EXPORTED)
        if state is SnapshotState.EXPORTING:  # both are, if both were made at one moment
            return saving and self.older
        return saving or (self.older and self.state is not SnapshotState.FAILED)


@dataclass(frozen=True)
class SeenSnapshot:
    """A JetJobSnapshot, and every fact that decides the next step."""

    name: str
    """metadata.name"""
    generation: int
    resource: JetJobSnapshot
    job_there: bool
    """True if the JetJob that the resource names exists."""
    reached: bool = True
    """True if the job's cluster answers."""
    actual: JobState | None = None
    """The state of that JetJob's job; None if its cluster has no such job."""
    record: SnapshotRecord | None = None
    """The snapshot as its control plane keeps it; None if none of that name and job is younger than the resource."""
    job_phase: JobPhase | None = None
    """The phase in the status of that JetJob."""
    age: float = MISSING_SECONDS
    """The seconds since the resource was made."""
    namesake: Namesake | None = None
    """Another JetJobSnapshot that has the first right to the name."""

    @property
    def snapshot_name(self) -> str:
        """The name of the snapshot on its cluster."""
        return self.resource.spec.name or self.name


@dataclass(frozen=True)
class SnapshotDecision:
    """The decision to export now or not, and the status to write."""

    export: bool
    status: JetJobSnapshotStatus


def decide_snapshot(view: SeenSnapshot) -> SnapshotDecision:
    """Decide the next step for a JetJobSnapshot. It is exported once; one that has failed stays so.

    It waits for what comes by itself: resources are applied together, and jobs start anew.
    """
    status = view.resource.status
    state = status.state if status is not None else None
    if status is not None and state in (SnapshotState.EXPORTED, SnapshotState.FAILED):
        return SnapshotDecision(False, status.model_copy(update={"observed_generation": view.generation}))
    if view.namesake is not None and view.namesake.leaving:
        return SnapshotDecision(False, _status(view, SnapshotState.WAITING, f"JetJobSnapshot {view.namesake.name} has yet to go"))
    if view.namesake is not None:
        message = f"JetJobSnapshot {view.namesake.name} already uses the same name"
        return SnapshotDecision(False, _status(view, SnapshotState.FAILED, message))
    if view.record is not None and state is SnapshotState.EXPORTING:
        return SnapshotDecision(False, _status(view, SnapshotState.EXPORTED, None, view.record))
    if view.job_there and not view.reached:
        return SnapshotDecision(False, _status(view, state or SnapshotState.WAITING, "the job's cluster does not answer yet"))
    obstacle, passes = _obstacle(view)
    if obstacle is None:
        return SnapshotDecision(True, _status(view, SnapshotState.EXPORTING, None))
    if state is SnapshotState.EXPORTING and view.actual is not None and not view.actual.terminal:
        return SnapshotDecision(False, _status(view, SnapshotState.EXPORTING, None))  # it is under way: it may end the job, too
    waits = passes and state is not SnapshotState.EXPORTING
    return SnapshotDecision(False, _status(view, SnapshotState.WAITING if waits else SnapshotState.FAILED, obstacle))


def folder_of(record: SnapshotRecord) -> str:
    """Return the mark of a saved state: no other state of that name on its cluster ever has it."""
    return Path(record.path).name


def its_own(
    resource: JetJobSnapshot, name: str, job: str | None, earliest: float, records: Iterable[SnapshotRecord]
) -> SnapshotRecord | None:
    """Return the saved state of a cluster that was exported for this resource; None if there is none.

    ``name`` is the name of the snapshot. ``job`` is the id of its job; None for any job. ``earliest`` is the time when the
    resource was made, in seconds since the epoch. An older state does not count, unless the status names it.
    """
    folder = resource.status.saved_as if resource.status is not None else None
    for record in records:
        if record.name != name:
            continue
        if folder_of(record) == folder if folder is not None else record.created >= earliest and job in (None, record.job_id):
            return record
    return None


def could_not_export(view: SeenSnapshot, reason: str) -> JetJobSnapshotStatus:
    """Return the status after the job's cluster has refused the export."""
    return _status(view, SnapshotState.FAILED, reason)


def _obstacle(view: SeenSnapshot) -> tuple[str | None, bool]:
    """Return (the reason why nothing can be exported now, None if it can; True if that passes by itself)."""
    name = view.resource.spec.jet_job_resource_name
    if not view.job_there:
        return f"JetJob '{name}' not found", view.age < MISSING_SECONDS
    if view.actual is JobState.RUNNING:
        return None, True
    if view.actual in ON_ITS_WAY:
        return f"'{name}' is {PHASES[view.actual].value}: its state is exported once it runs", True
    if view.actual is None and view.job_phase not in FINISHED:
        return f"'{name}' is not submitted yet: its state is exported once it runs", True
    phase = PHASES[view.actual] if view.actual is not None else view.job_phase
    return f"{ONLY_OF_RUNNING}: '{name}' is {phase.value if phase is not None else 'new'}", False


def _status(
    view: SeenSnapshot, state: SnapshotState, message: str | None, record: SnapshotRecord | None = None
) -> JetJobSnapshotStatus:
    before = view.resource.status
    return JetJobSnapshotStatus(
        observed_generation=view.generation,
        conditions=list(before.conditions) if before is not None else [],
        state=state,
        creation_time=moment(record.created) if record is not None else None,
        saved_as=folder_of(record) if record is not None else None,
        message=message,
    )
