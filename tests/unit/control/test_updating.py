"""An update ends in the new version, or in the old one going on where it had stopped."""

import dataclasses

import pytest

from pitstop.control.actions import DropCheckpoint, ExportSuspended, Finish, KillRun, RegisterSnapshot, SendCommand
from pitstop.control.machine import MOST_ATTEMPTS, Due, decide
from pitstop.control.updating import under_way
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.job import Job, JobSource, JobState, Update
from pitstop.model.operation import CommandKind, Observation, ObservationKind, Operation, OperationState, Verb

S, K = JobState, ObservationKind
RECORD = {"name": "s"}


def running(config=None):
    plan = {"stages": []}
    return Job(
        "id",
        "job",
        S.RUNNING,
        JobSource("old.py"),
        config or JobConfig(),
        1.0,
        token=3,
        lineage="L1",
        plan=plan,
        options={"partitions": 2},
    )


def asked(watch=0.0, config=None):
    args = {"snapshot": "s", "source": {"artifact": "new.py"}, "options": {"partitions": 2}, "watch_seconds": watch}
    return decide(running(config), Operation(7, "id", Verb.UPDATE, args), 100.0)


def fact(job, kind, **payload):
    return Observation("id", job.token, kind, payload)


def changed_over(watch=0.0, config=None):
    """The old version has stopped at 100.0, the new one is starting."""
    job = asked(watch, config).job
    stopped = decide(job, fact(job, K.STOPPED, epoch=5, committed_at=100.0, snapshot=RECORD), 101.0)
    return stopped, decide(stopped.job, Due(), 101.0).job


def compiled(job):
    payload = {"plan": {"stages": [1]}, "lineage": "L2", "config": {"partitions": 2}}
    return decide(job, fact(job, K.COMPILED, **payload), 102.0).job


def answers(decision):
    return [action for action in decision.actions if isinstance(action, Finish)]


def test_the_old_version_stops_with_a_snapshot_from_which_the_new_one_starts():
    decision = asked()
    assert decision.actions == (SendCommand(CommandKind.STOP, {"operation": 7, "snapshot": "s"}),)
    stopped, starting = changed_over()
    assert RegisterSnapshot(RECORD) in stopped.actions
    assert not answers(stopped)
    assert (starting.state, starting.version, starting.token) == (S.STARTING, 2, 4)
    assert (starting.source.artifact, starting.config.initial_snapshot, starting.lineage) == ("new.py", "s", None)


def test_it_is_done_when_the_new_version_is_up_and_the_old_checkpoint_goes():
    job = compiled(changed_over()[1])
    up = decide(job, fact(job, K.RUNNING, epoch=0, committed_at=102.5), 103.0)
    assert (up.job.state, up.job.update) == (S.RUNNING, None)
    assert answers(up)[0].result == {"version": 2, "snapshot": "s", "gap_seconds": 2.5}
    assert DropCheckpoint("L1") in up.actions


@pytest.mark.parametrize("watch", [0.0, 60.0])
def test_a_new_version_that_fails_before_it_is_up_brings_back_the_old_one(watch):
    job = compiled(changed_over(watch)[1])
    failed = decide(job, fact(job, K.FAILED, error={"message": "boom"}, restartable=False), 103.0)
    old = failed.job
    assert (old.state, old.version, old.source.artifact, old.lineage) == (S.NOT_RUNNING, 1, "old.py", "L1")
    assert answers(failed)[0].state is OperationState.FAILED
    said = answers(failed)[0].error["message"]
    assert said == "Version 2 of job 'job' failed, so version 1 goes on where it had stopped: boom"
    assert old.update_failure == said
    assert KillRun(job.token) in failed.actions
    assert DropCheckpoint("L2") in failed.actions
    assert decide(old, Due(), 103.0).job.token == job.token + 1


def test_an_old_version_that_keeps_no_checkpoint_goes_on_from_the_snapshot():
    job = compiled(changed_over(config=JobConfig(processing_guarantee=ProcessingGuarantee.NONE))[1])
    old = decide(job, fact(job, K.FAILED, error={"message": "boom"}, restartable=False), 103.0).job
    assert (old.version, old.config.initial_snapshot) == (1, "s")
    assert old.config.processing_guarantee is ProcessingGuarantee.NONE


def test_a_new_version_that_dies_again_and_again_brings_back_the_old_one():
    job = changed_over()[1]
    for _ in range(MOST_ATTEMPTS - 1):
        job = decide(job, fact(job, K.DIED, reason="gone"), 103.0).job
        assert job.version == 2
        job = decide(job, Due(), job.due).job
    assert decide(job, fact(job, K.DIED, reason="gone"), 110.0).job.version == 1


def test_while_it_is_watched_a_failure_still_brings_back_the_old_one_and_later_it_does_not():
    job = compiled(changed_over(watch=60.0)[1])
    up = decide(job, fact(job, K.RUNNING, epoch=0), 103.0)
    assert answers(up)[0].state is OperationState.DONE
    assert DropCheckpoint("L1") not in up.actions
    boom = fact(up.job, K.FAILED, error={"message": "boom"}, restartable=False)
    assert decide(up.job, boom, 110.0).job.version == 1
    late = decide(up.job, boom, 164.0).job
    assert (late.state, late.version) == (S.FAILED, 2)


def test_without_the_snapshot_the_old_version_goes_on():
    job = asked().job
    lost = decide(job, fact(job, K.STOPPED, epoch=5, error={"code": "SNAPSHOT", "message": "disk full"}), 101.0)
    assert (lost.job.state, lost.job.version, lost.job.update) == (S.NOT_RUNNING, 1, None)
    assert answers(lost)[0].error["message"] == "disk full"
    died = decide(job, fact(job, K.DIED, reason="gone"), 101.0)
    assert (died.job.state, died.job.version) == (S.NOT_RUNNING, 1)
    assert "the old version goes on: gone" in answers(died)[0].error["message"]


def test_a_cancelled_job_answers_its_update():
    job = changed_over()[1]
    cancelled = decide(job, Operation(9, "id", Verb.CANCEL), 102.0)
    assert cancelled.job.state is S.FAILED
    assert {finish.operation: finish.state for finish in answers(cancelled)} == {7: OperationState.FAILED, 9: OperationState.DONE}


def test_two_updates_at_once_are_refused():
    job = compiled(changed_over()[1])
    up = decide(job, fact(job, K.RUNNING, epoch=0), 103.0).job
    args = {"snapshot": "s", "source": {"artifact": "c.py"}, "options": {}}
    again = decide(asked().job, Operation(8, "id", Verb.UPDATE, args), 104.0)
    assert answers(again)[0].error["message"] == "Job is already terminating in mode: UPDATE"
    assert decide(up, Operation(8, "id", Verb.UPDATE, args), 104.0).job.termination == "UPDATE#8"


def test_an_update_reads_back_the_same():
    update = changed_over()[1].update
    assert Update.from_dict(update.to_dict()) == update


def suspended(**changes):
    return dataclasses.replace(running(), state=S.SUSPENDED, suspension_cause="Requested by user", **changes)


def wish(number, artifact="new.py", watch=0.0):
    args = {"snapshot": "s", "source": {"artifact": artifact}, "options": {"partitions": 2}, "watch_seconds": watch}
    return Operation(number, "id", Verb.UPDATE, args)


def updated(job, number=7, artifact="new.py"):
    """The job after an update while it was suspended."""
    exporting = decide(job, wish(number, artifact), 100.0).job
    return decide(exporting, fact(exporting, K.EXPORTED, operation=number, snapshot=RECORD), 101.0)


def resumed(job):
    waiting = decide(job, Operation(20, "id", Verb.RESUME), 200.0).job
    return compiled(decide(waiting, Due(), 200.0).job)


def test_a_suspended_job_stays_suspended_with_the_new_version_and_a_snapshot_of_its_state():
    asked = decide(suspended(), wish(7), 100.0)
    assert (asked.job.state, asked.job.version) == (S.SUSPENDED_EXPORTING_SNAPSHOT, 1)
    assert asked.actions == (ExportSuspended(7, "s"),)
    assert decide(asked.job, wish(7), 100.5).actions == (ExportSuspended(7, "s"),), "the export is repeated after a crash"
    done = updated(suspended())
    assert RegisterSnapshot(RECORD) in done.actions
    assert answers(done)[0].result == {"version": 2, "snapshot": "s", "gap_seconds": None}
    assert (done.job.state, done.job.version, done.job.source.artifact) == (S.SUSPENDED, 2, "new.py")
    assert (done.job.lineage, done.job.config.initial_snapshot, done.job.saved.lineage) == (None, "s", "L1")
    assert done.job.suspension_cause == "Requested by user"


def test_the_next_resume_starts_the_new_version_and_then_the_old_checkpoint_goes():
    job = resumed(updated(suspended()).job)
    assert (job.state, job.version, job.token, job.lineage) == (S.STARTING, 2, 4, "L2")
    up = decide(job, fact(job, K.RUNNING, epoch=0, committed_at=202.0), 203.0)
    assert (up.job.state, up.job.update, up.job.saved.lineage) == (S.RUNNING, None, "L2")
    assert DropCheckpoint("L1") in up.actions


def test_a_new_version_that_fails_when_it_is_resumed_brings_back_the_old_one():
    job = resumed(updated(suspended()).job)
    failed = decide(job, fact(job, K.FAILED, error={"message": "boom"}, restartable=False), 203.0)
    assert (failed.job.state, failed.job.version, failed.job.lineage) == (S.NOT_RUNNING, 1, "L1")
    assert failed.job.source.artifact == "old.py"
    assert "version 1 goes on where it had stopped: boom" in failed.job.update_failure
    assert DropCheckpoint("L2") in failed.actions


def test_without_the_snapshot_a_suspended_job_stays_as_it_was():
    exporting = decide(suspended(), wish(7), 100.0).job
    failed = decide(exporting, fact(exporting, K.EXPORT_FAILED, operation=7, error={"message": "disk full"}), 101.0)
    assert failed.job == suspended()
    assert answers(failed)[0].error["message"] == "disk full"


def test_an_update_of_what_never_ran_goes_back_to_what_did():
    """Updated twice while suspended, and then in vain: the version that has written the state goes on."""
    second = updated(updated(suspended()).job, 8, "newer.py").job
    assert (second.version, second.source.artifact, second.saved.source.artifact) == (3, "newer.py", "old.py")
    exporting = decide(updated(suspended()).job, wish(8, "newer.py"), 100.0).job
    assert exporting.saved.lineage == "L1", "the state is still where the first version has put it"
    unchanged = decide(exporting, fact(exporting, K.EXPORT_FAILED, operation=8, error={"message": "full"}), 101.0).job
    assert (unchanged.version, unchanged.state, unchanged.saved.lineage) == (2, S.SUSPENDED, "L1")
    job = resumed(second)
    failed = decide(job, fact(job, K.FAILED, error={"message": "boom"}, restartable=False), 203.0).job
    assert (failed.version, failed.lineage) == (1, "L1")


def test_an_update_that_is_watched_is_over_when_the_suspended_job_is_updated_again():
    up = decide(compiled(changed_over(watch=60.0)[1]), fact(compiled(changed_over(watch=60.0)[1]), K.RUNNING, epoch=0), 103.0).job
    asked_again = decide(dataclasses.replace(up, state=S.SUSPENDED), wish(8), 104.0)
    assert DropCheckpoint("L1") in asked_again.actions
    done = decide(asked_again.job, fact(asked_again.job, K.EXPORTED, operation=8, snapshot=RECORD), 105.0).job
    assert (done.version, done.saved.number, done.saved.lineage) == (3, 2, "L2")


def test_what_will_be_started_later_keeps_no_spare_from_warming_up():
    job = asked().job
    assert under_way(job)
    assert under_way(changed_over()[1])
    assert not under_way(updated(suspended()).job)
    assert under_way(resumed(updated(suspended()).job))
    assert not under_way(running())
