"""The next step for a JetJob, decided from what is seen. This module only decides; it changes nothing.

A decision depends only on what is seen, not on earlier decisions, so an operator that decides again after a crash decides alike.
The one exception is ``Restarted``, which is carried out once for each change of spec.state to it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import Any

from pitstop.model.job import JobState
from pitstop.operator.conditions import COMING, ENDED, GOOD, LOST, Outlook, usual_outlook
from pitstop.operator.moments import moment
from pitstop.operator.resources import (
    FINISHED,
    ClusterPhase,
    ConditionStatus,
    Hazelcast,
    JetJob,
    JetJobSnapshot,
    JetJobSpec,
    JetJobStatus,
    JobPhase,
    JobStateWanted,
    SnapshotState,
)
from pitstop.service.results import JobStatus

JET_DISABLED = "spec.jet.enabled: Required value: jet engine must be enabled"
UPLOAD_DISABLED = "spec.jet.resourceUploadEnabled: Invalid value: false: jet engine resource upload must be enabled"
SECRET_MISSING = "Bucket credentials Secret not found"
BY_USER = "Requested by user"
CODE_STAYS = (
    "bucketConfig or remoteURL was changed: the job goes on with the code that it was submitted with. For other code, make "
    "another JetJob, with initialSnapshotResourceName if it is to go on from the state of this one."
)
AWAY_SECONDS = 120.0
"""The time that a submitted job's server may be away before the status says so. A control plane's pod is replaced sooner."""
_SHA256 = re.compile(r"[0-9a-f]{64}")

PHASES = {
    JobState.NOT_RUNNING: JobPhase.NOT_RUNNING,
    JobState.STARTING: JobPhase.STARTING,
    JobState.RUNNING: JobPhase.RUNNING,
    JobState.SUSPENDED: JobPhase.SUSPENDED,
    JobState.SUSPENDED_EXPORTING_SNAPSHOT: JobPhase.SUSPENDED_EXPORTING_SNAPSHOT,
    JobState.COMPLETING: JobPhase.COMPLETING,
    JobState.FAILED: JobPhase.EXECUTION_FAILED,
    JobState.COMPLETED: JobPhase.COMPLETED,
}


class JobAction(StrEnum):
    """An action that is to be taken on a job."""

    SUBMIT = "submit"
    SUSPEND = "suspend"
    RESUME = "resume"
    RESTART = "restart"
    CANCEL = "cancel"


@dataclass(frozen=True)
class SeenJob:
    """A JetJob, and every fact that decides the next step."""

    name: str
    """metadata.name"""
    namespace: str
    uid: str
    generation: int
    resource: JetJob
    cluster: Hazelcast | None
    """The Hazelcast resource that the JetJob names; None if there is none."""
    older_namesake: str | None = None
    """An older JetJob of the same cluster whose job has the same name."""
    snapshot: JetJobSnapshot | None = None
    """The snapshot that the job starts from; None if it does not exist, or none is asked for."""
    snapshot_home: str | None = None
    """The Hazelcast resource that keeps the saved state of that snapshot; None if that is not known."""
    snapshot_kept: bool = True
    """True if the job's own cluster still has the very state that was saved for that snapshot."""
    actual: JobStatus | None = None
    """The job as its control plane reports it; None if the control plane does not have it."""

    @property
    def job_name(self) -> str:
        """The name of the job on its cluster."""
        return self.resource.spec.name or self.name

    @property
    def snapshot_name(self) -> str | None:
        """The name, on its cluster, of the snapshot that the job starts from; None if it starts empty."""
        wanted = self.resource.spec.initial_snapshot_resource_name
        named = self.snapshot.spec.name if self.snapshot is not None else None
        return named or wanted


@dataclass(frozen=True)
class JobDecision:
    """The action to take, and the status to write."""

    action: JobAction | None
    status: JetJobStatus
    passes: bool = False
    """True if the job cannot be submitted yet, for a reason that is about to pass by itself."""


def job_id(uid: str) -> str:
    """Return the id of the job for a resource with this uid. It is always the same, so the job is never submitted twice."""
    digits = f"{int(hashlib.sha256(uid.encode()).hexdigest()[:16], 16) >> 1:016x}"
    return "-".join(digits[place : place + 4] for place in range(0, 16, 4))


def number_of(identity: str) -> int:
    """Return a job's id as the number in ``status.id``."""
    return int(identity.replace("-", ""), 16)


def decide_job(seen: SeenJob) -> JobDecision:
    """Decide the next step for a JetJob."""
    if seen.actual is None:
        return _without_job(seen)
    return JobDecision(_action(seen, seen.actual), _status(seen, seen.actual))


def decide_away(seen: SeenJob, seconds: float) -> JetJobStatus | None:
    """Return the status of a submitted job whose server has been away for so long; None if the status stays as it is.

    The job may run on meanwhile. Its id and times stay, and so does the generation of the spec that was brought about last.
    """
    known = seen.resource.status
    if known is None or known.phase in FINISHED or seconds < AWAY_SECONDS:
        return None
    obstacle = _cluster_obstacle(seen, answers=False)
    return known.model_copy(update={"phase": JobPhase.FAILED, "failure_text": obstacle, "suspension_cause": None})


def _without_job(seen: SeenJob) -> JobDecision:
    known = seen.resource.status
    if known is not None and known.phase in FINISHED:  # its control plane has forgotten it
        return JobDecision(None, known)
    obstacle = _obstacle(seen)
    if obstacle is not None:
        return JobDecision(None, _waiting(seen, JobPhase.FAILED, obstacle), _passes(seen))
    # The id is written before the job is submitted: without an id there is no job.
    identity = number_of(job_id(seen.uid))
    return JobDecision(JobAction.SUBMIT, _waiting(seen, JobPhase.NOT_RUNNING, None).model_copy(update={"id": identity}))


def digest_of(artifact: str) -> str | None:
    """Return the SHA-256 of a job's file, read from its path on the server (DataFolder.artifact); None if the path holds none."""
    folder = PurePath(artifact).parent.name
    return f"sha256:{folder}" if _SHA256.fullmatch(folder) else None


def options_of(spec: JetJobSpec) -> dict[str, Any]:
    """Return the options with which the job is submitted."""
    allowed = {"allow_drop": list(spec.allow_drop)} if spec.allow_drop is not None else {}
    shared = {"allow_shared": spec.allow_shared} if spec.allow_shared is not None else {}
    return dict(spec.options or {}) | allowed | shared


def failed(seen: SeenJob, reason: str) -> JetJobStatus:
    """Return the status of a job that could not be submitted."""
    return _waiting(seen, JobPhase.FAILED, reason)


def _obstacle(seen: SeenJob) -> str | None:
    """Return the reason why the job cannot be submitted now; None if it can. The job is submitted once the reason is gone."""
    spec, cluster = seen.resource.spec, seen.cluster
    if cluster is None:
        return _cluster_obstacle(seen, answers=False)
    if not cluster.spec.jet.enabled:
        return JET_DISABLED
    if (spec.bucket_config is not None or spec.remote_url is not None) and not cluster.spec.jet.resource_upload_enabled:
        return UPLOAD_DISABLED
    if seen.older_namesake is not None:
        return f"JetJob {seen.older_namesake} already uses the same name"
    answers = cluster.status is not None and cluster.status.phase is ClusterPhase.RUNNING
    obstacle = _cluster_obstacle(seen, answers)
    return obstacle or _snapshot_obstacle(seen)


def _passes(seen: SeenJob) -> bool:
    """True if the cluster is being made, or the snapshot exported: they may have been applied together with the job."""
    if seen.cluster is None or seen.older_namesake is not None or not seen.cluster.spec.jet.enabled:
        return False
    if seen.cluster.status is None or seen.cluster.status.phase in (None, ClusterPhase.PENDING):
        return _obstacle(seen) == _cluster_obstacle(seen, answers=False)
    if seen.snapshot is None:
        return False
    state = seen.snapshot.status.state if seen.snapshot.status is not None else None
    return state in (None, SnapshotState.WAITING, SnapshotState.EXPORTING)


def outlook_of(seen: SeenJob, decision: JobDecision, cancelled_as_planned: bool) -> Outlook:
    """Return the meaning of a job's status for whoever waits for the job to be as its spec says.

    ``cancelled_as_planned``: a JetJobSnapshot with cancelJob has ended it. A job that has ended as its spec says stays ready,
    also when nobody knows any more how it has ended.
    """
    status, wanted, actual = decision.status, seen.resource.spec.state, seen.actual
    assert status.phase is not None
    if status.phase is JobPhase.FAILED and decision.passes:
        return COMING
    if status.phase is JobPhase.RUNNING:
        on_its_way = wanted in (JobStateWanted.SUSPENDED, JobStateWanted.CANCELED) or is_owed(seen)
        return COMING if on_its_way else GOOD
    if status.phase is JobPhase.SUSPENDED:
        if status.suspension_cause != BY_USER:
            return LOST
        return GOOD if wanted is JobStateWanted.SUSPENDED else COMING
    if status.phase is JobPhase.EXECUTION_FAILED:
        before = {each.type: each for each in status.conditions if each.reason == status.phase.value}
        ready = before["Ready"].status is ConditionStatus.TRUE if "Ready" in before else False
        if ready or (
            actual is not None and actual.user_cancelled and (cancelled_as_planned or wanted is JobStateWanted.CANCELED)
        ):
            return GOOD
        return ENDED if actual is not None and actual.user_cancelled else LOST
    return usual_outlook(status.phase)


def _cluster_obstacle(seen: SeenJob, answers: bool) -> str | None:
    name = seen.resource.spec.hazelcast_resource_name
    if seen.cluster is None:
        return f"Hazelcast '{name}' not found"
    return None if answers else f"Hazelcast '{name}' is not running"


def _snapshot_obstacle(seen: SeenJob) -> str | None:
    """Return the reason why the job cannot start from the snapshot that it names; None if it can, or names none.

    The job's cluster knows the snapshot by a name that may be that of another job's state, so the state itself is compared.
    """
    name, cluster = seen.resource.spec.initial_snapshot_resource_name, seen.resource.spec.hazelcast_resource_name
    if name is None:
        return None
    if seen.snapshot is None:
        return f"JetJobSnapshot '{name}' not found"
    state = seen.snapshot.status.state if seen.snapshot.status is not None else None
    if state is not SnapshotState.EXPORTED:
        there = state.value if state is not None else "not there yet"
        return f"JetJobSnapshot '{name}' is {there}: only an Exported one has state"
    if seen.snapshot_home not in (None, cluster):
        return (
            f"JetJobSnapshot '{name}' is of Hazelcast '{seen.snapshot_home}', and this job runs on '{cluster}': a job starts "
            "from the state of its own cluster"
        )
    if not seen.snapshot_kept:
        return (
            f"JetJobSnapshot '{name}': Hazelcast '{cluster}' no longer has the state that was saved for it. Export it once more, "
            "as another JetJobSnapshot"
        )
    return None


def _action(seen: SeenJob, actual: JobStatus) -> JobAction | None:
    """Return the action that brings about the spec; None if the job is as asked for, or is on its way there."""
    state, wanted = actual.status, seen.resource.spec.state
    if state.terminal:
        return None
    if wanted is JobStateWanted.CANCELED:
        return JobAction.CANCEL
    if wanted is JobStateWanted.SUSPENDED:
        return JobAction.SUSPEND if state in (JobState.RUNNING, JobState.STARTING, JobState.NOT_RUNNING) else None
    if is_owed(seen):
        return JobAction.RESTART if state is JobState.RUNNING else None
    if state is JobState.SUSPENDED:
        # A job that has suspended itself because it failed would only fail again: it waits for a new spec.
        return JobAction.RESUME if actual.suspension_cause == BY_USER or _is_new(seen) else None
    return None


def is_owed(seen: SeenJob) -> bool:
    """True if this generation of the spec asks for a restart that was not carried out yet.

    A change of spec.state asks for it. If a user changes the state and then changes it back between two looks, the generation is
    newer although nothing differs: this counts as a restart, too. A generation in which only the code's place differs does not.
    """
    if seen.resource.spec.state is not JobStateWanted.RESTARTED or not _is_new(seen):
        return False
    known = seen.resource.status
    return known is None or known.observed_state is not JobStateWanted.RESTARTED or not is_elsewhere(seen)


def is_elsewhere(seen: SeenJob) -> bool:
    """True if the spec places the code elsewhere than the generation that was brought about last."""
    known = seen.resource.status
    return known is not None and known.observed_source is not None and known.observed_source != source_of(seen.resource.spec)


def source_of(spec: JetJobSpec) -> str:
    """Return the place of the code in a spec, and the Secret to read it. Besides ``state``, only these can change in a spec."""
    if spec.remote_url is not None:
        return spec.remote_url
    if spec.bucket_config is None:
        return ""
    secret = spec.bucket_config.secret_name
    return spec.bucket_config.bucket_uri + (f" (Secret {secret})" if secret is not None else "")


def observed(seen: SeenJob) -> dict[str, Any]:
    """Return the fields of the status that say that this generation of the spec is brought about."""
    spec = seen.resource.spec
    return {"observed_generation": seen.generation, "observed_state": spec.state, "observed_source": source_of(spec)}


def _is_new(seen: SeenJob) -> bool:
    status = seen.resource.status
    return status is None or status.observed_generation != seen.generation


def _waiting(seen: SeenJob, phase: JobPhase, obstacle: str | None) -> JetJobStatus:
    return JetJobStatus(
        **observed(seen),
        conditions=list(seen.resource.status.conditions) if seen.resource.status is not None else [],
        phase=phase,
        failure_text=obstacle,
    )


def _status(seen: SeenJob, actual: JobStatus) -> JetJobStatus:
    before = seen.resource.status
    about = observed(seen)
    if before is not None and is_owed(seen) and not actual.status.terminal:
        about |= {"observed_generation": before.observed_generation, "observed_state": before.observed_state}
    return JetJobStatus(
        **about,
        conditions=list(before.conditions) if before is not None else [],
        phase=PHASES[actual.status],
        id=number_of(actual.id),
        submission_time=moment(actual.submission_time),
        completion_time=moment(actual.completion_time) if actual.completion_time is not None else None,
        failure_text=actual.failure,
        suspension_cause=actual.suspension_cause,
        artifact_digest=digest_of(actual.source.artifact),
    )
