"""What people are told when a query ends, and whether the job may try again."""

import os
import signal

import pytest

import pitstop as ps
from pitstop.errors import EngineError, is_of_the_machine
from pitstop.spark.base.failures import explain, explain_run
from tests.spark.harness import Harness, numbers

pytestmark = pytest.mark.spark


LATE = "[STREAM_FAILED] Query terminated: Python worker failed to connect back."


def test_a_worker_that_did_not_start_in_time_costs_time_and_no_attempt():
    epoch, run = explain(RuntimeError(LATE), None), explain_run(RuntimeError(LATE))
    assert epoch.message == "An epoch failed, the machine being too busy: Query terminated: Python worker failed to connect back."
    assert isinstance(run, EngineError)
    for error in (epoch, run):
        assert is_of_the_machine(error)
        assert "restartable" not in error.details


@pytest.mark.long
def test_a_function_that_fails_is_told_by_its_own_error_and_not_tried_again(spark, tmp_path):
    p = ps.Pipeline()
    stage = numbers(p, rows=2000, step=1000).group_by("key").map_stateful("own", lambda state, row: 1 / 0, "n bigint", "n bigint")
    stage.write_to(ps.sinks.noop(), name="out")
    said = (
        r"^An epoch failed: stage 'own' fails for the row Row\(seq=.*\): ZeroDivisionError: division by zero\. Mend its function"
    )
    with pytest.raises(ps.PitstopError, match=said) as caught:
        Harness(spark, tmp_path).run(p)
    assert "restartable" not in caught.value.details


@pytest.mark.long
def test_a_worker_that_is_killed_may_be_started_again(spark, tmp_path):
    marker = str(tmp_path / "killed")

    def kill_once(state, row):
        if not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    p = ps.Pipeline()
    stage = numbers(p, rows=2000, step=1000).group_by("key").map_stateful("own", kill_once, "n bigint", "n bigint")
    stage.write_to(ps.sinks.noop(), name="out")
    with pytest.raises(ps.PitstopError) as caught:
        Harness(spark, tmp_path).run(p)
    assert caught.value.details["restartable"] is True
