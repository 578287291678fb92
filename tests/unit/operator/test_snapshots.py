"""What a JetJobSnapshot asks for."""

import dataclasses

import pytest

from pitstop.model.job import JobState
from pitstop.model.snapshot import SnapshotRecord
from pitstop.operator.resources.job import JobPhase
from pitstop.operator.resources.snapshot import JetJobSnapshot, SnapshotState
from pitstop.operator.snapshots import Namesake, SeenSnapshot, decide_snapshot, its_own

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
        (
            {"of": JobState.COMPLETING},
            "a snapshot can be exported only from a JetJob with Running status: 'transaction-v1' is Completing",
        ),
    ],
)
def test_of_a_job_that_does_not_run_nothing_is_exported(given, message):
    decision = decide_snapshot(seen(**given))
    assert (decision.export, decision.status.state, decision.status.message) == (False, "Failed", message)


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ({"there": False}, {"age": 119.0}, "JetJob 'transaction-v1' not found"),
        ({"of": None}, {}, "'transaction-v1' is not submitted yet: its state is exported once it runs"),
        (
            {"of": None},
            {"job_phase": JobPhase.FAILED},
            "'transaction-v1' is not submitted yet: its state is exported once it runs",
        ),
        ({"of": JobState.STARTING}, {}, "'transaction-v1' is Starting: its state is exported once it runs"),
        ({"of": JobState.NOT_RUNNING}, {}, "'transaction-v1' is NotRunning: its state is exported once it runs"),
    ],
)
def test_what_will_be_right_by_itself_is_waited_for(given, more, message):
    """Resources are applied together, and a job starts anew after a fault of its control plane."""
    waiting = dataclasses.replace(seen(**given), **more)
    decision = decide_snapshot(waiting)
    assert (decision.export, decision.status.state, decision.status.message) == (False, "Waiting", message)
    resource = waiting.resource.model_copy(update={"status": decision.status})
    runs = dataclasses.replace(waiting, resource=resource, job_there=True, actual=JobState.RUNNING)
    assert decide_snapshot(runs).export


def test_a_job_that_has_ended_and_is_forgotten_is_waited_for_by_nobody():
    decision = decide_snapshot(dataclasses.replace(seen(of=None), job_phase=JobPhase.COMPLETED))
    assert (decision.status.state, decision.status.message) == (
        "Failed",
        "a snapshot can be exported only from a JetJob with Running status: 'transaction-v1' is Completed",
    )


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


OLDER = Namesake("other", older=True, state=None, leaving=False)


@pytest.mark.parametrize("state", [None, SnapshotState.WAITING, SnapshotState.EXPORTING, SnapshotState.EXPORTED])
def test_of_two_that_have_one_name_on_one_cluster_the_younger_fails(state):
    """Its export would take the place of what the older one has saved, or is about to."""
    other = dataclasses.replace(OLDER, state=state)
    assert other.comes_first(None)
    assert not dataclasses.replace(other, older=False, state=None).comes_first(None)
    decision = decide_snapshot(dataclasses.replace(seen(), namesake=other))
    message = "JetJobSnapshot other already uses the same name"
    assert (decision.export, decision.status.state, decision.status.message) == (False, "Failed", message)


def test_one_that_has_begun_keeps_its_name_though_an_older_one_is_seen_late():
    """Resources of one second are told apart by their uids, not by which was seen first."""
    assert not OLDER.comes_first(SnapshotState.EXPORTING)
    assert dataclasses.replace(OLDER, older=False, state=SnapshotState.EXPORTING).comes_first(None)


def test_of_two_that_have_begun_at_one_moment_one_goes_on():
    begun = dataclasses.replace(OLDER, state=SnapshotState.EXPORTING)
    assert begun.comes_first(SnapshotState.EXPORTING)
    assert not dataclasses.replace(begun, older=False).comes_first(SnapshotState.EXPORTING)
    decision = decide_snapshot(dataclasses.replace(seen("Exporting", kept=KEPT), namesake=begun))
    assert (decision.export, decision.status.state, decision.status.saved_as) == (False, "Failed", None)


def test_a_name_is_free_again_once_its_resource_has_failed_and_waited_for_while_it_goes():
    assert not dataclasses.replace(OLDER, state=SnapshotState.FAILED).comes_first(None)
    decision = decide_snapshot(
        dataclasses.replace(seen(), namesake=dataclasses.replace(OLDER, state=SnapshotState.EXPORTED, leaving=True))
    )
    assert (decision.export, decision.status.state) == (False, "Waiting")


def owned(saved_as=None):
    status = {"state": "Exported", "savedAs": saved_as}
    return JetJobSnapshot.model_validate({"spec": {"jetJobResourceName": "transaction-v1"}, "status": status})


def test_which_saved_state_is_its_own_is_said_and_no_other_is_taken_for_it():
    mine = dataclasses.replace(KEPT, path="/data/snapshots/snapshot-transaction@1779c9f3")
    others = dataclasses.replace(KEPT, path="/data/snapshots/snapshot-transaction@1779ffff")
    status = decide_snapshot(seen("Exporting", kept=mine)).status
    assert status.saved_as == "snapshot-transaction@1779c9f3"
    resource = owned(status.saved_as)
    assert its_own(resource, KEPT.name, None, 0.0, [others]) is None
    assert its_own(resource, KEPT.name, None, 0.0, [dataclasses.replace(mine, name="another")]) is None
    assert its_own(resource, KEPT.name, None, 0.0, [mine]) == mine


@pytest.mark.parametrize(
    ("job", "made", "found"), [(None, 0.0, True), (KEPT.job_id, 0.0, True), ("another", 0.0, False), (None, 1.7e9, False)]
)
def test_as_long_as_nothing_says_which_it_is_the_one_of_its_name_and_job_that_is_younger_counts(job, made, found):
    assert (its_own(owned(), KEPT.name, job, made, [KEPT]) is KEPT) is found
