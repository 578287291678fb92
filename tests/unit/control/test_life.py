"""The life of a job, case by case."""

import dataclasses

import pytest

from pitstop.control import life
from pitstop.control.actions import (
    Ask,
    CleanUp,
    DropCheckpoint,
    ExportSuspended,
    Finish,
    KillRun,
    PrepareUpdate,
    SendCommand,
    StartRun,
)
from pitstop.control.life import LIFE, MODES, Due, Edge, Leave, LifeError, decide, due_at, is_due
from pitstop.control.seeing import AWAY_SECONDS, MOST_ATTEMPTS
from pitstop.errors import Problem
from pitstop.model.config import JobConfig, StateStore
from pitstop.model.job import Asked, Job, JobSource, JobState, Mode, Starting, Termination, Update, Version
from pitstop.model.operation import (
    REQUESTS,
    Cancel,
    CancelAndExport,
    Configure,
    Discard,
    Export,
    Operation,
    Rescale,
    Restart,
    Resume,
    Suspend,
    UpdateJob,
)
from pitstop.model.run import (
    FACTS,
    CleanedUp,
    Compiled,
    Completed,
    Died,
    EpochCommitted,
    Exported,
    ExportFailed,
    Failed,
    Observation,
    Running,
    StateExpired,
    StateOutgrown,
    Stopped,
    StopRun,
)
from pitstop.model.snapshot import SnapshotRecord

S = JobState
NOW = 1000.0
RECORD = SnapshotRecord("s", "id", "job", 1.0, 10, "/s")


def job(state, **more):
    """A job as it may be in that state."""
    settled = {
        S.SUSPENDED: {"suspension_cause": "Requested by user"},
        S.SUSPENDED_EXPORTING_SNAPSHOT: {
            "suspension_cause": "Requested by user",
            "termination": Termination(Mode.EXPORT, 5),
        },
        S.FAILED: {"completion_time": 9.0, "failure": "boom"},
        S.COMPLETED: {"completion_time": 9.0},
    }
    usual = {"version": Version(1, JobSource("a.py"), {}, JobConfig()), "token": 3}
    return Job("id", "job", 1.0, state=state, **(usual | settled.get(state, {}) | more))


def request(kind):
    if kind is UpdateJob:
        return UpdateJob(JobSource("b.py"), {}, "s")
    if kind is Configure:
        return Configure({"suspend_on_failure": True})
    return kind("s") if kind in (Export, CancelAndExport, Rescale) else kind()


def ask(kind, number=7):
    return Operation(number, "id", request(kind))


def seen(fact, token=3):
    return Observation("id", token, fact)


def answer(decision):
    return next((action for action in decision.actions if isinstance(action, Finish)), None)


def refusal(decision):
    return answer(decision).error.message


def done(decision):
    return answer(decision) is not None and answer(decision).error is None


BOOM = Failed(Problem("ENGINE", "no column 'x'"), "trace")


def test_a_waiting_job_starts_with_a_higher_token():
    decision = decide(job(S.NOT_RUNNING), Due(), NOW)
    assert (decision.job.state, decision.job.token, decision.actions) == (S.STARTING, 4, (StartRun(),))


def test_suspend_stops_at_an_epoch_boundary_and_is_answered_when_it_has():
    asked = decide(job(S.RUNNING), ask(Suspend), NOW)
    assert asked.actions == (SendCommand(StopRun(7)),)
    stopped = decide(asked.job, seen(Stopped()), NOW)
    assert (stopped.job.state, stopped.job.suspension_cause) == (S.SUSPENDED, "Requested by user")
    assert done(stopped)


@pytest.mark.parametrize(
    ("before", "fact"),
    [
        (job(S.RUNNING, attempts=4), Died("gone")),
        (job(S.RUNNING), BOOM),
        (job(S.RUNNING, version=Version(1, JobSource("a.py"), {}, JobConfig(suspend_on_failure=True))), BOOM),
        (job(S.RUNNING, termination=Termination(Mode.SUSPEND, 7)), Died("cut off")),
        (job(S.RUNNING, termination=Termination(Mode.CANCEL_AND_EXPORT, 7)), Died("cut off")),
    ],
    ids=["given up", "failed", "suspended on failure", "lost to suspend", "lost to end"],
)
def test_a_run_that_was_given_up_writes_nothing_more_should_the_kill_not_reach_it(before, fact):
    after = decide(before, seen(fact, before.token), NOW)
    assert after.job.state in (S.FAILED, S.SUSPENDED)
    assert after.job.token == before.token + 1
    assert KillRun(before.token) in after.actions


def test_state_that_outgrows_the_memory_has_the_job_planned_anew_unless_it_is_being_changed_anyway():
    outgrown = seen(StateOutgrown(10))
    running = job(S.RUNNING)
    assert decide(running, outgrown, NOW).actions == (Ask(Rescale("rescaling-id", StateStore.ROCKSDB)),)
    suspending = decide(running, ask(Suspend), NOW).job
    preparing = decide(running, ask(UpdateJob), NOW).job
    for changing in (suspending, preparing, job(S.NOT_RUNNING)):
        assert decide(changing, outgrown, NOW) == life.Decision(changing)


@pytest.mark.parametrize("kind", [Suspend, Restart, CancelAndExport, Export, UpdateJob, Rescale])
def test_a_batch_is_refused_at_once_what_needs_epochs_and_cancelled_at_once(kind):
    starting = job(S.STARTING)
    compiled = decide(starting, seen(Compiled({}, "L1", JobConfig(), bounded=True)), NOW).job
    batch = decide(compiled, seen(Running(-1)), NOW).job
    refused = decide(batch, ask(kind), NOW)
    assert refusal(refused).endswith(
        ": all sources of job 'job' end, so it runs once and keeps no state. Wait for its end, or cancel it."
    )
    assert (refused.job, len(refused.actions)) == (batch, 1)
    assert KillRun(3) in decide(batch, ask(Cancel), NOW).actions


@pytest.mark.parametrize("kind", [Suspend, Restart, CancelAndExport, Export, UpdateJob, Resume])
def test_a_job_that_has_completed_does_nothing_more(kind):
    completed = job(S.COMPLETED, state_dropped=True)
    refused = decide(completed, ask(kind), NOW)
    assert refusal(refused)
    assert refused.job == completed


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_job_that_has_failed_or_was_cancelled_is_brought_back_as_it_was(cancelled):
    running = job(S.RUNNING, attempts=2)
    ended = decide(running, ask(Cancel) if cancelled else seen(Failed(Problem("ENGINE", "boom"), "trace")), NOW)
    assert ended.job.state is S.FAILED
    assert not [action for action in ended.actions if isinstance(action, CleanUp | DropCheckpoint)]
    back = decide(ended.job, ask(Resume), NOW + 60)
    assert done(back)
    assert back.job == dataclasses.replace(running, state=S.NOT_RUNNING, attempts=0, token=ended.job.token)


def test_a_job_that_has_failed_is_exported_from_and_stays_as_it_is():
    failed = job(S.FAILED)
    begun = decide(failed, ask(Export), NOW)
    assert begun.actions == (ExportSuspended(7, "s"),)
    assert refusal(decide(begun.job, ask(Resume, 8), NOW)).startswith("Cannot RESUME while the state of job id is being exported")
    assert decide(begun.job, seen(Exported(6, RECORD)), NOW).job == begun.job, "an export before it, done twice"
    exported = decide(begun.job, seen(Exported(7, RECORD)), NOW)
    assert exported.job == failed
    assert done(exported)
    failed_again = decide(begun.job, seen(ExportFailed(7, Problem("SNAPSHOT", "no room"))), NOW)
    assert failed_again.job == failed
    assert refusal(failed_again) == "no room"


def test_a_job_that_has_failed_is_updated_like_a_suspended_one():
    begun = decide(job(S.FAILED), ask(UpdateJob), NOW)
    assert (begun.job.state, begun.job.suspension_cause) == (S.SUSPENDED, "Execution failure:\nboom")
    assert begun.actions == (PrepareUpdate(7),)
    assert begun.job == decide(job(S.SUSPENDED, suspension_cause="Execution failure:\nboom"), ask(UpdateJob), NOW).job


@pytest.mark.parametrize("event", ["asked", "expired"])
def test_the_state_of_an_ended_job_is_removed_on_request_or_when_its_time_is_over_and_not_before(event):
    gone = decide(job(S.FAILED), ask(Discard) if event == "asked" else seen(StateExpired()), NOW)
    assert gone.job.state_dropped
    assert CleanUp() in gone.actions
    for kind in (Resume, Export, UpdateJob):
        refused = decide(gone.job, ask(kind), NOW)
        sentence = f"Cannot {kind.verb.name} job id because it already has a result: boom; its state was removed"
        assert refusal(refused) == sentence
        assert refused.job == gone.job


@pytest.mark.parametrize(
    "state", [S.NOT_RUNNING, S.STARTING, S.RUNNING, S.SUSPENDED, S.SUSPENDED_EXPORTING_SNAPSHOT, S.COMPLETING]
)
def test_the_state_of_a_job_that_goes_on_is_never_removed(state):
    refused = decide(job(state), ask(Discard), NOW)
    assert refusal(refused) == f"Cannot DISCARD, job status is {state}: cancel the job first"
    assert decide(job(state), seen(StateExpired()), NOW).job == job(state)


def test_a_run_that_found_the_store_or_the_disk_away_is_started_again_as_often_as_it_takes():
    failed = Failed(Problem("STORE", "The store is busy."), away=True)
    tired = job(S.RUNNING, attempts=MOST_ATTEMPTS - 1)
    for _ in range(20):
        waits = decide(tired, seen(failed, token=tired.token), NOW).job
        assert (waits.state, waits.due, waits.attempts) == (S.NOT_RUNNING, NOW + AWAY_SECONDS, MOST_ATTEMPTS - 1)
        assert waits.interruption == "The store is busy.", "whoever looks is told why it does not run"
        tired = decide(waits, Due(), waits.due).job
        assert tired.state is S.STARTING
    assert decide(tired, seen(Running(3), token=tired.token), NOW).job.interruption is None


def test_a_second_termination_is_refused_and_the_first_goes_on():
    first = decide(job(S.RUNNING), ask(Suspend), NOW).job
    second = decide(first, ask(Restart, 8), NOW)
    assert refusal(second) == "Job is already terminating in mode: SUSPEND"
    assert second.job == first


@pytest.mark.parametrize("state", [S.NOT_RUNNING, S.STARTING, S.RUNNING, S.SUSPENDED])
def test_cancel_ends_a_job_at_once_and_keeps_its_state(state):
    decision = decide(job(state), ask(Cancel), NOW)
    assert (decision.job.state, decision.job.user_cancelled, decision.job.completion_time) == (S.FAILED, True, NOW)
    assert decision.job.token == 4, "a run that the kill does not reach is fenced"
    assert decision.actions[-1] == KillRun(3)
    assert CleanUp() not in decision.actions
    assert done(decision)


def test_a_job_that_waits_for_its_next_start_can_be_cancelled():
    waiting = decide(job(S.RUNNING), seen(Died("gone")), NOW).job
    again = decide(decide(waiting, Due(), waiting.due).job, seen(Died("gone"), token=4), NOW).job
    assert again.state is S.NOT_RUNNING
    assert NOW + 0.9 <= again.due <= NOW + 1.1
    cancelled = decide(again, ask(Cancel), NOW).job
    assert (cancelled.state, cancelled.due) == (S.FAILED, None)


def test_cancel_of_an_ended_job_is_silently_ignored_but_not_during_an_export():
    assert done(decide(job(S.COMPLETED), ask(Cancel), NOW))
    busy = decide(job(S.SUSPENDED_EXPORTING_SNAPSHOT), ask(Cancel), NOW)
    assert refusal(busy) == "Cannot cancel when job status is SUSPENDED_EXPORTING_SNAPSHOT"


def test_cancel_and_export_ends_the_job_only_if_the_snapshot_is_there():
    asked = decide(job(S.RUNNING), ask(CancelAndExport), NOW)
    assert asked.actions == (SendCommand(StopRun(7, "s")),)
    good = decide(asked.job, seen(Stopped(snapshot=RECORD)), NOW)
    assert (good.job.state, good.job.user_cancelled, answer(good).result) == (S.FAILED, True, RECORD)
    bad = decide(asked.job, seen(Stopped(error=Problem("SNAPSHOT", "disk full"))), NOW)
    assert (bad.job.state, bad.job.user_cancelled) == (S.SUSPENDED, False)
    assert refusal(bad) == "disk full"


def test_a_runner_that_dies_is_started_again_until_it_makes_no_progress():
    state = job(S.RUNNING)
    for attempt in range(1, MOST_ATTEMPTS):
        waiting = decide(state, seen(Died("gone"), state.token), NOW).job
        assert (waiting.state, waiting.attempts) == (S.NOT_RUNNING, attempt)
        state = decide(waiting, Due(), waiting.due).job
    ended = decide(state, seen(Died("gone"), state.token), NOW).job
    assert ended.state is S.FAILED
    assert "without progress" in ended.failure


def test_progress_forgives_earlier_deaths():
    assert decide(job(S.RUNNING, attempts=4), seen(EpochCommitted(9)), NOW).job.attempts == 0


def test_an_error_fails_the_job_or_suspends_it_if_asked_to():
    failed = decide(job(S.RUNNING), seen(BOOM), NOW).job
    assert (failed.state, failed.failure, failed.failure_details) == (S.FAILED, "no column 'x'", "trace")
    careful = job(S.RUNNING, version=Version(1, JobSource("a.py"), {}, JobConfig(suspend_on_failure=True)))
    kept = decide(careful, seen(BOOM), NOW).job
    assert (kept.state, kept.suspension_cause) == (S.SUSPENDED, "Execution failure:\nno column 'x'")


def test_facts_of_an_older_run_change_nothing():
    for fact in (Stopped(), Completed(), Died(), BOOM, EpochCommitted(1), Exported(7, RECORD)):
        assert decide(job(S.RUNNING), seen(fact, token=2), NOW).job == job(S.RUNNING)


def test_a_suspended_job_exports_its_last_state_and_stays_suspended():
    asked = decide(job(S.SUSPENDED), ask(Export), NOW)
    assert asked.job.state is S.SUSPENDED_EXPORTING_SNAPSHOT
    assert asked.actions == (ExportSuspended(7, "s"),)
    exported = decide(asked.job, seen(Exported(7, RECORD)), NOW)
    assert (exported.job.state, answer(exported).result) == (S.SUSPENDED, RECORD)


def test_resume_of_a_running_job_is_a_no_op_and_of_an_ended_one_an_error():
    assert done(decide(job(S.RUNNING), ask(Resume), NOW))
    assert refusal(decide(job(S.COMPLETED), ask(Resume), NOW)) == "Job already completed"


def test_a_job_whose_input_is_processed_has_its_result_once_it_is_cleaned_up():
    completing = decide(job(S.RUNNING), seen(Completed()), NOW)
    assert (completing.job.state, completing.actions[-1]) == (S.COMPLETING, CleanUp())
    assert refusal(decide(completing.job, ask(Cancel), NOW)) == "Cannot cancel when job status is COMPLETING"
    completed = decide(completing.job, seen(CleanedUp()), NOW + 1).job
    assert (completed.state, completed.completion_time) == (S.COMPLETED, NOW + 1)


def test_a_run_that_ends_with_its_control_plane_is_told_to_unless_it_is_ending_anyway():
    assert decide(job(S.RUNNING), Leave(), NOW).actions == (SendCommand(StopRun()),)
    ending = decide(job(S.RUNNING), ask(Suspend), NOW).job
    assert decide(ending, Leave(), NOW).actions == ()
    assert decide(job(S.RUNNING), seen(Stopped()), NOW).job.state is S.NOT_RUNNING


def in_mode(state, mode):
    """A job in a state and mode as the table may meet it."""
    if mode is Mode.UPDATE:
        update = Update(5, 0.0, Asked(Version(2, JobSource("b.py"), {}, JobConfig())))
        return job(state, termination=Termination(mode, 5), update=update)
    return job(state, termination=Termination(mode, 5) if mode is not None else None)


EVERY = [(state, mode) for state in JobState for mode in MODES[state]]


FACTS_BY_KIND = {
    "exported": Exported(5, RECORD),
    "stopped": Stopped(snapshot=RECORD),
    "failed": BOOM,
    "died": Died(),
    "completed": Completed(),
    "epoch": EpochCommitted(3),
    "cleaned_up": CleanedUp(),
}


@pytest.mark.parametrize("fact", FACTS_BY_KIND.values(), ids=FACTS_BY_KIND)
@pytest.mark.parametrize(("state", "mode"), EVERY)
def test_every_fact_in_every_state_leads_where_the_table_says_or_changes_nothing(state, mode, fact):
    before = in_mode(state, mode)
    after = decide(before, seen(fact), NOW).job
    edge = LIFE.get((state, mode, type(fact)))
    assert after == before if edge is None else after.state in edge.to


def test_every_state_can_be_reached_and_every_active_one_left():
    edges = [(state, to) for (state, _, _), edge in LIFE.items() for to in edge.to if to is not state]
    assert {to for _, to in edges} == set(JobState)
    assert {state for state, _ in edges} == set(JobState) - {JobState.COMPLETED}


def test_every_kind_of_fact_has_a_row():
    assert {event for _, _, event in LIFE} >= set(FACTS.values()) | set(REQUESTS.values())


def test_a_decision_that_leaves_the_table_is_not_saved(monkeypatch):
    wrong = Edge(lambda job, event, now: life.Decision(dataclasses.replace(job, state=S.STARTING)), frozenset({S.RUNNING}))
    monkeypatch.setitem(LIFE, (S.RUNNING, None, EpochCommitted), wrong)
    with pytest.raises(LifeError, match="EpochCommitted of job id in RUNNING led to STARTING, which the table does not allow"):
        decide(job(S.RUNNING), seen(EpochCommitted(1)), NOW)


def test_a_decision_that_leaves_a_job_that_cannot_be_is_not_saved(monkeypatch):
    starting = Update(5, 0.0, Starting(Version(1, JobSource("a.py"), {}, JobConfig()), 1.0))
    wrong = Edge(lambda job, event, now: life.Decision(dataclasses.replace(job, update=starting)), frozenset({S.RUNNING}))
    monkeypatch.setitem(LIFE, (S.RUNNING, None, EpochCommitted), wrong)
    with pytest.raises(LifeError, match="the new version runs and is still starting"):
        decide(job(S.RUNNING), seen(EpochCommitted(1)), NOW)


def test_a_suspended_job_is_configured_without_a_new_version():
    before = job(S.SUSPENDED)
    after = decide(before, Operation(7, "id", Configure({"suspend_on_failure": "true"})), NOW).job
    assert (after.version.number, after.version.options) == (1, {"suspend_on_failure": "true"})
    assert after.version.config == JobConfig(suspend_on_failure=True)
    assert dataclasses.replace(after, version=before.version) == before


def test_an_option_is_configured_over_what_was_given_under_another_name():
    version = Version(1, JobSource("a.py"), {"timeout_ms": 5000, "partitions": 3}, JobConfig(timeout_ms=5000, partitions=3))
    before = job(S.SUSPENDED, version=version)
    after = decide(before, Operation(7, "id", Configure({"timeout": "none"})), NOW).job
    assert (after.version.options, after.version.config.timeout_ms) == ({"partitions": 3, "timeout": "none"}, None)
    again = decide(after, Operation(8, "id", Configure({"timeout_ms": 2000})), NOW).job
    assert JobConfig.from_options(again.version.options) == again.version.config == JobConfig(timeout_ms=2000, partitions=3)


def timing(seconds, **more):
    version = Version(1, JobSource("a.py"), {}, JobConfig.from_options({"timeout": f"{seconds} seconds"}))
    return job(S.RUNNING, version=version, start_time=100.0, **more)


def test_a_job_that_has_run_as_long_as_it_may_is_ended_and_keeps_its_state():
    running = timing(30)
    assert (due_at(running), is_due(running, 129.9), is_due(running, 130.0)) == (130.0, False, True)
    assert decide(running, Due(), 129.0).job == running
    ended = decide(running, Due(), 130.0)
    assert (ended.job.state, ended.job.failure) == (S.FAILED, "Timed out: it has run for 30 seconds (option timeout)")
    assert (ended.job.user_cancelled, ended.job.state_dropped, ended.job.token) == (False, False, running.token + 1)
    assert KillRun(running.token) in ended.actions


def test_the_time_that_a_job_may_run_begins_anew_with_each_start():
    again = decide(timing(30), seen(Died()), 120.0).job
    started = dataclasses.replace(again, state=S.STARTING, due=None)
    assert due_at(decide(started, seen(Running(5)), 140.0).job) == 170.0


def test_a_job_that_is_ending_anyway_does_not_time_out():
    stopping = timing(30, termination=Termination(Mode.SUSPEND, 5))
    assert due_at(stopping) is None
    assert decide(stopping, Due(), 200.0).job == stopping


def test_options_that_contradict_those_of_the_job_are_refused_and_keep_nothing_waiting():
    kept = JobConfig.from_options({"store_metrics_after_completion": "true"})
    before = job(S.SUSPENDED, version=Version(1, JobSource("a.py"), {}, kept))
    refused = decide(before, Operation(7, "id", Configure({"metrics_enabled": "false"})), NOW)
    assert refused.job == before
    assert refusal(refused).startswith("store_metrics_after_completion needs metrics_enabled")
