"""Looks into the run of a job, over every service."""

import pytest

from pitstop.errors import ConflictError, NotFoundError, UsageError, WaitTimeoutError
from pitstop.model.execution import EpochTasks, StageTasks
from pitstop.model.operation import Suspend
from tests.doors.doors import running

STAGES = "# stage: speed bigint\n# stage: silent bigint"


def test_the_tasks_of_an_epoch_tell_how_much_longer_the_slowest_takes_than_the_one_in_the_middle(pair):
    service, state = pair
    found = service.execution(running(state, text=STAGES))
    # Of the tasks of tests.doubles.runs: 10, 400 and 20 ms, with 5, 95 and 7 rows.
    stage = StageTasks(7, ["Exchange", "StateStoreSave"], 3, 0, 10, 20, 400, 20.0, 1, 95, 7)
    assert found.epochs == [EpochTasks(3, [stage])]
    assert found.plan.startswith("== Physical Plan ==")
    assert [(each.number, each.stage) for each in found.operators] == [(0, "speed"), (1, "silent")]
    assert (found.version, found.peekable) == (1, ["speed", "silent"])


def test_the_rows_of_a_stage_are_no_more_than_asked_for(pair):
    service, state = pair
    job = running(state, text=STAGES)
    found = service.peek(job, "speed", limit=3)
    assert ([tuple(column) for column in found.columns], found.rows, found.more) == ([("n", "bigint")], [[0], [1], [2]], True)


def test_a_stage_that_gives_no_row_in_time_says_so(pair):
    service, state = pair
    job = running(state, text=STAGES)
    with pytest.raises(WaitTimeoutError, match="Stage 'silent' has given no row in 2 seconds"):
        service.peek(job, "silent", wait_seconds=2.0)


def test_stages_that_are_not_there_are_told_with_those_that_are(pair):
    service, state = pair
    job = running(state, text=STAGES)
    with pytest.raises(NotFoundError, match=r"no stage 'sped'\. There are: .*speed, silent"):
        service.peek(job, "sped")
    for stage in ("", "..", "a/b"):
        with pytest.raises(NotFoundError, match="no stage"):
            service.peek(job, stage)


def test_a_job_that_does_not_run_is_not_looked_into(pair):
    service, state = pair
    job = running(state, text=STAGES)
    service.do(job, Suspend())
    for look in (lambda: service.execution(job), lambda: service.peek(job, "speed")):
        with pytest.raises(ConflictError, match="is SUSPENDED: only a RUNNING job can be looked into"):
            look()
    with pytest.raises(NotFoundError, match="No job with name or id 'x' was found"):
        service.execution("x")


def test_limits_are_told(pair):
    service, state = pair
    job = running(state, text=STAGES)
    for call in (
        lambda: service.execution(job, 0),
        lambda: service.execution(job, 51),
        lambda: service.peek(job, "speed", limit=0),
        lambda: service.peek(job, "speed", limit=201),
        lambda: service.peek(job, "speed", wait_seconds=61.0),
    ):
        with pytest.raises(UsageError):
            call()
