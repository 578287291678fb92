"""The reconciler of a JetJob: bring about its job, and report the job's status."""

from __future__ import annotations

import dataclasses

from pitstop.errors import PitstopError, StoreError, UnreachableError
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
from pitstop.operator.resources import FINISHED, Hazelcast, JetJob, JetJobSnapshot, JetJobStatus, SnapshotState
from pitstop.operator.world import job_name_of, key_of, read


def reconcile_job(around: Surroundings, found: Object) -> float | None:
    """Reconcile a JetJob. Return the seconds until the next look; None: not before something changes."""
    resource = read(JetJob, found)
    if resource is None:
        return None
    metadata = found["metadata"]
    cluster = around.world.find(kinds.HAZELCAST, metadata["namespace"], resource.spec.hazelcast_resource_name)
    connection = around.servers.of(cluster["metadata"]["uid"]) if cluster is not None else None
    if connection is not None and connection.info is None:
        connection = None
    if is_leaving(found):
        return _let_go(around, found, cluster, connection)
    hold(around, kinds.JET_JOB, found, cluster, finalizer=True)
    if connection is None and resource.status is not None and resource.status.id is not None:
        return _say_unseen(around, found, resource, cluster)
    around.absences.over(metadata["uid"])
    seen = _seen(around, found, resource, cluster, connection)
    decision = decide_job(seen)
    if seen.actual is None and decision.status.phase in FINISHED:
        return None  # its control plane has forgotten it
    if seen.actual is not None and not seen.actual.status.terminal and is_elsewhere(seen):
        around.writer.event(kinds.JET_JOB, found, "CodeStays", CODE_STAYS, warning=True)
    status, again, action = decision.status, None, decision.action
    if action is not None and connection is not None:
        if wait := around.retries.seconds_left(seen.uid, seen.generation):
            return wait
        refused = around.retries.was_refused(seen.uid, seen.generation)
        try:
            if action is JobAction.SUBMIT:
                if not refused:
                    found = _say(around, found, status)
                code = fetched(around, found, seen)
                if code is None:
                    return None
                with room_for(around, code) as there_is_room:
                    if not there_is_room:
                        return SOON_SECONDS
                    if refused:  # it is said to be Failed until it is submitted, but with the id that it then has
                        with_id = failed(seen, _reason(resource)).model_copy(update={"id": status.id})
                        found = _say(around, found, with_id)
                    submit(around, found, seen, code, connection)
            elif action is JobAction.RESTART and _is_behind(around, found):
                return SOON_SECONDS
            else:
                _act(seen, action, connection)
            seen, decision = _after(seen, connection)
            status = decision.status
            around.retries.forget(seen.uid)
        except (UnreachableError, StoreError):
            raise
        except PitstopError as error:
            if action is JobAction.SUBMIT:
                status = failed(seen, error.message)
            else:
                around.writer.event(kinds.JET_JOB, found, f"{action.value.capitalize()}Refused", error.message, warning=True)
            missing = error.message == SECRET_MISSING  # asked for cheaply, and soon there
            again = around.retries.refused(seen.uid, seen.generation, later_each_time=not missing)
    elif is_owed(seen):
        again = LATER_SECONDS
    decided = dataclasses.replace(decision, status=status)
    _say(around, found, status, outlook_of(seen, decided, _is_ended_by_snapshot(around, seen)))
    return again


def _reason(resource: JetJob) -> str:
    return (resource.status.failure_text if resource.status is not None else None) or ""


def _say(around: Surroundings, found: Object, status: JetJobStatus, outlook: Outlook | None = None) -> Object:
    assert status.phase is not None
    text = status.failure_text or status.suspension_cause
    return around.writer.status(kinds.JET_JOB, found, status, status.phase, text, outlook)


def _say_unseen(around: Surroundings, found: Object, resource: JetJob, cluster: Object | None) -> float | None:
    """Report a submitted job whose server cannot be reached. The job is looked at again once its server answers."""
    if resource.status is None or resource.status.phase in FINISHED:
        return None
    seconds = around.absences.seconds(found["metadata"]["uid"])
    status = decide_away(_seen(around, found, resource, cluster, None), seconds)
    if status is None:
        return AWAY_SECONDS - seconds
    _say(around, found, status)
    return None


def _is_behind(around: Surroundings, found: Object) -> bool:
    """True if the copy of the resource is out of date: an action that is due once for each generation may have been taken."""
    metadata = found["metadata"]
    now = around.api.get(kinds.JET_JOB, metadata["namespace"], metadata["name"])
    return now is None or now.get("status") != found.get("status") or now["metadata"]["generation"] != metadata["generation"]


def _seen(
    around: Surroundings, found: Object, resource: JetJob, cluster: Object | None, connection: Connection | None
) -> SeenJob:
    metadata, spec = found["metadata"], resource.spec
    snapshot = None
    if spec.initial_snapshot_resource_name is not None:
        snapshot = around.world.find(kinds.JET_JOB_SNAPSHOT, metadata["namespace"], spec.initial_snapshot_resource_name)
    seen = SeenJob(
        metadata["name"],
        metadata["namespace"],
        metadata["uid"],
        metadata["generation"],
        resource,
        read(Hazelcast, cluster),
        snapshot=read(JetJobSnapshot, snapshot),
        actual=connection.job(job_id(metadata["uid"])) if connection is not None else None,
    )
    namesake = _older_namesake(around, found, seen.job_name, spec.hazelcast_resource_name)
    seen = dataclasses.replace(seen, older_namesake=namesake)
    if snapshot is None or seen.snapshot is None or seen.actual is not None or connection is None:
        return seen
    return _with_saved_state(around, seen, snapshot, seen.snapshot, cluster, connection)


def _with_saved_state(
    around: Surroundings, seen: SeenJob, found: Object, snapshot: JetJobSnapshot, cluster: Object | None, connection: Connection
) -> SeenJob:
    """Return what is seen of a job that has yet to start, with what became of the state that was saved for its snapshot."""
    if snapshot.status is None or snapshot.status.state is not SnapshotState.EXPORTED:
        return seen
    home = home_of(around, found, snapshot, None)
    name = home["metadata"]["name"] if home is not None else None
    if home is not None and cluster is not None and home["metadata"]["uid"] != cluster["metadata"]["uid"]:
        return dataclasses.replace(seen, snapshot_home=name)
    is_kept = kept_of(found, snapshot, None, connection) is not None
    has_home = home is not None or snapshot.status.saved_as is not None
    return dataclasses.replace(seen, snapshot_home=name, snapshot_kept=is_kept and has_home)


def _older_namesake(around: Surroundings, found: Object, job_name: str, cluster: str) -> str | None:
    """Return the name of an older JetJob whose job has this name and has not ended; None if there is none."""
    metadata = found["metadata"]
    age = metadata["creationTimestamp"], metadata["uid"]
    for other in around.world.all(kinds.JET_JOB, metadata["namespace"]):
        spec, its = other["spec"], other["metadata"]
        same = spec.get("hazelcastResourceName") == cluster and job_name_of(other) == job_name
        if same and (its["creationTimestamp"], its["uid"]) < age and other.get("status", {}).get("phase") not in FINISHED:
            name: str = its["name"]
            return name
    return None


def _act(seen: SeenJob, action: JobAction, connection: Connection) -> None:
    identity, service = job_id(seen.uid), connection.service
    if action is JobAction.SUSPEND:
        service.suspend(identity)
    elif action is JobAction.RESUME:
        service.resume(identity)
    elif action is JobAction.RESTART:
        service.restart(identity)
    else:
        service.cancel(identity)


def _after(seen: SeenJob, connection: Connection) -> tuple[SeenJob, JobDecision]:
    """Return what is seen after an action. What was asked is done: the spec of this generation is brought about once."""
    identity = job_id(seen.uid)
    connection.ask_again(identity)
    decision = decide_job(dataclasses.replace(seen, actual=connection.job(identity)))
    status = decision.status.model_copy(update=observed(seen))
    done = dataclasses.replace(
        seen, actual=connection.job(identity), resource=seen.resource.model_copy(update={"status": status})
    )
    return done, JobDecision(None, status)


def _is_ended_by_snapshot(around: Surroundings, seen: SeenJob) -> bool:
    for each in around.world.all(kinds.JET_JOB_SNAPSHOT, seen.namespace):
        spec, state = each["spec"], each.get("status", {}).get("state")
        if spec.get("jetJobResourceName") == seen.name and spec.get("cancelJob") and state in SAVING:
            return True
    return False


def _let_go(around: Surroundings, found: Object, cluster: Object | None, connection: Connection | None) -> float | None:
    """Cancel the job, then let its resource go. The job is not cancelled if its cluster goes, too, or it was never submitted."""
    identity = job_id(found["metadata"]["uid"])
    there = connection is not None and connection.job(identity) is not None  # the status may be out of date
    submitted = there or found.get("status", {}).get("id") is not None
    if submitted and cluster is not None and not is_leaving(cluster):
        if connection is None:
            return SOON_SECONDS
        actual = connection.job(identity)
        if actual is not None and not actual.status.terminal:
            connection.service.cancel(identity)
            connection.ask_again(identity)
    around.slow.codes.forget(key_of(kinds.JET_JOB, found))
    around.retries.forget(found["metadata"]["uid"])
    around.absences.over(found["metadata"]["uid"])
    around.writer.release(kinds.JET_JOB, found)
    return None
