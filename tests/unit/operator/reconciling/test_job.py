"""JetJobs as they are brought about, step by step."""

import dataclasses
import time

import pytest

from pitstop.errors import NotFoundError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator import kinds
from pitstop.operator.errands import Errands, Room
from pitstop.operator.reconciling.job import reconcile_job
from pitstop.operator.writing import FINALIZER
from tests.dripping import DRIPS, serving
from tests.unit.operator.reconciling.scripted import Lab, owned_by
from tests.unit.operator.test_jobs import actual

CREATED = 1795435200.0  # 2026-11-23T12:00:00Z
MINE = SnapshotRecord("state", "0401-9f77-b9c0-0001", "first", CREATED + 9, 1196, "/data/snapshots/state@1", 12)
OTHERS = dataclasses.replace(MINE, path="/data/snapshots/state@2", job_id="0401-9f77-b9c0-0002")


class Service:
    """What a reconciler asks of a cluster's server."""

    def __init__(self, snapshots=()):
        self.refusal, self.cancelled = None, []
        self.kept, self.submitted = list(snapshots), {}

    def snapshots(self):
        return self.kept

    def submit(self, request):
        if self.refusal is not None:
            raise UsageError(self.refusal)
        self.submitted[request.id] = request

    def do(self, identity, request):
        assert request == Cancel()
        del self.submitted[identity]
        self.cancelled.append(identity)

    def job(self, identity):
        if identity in self.cancelled:
            return dataclasses.replace(actual(JobState.FAILED), id=identity)
        if identity not in self.submitted:
            raise NotFoundError(identity)
        return dataclasses.replace(actual(JobState.STARTING), id=identity)


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "job.py").write_text("")
    return Lab(tmp_path)


@pytest.fixture
def looked(lab):
    """Reconcile a JetJob, and return its status."""

    def look(name):
        reconcile_job(lab.around, lab.api.objects[kinds.JET_JOB, name])
        return lab.api.status(kinds.JET_JOB, name)

    return look


def jet_job(lab, name, cluster, folder=None, finalizers=(), **spec):
    place = {"bucketConfig": {"bucketURI": f"file://{folder or lab.around.files_from}"}}
    spec = {"hazelcastResourceName": cluster, "jarName": "job.py", **place, **spec}
    lab.api.put(kinds.JET_JOB, name, spec, finalizers=list(finalizers))


def saved(lab, cluster, name="state", **status):
    status = {"state": "Exported", "savedAs": "state@1"} | status
    spec = {"jetJobResourceName": "first", "name": "state"}
    lab.api.put(kinds.JET_JOB_SNAPSHOT, name, spec, status, ownerReferences=[owned_by(cluster)])


def test_a_job_goes_on_from_the_state_that_was_saved_for_its_snapshot(lab, looked):
    service = Service([MINE])
    here, _ = lab.cluster("here", service)
    saved(lab, here)
    jet_job(lab, "second", "here", initialSnapshotResourceName="state")
    assert looked("second")["phase"] == "Starting"
    assert service.submitted[lab.identity("second")].initial_snapshot == "state"


def test_a_job_never_starts_from_what_another_cluster_has_under_the_name_of_its_snapshot(lab, looked):
    here, _ = lab.cluster("here", Service([MINE]))
    service = Service([OTHERS])
    lab.cluster("there", service)
    saved(lab, here)
    jet_job(lab, "second", "there", initialSnapshotResourceName="state")
    status = looked("second")
    assert status["phase"] == "Failed"
    assert status["failureText"].startswith("JetJobSnapshot 'state' is of Hazelcast 'here', and this job runs on 'there'")
    assert service.submitted == {}


def test_a_job_never_starts_from_what_took_the_place_of_the_saved_state(lab, looked):
    """Somebody may have exported under that name by the command line."""
    service = Service([OTHERS])
    here, _ = lab.cluster("here", service)
    saved(lab, here)
    jet_job(lab, "second", "here", initialSnapshotResourceName="state")
    status = looked("second")
    assert status["phase"] == "Failed"
    assert "'here' no longer has the state that was saved for it" in status["failureText"]
    assert service.submitted == {}
    service.kept = [MINE]
    assert looked("second")["phase"] == "Starting"


def test_of_a_snapshot_that_a_release_before_exported_the_state_that_is_younger_counts(lab, looked):
    service = Service([dataclasses.replace(OTHERS, created=CREATED - 3600)])
    here, _ = lab.cluster("here", service)
    saved(lab, here, savedAs=None)
    jet_job(lab, "second", "here", initialSnapshotResourceName="state")
    assert looked("second")["phase"] == "Failed"
    service.kept = [MINE]
    assert looked("second")["phase"] == "Starting"


def test_code_that_is_on_its_way_is_waited_for_by_nobody(lab, looked):
    service = Service()
    lab.cluster("here", service)
    lab.later = []
    jet_job(lab, "slow", "here")
    assert looked("slow")["phase"] == "NotRunning"
    looked("slow")
    (fetch,) = lab.later  # once, however often it is looked at
    assert service.submitted == {}
    lab.looked_at.clear()
    fetch()
    assert [key.name for key in lab.looked_at] == ["slow"]
    assert looked("slow")["phase"] == "Starting"
    assert set(service.submitted) == {lab.identity("slow")}


def test_slow_addresses_hold_no_other_job_up(lab, looked):
    service = Service()
    lab.cluster("here", service)
    slow = dataclasses.replace(lab.around.slow, codes=Errands(Room(16, 8, 3), lab.looked_at.append))
    lab.around = dataclasses.replace(lab.around, slow=slow)
    began = time.monotonic()
    with serving(*DRIPS["head"]) as url:
        for number in range(10):
            jet_job(lab, f"slow-{number}", "here", bucketConfig=None, remoteURL=url)
            assert looked(f"slow-{number}")["phase"] == "NotRunning"
        jet_job(lab, "quick", "here")
        assert wait_until(lambda: looked("quick")["phase"] == "Starting", 5, 0.02)
        assert time.monotonic() - began < 8  # each address alone would take ten seconds
    assert set(service.submitted) == {lab.identity("quick")}


def test_a_try_that_fails_again_changes_nothing_and_tells_nobody(lab, looked, monkeypatch):
    service = Service()
    lab.cluster("here", service)
    jet_job(lab, "job", "here", jarName="missing.py")
    now = [0.0]
    monkeypatch.setattr(lab.around.retries, "_clock", lambda: now[0])
    first = looked("job")
    assert (first["phase"], lab.api.said) == ("Failed", [("job", "NotRunning"), ("job", "Failed")])
    for _ in range(3):
        now[0] += 1000
        assert looked("job") == first
    assert lab.api.said == [("job", "NotRunning"), ("job", "Failed")]
    assert lab.api.events("job") == ["NotRunning", "Failed"]
    (lab.around.files_from / "missing.py").write_text("")
    service.refusal = "the job cannot be compiled"
    for _ in range(2):
        now[0] += 1000
        assert looked("job")["failureText"] == "the job cannot be compiled"
    assert "id" not in looked("job")
    assert {phase for _, phase in lab.api.said[2:]} == {"Failed"}
    service.refusal = None
    now[0] += 1000
    assert looked("job")["phase"] == "Starting"
    assert lab.api.events("job") == ["NotRunning", "Failed", "Starting"]


def test_a_missing_secret_is_asked_for_every_ten_seconds_and_said_once(lab, looked, monkeypatch):
    lab.cluster("here", Service())
    jet_job(lab, "job", "here", bucketConfig={"bucketURI": "s3://jobs", "secretName": "s3"})
    now = [0.0]
    monkeypatch.setattr(lab.around.retries, "_clock", lambda: now[0])
    for _ in range(4):
        assert looked("job")["failureText"] == "Bucket credentials Secret not found"
        now[0] += 10.5
    assert lab.api.events("job") == ["NotRunning", "Failed"]
    assert len([each for each in lab.api.requests if each == ("GET", "Secret", "s3")]) == 4


@pytest.mark.parametrize("cluster", ["here", "of another namespace"])
def test_a_job_out_of_a_backup_can_be_deleted(lab, looked, cluster):
    """Its manifest has the finalizer, which is then that of kubectl, too."""
    lab.cluster("here", Service())
    jet_job(lab, "restored", cluster, finalizers=[FINALIZER])
    looked("restored")
    lab.api.delete(kinds.JET_JOB, "restored")
    reconcile_job(lab.around, lab.api.objects[kinds.JET_JOB, "restored"])
    assert (kinds.JET_JOB, "restored") not in lab.api.objects


def conditions(status):
    return {each["type"]: each["status"] for each in status["conditions"]}


def test_a_job_that_a_snapshot_has_ended_is_as_planned_and_stays_so(lab, looked):
    service = Service()
    here, connection = lab.cluster("here", service)
    jet_job(lab, "first", "here")
    looked("first")
    saved(lab, here)
    spec = {"jetJobResourceName": "first", "cancelJob": True}
    lab.api.put(kinds.JET_JOB_SNAPSHOT, "last", spec, {"state": "Exporting"}, ownerReferences=[owned_by(here)])
    ended = dataclasses.replace(actual(JobState.FAILED), user_cancelled=True, failure="Cancelled by a user")
    connection.jobs[lab.identity("first")] = ended
    status = looked("first")
    expected = {"Ready": "True", "Progressing": "False", "Degraded": "False", "Stalled": "False"}
    assert (status["phase"], conditions(status)) == ("ExecutionFailed", expected)
    for gone in ("snapshot", "job"):
        if gone == "snapshot":
            lab.world._own[kinds.JET_JOB_SNAPSHOT]._take("DELETED", lab.api.objects[kinds.JET_JOB_SNAPSHOT, "last"])
        else:
            del connection.jobs[lab.identity("first")]
        assert looked("first") == status
