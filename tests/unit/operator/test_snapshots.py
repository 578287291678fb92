"""What a JetJobSnapshot asks for (resources.md)."""

import pytest

from pitstop.model.job import JobState
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator.resources import JetJobSnapshot
from pitstop.operator.snapshots import SeenSnapshot, decide_snapshot

KEPT = SnapshotRecord("snapshot-transaction", "0401-9f77-b9c0-0001", "transaction-v1", 1691586471.9, 1196, "/data/s", 12)


def seen(state=None, of=JobState.RUNNING, generation=1, kept=None, there=True, reached=True, **spec):
    status = {"state": state} if state else None
    resource = JetJobSnapshot.model_validate({"spec": {"jetJobResourceName": "transaction-v1"} | spec, "status": status})
    return SeenSnapshot("snapshot-transaction", generation, resource, there, reached, of, kept)


def test_a_running_job_is_exported():
    decision = decide_snapshot(seen())
    assert (decision.export, decision.status.state, decision.status.message) == (True, "Exporting", None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"there": False}, "JetJob 'transaction-v1' not found"),
        (
            {"of": JobState.SUSPENDED},
            "a snapshot can be exported only from a JetJob with Running status: 'transaction-v1' is Suspended",
        ),
        ({"of": None}, "a snapshot can be exported only from a JetJob with Running status: 'transaction-v1' is new"),
    ],
)
def test_of_a_job_that_does_not_run_nothing_is_exported(given, message):
    decision = decide_snapshot(seen(**given))
    assert (decision.export, decision.status.state, decision.status.message) == (False, "Failed", message)


def test_an_export_that_was_done_while_nobody_looked_is_not_done_again():
    """With cancelJob its job does not run any more."""
    decision = decide_snapshot(seen("Exporting", of=JobState.FAILED, kept=KEPT, cancelJob=True))
    written = decision.status.model_dump(by_alias=True, mode="json")
    assert (decision.export, written["state"], written["creationTime"]) == (False, "Exported", "2023-08-09T13:07:51Z")


def test_an_export_that_broke_off_is_begun_again():
    assert decide_snapshot(seen("Exporting")).export


@pytest.mark.parametrize("state", [JobState.COMPLETING, JobState.SUSPENDED, JobState.STARTING])
def test_an_export_that_may_be_under_way_is_waited_for(state):
    """With cancelJob it ends the job before it is kept."""
    decision = decide_snapshot(seen("Exporting", of=state))
    assert (decision.export, decision.status.state) == (False, "Exporting")


def test_a_job_that_has_ended_without_the_snapshot_has_none():
    assert decide_snapshot(seen("Exporting", of=JobState.FAILED)).status.state == "Failed"


@pytest.mark.parametrize(("state", "then"), [(None, "Waiting"), ("Exporting", "Exporting")])
def test_a_cluster_that_does_not_answer_decides_nothing(state, then):
    decision = decide_snapshot(seen(state, of=None, reached=False))
    assert (decision.export, decision.status.state) == (False, then)


def test_a_snapshot_of_that_name_from_before_does_not_count():
    assert decide_snapshot(seen(kept=KEPT)).export


@pytest.mark.parametrize("state", ["Exported", "Failed"])
def test_what_is_decided_stays_so(state):
    decision = decide_snapshot(seen(state, of=JobState.SUSPENDED, generation=3))
    assert (decision.export, decision.status.state, decision.status.observed_generation) == (False, state, 3)


def test_the_snapshot_has_the_name_of_its_resource_unless_another_is_given():
    assert (seen().snapshot_name, seen(name="mine").snapshot_name) == ("snapshot-transaction", "mine")
