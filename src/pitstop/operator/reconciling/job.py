"""The reconciler of a JetJob: bring about its job, and report the job's status."""

from __future__ import annotations

import dataclasses

from pitstop.errors import PitstopError, StoreError, UnreachableError
from pitstop.model.operation import Cancel, PlainRequest, Restart, Resume, Suspend
from pitstop.operator import kinds
from pitstop.operator.conditions import Outlook
from pitstop.operator.connections import Connection
from pitstop.operator.jobs import (
    AWAY_SECONDS,
    CODE_STAYS,
    SECRET_MISSING,
    JobAction,
    JobDecision,
    SeenJob,
    decide_away,
    decide_job,
    failed,
    is_elsewhere,
    is_owed,
    job_id,
    observed,
    outlook_of,
)
from pitstop.operator.kube.api import Object
from pitstop.operator.reconciling.snapshot import SAVING, home_of, kept_of
from pitstop.operator.reconciling.submitting import fetched, room_for, submit
from pitstop.operator.reconciling.surroundings import (
    LATER_SECONDS,
    SOON_SECONDS,
    Surroundings,
    hold,
    is_leaving,
)
from pitstop.operator.resources.cluster import Hazelcast
from pitstop.operator.resources.job import FINISHED, JetJob, JetJobStatus
from pitstop.operator.resources.snapshot import JetJobSnapshot, SnapshotState
from pitstop.operator.world import job_name_of, key_of, read

_REQUESTS: dict[JobAction, PlainRequest] = {
    JobAction.SUSPEND: Suspend(),
    JobAction.RESUME: Resume(),
    JobAction.RESTART: Restart(),
    JobAction.CANCEL: Cancel(),
}


def reconcile_job(around: Surroundings, body: Object) -> float | None:
    """Reconcile a JetJob. Return the seconds until the next look; None: not before something changes."""
    resource = read(JetJob, body)
    if resource is None:
        return None
    metadata = body["metadata"]
    cluster = around.world.find(kinds.HAZELCAST, metadata["namespace"], resource.spec.hazelcast_resource_name)
    connection = around.servers.of(cluster["metadata"]["uid"]) if cluster is not None else None
    if connection is not None and connection.info is None:
        connection = None
    if is_leaving(body):
        return _let_go(around, body, cluster, connection)
    hold(around, kinds.JET_JOB, body, cluster, finalizer=True)
    if connection is None and resource.status is not None and resource.status.id is not None:
        return _say_unseen(around, body, resource, cluster)
    around.absences.over(metadata["uid"])
    view = _view(around, body, resource, cluster, connection)
    decision = decide_job(view)
    if view.actual is None and decision.status.phase in FINISHED:
        return None  # its control plane has forgotten it
    if view.actual is not None and not view.actual.status.terminal and is_elsewhere(view):
        around.writer.event(kinds.JET_JOB, body, "CodeStays", CODE_STAYS, warning=True)
    status, again, action = decision.status, None, decision.action
    if action is not None and connection is not None:
        if wait := around.retries.seconds_left(view.uid, view.generation):
            return wait
        refused = around.retries.was_refused(view.uid, view.generation)
        try:
            if action is JobAction.SUBMIT:
                if not refused:
                    body = _say(around, body, status)
                code = fetched(around, body, view)
                if code is None:
                    return None
                with room_for(around, code) as there_is_room:
                    if not there_is_room:
                        return SOON_SECONDS
                    if refused:  # the status stays Failed until the job is submitted, but names its id already
                        with_id = failed(view, _reason(resource)).model_copy(update={"id": status.id})
                        body = _say(around, body, with_id)
                    submit(around, body, view, code, connection)
            elif action is JobAction.RESTART and _is_behind(around, body):
                return SOON_SECONDS
            else:
                connection.service.do(job_id(view.uid), _REQUESTS[action])
            view, decision = _after(view, connection)
            status = decision.status
            around.retries.forget(view.uid)
        except (UnreachableError, StoreError):
            raise
        except PitstopError as error:
            if action is JobAction.SUBMIT:
                status = failed(view, error.message)
            else:
                around.writer.event(kinds.JET_JOB, body, f"{action.value.capitalize()}Refused", error.message, warning=True)
            missing = error.message == SECRET_MISSING  # asked for cheaply, and soon there
            again = around.retries.refused(view.uid, view.generation, later_each_time=not missing)
    elif is_owed(view):
        again = LATER_SECONDS
    decided = dataclasses.replace(decision, status=status)
    _say(around, body, status, outlook_of(view, decided, _is_ended_by_snapshot(around, view)))
    return again


def _reason(resource: JetJob) -> str:
    return (resource.status.failure_text if resource.status is not None else None) or ""


def _say(around: Surroundings, body: Object, status: JetJobStatus, outlook: Outlook | None = None) -> Object:
    assert status.phase is not None
    text = status.failure_text or status.suspension_cause
    return around.writer.status(kinds.JET_JOB, body, status, status.phase, text, outlook)


def _say_unseen(around: Surroundings, body: Object, resource: JetJob, cluster: Object | None) -> float | None:
    """Report a submitted job whose server cannot be reached. The job is looked at again once its server answers."""
    if resource.status is None or resource.status.phase in FINISHED:
        return None
    seconds = around.absences.seconds(body["metadata"]["uid"])
    status = decide_away(_view(around, body, resource, cluster, None), seconds)
    if status is None:
        return AWAY_SECONDS - seconds
    _say(around, body, status)
    return None


def _is_behind(around: Surroundings, body: Object) -> bool:
    """True if the copy of the resource is out of date: an action that is due once for each generation may have been taken."""
    metadata = body["metadata"]
    now = around.api.get(kinds.JET_JOB, metadata["namespace"], metadata["name"])
    return now is None or now.get("status") != body.get("status") or now["metadata"]["generation"] != metadata["generation"]


def _view(around: Surroundings, body: Object, resource: JetJob, cluster: Object | None, connection: Connection | None) -> SeenJob:
    metadata, spec = body["metadata"], resource.spec
    snapshot = None
    if spec.initial_snapshot_resource_name is not None:
        snapshot = around.world.find(kinds.JET_JOB_SNAPSHOT, metadata["namespace"], spec.initial_snapshot_resource_name)
    view = SeenJob(
        metadata["name"],
        metadata["namespace"],
        metadata["uid"],
        metadata["generation"],
        resource,
        read(Hazelcast, cluster),
        snapshot=read(JetJobSnapshot, snapshot),
        actual=connection.job(job_id(metadata["uid"])) if connection is not None else None,
    )
    namesake = _older_namesake(around, body, view.job_name, spec.hazelcast_resource_name)
    view = dataclasses.replace(view, older_namesake=namesake)
    if snapshot is None or view.snapshot is None or view.actual is not None or connection is None:
        return view
    return _with_saved_state(around, view, snapshot, view.snapshot, cluster, connection)


def _with_saved_state(
    around: Surroundings, view: SeenJob, body: Object, snapshot: JetJobSnapshot, cluster: Object | None, connection: Connection
) -> SeenJob:
    """Return the view of a job that has yet to start, completed by the fate of the state that its snapshot has saved."""
    if snapshot.status is None or snapshot.status.state is not SnapshotState.EXPORTED:
        return view
    home = home_of(around, body, snapshot, None)
    name = home["metadata"]["name"] if home is not None else None
    if home is not None and cluster is not None and home["metadata"]["uid"] != cluster["metadata"]["uid"]:
        return dataclasses.replace(view, snapshot_home=name)
    is_kept = kept_of(body, snapshot, None, connection) is not None
    has_home = home is not None or snapshot.status.saved_as is not None
    return dataclasses.replace(view, snapshot_home=name, snapshot_kept=is_kept and has_home)


def _older_namesake(around: Surroundings, body: Object, job_name: str, cluster: str) -> str | None:
    """Return the name of an older JetJob whose job has this name and has not ended; None if there is none."""
    metadata = body["metadata"]
    age = metadata["creationTimestamp"], metadata["uid"]
    for other in around.world.all(kinds.JET_JOB, metadata["namespace"]):
        spec, its = other["spec"], other["metadata"]
        same = spec.get("hazelcastResourceName") == cluster and job_name_of(other) == job_name
        if same and (its["creationTimestamp"], its["uid"]) < age and other.get("status", {}).get("phase") not in FINISHED:
            name: str = its["name"]
            return name
    return None


def _after(view: SeenJob, connection: Connection) -> tuple[SeenJob, JobDecision]:
    """Return the view and the decision after an action, by which the spec of this generation is brought about."""
    identity = job_id(view.uid)
    connection.ask_again(identity)
    decision = decide_job(dataclasses.replace(view, actual=connection.job(identity)))
    status = decision.status.model_copy(update=observed(view))
    next_view = dataclasses.replace(
        view, actual=connection.job(identity), resource=view.resource.model_copy(update={"status": status})
    )
    return next_view, JobDecision(None, status)


def _is_ended_by_snapshot(around: Surroundings, view: SeenJob) -> bool:
    for each in around.world.all(kinds.JET_JOB_SNAPSHOT, view.namespace):
        spec, state = each["spec"], each.get("status", {}).get("state")
        if spec.get("jetJobResourceName") == view.name and spec.get("cancelJob") and state in SAVING:
            return True
    return False


def _let_go(around: Surroundings, body: Object, cluster: Object | None, connection: Connection | None) -> float | None:
    """Cancel the job, then let its resource go. The job is not cancelled if its cluster goes, too, or it was never submitted."""
    identity = job_id(body["metadata"]["uid"])
    there = connection is not None and connection.job(identity) is not None  # the status may be out of date
    submitted = there or body.get("status", {}).get("id") is not None
    if submitted and cluster is not None and not is_leaving(cluster):
        if connection is None:
            return SOON_SECONDS
        actual = connection.job(identity)
        if actual is not None and not actual.status.terminal:
            connection.service.do(identity, Cancel())
            connection.ask_again(identity)
    around.slow.codes.forget(key_of(kinds.JET_JOB, body))
    around.retries.forget(body["metadata"]["uid"])
    around.absences.over(body["metadata"]["uid"])
    around.writer.release(kinds.JET_JOB, body)
    return None
