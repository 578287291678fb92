"""JetJobSnapshots as they are brought about, step by step."""

import dataclasses

import pytest

from pitstop.errors import ConflictError, UsageError
from pitstop.model.job import JobState
from pitstop.model.operation import CancelAndExport
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator import kinds
from pitstop.operator.reconciling.snapshot import reconcile_snapshot
from pitstop.operator.writing import FINALIZER
from tests.unit.operator.reconciling.scripted import Lab
from tests.unit.operator.test_jobs import actual

CREATED = 1795435200.0  # 2026-11-23T12:00:00Z


class Service:
    """What a reconciler asks of a cluster's server."""

    def __init__(self):
        self.kept, self.exports, self.refusal, self.state = {}, 0, None, JobState.RUNNING

    def job(self, identity):
        return dataclasses.replace(actual(self.state), id=identity)

    def snapshots(self):
        return list(self.kept.values())

    def do(self, identity, request):
        self.exports, name = self.exports + 1, request.snapshot
        if self.refusal is not None:
            raise self.refusal
        self.kept[name] = SnapshotRecord(name, identity, "job", CREATED + 9, 12, f"/data/{name}@{self.exports}", 1)
        return self.kept[name]

    def delete_snapshot(self, name):
        del self.kept[name]


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def lab(service):
    made = Lab()
    _, made.connection = made.cluster("here", service)
    made.api.put(kinds.JET_JOB, "job", {"hazelcastResourceName": "here", "jarName": "job.py"})
    made.connection.jobs[made.identity("job")] = dataclasses.replace(actual(JobState.RUNNING), id=made.identity("job"))
    made.api.put(kinds.JET_JOB_SNAPSHOT, "state", {"jetJobResourceName": "job", "cancelJob": False})
    return made


@pytest.fixture
def looked(lab):
    """Reconcile a JetJobSnapshot, and return its status."""

    def look(name="state"):
        lab.looked_at.append(None)
        while lab.looked_at:
            lab.looked_at.clear()
            lab.again = reconcile_snapshot(lab.around, lab.api.objects[kinds.JET_JOB_SNAPSHOT, name])
        return lab.api.status(kinds.JET_JOB_SNAPSHOT, name)

    return look


def test_a_state_is_exported_once(looked, service):
    status = looked()
    assert (status["state"], status["savedAs"], service.exports) == ("Exported", "state@1", 1)
    assert looked() == status
    assert service.exports == 1


def test_an_export_that_takes_long_holds_no_worker(lab, looked, service):
    lab.later = []
    assert looked()["state"] == "Exporting"
    looked()
    (export,) = lab.later
    lab.looked_at.clear()
    export()
    assert [key.name for key in lab.looked_at] == ["state"]
    assert (looked()["state"], service.exports) == ("Exported", 1)


def test_an_export_that_is_refused_is_told(lab, looked, service):
    service.refusal = UsageError("no room")
    status = looked()
    assert (status["state"], status["message"]) == ("Failed", "no room")
    looked()
    assert service.exports == 1


def test_an_export_that_ends_the_job_is_told_however_old_the_look_at_its_resource_is(lab, looked, service):
    lab.later = []
    looked()
    (export,) = lab.later
    export()
    lab.connection.jobs[lab.identity("job")] = dataclasses.replace(actual(JobState.FAILED), id=lab.identity("job"))
    stale = lab.api.objects[kinds.JET_JOB_SNAPSHOT, "state"] | {"status": {}}
    reconcile_snapshot(lab.around, stale)
    assert lab.api.status(kinds.JET_JOB_SNAPSHOT, "state")["state"] == "Exported"


def test_an_export_that_a_job_gives_up_has_failed(lab, looked, service):
    service.refusal, service.state = ConflictError("The job is SUSPENDED."), JobState.SUSPENDED
    status = looked()
    assert (status["state"], status["message"], lab.again) == ("Failed", "The job is SUSPENDED.", None)


@pytest.mark.parametrize("state", [JobState.NOT_RUNNING, JobState.STARTING])
def test_an_export_whose_run_ends_under_it_is_done_by_the_next_run(lab, looked, service, state):
    service.refusal, service.state = ConflictError("Execution completed before snapshot executed"), state
    assert looked()["state"] == "Exporting"
    assert lab.again is not None
    service.refusal, service.state = None, JobState.RUNNING
    lab.connection.jobs[lab.identity("job")] = dataclasses.replace(actual(JobState.RUNNING), id=lab.identity("job"))
    assert (looked()["state"], service.exports) == ("Exported", 2)


def test_an_export_that_an_operator_before_has_begun_is_found(lab, looked, service):
    service.do(lab.identity("job"), CancelAndExport("state"))
    service.refusal, service.state = ConflictError("The job is FAILED."), JobState.FAILED
    assert looked()["state"] == "Exported"


def test_a_snapshot_that_is_deleted_while_it_is_exported_goes_with_what_was_saved(lab, looked, service):
    lab.later = []
    looked()
    (export,) = lab.later
    lab.api.delete(kinds.JET_JOB_SNAPSHOT, "state")
    lab.written()
    looked()
    assert lab.written() == []  # it is held until the export is over
    export()
    assert set(service.kept) == {"state"}
    reconcile_snapshot(lab.around, lab.api.objects[kinds.JET_JOB_SNAPSHOT, "state"])
    assert service.kept == {}
    assert (kinds.JET_JOB_SNAPSHOT, "state") not in lab.api.objects


def test_a_snapshot_out_of_a_backup_can_be_deleted(lab):
    spec = {"jetJobResourceName": "gone"}
    lab.api.put(kinds.JET_JOB_SNAPSHOT, "restored", spec, finalizers=[FINALIZER, "example.org/other"])
    lab.api.delete(kinds.JET_JOB_SNAPSHOT, "restored")
    reconcile_snapshot(lab.around, lab.api.objects[kinds.JET_JOB_SNAPSHOT, "restored"])
    assert lab.api.objects[kinds.JET_JOB_SNAPSHOT, "restored"]["metadata"]["finalizers"] == ["example.org/other"]
