"""What a JetJob asks for. Messages and states are those of Hazelcast's operator."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobSource, JobState, Progress
from pitstop.operator.conditions import BAD, COMING, ENDED, GOOD, LOST
from pitstop.operator.jobs import (
    AWAY_SECONDS,
    JobAction,
    JobDecision,
    SeenJob,
    decide_away,
    decide_job,
    is_elsewhere,
    job_id,
    number_of,
    options_of,
    outlook_of,
    source_of,
)
from pitstop.operator.resources.cluster import Hazelcast
from pitstop.operator.resources.job import JetJob
from pitstop.operator.resources.snapshot import JetJobSnapshot
from pitstop.service.job_results import JobStatus

UID = "5f3c1f5e-8a64-4c9a-9a30-0d5a8a4a1c11"
RUNNING_CLUSTER = Hazelcast.model_validate({"spec": {"jet": {"resourceUploadEnabled": True}}, "status": {"phase": "Running"}})
BUCKET = {"bucketURI": "s3://jobs", "secretName": "credentials"}


def jet_job(status=None, **spec):
    spec = {"hazelcastResourceName": "hazelcast", "jarName": "jobs.zip", "bucketConfig": BUCKET} | spec
    return JetJob.model_validate({"spec": spec, "status": status})


def seen(resource=None, generation=1, **more):
    more = {"cluster": RUNNING_CLUSTER} | more
    return SeenJob("transaction-v1", "default", UID, generation, resource or jet_job(), **more)


def actual(status, **more):
    source = JobSource("/data/jobs.zip")
    found = JobStatus(
        id=job_id(UID),
        name="transaction-v1",
        status=status,
        submission_time=1691583724.7,
        start_time=None,
        completion_time=None,
        user_cancelled=False,
        suspension_cause=None,
        failure=None,
        failure_details=None,
        config=JobConfig(),
        options={},
        source=source,
        token=1,
        termination=None,
        attempts=0,
        due=None,
        interruption=None,
        lineage=None,
        version=1,
        update_failure=None,
        plan=None,
        progress=Progress(),
    )
    return dataclasses.replace(found, **more)


def test_what_a_job_may_drop_goes_over_its_options():
    options = {"processing_guarantee": "none", "allow_drop": "speed"}
    assert options_of(jet_job(options=options).spec) == options
    assert options_of(jet_job(options=options, allowDrop=["*"]).spec) == options | {"allow_drop": ["*"]}
    assert options_of(jet_job().spec) == {}


@pytest.mark.parametrize("shared", [True, False])
def test_whether_a_job_may_share_a_place_goes_over_its_options(shared):
    assert options_of(jet_job(options={"allow_shared": "true"}, allowShared=shared).spec) == {"allow_shared": shared}
    assert options_of(jet_job(options={"allow_shared": "true"}).spec) == {"allow_shared": "true"}


def test_a_job_that_is_not_there_is_submitted():
    decision = decide_job(seen())
    assert (decision.action, decision.status.phase, decision.status.failure_text) == (JobAction.SUBMIT, "NotRunning", None)


def cluster(jet=None, phase="Running"):
    return Hazelcast.model_validate({"spec": {"jet": jet or {}}, "status": {"phase": phase}})


def snapshot(state):
    status = {"state": state} if state else None
    return JetJobSnapshot.model_validate({"spec": {"jetJobResourceName": "transaction-v1"}, "status": status})


FROM = jet_job(initialSnapshotResourceName="snapshot-transaction")
WITHOUT_BUCKET = JetJob.model_validate({"spec": {"hazelcastResourceName": "hazelcast", "jarName": "jobs.zip"}})


@pytest.mark.parametrize(
    ("obstacle", "message"),
    [
        ({"cluster": None}, "Hazelcast 'hazelcast' not found"),
        ({"cluster": cluster({"enabled": False})}, "spec.jet.enabled: Required value: jet engine must be enabled"),
        (
            {"cluster": cluster()},
            "spec.jet.resourceUploadEnabled: Invalid value: false: jet engine resource upload must be enabled",
        ),
        ({"older_namesake": "other"}, "JetJob other already uses the same name"),
        ({"cluster": cluster({"resourceUploadEnabled": True}, "Pending")}, "Hazelcast 'hazelcast' is not running"),
        ({"resource": FROM}, "JetJobSnapshot 'snapshot-transaction' not found"),
        (
            {"resource": FROM, "snapshot": snapshot("Exporting")},
            "JetJobSnapshot 'snapshot-transaction' is Exporting: only an Exported one has state",
        ),
        (
            {"resource": FROM, "snapshot": snapshot(None)},
            "JetJobSnapshot 'snapshot-transaction' is not there yet: only an Exported one has state",
        ),
    ],
)
def test_what_prevents_a_job_is_said_and_when_it_is_gone_the_job_starts_by_itself(obstacle, message):
    decision = decide_job(seen(**obstacle))
    assert (decision.action, decision.status.phase, decision.status.failure_text) == (None, "Failed", message)
    again = jet_job(decision.status.model_dump(by_alias=True, mode="json"), initialSnapshotResourceName="snapshot-transaction")
    assert decide_job(seen(again, snapshot=snapshot("Exported"))).action is JobAction.SUBMIT


def test_code_that_is_on_the_server_needs_no_upload():
    assert decide_job(seen(WITHOUT_BUCKET, cluster=cluster())).action is JobAction.SUBMIT


@pytest.mark.parametrize(
    ("wanted", "state", "action"),
    [
        ("Running", JobState.RUNNING, None),
        ("Running", JobState.SUSPENDED, JobAction.RESUME),
        ("Running", JobState.SUSPENDED_EXPORTING_SNAPSHOT, None),
        ("Suspended", JobState.RUNNING, JobAction.SUSPEND),
        ("Suspended", JobState.STARTING, JobAction.SUSPEND),
        ("Suspended", JobState.SUSPENDED, None),
        ("Canceled", JobState.RUNNING, JobAction.CANCEL),
        ("Canceled", JobState.SUSPENDED, JobAction.CANCEL),
        ("Canceled", JobState.FAILED, None),
        ("Restarted", JobState.RUNNING, JobAction.RESTART),
        ("Running", JobState.COMPLETED, None),
    ],
)
def test_a_job_is_brought_to_the_state_that_is_wanted(wanted, state, action):
    found = actual(state, suspension_cause="Requested by user" if state is JobState.SUSPENDED else None)
    assert decide_job(seen(jet_job(state=wanted), actual=found)).action is action


def after(decision, **spec):
    return jet_job(decision.status.model_dump(by_alias=True, mode="json"), **spec)


def test_a_restart_is_asked_for_once_for_each_change_of_the_spec():
    first = decide_job(seen(jet_job(state="Restarted"), generation=2, actual=actual(JobState.RUNNING)))
    then = decide_job(seen(after(first, state="Restarted"), generation=2, actual=actual(JobState.RUNNING)))
    changed = decide_job(seen(after(first, state="Restarted"), generation=4, actual=actual(JobState.RUNNING)))
    assert [decision.action for decision in (first, then, changed)] == [JobAction.RESTART, None, JobAction.RESTART]


OTHER_BUCKET = BUCKET | {"secretName": "other"}


def test_a_job_that_was_restarted_is_not_restarted_by_a_change_of_something_else():
    first = decide_job(seen(jet_job(state="Restarted"), generation=2, actual=actual(JobState.RUNNING)))
    assert first.status.observed_generation == 2
    edited = seen(after(first, state="Restarted", bucketConfig=OTHER_BUCKET), generation=3, actual=actual(JobState.RUNNING))
    assert is_elsewhere(edited)
    second = decide_job(edited)
    assert (second.action, second.status.observed_generation) == (None, 3)
    told = seen(after(second, state="Restarted", bucketConfig=OTHER_BUCKET), generation=3, actual=actual(JobState.RUNNING))
    assert not is_elsewhere(told)
    again = decide_job(dataclasses.replace(told, generation=5))  # to Running and back between two looks
    assert again.action is JobAction.RESTART


def test_one_change_may_ask_for_a_restart_and_change_something_else():
    first = decide_job(seen(jet_job(), generation=1, actual=actual(JobState.STARTING)))
    both = after(first, state="Restarted", bucketConfig=OTHER_BUCKET)
    early = decide_job(seen(both, generation=2, actual=actual(JobState.STARTING)))
    assert (early.action, early.status.observed_generation) == (None, 1)  # not yet: it is owed
    both = after(early, state="Restarted", bucketConfig=OTHER_BUCKET)
    assert decide_job(seen(both, generation=2, actual=actual(JobState.RUNNING))).action is JobAction.RESTART
    assert not is_elsewhere(seen(both, generation=2))  # said once


@pytest.mark.parametrize(
    ("spec", "source"),
    [
        ({}, "s3://jobs (Secret credentials)"),
        ({"bucketConfig": {"bucketURI": "s3://jobs"}}, "s3://jobs"),
        ({"bucketConfig": None, "remoteURL": "https://example.org/jobs.zip"}, "https://example.org/jobs.zip"),
        ({"bucketConfig": None}, ""),
    ],
)
def test_where_the_code_of_a_spec_is(spec, source):
    assert source_of(jet_job(**spec).spec) == source


def test_a_job_that_suspended_itself_because_it_failed_waits_for_a_new_spec():
    failed = actual(JobState.SUSPENDED, suspension_cause="Execution failure: division by zero")
    first = decide_job(seen(jet_job({"observedGeneration": 1}), actual=failed))
    assert (first.action, first.status.suspension_cause) == (None, "Execution failure: division by zero")
    assert decide_job(seen(after(first), generation=2, actual=failed)).action is JobAction.RESUME


def test_a_cancelled_job_has_failed_and_says_when():
    ended = actual(JobState.FAILED, completion_time=1691586471.2, user_cancelled=True, failure="Cancelled by a user")
    written = decide_job(seen(actual=ended)).status.model_dump(by_alias=True, mode="json")
    assert (written["phase"], written["completionTime"]) == ("ExecutionFailed", "2023-08-09T13:07:51Z")
    assert (written["submissionTime"], written["failureText"]) == ("2023-08-09T12:22:04Z", "Cancelled by a user")


def test_a_finished_job_that_its_control_plane_has_forgotten_is_not_submitted_again():
    done = {"phase": "Completed", "id": 7, "completionTime": "2023-08-09T13:07:51Z"}
    decision = decide_job(seen(jet_job(done)))
    assert decision == JobDecision(None, jet_job(done).status)


RAN = {
    "phase": "Running",
    "id": 7,
    "submissionTime": "2023-08-09T12:22:04Z",
    "observedGeneration": 1,
    "artifactDigest": "sha256:abc",
}


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (cluster(phase="Pending"), "Hazelcast 'hazelcast' is not running"),
        (RUNNING_CLUSTER, "Hazelcast 'hazelcast' is not running"),  # nobody has said yet that it is away
        (None, "Hazelcast 'hazelcast' not found"),
    ],
)
def test_a_job_whose_cluster_has_been_away_for_long_is_failed_and_nothing_else_of_it_changes(of, message):
    away = seen(jet_job(RAN, state="Restarted"), generation=2, cluster=of)
    assert decide_away(away, AWAY_SECONDS - 1) is None  # a pod that is replaced is away so long, too
    status = decide_away(away, AWAY_SECONDS)
    written = status.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert written == RAN | {"phase": "Failed", "failureText": message, "conditions": []}
    # Once it is there again, it is as it is, and what was asked of it meanwhile is done.
    back = decide_job(seen(jet_job(written, state="Restarted"), generation=2, actual=actual(JobState.RUNNING)))
    assert (back.action, back.status.phase, back.status.failure_text) == (JobAction.RESTART, "Running", None)


@pytest.mark.parametrize("phase", ["Completed", "ExecutionFailed"])
def test_a_job_that_has_ended_has_no_need_of_its_cluster(phase):
    assert decide_away(seen(jet_job(RAN | {"phase": phase}), cluster=None), 10 * AWAY_SECONDS) is None


def test_the_code_of_a_job_is_told_by_its_server_not_by_who_has_submitted_it():
    """An operator may die between the submit and the status; and a job may be updated by others."""
    digest = hashlib.sha256(b"code").hexdigest()
    path = DataFolder(Path("/data/pitstop")).artifact(digest, "jobs.zip")
    stale = jet_job({"phase": "Running", "id": 7, "artifactDigest": "sha256:of-another"})
    for resource in (jet_job({"phase": "NotRunning", "id": 7}), stale):
        found = actual(JobState.RUNNING, source=JobSource(str(path)))
        assert decide_job(seen(resource, actual=found)).status.artifact_digest == f"sha256:{digest}"
    assert decide_job(seen(stale, actual=actual(JobState.RUNNING))).status.artifact_digest is None


def test_the_id_of_a_job_follows_from_its_resource_and_fits_an_int64():
    ids = {job_id(f"{number}") for number in range(1000)}
    assert len(ids) == 1000
    assert job_id(UID) == job_id(UID)
    assert all(0 <= number_of(identity) < 2**63 for identity in ids)
    assert number_of("0a4a-b3f1-0000-0001") == 0x0A4AB3F100000001


BY_A_USER = {"completion_time": 1691586471.2, "user_cancelled": True, "failure": "Cancelled by a user"}


def outlook(resource, state=None, planned=False, generation=1, **more):
    about = seen(resource, generation, actual=actual(state, **more)) if state is not None else seen(resource, generation, **more)
    return outlook_of(about, decide_job(about), planned)


@pytest.mark.parametrize(
    ("wanted", "state", "facts", "planned", "expected"),
    [
        ("Running", JobState.RUNNING, {}, False, GOOD),
        ("Running", JobState.STARTING, {}, False, COMING),
        ("Suspended", JobState.RUNNING, {}, False, COMING),
        ("Suspended", JobState.SUSPENDED, {"suspension_cause": "Requested by user"}, False, GOOD),
        ("Running", JobState.SUSPENDED, {"suspension_cause": "Requested by user"}, False, COMING),
        ("Running", JobState.SUSPENDED, {"suspension_cause": "Execution failure: x"}, False, LOST),
        ("Running", JobState.COMPLETED, {}, False, GOOD),
        ("Canceled", JobState.FAILED, BY_A_USER, False, GOOD),
        ("Running", JobState.FAILED, BY_A_USER, True, GOOD),  # by a JetJobSnapshot with cancelJob
        ("Running", JobState.FAILED, BY_A_USER, False, ENDED),  # by the command line
        ("Running", JobState.FAILED, {"failure": "division by zero"}, False, LOST),
        ("Canceled", JobState.FAILED, {"failure": "division by zero"}, False, LOST),
    ],
)
def test_whoever_waits_for_a_job_is_told_whether_it_is_as_its_spec_says(wanted, state, facts, planned, expected):
    assert outlook(jet_job(state=wanted), state, planned, **facts) is expected


def test_a_job_that_ended_as_planned_stays_so_though_its_snapshot_is_deleted():
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "ExecutionFailed",
        "lastTransitionTime": "2023-08-09T13:07:51Z",
    }
    before = {"phase": "ExecutionFailed", "observedGeneration": 1, "conditions": [ready]}
    assert outlook(jet_job(before), JobState.FAILED, planned=False, **BY_A_USER) is GOOD
    assert outlook(jet_job(before | {"phase": "Running", "conditions": [ready | {"reason": "Running"}]}), JobState.FAILED) is LOST


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"cluster": cluster({"resourceUploadEnabled": True}, "Pending")}, COMING),
        ({"cluster": cluster({"resourceUploadEnabled": True}, "Failed")}, BAD),
        ({"cluster": cluster({"enabled": False}, "Pending")}, BAD),
        ({"cluster": cluster({}, "Pending")}, BAD),
        ({"cluster": None}, COMING),
        ({"cluster": None, "older_namesake": "transaction-v0"}, BAD),
        ({"resource": FROM, "snapshot": snapshot("Waiting")}, COMING),
        ({"resource": FROM, "snapshot": snapshot(None)}, COMING),
        ({"resource": FROM, "snapshot": snapshot("Failed")}, BAD),
        ({"resource": FROM, "snapshot": snapshot("Exported"), "snapshot_kept": False}, BAD),
        ({"resource": FROM}, COMING),
        ({"resource": FROM, "cluster": cluster({}, "Running")}, BAD),
    ],
)
def test_what_passes_by_itself_is_progress_and_what_does_not_is_degraded(more, expected):
    about = seen(**more)
    decision = decide_job(about)
    assert decision.status.phase == "Failed"
    assert outlook_of(about, decision, False) is expected
