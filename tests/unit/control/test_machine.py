"""The life of a job, case by case (jet.md §1.2, §1.3)."""

import dataclasses

import pytest

from pitstop.control.actions import CleanUp, ExportSuspended, Finish, KillRun, SendCommand, StartRun
from pitstop.control.machine import MOST_ATTEMPTS, Due, decide
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState
from pitstop.model.operation import CommandKind, Observation, ObservationKind, Operation, OperationState, Verb

S, V, K = JobState, Verb, ObservationKind
NOW = 1000.0


def job(state, **more):
    return Job("id", "job", state, JobSource("a.py"), JobConfig(), 1.0, **({"token": 3} | more))


def wish(verb, **args):
    return Operation(7, "id", verb, args)


def fact(kind, token=3, **payload):
    return Observation("id", token, kind, payload)


def answer(decision):
    return next((a for a in decision.actions if isinstance(a, Finish)), None)


def refusal(decision):
    found = answer(decision)
    assert found.state is OperationState.FAILED
    return found.error["message"]


def test_a_waiting_job_starts_with_a_higher_token():
    decision = decide(job(S.NOT_RUNNING), Due(), NOW)
    assert (decision.job.state, decision.job.token, decision.actions) == (S.STARTING, 4, (StartRun(),))


def test_suspend_stops_at_an_epoch_boundary_and_is_answered_when_it_has():
    asked = decide(job(S.RUNNING), wish(V.SUSPEND), NOW)
    assert asked.actions == (SendCommand(CommandKind.STOP, {"operation": 7}),)
    done = decide(asked.job, fact(K.STOPPED, epoch=5), NOW)
    assert (done.job.state, done.job.suspension_cause) == (S.SUSPENDED, "Requested by user")
    assert answer(done).state is OperationState.DONE


@pytest.mark.parametrize("state", [S.NOT_RUNNING, S.STARTING, S.SUSPENDED])
@pytest.mark.parametrize("verb", [V.SUSPEND, V.RESTART])
def test_suspend_and_restart_are_legal_in_running_only(state, verb):
    decision = decide(job(state), wish(verb), NOW)
    assert decision.job == job(state)
    assert refusal(decision) == f"Cannot {verb.name}, job status is {state}, should be RUNNING"


@pytest.mark.parametrize("verb", [V.SUSPEND, V.RESTART, V.CANCEL_AND_EXPORT, V.EXPORT])
def test_a_job_with_a_result_does_nothing_more(verb):
    message = refusal(decide(job(S.FAILED, failure="boom"), wish(verb, snapshot="s"), NOW))
    assert message == f"Cannot {verb.name} job id because it already has a result: boom"


def test_a_second_termination_is_refused_and_the_first_goes_on():
    first = decide(job(S.RUNNING), wish(V.SUSPEND), NOW).job
    second = decide(first, Operation(8, "id", V.RESTART), NOW)
    assert refusal(second) == "Job is already terminating in mode: SUSPEND"
    assert second.job == first


def test_the_same_operation_decided_twice_only_sends_its_command_again():
    first = decide(job(S.RUNNING), wish(V.SUSPEND), NOW)
    assert decide(first.job, wish(V.SUSPEND), NOW) == first


@pytest.mark.parametrize("state", [S.NOT_RUNNING, S.STARTING, S.RUNNING, S.SUSPENDED])
def test_cancel_ends_a_job_at_once_and_drops_its_state(state):
    decision = decide(job(state), wish(V.CANCEL), NOW)
    assert (decision.job.state, decision.job.user_cancelled, decision.job.completion_time) == (S.FAILED, True, NOW)
    assert {KillRun(3), CleanUp()} <= set(decision.actions[:1] + decision.actions[1:])
    assert answer(decision).state is OperationState.DONE


def test_cancel_of_an_ended_job_is_silently_ignored_but_not_during_an_export():
    assert answer(decide(job(S.COMPLETED), wish(V.CANCEL), NOW)).state is OperationState.DONE
    busy = decide(job(S.SUSPENDED_EXPORTING_SNAPSHOT), wish(V.CANCEL), NOW)
    assert refusal(busy) == "Cannot cancel when job status is SUSPENDED_EXPORTING_SNAPSHOT"


def test_cancel_and_export_ends_the_job_only_if_the_snapshot_is_there():
    asked = decide(job(S.RUNNING), wish(V.CANCEL_AND_EXPORT, snapshot="s"), NOW)
    assert asked.actions == (SendCommand(CommandKind.STOP, {"operation": 7, "snapshot": "s"}),)
    good = decide(asked.job, fact(K.STOPPED, epoch=5, snapshot={"name": "s"}), NOW)
    assert (good.job.state, good.job.user_cancelled) == (S.FAILED, True)
    bad = decide(asked.job, fact(K.STOPPED, epoch=5, error={"message": "disk full"}), NOW)
    assert (bad.job.state, bad.job.user_cancelled) == (S.SUSPENDED, False)
    assert refusal(bad) == "disk full"


def test_a_runner_that_dies_is_started_again_until_it_makes_no_progress():
    state = job(S.RUNNING)
    for attempt in range(1, MOST_ATTEMPTS):
        waiting = decide(state, fact(K.DIED, state.token, reason="gone"), NOW).job
        assert (waiting.state, waiting.attempts) == (S.NOT_RUNNING, attempt)
        state = decide(waiting, Due(), waiting.due).job
    ended = decide(state, fact(K.DIED, state.token, reason="gone"), NOW).job
    assert ended.state is S.FAILED
    assert "without progress" in ended.failure


def test_progress_forgives_earlier_deaths():
    assert decide(job(S.RUNNING, attempts=4), fact(K.EPOCH, epoch=9), NOW).job.attempts == 0


def test_an_error_fails_the_job_or_suspends_it_if_asked_to():
    error = fact(K.FAILED, error={"message": "no column 'x'"}, details="trace")
    failed = decide(job(S.RUNNING), error, NOW).job
    assert (failed.state, failed.failure, failed.failure_details) == (S.FAILED, "no column 'x'", "trace")
    careful = dataclasses.replace(job(S.RUNNING), config=JobConfig(suspend_on_failure=True))
    kept = decide(careful, error, NOW).job
    assert (kept.state, kept.suspension_cause) == (S.SUSPENDED, "Execution failure:\nno column 'x'")


def test_facts_of_an_older_run_change_nothing():
    for kind in K:
        assert decide(job(S.RUNNING), fact(kind, token=2), NOW).job == job(S.RUNNING)


def test_a_suspended_job_exports_its_last_state_and_stays_suspended():
    asked = decide(job(S.SUSPENDED), wish(V.EXPORT, snapshot="s"), NOW)
    assert asked.job.state is S.SUSPENDED_EXPORTING_SNAPSHOT
    assert asked.actions == (ExportSuspended(7, "s"),)
    done = decide(asked.job, fact(K.EXPORTED, operation=7, snapshot={"name": "s"}), NOW)
    assert done.job.state is S.SUSPENDED


def test_resume_of_a_running_job_is_a_no_op_and_of_an_ended_one_an_error():
    assert answer(decide(job(S.RUNNING), wish(V.RESUME), NOW)).state is OperationState.DONE
    assert refusal(decide(job(S.COMPLETED), wish(V.RESUME), NOW)) == "Job already completed"


@pytest.mark.parametrize("state", list(S))
@pytest.mark.parametrize("verb", list(V))
def test_every_wish_in_every_state_is_answered_or_will_be(state, verb):
    args = {"snapshot": "s", "source": {"artifact": "b.py"}, "options": {}}
    decision = decide(job(state), wish(verb, **args), NOW)
    later = any(isinstance(a, (SendCommand, ExportSuspended)) for a in decision.actions)
    assert later or answer(decision) is not None
