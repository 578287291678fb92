"""The next step for a JetJob, decided from what is seen. This module only decides; it changes nothing.

A decision depends on the view alone, not on earlier decisions, so an operator decides alike after a crash.
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
from pitstop.operator.resources.cluster import ClusterPhase, Hazelcast
from pitstop.operator.resources.job import FINISHED, JetJob, JetJobSpec, JetJobStatus, JobPhase, JobStateWanted
from pitstop.operator.resources.parts import ConditionStatus
from pitstop.operator.resources.snapshot import JetJobSnapshot, SnapshotState
from pitstop.service.job_results import JobStatus

JET_DISABLED = "spec.jet.enabled: Required value: jet engine must be enabled"
UPLOAD_DISABLED = "spec.jet.resourceUploadEnabled: Invalid value: false: jet engine resource upload must be enabled"
SECRET_MISSING = "Bucket credentials Secret not found"
BY_USER = "Requested by user"
CODE_STAYS = (
    "bucketConfig or remoteURL was changed: the job goes on with the code that it was submitted with. For other code, create "
    "another JetJob, with initialSnapshotResourceName to go on from the state of this one."
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
        resource_name = self.resource.spec.initial_snapshot_resource_name
        own_name = self.snapshot.spec.name if self.snapshot is not None else None
        return own_name or resource_name


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


def decide_job(view: SeenJob) -> JobDecision:
    """Decide the next step for a JetJob."""
    if view.actual is None:
        return _without_job(view)
    return JobDecision(_action(view, view.actual), _status(view, view.actual))


def decide_away(view: SeenJob, seconds: float) -> JetJobStatus | None:
    """Return the status of a submitted job whose server has been away for so long; None if the status stays as it is.

    The job may run on meanwhile. Its id and times stay, and so does the generation of the spec that was brought about last.
    """
    status = view.resource.status
    if status is None or status.phase in FINISHED or seconds < AWAY_SECONDS:
        return None
    obstacle = _cluster_obstacle(view, answers=False)
    return status.model_copy(update={"phase": JobPhase.FAILED, "failure_text": obstacle, "suspension_cause": None})


def _without_job(view: SeenJob) -> JobDecision:
    status = view.resource.status
    if status is not None and status.phase in FINISHED:  # its control plane has forgotten it
        return JobDecision(None, status)
    obstacle = _obstacle(view)
    if obstacle is not None:
        return JobDecision(None, _waiting(view, JobPhase.FAILED, obstacle), _passes(view))
    # The id is written before the job is submitted: without an id there is no job.
    identity = number_of(job_id(view.uid))
    return JobDecision(JobAction.SUBMIT, _waiting(view, JobPhase.NOT_RUNNING, None).model_copy(update={"id": identity}))


def digest_of(artifact: str) -> str | None:
    """Return the SHA-256 of a job's file, read from its path on the server (DataFolder.artifact); None if the path holds none."""
    folder = PurePath(artifact).parent.name
    return f"sha256:{folder}" if _SHA256.fullmatch(folder) else None


def options_of(spec: JetJobSpec) -> dict[str, Any]:
    """Return the options with which the job is submitted."""
    consent = {"allow_drop": list(spec.allow_drop)} if spec.allow_drop is not None else {}
    shared = {"allow_shared": spec.allow_shared} if spec.allow_shared is not None else {}
    return dict(spec.options or {}) | consent | shared


def failed(view: SeenJob, reason: str) -> JetJobStatus:
    """Return the status of a job that could not be submitted."""
    return _waiting(view, JobPhase.FAILED, reason)


def _obstacle(view: SeenJob) -> str | None:
    """Return the reason why the job cannot be submitted now; None if it can. The job is submitted once the reason is gone."""
    spec, cluster = view.resource.spec, view.cluster
    if cluster is None:
        return _cluster_obstacle(view, answers=False)
    if not cluster.spec.jet.enabled:
        return JET_DISABLED
    if (spec.bucket_config is not None or spec.remote_url is not None) and not cluster.spec.jet.resource_upload_enabled:
        return UPLOAD_DISABLED
    if view.older_namesake is not None:
        return f"JetJob {view.older_namesake} already uses the same name"
    answers = cluster.status is not None and cluster.status.phase is ClusterPhase.RUNNING
    obstacle = _cluster_obstacle(view, answers)
    return obstacle or _snapshot_obstacle(view)


def _passes(view: SeenJob) -> bool:
    """True if the cluster is being made, or the snapshot exported: they may have been applied together with the job.

    If they do not exist yet, they may still be applied.
    """
    if view.older_namesake is not None:
        return False
    if view.cluster is None:
        return True
    if not view.cluster.spec.jet.enabled:
        return False
    if view.cluster.status is None or view.cluster.status.phase in (None, ClusterPhase.PENDING):
        return _obstacle(view) == _cluster_obstacle(view, answers=False)
    if view.snapshot is None:
        return view.resource.spec.initial_snapshot_resource_name is not None and _obstacle(view) == _snapshot_obstacle(view)
    state = view.snapshot.status.state if view.snapshot.status is not None else None
    return state in (None, SnapshotState.WAITING, SnapshotState.EXPORTING)


def outlook_of(view: SeenJob, decision: JobDecision, cancelled_as_planned: bool) -> Outlook:
    """Return the meaning of a job's status to people who wait until the job is as its spec says.

    ``cancelled_as_planned``: a JetJobSnapshot with cancelJob has ended it. A job that has ended as its spec says stays ready,
    also once its end is forgotten.
    """
    status, goal, actual = decision.status, view.resource.spec.state, view.actual
    assert status.phase is not None
    if status.phase is JobPhase.FAILED and decision.passes:
        return COMING
    if status.phase is JobPhase.RUNNING:
        on_its_way = goal in (JobStateWanted.SUSPENDED, JobStateWanted.CANCELED) or is_owed(view)
        return COMING if on_its_way else GOOD
    if status.phase is JobPhase.SUSPENDED:
        if status.suspension_cause != BY_USER:
            return LOST
        return GOOD if goal is JobStateWanted.SUSPENDED else COMING
    if status.phase is JobPhase.EXECUTION_FAILED:
        before = {each.type: each for each in status.conditions if each.reason == status.phase.value}
        ready = before["Ready"].status is ConditionStatus.TRUE if "Ready" in before else False
        if ready or (actual is not None and actual.user_cancelled and (cancelled_as_planned or goal is JobStateWanted.CANCELED)):
            return GOOD
        return ENDED if actual is not None and actual.user_cancelled else LOST
    return usual_outlook(status.phase)


def _cluster_obstacle(view: SeenJob, answers: bool) -> str | None:
    name = view.resource.spec.hazelcast_resource_name
    if view.cluster is None:
        return f"Hazelcast '{name}' not found"
    return None if answers else f"Hazelcast '{name}' is not running"


def _snapshot_obstacle(view: SeenJob) -> str | None:
    """Return the reason why the job cannot start from the snapshot that it names; None if it can, or names none.

    The job's cluster knows the snapshot by a name that may be that of another job's state, so the state itself is compared.
    """
    name, cluster = view.resource.spec.initial_snapshot_resource_name, view.resource.spec.hazelcast_resource_name
    if name is None:
        return None
    if view.snapshot is None:
        return f"JetJobSnapshot '{name}' not found"
    state = view.snapshot.status.state if view.snapshot.status is not None else None
    if state is not SnapshotState.EXPORTED:
        there = state.value if state is not None else "not there yet"
        return f"JetJobSnapshot '{name}' is {there}: only an Exported one has state"
    if view.snapshot_home not in (None, cluster):
        return (
            f"JetJobSnapshot '{name}' is of Hazelcast '{view.snapshot_home}', and this job runs on '{cluster}': a job starts "
            "from the state of its own cluster"
        )
    if not view.snapshot_kept:
        return (
            f"JetJobSnapshot '{name}': Hazelcast '{cluster}' no longer has the state that was saved for it. Export it once more, "
            "as another JetJobSnapshot"
        )
    return None


def _action(view: SeenJob, actual: JobStatus) -> JobAction | None:
    """Return the action that brings about the spec; None if the job is as asked for, or is on its way there."""
    state, goal = actual.status, view.resource.spec.state
    if state.terminal:
        return None
    if goal is JobStateWanted.CANCELED:
        return JobAction.CANCEL
    if goal is JobStateWanted.SUSPENDED:
        return JobAction.SUSPEND if state in (JobState.RUNNING, JobState.STARTING, JobState.NOT_RUNNING) else None
    if is_owed(view):
        return JobAction.RESTART if state is JobState.RUNNING else None
    if state is JobState.SUSPENDED:
        # A job that has suspended itself because it failed would only fail again: it waits for a new spec.
        return JobAction.RESUME if actual.suspension_cause == BY_USER or _is_new(view) else None
    return None


def is_owed(view: SeenJob) -> bool:
    """True if this generation of the spec asks for a restart that was not carried out yet.

    A change of spec.state asks for it. If a user changes the state and then changes it back between two looks, the generation is
    newer although nothing differs: this counts as a restart, too. A generation in which only the code's place differs does not.
    """
    if view.resource.spec.state is not JobStateWanted.RESTARTED or not _is_new(view):
        return False
    status = view.resource.status
    return status is None or status.observed_state is not JobStateWanted.RESTARTED or not is_elsewhere(view)


def is_elsewhere(view: SeenJob) -> bool:
    """True if the spec places the code elsewhere than the generation that was brought about last."""
    status = view.resource.status
    return status is not None and status.observed_source is not None and status.observed_source != source_of(view.resource.spec)


def source_of(spec: JetJobSpec) -> str:
    """Return the place of the code in a spec, and the Secret to read it. Besides ``state``, only these can change in a spec."""
    if spec.remote_url is not None:
        return spec.remote_url
    if spec.bucket_config is None:
        return ""
    secret = spec.bucket_config.secret_name
    return spec.bucket_config.bucket_uri + (f" (Secret {secret})" if secret is not None else "")


def observed(view: SeenJob) -> dict[str, Any]:
    """Return the fields of the status that say that this generation of the spec is brought about."""
    spec = view.resource.spec
    return {"observed_generation": view.generation, "observed_state": spec.state, "observed_source": source_of(spec)}


def _is_new(view: SeenJob) -> bool:
    status = view.resource.status
    return status is None or status.observed_generation != view.generation


def _waiting(view: SeenJob, phase: JobPhase, obstacle: str | None) -> JetJobStatus:
    return JetJobStatus(
        **observed(view),
        conditions=list(view.resource.status.conditions) if view.resource.status is not None else [],
        phase=phase,
        failure_text=obstacle,
    )


def _status(view: SeenJob, actual: JobStatus) -> JetJobStatus:
    before = view.resource.status
    about = observed(view)
    if before is not None and is_owed(view) and not actual.status.terminal:
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
