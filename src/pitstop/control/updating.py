"""Updates: the old version stops with a snapshot, the new one starts from it, or the old one goes on.

A suspended job's saved state is the snapshot. The job stays suspended, with the new version, which starts when it is resumed.

The old version's checkpoint stays until the new one has proved itself, so going back is to go on with that checkpoint.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from pitstop.control.actions import Action, DropCheckpoint, ExportSuspended, FailExports, KillRun, RegisterSnapshot, SendCommand
from pitstop.control.decision import Decision, answered, refuse
from pitstop.errors import EngineError, SnapshotError
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.job import Job, JobSource, JobState, Update, Version
from pitstop.model.operation import CommandKind, Observation, Operation

MODE = "UPDATE"


def ask(job: Job, operation: Operation, now: float) -> Decision:
    """The wish: note the new version, and let the run stop with a snapshot."""
    wanted = f"{MODE}#{operation.id}"
    if job.termination not in (None, wanted):
        return refuse(job, operation, f"Job is already terminating in mode: {str(job.termination).split('#')[0]}")
    if _unproved(job) and job.termination is None:
        return refuse(job, operation, f"Job '{job.display_name}' is being updated already.")
    update = _begun(job, operation)
    stop = SendCommand(CommandKind.STOP, {"operation": operation.id, "snapshot": operation.args["snapshot"]})
    # An earlier update that was still watched is over: its old version is not gone back to any more.
    earlier = _drop(job.update) if job.update is not None and job.termination is None else []
    return Decision(dataclasses.replace(job, termination=wanted, update=update, update_failure=None), (stop, *earlier))


def ask_suspended(job: Job, operation: Operation, now: float) -> Decision:
    """The wish for a suspended job: note the new version, and export the saved state."""
    update = _begun(job, operation)
    earlier: list[Action] = []
    if job.update is not None and _unproved(job):
        # The version of the update before has never run: the one before that is still what to go back to.
        update = dataclasses.replace(update, previous=job.update.previous)
    elif job.update is not None:
        earlier = _drop(job.update)
    exporting = dataclasses.replace(
        job,
        state=JobState.SUSPENDED_EXPORTING_SNAPSHOT,
        termination=f"{MODE}#{operation.id}",
        update=update,
        update_failure=None,
    )
    return Decision(exporting, (ExportSuspended(operation.id, operation.args["snapshot"]), *earlier))


def exported(job: Job, record: dict[str, Any], now: float) -> Decision:
    """The saved state of a suspended job is exported: it has the new version, and stays suspended."""
    update = job.update
    assert update is not None
    assert update.target is not None
    begun = dataclasses.replace(update, target=None, previous=job.saved, stopped_at=now)
    new = dataclasses.replace(_with_version(job, update.target), state=JobState.SUSPENDED, termination=None, update=begun)
    result = {"version": new.version, "snapshot": record["name"], "gap_seconds": None}
    return Decision(new, (RegisterSnapshot(record), *answered(update.operation, result=result)))


def export_failed(job: Job, error: dict[str, Any]) -> Decision:
    """There is no snapshot for the new version: a suspended job stays as it was."""
    update = job.update
    assert update is not None
    before = dataclasses.replace(update, target=None) if update.previous is not None else None
    stays = dataclasses.replace(job, state=JobState.SUSPENDED, termination=None, update=before)
    return Decision(stays, tuple(answered(update.operation, error=error)))


def _begun(job: Job, operation: Operation) -> Update:
    args = operation.args
    options = args["options"] | {"initial_snapshot": args["snapshot"]}
    target = Version(job.version + 1, JobSource.from_dict(args["source"]), options, JobConfig.from_options(options))
    return Update(operation.id, float(args.get("watch_seconds", 0)), target=target, standby=args.get("standby"))


def stopped(job: Job, fact: Observation, now: float) -> Decision:
    """The old version has stopped: on to the new one if the snapshot is there, else the old one goes on."""
    update, record = job.update, fact.payload.get("snapshot")
    if update is None or update.target is None or record is None:
        error = fact.payload.get("error") or SnapshotError("The runner stopped without taking the snapshot.").to_dict()
        return lost(job, error)
    committed = float(fact.payload.get("committed_at") or now)
    begun = dataclasses.replace(update, target=None, previous=job.saved, stopped_at=committed)
    new = _with_version(job, update.target)
    waiting = dataclasses.replace(new, state=JobState.NOT_RUNNING, termination=None, attempts=0, update=begun)
    return Decision(waiting, (RegisterSnapshot(record), FailExports()))


def lost(job: Job, error: dict[str, Any]) -> Decision:
    """The old version ended without a snapshot: it goes on from its last epoch."""
    operation = job.update.operation if job.update is not None else None
    again = dataclasses.replace(job, state=JobState.NOT_RUNNING, termination=None, update=None)
    return Decision(again, (FailExports(), KillRun(job.token), *answered(operation, error=error)))


def proved(job: Job, fact: Observation, now: float) -> tuple[Job, tuple[Action, ...]]:
    """The new version is up: the update is done, and watched for a while if asked."""
    update = job.update
    if update is None or update.previous is None or update.started_at is not None:
        return job, ()
    committed = float(fact.payload.get("committed_at") or now)
    result = {
        "version": job.version,
        "snapshot": job.options.get("initial_snapshot"),
        "gap_seconds": round(max(0.0, committed - update.stopped_at), 3),
    }
    done = tuple(answered(update.operation, result=result))
    if update.watch_seconds:
        return dataclasses.replace(job, update=dataclasses.replace(update, started_at=now)), done
    return dataclasses.replace(job, update=None), (*done, *_drop(update))


def watched(job: Job, now: float) -> tuple[Job, tuple[Action, ...]]:
    """Forget an update whose time of being watched is over."""
    update = job.update
    if update is None or update.started_at is None or now < update.started_at + update.watch_seconds:
        return job, ()
    return dataclasses.replace(job, update=None), tuple(_drop(update))


def rolled_back(job: Job, reason: str, now: float) -> Decision | None:
    """The new version has failed: the old one goes on where it had stopped. None if there is nothing to go back to."""
    update = job.update
    if update is None or update.previous is None:
        return None
    unproved = update.started_at is None
    if update.started_at is not None and now >= update.started_at + update.watch_seconds:
        return None
    message = (
        f"Version {job.version} of job '{job.display_name}' failed, so version {update.previous.number} goes on where it had "
        f"stopped: {reason}"
    )
    old = dataclasses.replace(
        _with_version(job, _resumable(update.previous, job.options["initial_snapshot"])),
        state=JobState.NOT_RUNNING,
        termination=None,
        attempts=0,
        due=None,
        update=None,
        update_failure=message,
    )
    told = answered(update.operation, error=EngineError(message, trace=job.failure_details).to_dict()) if unproved else []
    dropped = [DropCheckpoint(job.lineage)] if job.lineage is not None and job.lineage != update.previous.lineage else []
    return Decision(old, (KillRun(job.token), FailExports(), *told, *dropped))


def _resumable(old: Version, snapshot: str) -> Version:
    """The old version as it goes on: from its checkpoint, or from the snapshot if no checkpoint of its survives a restart."""
    if old.config.processing_guarantee is not ProcessingGuarantee.NONE:
        return old
    options = {key: value for key, value in old.options.items() if key != "renamed"} | {"initial_snapshot": snapshot}
    return dataclasses.replace(old, options=options, config=JobConfig.from_options(options, base=old.config))


def given_up(job: Job, error: dict[str, Any]) -> list[Action]:
    """Answer an update that will not come to its end, for the job ends or is suspended."""
    return answered(job.update.operation, error=error) if job.update is not None and _unproved(job) else []


def under_way(job: Job) -> bool:
    """From the wish for an update until the new version is up, while runs are being changed."""
    return _unproved(job) and job.state in (JobState.RUNNING, JobState.NOT_RUNNING, JobState.STARTING)


def _with_version(job: Job, version: Version) -> Job:
    return dataclasses.replace(
        job,
        version=version.number,
        source=version.source,
        options=version.options,
        config=version.config,
        plan=version.plan,
        lineage=version.lineage,
    )


def _unproved(job: Job) -> bool:
    return job.update is not None and job.update.started_at is None


def _drop(update: Update) -> list[Action]:
    previous = update.previous
    return [DropCheckpoint(previous.lineage)] if previous is not None and previous.lineage is not None else []
