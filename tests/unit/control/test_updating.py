"""An update ends in the new version, or in the old one going on where it had stopped."""

import dataclasses

import pytest

from pitstop.control.actions import (
    DropCheckpoint,
    ExportSuspended,
    Finish,
    KillRun,
    PrepareUpdate,
    RegisterSnapshot,
    SendCommand,
    Withdraw,
)
from pitstop.control.invariants import violations
from pitstop.control.life import Due, decide
from pitstop.control.seeing import MOST_ATTEMPTS
from pitstop.control.updating import under_way
from pitstop.errors import Problem
from pitstop.kit.jsonable import from_json, to_json
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.job import Job, JobSource, JobState, Mode, Termination, Version
from pitstop.model.operation import Cancel, Export, Operation, Resume, Rollback, Suspend, Updated, UpdateJob
from pitstop.model.report import Report, Way
from pitstop.model.run import (
    Compiled,
    Died,
    EpochCommitted,
    Exported,
    ExportFailed,
    Failed,
    Observation,
    PreparationFailed,
    Running,
    Stopped,
    StopRun,
    UpdatePrepared,
    Withdrawn,
)
from pitstop.model.snapshot import SnapshotRecord

S = JobState
RECORD = SnapshotRecord("s", "id", "job", 1.0, 10, "/s")
REPORT = Report((), Way.RESUME)
BOOM = Failed(Problem("ENGINE", "boom"))
FULL = Problem("SNAPSHOT", "disk full")


def running(config=None):
    version = Version(1, JobSource("old.py"), {"partitions": 2}, config or JobConfig(), {"stages": []}, "L1")
    return Job("id", "job", 1.0, version, S.RUNNING, token=3)


def wish(number=7, artifact="new.py", watch=0.0):
    return Operation(number, "id", UpdateJob(JobSource(artifact), {"partitions": 2}, "s", watch))


def seen(job, fact):
    return Observation("id", job.token, fact)


def prepared(job, operation, standby=None):
    """The decision on a job once the version that the operation asks for is ready."""
    job = decide(job, operation, 99.0).job
    return decide(job, seen(job, UpdatePrepared(operation.id, operation.request, REPORT, job.version.number, standby)), 100.0)


def asked(watch=0.0, config=None):
    return prepared(running(config), wish(watch=watch))


def changed_over(watch=0.0, config=None):
    """The old version has stopped at 100.0, the new one is starting."""
    job = asked(watch, config).job
    stopped = decide(job, seen(job, Stopped(100.0, RECORD)), 101.0)
    return stopped, decide(stopped.job, Due(), 101.0).job


def withdrawn(job, files=2, entries=3, operation=7):
    return decide(job, seen(job, Withdrawn(operation, files, entries)), 105.0).job


def compiled(job):
    return decide(job, seen(job, Compiled({"stages": [1]}, "L2", JobConfig(partitions=2))), 102.0).job


def answers(decision):
    return [action for action in decision.actions if isinstance(action, Finish)]


def message(decision):
    return answers(decision)[0].error.message


def test_a_new_version_is_made_ready_while_nothing_of_the_job_changes():
    begun = decide(running(), wish(), 99.0)
    assert begun == type(begun)(dataclasses.replace(running(), preparation=7), (PrepareUpdate(7),))
    refused = decide(begun.job, seen(begun.job, PreparationFailed(7, Problem("INCOMPATIBLE", "no"))), 100.0)
    assert refused.job == running()
    assert message(refused) == "no"


def test_a_job_that_is_suspended_while_its_new_version_is_made_ready_is_updated_all_the_same():
    begun = decide(running(), wish(), 99.0).job
    stopping = decide(begun, Operation(8, "id", Suspend()), 99.5).job
    kept = decide(stopping, seen(stopping, Stopped()), 99.7).job
    ready = decide(kept, seen(kept, UpdatePrepared(7, wish().request, REPORT, 1)), 100.0)
    assert (ready.job.state, ready.job.preparation) == (S.SUSPENDED_EXPORTING_SNAPSHOT, None)
    assert ready.actions == (ExportSuspended(7, "s"),)


def test_a_new_version_that_is_ready_too_late_is_refused():
    begun = decide(running(), wish(), 99.0).job
    died = decide(begun, seen(begun, Died("gone")), 99.5).job
    late = decide(died, seen(died, UpdatePrepared(7, wish().request, REPORT, 1)), 100.0)
    assert message(late) == "Cannot UPDATE, job status is NOT_RUNNING, should be RUNNING or SUSPENDED"
    assert late.job.preparation is None
    stopping = decide(begun, Operation(8, "id", Suspend()), 99.5).job
    busy = decide(stopping, seen(stopping, UpdatePrepared(7, wish().request, REPORT, 1)), 100.0)
    assert message(busy) == "Job is already terminating in mode: SUSPEND"


def test_a_new_version_that_was_compared_with_one_that_failed_meanwhile_is_refused():
    watched = compiled(changed_over(watch=60.0)[1])
    up = decide(watched, seen(watched, Running(0)), 103.0).job
    preparing = decide(up, wish(8, "newer.py"), 104.0).job
    back = decide(preparing, seen(preparing, BOOM), 105.0).job
    assert back.version.number == 1
    started = decide(withdrawn(back), Due(), 105.0).job
    runs = decide(compiled(started), seen(started, Running(0)), 106.0).job
    refused = decide(runs, seen(runs, UpdatePrepared(8, wish(8, "newer.py").request, REPORT, 2)), 107.0)
    assert "was compared with version 2 of job 'job', which has gone on with version 1 meanwhile" in message(refused)
    assert (refused.job.preparation, refused.job.termination) == (None, None)


def test_the_old_version_stops_with_a_snapshot_from_which_the_new_one_starts():
    decision = asked()
    assert decision.actions == (SendCommand(StopRun(7, "s")),)
    stopped, starting = changed_over()
    assert RegisterSnapshot(RECORD) in stopped.actions
    assert not answers(stopped)
    new = starting.version
    assert (starting.state, new.number, starting.token) == (S.STARTING, 2, 4)
    assert (new.source.artifact, new.config.initial_snapshot, new.lineage) == ("new.py", "s", None)


def test_it_is_done_when_the_new_version_is_up_and_the_old_checkpoint_goes():
    job = compiled(changed_over()[1])
    up = decide(job, seen(job, Running(0, 102.5)), 103.0)
    assert (up.job.state, up.job.update) == (S.RUNNING, None)
    assert answers(up)[0].result == Updated(2, "s", 2.5, REPORT)
    assert DropCheckpoint("L1") in up.actions


@pytest.mark.parametrize("watch", [0.0, 60.0])
def test_a_new_version_that_fails_before_it_is_up_brings_back_the_old_one(watch):
    job = compiled(changed_over(watch)[1])
    failed = decide(job, seen(job, BOOM), 103.0)
    old = failed.job
    back = old.version
    assert (old.state, back.number, back.source.artifact, back.lineage) == (S.NOT_RUNNING, 1, "old.py", "L1")
    said = message(failed)
    assert said == "Version 2 of job 'job' failed, so version 1 goes on where it had stopped: boom"
    assert old.update_failure == said
    assert KillRun(job.token) in failed.actions
    assert DropCheckpoint("L2") in failed.actions
    assert decide(old, Due(), 103.0).job.token == job.token + 1


def test_an_old_version_that_keeps_no_checkpoint_goes_on_from_the_snapshot():
    job = compiled(changed_over(config=JobConfig(processing_guarantee=ProcessingGuarantee.NONE))[1])
    old = decide(job, seen(job, BOOM), 103.0).job
    assert (old.version.number, old.version.config.initial_snapshot) == (1, "s")
    assert old.version.config.processing_guarantee is ProcessingGuarantee.NONE


def test_an_earlier_version_starts_from_its_own_snapshot_and_the_one_before_would_go_on_from_what_was_taken():
    operation = wish()
    request = dataclasses.replace(operation.request, start_from="of-then")
    old = running(JobConfig(processing_guarantee=ProcessingGuarantee.NONE))
    job = prepared(old, dataclasses.replace(operation, request=request)).job
    job = decide(job, seen(job, Stopped(100.0, RECORD)), 101.0).job
    job = compiled(decide(job, Due(), 101.0).job)
    assert job.version.options["initial_snapshot"] == "of-then"
    up = decide(job, seen(job, Running(0, 102.5, None)), 103.0)
    assert answers(up)[0].result.snapshot == "s"
    back = decide(job, seen(job, BOOM), 103.0).job
    assert (back.version.number, back.version.config.initial_snapshot) == (1, "s")


def test_a_new_version_that_dies_again_and_again_brings_back_the_old_one():
    job = changed_over()[1]
    for _ in range(MOST_ATTEMPTS - 1):
        job = decide(job, seen(job, Died("gone")), 103.0).job
        assert job.version.number == 2
        job = decide(job, Due(), job.due).job
    assert decide(job, seen(job, Died("gone")), 110.0).job.version.number == 1


def test_while_it_is_watched_a_failure_still_brings_back_the_old_one_and_later_it_does_not():
    job = compiled(changed_over(watch=60.0)[1])
    up = decide(job, seen(job, Running(0)), 103.0)
    assert answers(up)[0].error is None
    assert DropCheckpoint("L1") not in up.actions
    boom = seen(up.job, BOOM)
    assert decide(up.job, boom, 110.0).job.version.number == 1
    late = decide(up.job, boom, 164.0).job
    assert (late.state, late.version.number) == (S.FAILED, 2)


def test_a_new_version_that_was_watched_long_enough_keeps_the_old_one_s_checkpoint_no_longer():
    job = compiled(changed_over(watch=60.0)[1])
    up = decide(job, seen(job, Running(0)), 103.0).job
    assert decide(up, Due(), 162.9).job == up
    over = decide(up, Due(), 163.0)
    assert (over.job.update, over.actions) == (None, (DropCheckpoint("L1"),))


def test_a_new_version_that_waits_for_rows_gives_way_to_the_old_one_if_its_first_epoch_fails_however_late():
    job = compiled(changed_over()[1])
    up = decide(job, seen(job, Running(-1)), 103.0)
    assert answers(up)[0].error is None
    assert DropCheckpoint("L1") not in up.actions
    assert decide(up.job, Due(), 9_999.0).job == up.job
    failed = decide(up.job, seen(up.job, BOOM), 10_000.0)
    assert (failed.job.state, failed.job.version.number) == (S.NOT_RUNNING, 1)
    assert Withdraw(7) in failed.actions
    assert withdrawn(failed.job).version.number == 1


def test_the_first_epoch_of_a_version_that_waited_for_rows_ends_its_update():
    job = compiled(changed_over()[1])
    up = decide(job, seen(job, Running(-1)), 103.0).job
    over = decide(up, seen(up, EpochCommitted(0)), 10_000.0)
    assert (over.job.update, over.actions) == (None, (DropCheckpoint("L1"),))
    assert decide(over.job, seen(over.job, BOOM), 10_001.0).job.state is S.FAILED


def test_the_time_of_watching_begins_with_the_first_epoch():
    job = compiled(changed_over(watch=60.0)[1])
    up = decide(job, seen(job, Running(-1)), 103.0).job
    assert decide(up, Due(), 9_999.0).job == up
    begun = decide(up, seen(up, EpochCommitted(0)), 10_000.0).job
    assert decide(begun, Due(), 10_059.0).job == begun
    assert decide(begun, seen(begun, BOOM), 10_059.0).job.version.number == 1
    assert decide(begun, Due(), 10_060.0).job.update is None


def test_a_version_that_waits_for_rows_is_updated_and_suspended_as_any_other():
    job = compiled(changed_over()[1])
    up = decide(job, seen(job, Running(-1)), 103.0).job
    again = decide(up, wish(8, "newer.py"), 104.0).job
    assert again.preparation == 8
    stopping = decide(up, Operation(9, "id", Suspend()), 104.0).job
    suspended = decide(stopping, seen(stopping, Stopped(105.0)), 105.0).job
    assert (suspended.state, suspended.version.number) == (S.SUSPENDED, 2)


def test_the_warm_runner_that_was_made_ready_gets_the_first_start():
    stopped = decide(job := prepared(running(), wish(), standby="w").job, seen(job, Stopped(100.0, RECORD)), 101.0).job
    started = decide(stopped, Due(), 101.0)
    assert [(a.standby, a.own_checkpoint) for a in started.actions] == [("w", True)]


def test_without_the_snapshot_the_old_version_goes_on():
    job = asked().job
    lost = decide(job, seen(job, Stopped(error=FULL)), 101.0)
    assert (lost.job.state, lost.job.version.number, lost.job.update) == (S.NOT_RUNNING, 1, None)
    assert message(lost) == "disk full"
    died = decide(job, seen(job, Died("gone")), 101.0)
    assert (died.job.state, died.job.version.number) == (S.NOT_RUNNING, 1)
    assert "the old version goes on: gone" in message(died)


def test_a_cancelled_job_answers_its_update():
    job = changed_over()[1]
    cancelled = decide(job, Operation(9, "id", Cancel()), 102.0)
    assert cancelled.job.state is S.FAILED
    assert {finish.operation: finish.error is None for finish in answers(cancelled)} == {7: False, 9: True}


@pytest.mark.parametrize("told", [False, True], ids=["its lineage is not known", "compiled"])
def test_a_job_that_is_cancelled_while_its_new_version_starts_keeps_the_version_before_and_its_state(told):
    old, job = running().version, changed_over()[1]
    job = compiled(job) if told else job
    cancelled = decide(job, Operation(9, "id", Cancel()), 102.0)
    assert (cancelled.job.version, cancelled.job.update, cancelled.job.withdrawal) == (old, None, 7)
    assert cancelled.job.token == job.token + 1, "the new version's run writes nothing more"
    world = [action for action in cancelled.actions if isinstance(action, KillRun | Withdraw | DropCheckpoint)]
    assert world == [KillRun(job.token), Withdraw(7), *([DropCheckpoint("L2")] if told else [])]
    assert not violations(cancelled.job)
    exporting = decide(cancelled.job, Operation(10, "id", Export("kept")), 103.0)
    assert ExportSuspended(10, "kept") in exporting.actions
    resumed = decide(withdrawn(cancelled.job), Operation(11, "id", Resume()), 106.0).job
    assert (resumed.state, resumed.version) == (S.NOT_RUNNING, old)
    early = decide(cancelled.job, Operation(11, "id", Resume()), 103.0).job
    assert decide(early, Due(), 104.0).job.state is S.NOT_RUNNING, "not before what the new version wrote is withdrawn"


def test_a_suspended_job_that_is_cancelled_with_a_new_version_that_has_never_run_keeps_what_has_written_its_state():
    suspended = dataclasses.replace(running(), state=S.SUSPENDED, suspension_cause="Requested by user")
    exporting = prepared(suspended, wish()).job
    updated = decide(exporting, seen(exporting, Exported(7, RECORD)), 101.0).job
    assert updated.version.number == 2
    cancelled = decide(updated, Operation(9, "id", Cancel()), 102.0).job
    assert cancelled.version == suspended.version
    told = "Version 2 of job 'job' was cancelled before it was up: the job keeps version 1 and its state"
    assert cancelled.update_failure == told


def test_a_job_that_is_cancelled_while_its_new_version_is_watched_keeps_the_new_one():
    job = compiled(changed_over(watch=60.0)[1])
    up = decide(job, seen(job, Running(0)), 103.0).job
    cancelled = decide(up, Operation(9, "id", Cancel()), 104.0).job
    assert (cancelled.version.lineage, cancelled.withdrawal) == ("L2", None)


def test_two_updates_at_once_are_refused():
    ready = decide(running(), wish(7), 99.0).job
    assert message(decide(ready, wish(8), 99.5)) == "Job 'job' is being updated or rescaled already: try again when that is done."
    assert message(decide(asked().job, wish(8), 104.0)) == "Job is already terminating in mode: UPDATE"
    job = compiled(changed_over()[1])
    up = decide(job, seen(job, Running(0)), 103.0).job
    assert prepared(up, wish(8)).job.termination == Termination(Mode.UPDATE, 8)


def test_a_job_reads_back_the_same_in_every_phase_of_an_update():
    for job in (asked().job, changed_over()[1], updated(suspended()).job, prepared(updated(suspended()).job, wish(8)).job):
        assert from_json(Job, to_json(job)) == job


def suspended(**changes):
    return dataclasses.replace(running(), state=S.SUSPENDED, suspension_cause="Requested by user", **changes)


def updated(job, number=7, artifact="new.py"):
    """The job after an update while it was suspended."""
    exporting = prepared(job, wish(number, artifact)).job
    return decide(exporting, seen(exporting, Exported(number, RECORD)), 101.0)


def resumed(job):
    waiting = decide(job, Operation(20, "id", Resume()), 200.0).job
    return compiled(decide(waiting, Due(), 200.0).job)


def test_a_suspended_job_stays_suspended_with_the_new_version_and_a_snapshot_of_its_state():
    asked = prepared(suspended(), wish(7))
    assert (asked.job.state, asked.job.version.number) == (S.SUSPENDED_EXPORTING_SNAPSHOT, 1)
    assert asked.actions == (ExportSuspended(7, "s"),)
    done = updated(suspended())
    assert RegisterSnapshot(RECORD) in done.actions
    assert answers(done)[0].result == Updated(2, "s", None, REPORT)
    new = done.job.version
    assert (new.number, new.source.artifact, new.lineage, new.config.initial_snapshot) == (2, "new.py", None, "s")
    assert (done.job.state, done.job.suspension_cause) == (S.SUSPENDED, "Requested by user")
    assert done.job.saved == running().version


def test_the_next_resume_starts_the_new_version_and_then_the_old_checkpoint_goes():
    job = resumed(updated(suspended()).job)
    assert (job.state, job.version.number, job.token, job.version.lineage) == (S.STARTING, 2, 4, "L2")
    up = decide(job, seen(job, Running(0, 202.0)), 203.0)
    assert (up.job.state, up.job.update, up.job.saved.lineage) == (S.RUNNING, None, "L2")
    assert DropCheckpoint("L1") in up.actions


def test_a_new_version_that_fails_when_it_is_resumed_brings_back_the_old_one():
    job = resumed(updated(suspended()).job)
    failed = decide(job, seen(job, BOOM), 203.0)
    back = failed.job.version
    assert (failed.job.state, back.number, back.source.artifact, back.lineage) == (S.NOT_RUNNING, 1, "old.py", "L1")
    assert "version 1 goes on where it had stopped: boom" in failed.job.update_failure
    assert DropCheckpoint("L2") in failed.actions


def test_without_the_snapshot_a_suspended_job_stays_as_it_was():
    exporting = prepared(suspended(), wish(7)).job
    failed = decide(exporting, seen(exporting, ExportFailed(7, FULL)), 101.0)
    assert failed.job == suspended()
    assert message(failed) == "disk full"


def test_an_update_of_what_never_ran_goes_back_to_what_did():
    """Updated twice while suspended, and then in vain: the version that has written the state goes on."""
    second = updated(updated(suspended()).job, 8, "newer.py").job
    assert (second.version.number, second.version.source.artifact, second.saved.source.artifact) == (3, "newer.py", "old.py")
    exporting = prepared(updated(suspended()).job, wish(8, "newer.py")).job
    assert exporting.saved.lineage == "L1", "the state is still where the first version has put it"
    unchanged = decide(exporting, seen(exporting, ExportFailed(8, FULL)), 101.0).job
    assert (unchanged.version.number, unchanged.state, unchanged.saved.lineage) == (2, S.SUSPENDED, "L1")
    job = resumed(second)
    failed = decide(job, seen(job, BOOM), 203.0).job
    assert (failed.version.number, failed.version.lineage) == (1, "L1")


def test_an_update_that_is_watched_is_over_when_the_suspended_job_is_updated_again():
    job = compiled(changed_over(watch=60.0)[1])
    up = decide(job, seen(job, Running(0)), 103.0).job
    asked_again = prepared(dataclasses.replace(up, state=S.SUSPENDED, suspension_cause="Requested by user"), wish(8))
    assert DropCheckpoint("L1") in asked_again.actions
    done = decide(asked_again.job, seen(asked_again.job, Exported(8, RECORD)), 105.0).job
    assert (done.version.number, done.saved.number, done.saved.lineage) == (3, 2, "L2")


def test_what_will_be_started_later_keeps_no_spare_from_warming_up():
    job = asked().job
    assert under_way(job)
    assert under_way(changed_over()[1])
    assert not under_way(updated(suspended()).job)
    assert under_way(resumed(updated(suspended()).job))
    assert not under_way(running())


def ask_back(job, now=104.0):
    return decide(job, Operation(9, "id", Rollback()), now)


def test_a_new_version_that_starts_is_rolled_back_on_request():
    job = compiled(changed_over()[1])
    back = ask_back(job)
    assert (back.job.state, back.job.version.number, back.job.version.lineage) == (S.NOT_RUNNING, 1, "L1")
    said = "Version 2 of job 'job' was rolled back on request: version 1 goes on where it had stopped"
    update, rollback = answers(back)
    assert (update.operation, update.error.message) == (7, said)
    assert (rollback.operation, rollback.error) == (9, None)
    assert KillRun(job.token) in back.actions
    assert DropCheckpoint("L2") in back.actions


def test_a_new_version_that_is_watched_is_rolled_back_on_request():
    up = decide(compiled(changed_over(watch=60.0)[1]), seen(compiled(changed_over(watch=60.0)[1]), Running(0)), 103.0).job
    back = ask_back(up)
    assert (back.job.state, back.job.version.number) == (S.NOT_RUNNING, 1)
    assert [finish.operation for finish in answers(back)] == [9], "the update was answered when it was up"


def test_an_update_that_is_being_made_ready_is_called_off():
    job = decide(running(), wish(), 99.0).job
    back = ask_back(job)
    assert back.job == running()
    called_off, done = answers(back)
    assert (called_off.operation, called_off.error.message) == (7, "The update of job 'job' was called off.")
    assert done.error is None


def test_a_suspended_job_that_was_updated_has_its_old_version_again_and_stays_suspended():
    exactly_once = JobConfig(processing_guarantee=ProcessingGuarantee.EXACTLY_ONCE)
    suspended = dataclasses.replace(running(exactly_once), state=S.SUSPENDED, suspension_cause="Requested by user")
    exporting = prepared(suspended, wish()).job
    updated = decide(exporting, seen(exporting, Exported(7, RECORD)), 101.0).job
    assert updated.version.number == 2
    back = ask_back(updated).job
    assert (back.state, back.suspension_cause, back.version) == (S.SUSPENDED, "Requested by user", suspended.version)


def test_without_an_update_there_is_nothing_to_go_back_from():
    refused = ask_back(running())
    assert message(refused) == "Cannot ROLLBACK job 'job': it has no update to go back from."
    assert refused.job == running()


def test_a_suspended_job_is_not_updated_while_what_another_version_wrote_is_being_withdrawn():
    """What is to be withdrawn is known by the update before: another one would have it forgotten."""
    job = dataclasses.replace(running(), state=S.SUSPENDED, suspension_cause="Requested by user", withdrawal=5)
    refused = prepared(job, wish())
    assert (refused.job.withdrawal, refused.job.preparation, refused.job.state) == (5, None, S.SUSPENDED)
    assert "is still being withdrawn" in message(refused)


@pytest.mark.parametrize(
    ("stopped", "gap"),
    [
        (Stopped(100.0, RECORD, stopped_at=145.0), 5.0),  # its source was idle: the last epoch is old
        (Stopped(100.0, RECORD, stopped_at=100.0), 50.0),
        (Stopped(100.0, RECORD), 50.0),  # a run of the release before
    ],
)
def test_the_gap_is_what_the_update_took_however_old_the_last_epoch_is(stopped, gap):
    job = asked().job
    job = decide(job, seen(job, stopped), 146.0).job
    job = compiled(decide(job, Due(), 146.0).job)
    up = decide(job, seen(job, Running(3, 150.0)), 151.0)
    assert answers(up)[0].result.gap_seconds == gap
