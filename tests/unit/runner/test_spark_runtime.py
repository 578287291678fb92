"""What keeps a run from starting is judged: the job's own fault, or the machine's."""

import errno
from functools import partial
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import PipelineError
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.run import Failed
from pitstop.runner.prepared import RunnerSettings
from pitstop.runner.run import Runner
from pitstop.runner.spark_runtime import SparkRuntime, StartedRun
from pitstop.spark.running.query import RunningQuery
from tests.doubles.clock import ManualClock
from tests.doubles.registry import MemoryRegistry, MemoryRunnerLink
from tests.doubles.wake import MemoryWake
from tests.maps import map_store


@pytest.fixture
def failed(tmp_path):
    """What a run tells whose Spark session is made by this function, which raises."""

    def failed(session):
        registry, wake = MemoryRegistry(ManualClock()), MemoryWake()
        version = Version(1, JobSource(str(tmp_path / "a.py")), {}, JobConfig())
        registry.add_job(Job("id", "job", 0.0, version, JobState.STARTING, token=1))
        runtime = SparkRuntime(RunnerSettings(DataFolder(tmp_path), "nosuch:///", ""), map_store(tmp_path), session)
        runner = Runner("id", 1, RunHandle("h"), MemoryRunnerLink(registry, wake), wake, runtime, log=lambda *_: None)
        assert runner.begin() == 1
        (told,) = [seen.fact for seen in registry.take_observations()]
        assert isinstance(told, Failed)
        return told

    return failed


def test_a_jvm_that_does_not_start_costs_an_attempt_and_not_the_job(failed, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no java here"))
    told = failed(launch_gateway)
    assert told.error.message.startswith("The run has no Spark, or has lost it: ")
    assert (told.restartable, told.away) == (True, False)
    assert "JAVA_GATEWAY_EXITED" in told.details


def raises(error, cause=None):
    def session():
        raise error from cause

    return session


FULL = "java.io.IOException: No space left on device"


@pytest.mark.parametrize(
    ("error", "cause", "restartable", "away"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), None, False, True),
        (Exception(f"An error occurred while calling o44.csv.\n: {FULL}\n\tat java.base/X"), None, False, True),
        (PipelineError("Stage 'a' (a.py:3): cannot be read"), PySparkException(FULL), False, True),
        (PipelineError("Stage 'a' (a.py:3) failed"), OSError(errno.ENOMEM, "Cannot allocate memory"), False, True),
        (Py4JNetworkError("Answer from Java side is empty"), None, True, False),
        (Py4JError("An error occurred while calling o1125.lastProgress"), None, True, False),
        (Py4JError("An error occurred while calling o44.option. Trace:\npy4j.Py4JException: no method"), None, False, False),
        (Exception("org.apache.spark.SparkException: All masters are unresponsive! Giving up."), None, True, False),
        (PySparkException("Cannot call methods on a stopped SparkContext."), None, True, False),
        (Exception("Lost task 0.3: ExecutorLostFailure (executor 1 exited)"), None, True, False),
        (PipelineError("Stage 'a' (a.py:3): there is no column 'x'."), PySparkException("no column"), False, False),
        (ZeroDivisionError("division by zero"), None, False, False),
    ],
)
def test_what_keeps_a_run_from_starting_is_judged_like_what_ends_its_query(failed, error, cause, restartable, away):
    told = failed(raises(error, cause))
    assert (told.restartable, told.away) == (restartable, away)
    if not (restartable or away):
        assert str(error).rpartition("\n")[2].removeprefix("py4j.") in told.error.message


def test_an_epoch_that_was_planned_before_the_run_holds_still_is_not_timed(tmp_path):
    """Such an epoch stays as it is until the state is on disk, which may take longer than an epoch may."""
    checkpoint = SimpleNamespace(planned=lambda: 7, committed=lambda: 6)
    writer = SimpleNamespace(under_way=lambda planned: planned)
    running = SimpleNamespace(checkpoint=checkpoint, writer=writer)
    running.under_way = partial(RunningQuery.under_way, running)
    run = SimpleNamespace(holds_still=False, running=running)
    started = StartedRun(run, RunnerSettings(DataFolder(tmp_path), "nosuch:///", ""))
    assert started.working_on() == 7
    run.holds_still = True
    assert started.working_on() is None
