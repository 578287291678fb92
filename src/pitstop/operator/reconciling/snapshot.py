"""The reconciler of a JetJobSnapshot: export the state of a job once, and delete the snapshot with its resource."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from datetime import datetime

from pitstop.errors import ConflictError, NotFoundError, PitstopError, StoreError, UnreachableError, WaitTimeoutError
from pitstop.model.operation import CancelAndExport, Export
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator import kinds
from pitstop.operator.connections import Connection
from pitstop.operator.jobs import job_id
from pitstop.operator.kube.api import Object
from pitstop.operator.reconciling.surroundings import (
    LATER_SECONDS,
    SOON_SECONDS,
    Surroundings,
    hold,
    is_leaving,
    uid_of,
)
from pitstop.operator.resources.job import JetJob
from pitstop.operator.resources.snapshot import JetJobSnapshot, JetJobSnapshotStatus, SnapshotState
from pitstop.operator.snapshots import ON_ITS_WAY, Namesake, SeenSnapshot, could_not_export, decide_snapshot, its_own
from pitstop.operator.world import key_of, read, snapshot_name_of

CLOCKS_DIFFER_SECONDS = 10.0
"""The largest difference between the clocks of a cluster and of the API server."""
OVER = (SnapshotState.EXPORTED, SnapshotState.FAILED)
SAVING = (SnapshotState.EXPORTING, SnapshotState.EXPORTED)


def reconcile_snapshot(around: Surroundings, body: Object) -> float | None:
    """Reconcile a JetJobSnapshot. Return the seconds until the next look; None: not before something changes."""
    resource = read(JetJobSnapshot, body)
    if resource is None:
        return None
    namespace = body["metadata"]["namespace"]
    job = around.world.find(kinds.JET_JOB, namespace, resource.spec.jet_job_resource_name)
    cluster = around.world.find(kinds.HAZELCAST, namespace, job["spec"]["hazelcastResourceName"]) if job is not None else None
    if is_leaving(body):
        return _let_go(around, body, resource, job)
    hold(around, kinds.JET_JOB_SNAPSHOT, body, home_of(around, body, resource, job), finalizer=True)
    if resource.status is not None and resource.status.state in OVER:
        around.slow.exports.forget(key_of(kinds.JET_JOB_SNAPSHOT, body))
        return None
    if around.slow.exports.runs(key_of(kinds.JET_JOB_SNAPSHOT, body)):
        return None  # it is looked at once that is over
    if job is None:  # the copy may be out of date, and the end of a snapshot is final
        job = around.api.get(kinds.JET_JOB, namespace, resource.spec.jet_job_resource_name)
        cluster = around.world.find(kinds.HAZELCAST, namespace, job["spec"]["hazelcastResourceName"]) if job is not None else None
    connection = around.servers.of(cluster["metadata"]["uid"]) if cluster is not None else None
    view = _view(body, resource, job, connection, cluster is not None)
    if cluster is not None:
        view = dataclasses.replace(view, namesake=_namesake(around, body, resource, cluster))
    outcome = _outcome_of(around, body)
    if isinstance(outcome, SnapshotRecord):
        # The look may be older than the export, which can have ended the job.
        view = dataclasses.replace(view, resource=_exporting(resource), namesake=None, record=outcome)
        _say(around, body, decide_snapshot(view).status)
        around.slow.exports.forget(key_of(kinds.JET_JOB_SNAPSHOT, body))
        return None
    if isinstance(outcome, ConflictError) and job is not None and connection is not None:
        # An operator that is gone may have asked for it: the snapshot is then kept before the job can have ended.
        connection.ask_again(job_id(job["metadata"]["uid"]))
        view = dataclasses.replace(_view(body, _exporting(resource), job, connection, True), namesake=view.namesake)
    decision = decide_snapshot(view)
    stands = decision.status.state is SnapshotState.EXPORTING and not decision.export  # no errand is under way any more
    starts_anew = view.actual in ON_ITS_WAY  # its run has ended under the export, as with its control plane
    if isinstance(outcome, PitstopError) and not (isinstance(outcome, ConflictError) and (starts_anew or not stands)):
        _say(around, body, could_not_export(view, outcome.message))
        return None
    _say(around, body, decision.status)
    if decision.export and connection is not None and cluster is not None and job is not None:
        return _export(around, body, resource, job, cluster, connection)
    if decision.status.state in OVER:
        return None
    # Events report everything that it waits for, except that time passes.
    return SOON_SECONDS if decision.status.state is SnapshotState.EXPORTING else LATER_SECONDS


def _view(
    body: Object, resource: JetJobSnapshot, job: Object | None, connection: Connection | None, has_cluster: bool
) -> SeenSnapshot:
    metadata = body["metadata"]
    reached = not has_cluster or (connection is not None and connection.info is not None)
    phase = read(JetJob, job)
    view = SeenSnapshot(
        metadata["name"],
        metadata["generation"],
        resource,
        job is not None,
        reached,
        job_phase=phase.status.phase if phase is not None and phase.status is not None else None,
        age=time.time() - _creation_time(body),
    )
    if job is None or connection is None or not reached:
        return view
    identity = job_id(job["metadata"]["uid"])
    actual = connection.job(identity)
    exporting = resource.status is not None and resource.status.state is SnapshotState.EXPORTING
    record = kept_of(body, resource, identity, connection) if exporting else None
    return dataclasses.replace(view, actual=actual.status if actual is not None else None, record=record)


def kept_of(body: Object, resource: JetJobSnapshot, identity: str | None, connection: Connection) -> SnapshotRecord | None:
    """Return the snapshot of this resource; None if its cluster has none. An older snapshot of that name is a different one."""
    earliest = _creation_time(body) - CLOCKS_DIFFER_SECONDS
    return its_own(resource, snapshot_name_of(body), identity, earliest, connection.snapshots())


def _creation_time(body: Object) -> float:
    return datetime.fromisoformat(body["metadata"]["creationTimestamp"]).timestamp()


def _namesake(around: Surroundings, body: Object, resource: JetJobSnapshot, cluster: Object) -> Namesake | None:
    """Return another resource on the cluster that has the first right to the snapshot's name, as the API server has it now."""
    metadata, state = body["metadata"], resource.status.state if resource.status is not None else None
    for other in around.world.all(kinds.JET_JOB_SNAPSHOT, metadata["namespace"]):
        its = other["metadata"]
        if its["uid"] == metadata["uid"] or snapshot_name_of(other) != snapshot_name_of(body):
            continue
        there = around.api.get(kinds.JET_JOB_SNAPSHOT, its["namespace"], its["name"])
        rival = read(JetJobSnapshot, there)
        if there is None or rival is None or uid_of(_present_home(around, there, rival)) != uid_of(cluster):
            continue
        older = (its["creationTimestamp"], its["uid"]) < (metadata["creationTimestamp"], metadata["uid"])
        namesake = Namesake(its["name"], older, rival.status.state if rival.status is not None else None, is_leaving(there))
        if namesake.comes_first(state):
            return namesake
    return None


def _export(
    around: Surroundings, body: Object, resource: JetJobSnapshot, job: Object, cluster: Object, connection: Connection
) -> float | None:
    """Export the snapshot once, beside the workers, for a job may take minutes. The resource is looked at again afterwards."""
    metadata, exports = body["metadata"], around.slow.exports
    key, uid = key_of(kinds.JET_JOB_SNAPSHOT, body), metadata["uid"]
    identity, name = job_id(job["metadata"]["uid"]), snapshot_name_of(body)
    if not exports.has(key, uid):

        def export() -> SnapshotRecord:
            return connection.service.do(identity, CancelAndExport(name) if resource.spec.cancel_job else Export(name))

        return _begin(around, body, resource, cluster, export)
    return None


def _outcome_of(around: Surroundings, body: Object) -> SnapshotRecord | PitstopError | None:
    """Return the snapshot that an export has brought, or the refusal; None if there is no export, or it is under way.

    An error after which the snapshot may have been exported is raised: the next look finds it.
    """
    try:
        return around.slow.exports.outcome(key_of(kinds.JET_JOB_SNAPSHOT, body), body["metadata"]["uid"])
    except (UnreachableError, StoreError, WaitTimeoutError):
        raise
    except PitstopError as error:
        return error


def _exporting(resource: JetJobSnapshot) -> JetJobSnapshot:
    """Return the resource as it is while it is exported, whatever the status that was read says."""
    status = (resource.status or JetJobSnapshotStatus()).model_copy(update={"state": SnapshotState.EXPORTING})
    return resource.model_copy(update={"status": status})


def _begin(
    around: Surroundings, body: Object, resource: JetJobSnapshot, cluster: Object, export: Callable[[], SnapshotRecord]
) -> float | None:
    """Begin the export. Return the seconds until the next look; None: once the export is over, or not at all.

    The resource is read again first, since another operator may have exported it meanwhile.
    """
    metadata = body["metadata"]
    now = around.api.get(kinds.JET_JOB_SNAPSHOT, metadata["namespace"], metadata["name"])
    current = read(JetJobSnapshot, now)
    if now is None or current is None or now["metadata"]["uid"] != metadata["uid"] or is_leaving(now):
        return None
    if current.spec != resource.spec or (current.status is not None and current.status.state in OVER):
        return None
    if _namesake(around, now, current, cluster) is not None:
        return SOON_SECONDS
    around.slow.exports.begin(key_of(kinds.JET_JOB_SNAPSHOT, body), metadata["uid"], cluster["metadata"]["uid"], export)
    return None


def _say(around: Surroundings, body: Object, status: JetJobSnapshotStatus) -> None:
    assert status.state is not None
    around.writer.status(kinds.JET_JOB_SNAPSHOT, body, status, status.state, status.message)


def _let_go(around: Surroundings, body: Object, resource: JetJobSnapshot, job: Object | None) -> float | None:
    """Delete the saved state, then let its resource go. The state is not deleted if its cluster goes, too."""
    key = key_of(kinds.JET_JOB_SNAPSHOT, body)
    around.slow.exports.forget(key)
    if around.slow.exports.runs(key):
        return None  # its state is deleted after the export, when this resource comes again
    cluster = home_of(around, body, resource, job)
    if _is_saving(resource) and cluster is not None and not is_leaving(cluster):
        connection = around.servers.of(cluster["metadata"]["uid"])
        if connection is None or connection.info is None:
            return SOON_SECONDS
        # Its JetJob may have been made anew meanwhile, with another job.
        record = kept_of(body, resource, None, connection)
        try:
            if record is not None:
                connection.service.delete_snapshot(record.name)
        except NotFoundError:
            pass
        except ConflictError as error:  # a job has yet to start from it
            around.writer.event(kinds.JET_JOB_SNAPSHOT, body, "StillNeeded", error.message, warning=True)
            return LATER_SECONDS
    around.writer.release(kinds.JET_JOB_SNAPSHOT, body)
    return None


def _is_saving(resource: JetJobSnapshot) -> bool:
    return resource.status is not None and resource.status.state in SAVING


def _present_home(around: Surroundings, body: Object, resource: JetJobSnapshot) -> Object | None:
    job = around.world.find(kinds.JET_JOB, body["metadata"]["namespace"], resource.spec.jet_job_resource_name)
    return home_of(around, body, resource, job)


def home_of(around: Surroundings, body: Object, resource: JetJobSnapshot, job: Object | None) -> Object | None:
    """Return the cluster that has the saved state, and with which the resource is deleted; None if there is none.

    The JetJob may be gone, or made anew on another cluster. The resource still names the cluster that its state was saved on.
    """
    namespace = body["metadata"]["namespace"]
    if job is not None and not _is_saving(resource):
        return around.world.find(kinds.HAZELCAST, namespace, job["spec"]["hazelcastResourceName"])
    for each in body["metadata"].get("ownerReferences", []):
        cluster = around.world.find(kinds.HAZELCAST, namespace, each["name"])
        if cluster is not None and cluster["metadata"]["uid"] == each["uid"]:
            return cluster
    return None
