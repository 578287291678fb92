"""One run beside a store that goes away: it holds still, and tells everything when the store is back."""

import dataclasses
import threading
import time
from pathlib import Path

import pytest

from pitstop.control.lanes import Lanes, in_thread
from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import EngineError, FencedError, StoreError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.model.run import (
    Compiled,
    Completed,
    EngineLoss,
    EpochCommitted,
    ExportFailed,
    Failed,
    NoteConcern,
    Running,
    StateOutgrown,
    Stopped,
    StopRun,
    TakeSnapshot,
)
from pitstop.model.snapshot import SnapshotRecord
from pitstop.plan.model import Plan
from pitstop.runner.bounds import Bounds
from pitstop.runner.run import OUTGROWN_SECONDS, WRITERS_SECONDS, Runner
from pitstop.runner.runtime import Opened
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from tests.doubles.clock import ManualClock
from tests.doubles.registry import MemoryRegistry, MemoryRunnerLink
from tests.doubles.wake import MemoryWake


class Away:
    """A link to a store that is away while ``away`` is true."""

    def __init__(self, link):
        self._link, self.away = link, False

    def __getattr__(self, name):
        if self.away:
            raise StoreError("The store is away.")
        return getattr(self._link, name)


class Query:
    """A query that the runtime has started, moved by hand."""

    def __init__(self):
        self.active = self.up = True
        self.first_epoch, self.error, self.progress, self.under_way = False, None, Progress(), None

    def look(self):
        return self.progress

    def failure(self):
        return self.error

    def working_on(self):
        return self.under_way

    outgrown, holds_still = None, False

    def committed_at(self, epoch):
        return None

    def stop(self, seconds):
        self.active = False
        return self.progress.epoch

    def epoch(self, number):
        self.first_epoch, self.progress = True, dataclasses.replace(self.progress, epoch=number)


class OneQuery:
    """A runtime whose every version runs the same query."""

    def __init__(self):
        self.query, self.ownership, self.whole, self.over = Query(), None, None, False

    def open(self, job, ties):
        self.ownership = ties.ownership
        ties.when_compiled(job.version.config)
        return Opened(Plan(()).to_dict(), job.version.config, "L1", lambda before: self.query, self.whole)

    def has_ended(self):
        return self.over

    def explain(self, error):
        return error


@pytest.fixture
def run():
    """A run that has begun: its runner, query, link and registry."""

    class Begun:
        clock, wake = ManualClock(), MemoryWake()
        registry = MemoryRegistry(clock)
        link = Away(MemoryRunnerLink(registry, wake))
        runtime = OneQuery()
        query, pauses = runtime.query, []

        @property
        def told(self):
            return [observation.fact for observation in self.registry.take_observations()]

    run = Begun()
    version = Version(1, JobSource(str(Path("a.py"))), {}, JobConfig())
    run.registry.add_job(Job("id", "job", 0.0, version, JobState.STARTING, token=1))

    def pause(seconds):
        run.pauses.append(seconds)
        run.link.away = len(run.pauses) < 3

    said = []
    run.said = said
    run.runner = Runner(
        "id",
        1,
        RunHandle("h"),
        run.link,
        run.wake,
        run.runtime,
        lambda work: work(),
        lambda *line: said.append(line),
        pause,
        run.clock.monotonic,
    )
    return run


def test_what_happens_while_the_store_is_away_is_told_in_its_order_when_it_is_back(run):
    assert run.runner.begin() is None
    run.link.away = True
    run.query.epoch(0)
    for _ in range(3):
        assert run.runner.step() is None
    run.query.epoch(1)
    run.link.away = False
    assert run.runner.step() is None
    assert [type(fact) for fact in run.told] == [Compiled, Running, EpochCommitted]
    assert run.registry.progress("id").epoch == 1
    assert len([line for line in run.said if "holding still" in line[2]]) == 1, "said once, however long it lasts"


def test_a_run_that_has_stopped_while_the_store_went_away_stays_until_it_has_told_so(run):
    run.runner.begin()
    run.registry.add_command("id", 1, StopRun(7))
    stop = run.query.stop

    def stop_and_lose_the_store(seconds):
        run.link.away = True
        return stop(seconds)

    run.query.stop = stop_and_lose_the_store
    assert run.runner.step() is None
    assert run.runner.step() is None
    run.link.away = False
    assert run.runner.step() == 0
    assert isinstance(run.told[-1], Stopped)
    assert not any(isinstance(fact, Failed) for fact in run.told)


def test_a_query_that_failed_while_the_store_was_away_is_told_as_that(run):
    run.runner.begin()
    run.link.away = True
    run.query.active, run.query.error = False, EngineError("no column 'x'")
    assert run.runner.step() is None
    run.link.away = False
    assert run.runner.step() in (None, 1)
    assert run.runner.step() == 1
    failed = run.told[-1]
    assert (failed.error.message, failed.restartable, failed.away) == ("no column 'x'", False, False)


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (StoreError("The store is busy."), True),
        (OSError(28, "No space left on device"), True),
        (EngineError("An epoch could not be written: no room", away=True), True),
        (OSError(2, "No such file"), False),
        (ZeroDivisionError("division by zero"), False),
    ],
)
def test_a_failure_says_whether_what_the_run_needs_was_away(run, error, away):
    run.runner.begin()
    run.query.active = False
    run.query.failure = lambda: error
    run.runner.step()
    assert run.told[-1].away is away


def test_an_epoch_waits_until_the_store_can_tell_whose_the_job_is(run):
    run.runner.begin()
    run.link.away = True
    with run.runtime.ownership.held():
        assert len(run.pauses) == 3


def test_no_other_run_takes_the_job_while_it_is_held(run):
    run.runner.begin()
    with run.runtime.ownership.held():
        job = run.registry.get_job("id")
    run.registry.save_job(dataclasses.replace(job, token=2))
    for ask in (run.runtime.ownership.check, run.runtime.ownership.held().__enter__):
        with pytest.raises(FencedError, match="has been replaced by run 2"):
            ask()


def test_what_needs_the_store_is_done_once_it_is_there(run):
    run.runner.begin()
    tries = []

    def write():
        tries.append(True)
        if len(tries) < 3:
            raise StoreError("The store is busy.")
        return "written"

    assert run.runtime.ownership.patiently(write) == "written"
    assert len(tries) == 3


def test_a_run_claims_its_job_when_the_store_is_back(run):
    claimed, run.link.away = [], True
    assert run.runner.begin(lambda: claimed.append(True)) is None
    assert not claimed
    run.link.away = False
    assert run.runner.step() is None
    assert claimed
    assert [type(fact) for fact in run.told] == [Compiled]


def test_a_store_that_goes_away_while_a_run_starts_costs_a_new_start_and_not_the_job(run):
    begin = run.runtime.open

    def open_and_lose_the_store(*arguments):
        opened = begin(*arguments)
        run.link.away = True
        return opened

    run.runtime.open = open_and_lose_the_store
    assert run.runner.begin() is None
    run.link.away = False
    assert run.runner.step() == 1
    assert [type(fact) for fact in run.told] == [Compiled, Failed]
    assert run.told[-1].away


def test_code_that_never_gets_compiled_fails_the_run_after_its_time(run):
    def never_ends(*_):
        run.clock.advance(180)
        assert not run.runner.give_up_if_overdue()
        run.clock.advance(1)
        assert run.runner.give_up_if_overdue()
        raise SystemExit  # as the end of the process would

    run.runtime.open = never_ends
    with pytest.raises(SystemExit):
        run.runner.begin()
    failed = run.told[-1]
    assert failed.error.message.startswith(
        "The run hangs: compiling the job did not end within 3 minutes. Raise the option compile_"
    )
    assert not failed.restartable, "the same code would hang again"
    assert "never_ends" in failed.details, "the stack of its threads says where"


def test_a_first_epoch_that_never_ends_fails_the_run_and_a_later_one_has_it_started_again(run):
    run.query.up = False
    run.runner.begin()
    assert run.runner.step() is None
    run.clock.advance(901)
    assert run.runner.step() == 1
    failed = run.told[-1]
    assert "restoring state and the first epoch did not end within 15 minutes" in failed.error.message
    assert not failed.restartable


def test_each_epoch_has_its_own_time_and_a_job_that_waits_for_data_has_as_much_as_it_takes(run):
    run.runner.begin()
    for number in range(3):
        run.query.under_way = number
        run.clock.advance(600)
        assert run.runner.step() is None
    run.query.under_way = None
    run.runner.step()
    run.clock.advance(100_000)
    assert run.runner.step() is None
    run.query.under_way = 3
    run.runner.step()
    run.clock.advance(901)
    assert run.runner.step() == 1
    failed = run.told[-1]
    assert "The run hangs: epoch 3 did not end within 15 minutes" in failed.error.message
    assert failed.restartable


def test_a_long_epoch_is_told_of_while_it_goes_on(run):
    run.runner.begin()
    run.runner.step()
    run.query.under_way = 7
    for seconds, told in ((9, 0), (9, 10), (9, 20)):
        run.runner.step()
        run.clock.advance(seconds)
        run.runner.step()
        assert run.registry.progress("id").busy_seconds == told


def test_state_that_has_outgrown_the_memory_is_told_of_now_and_then_until_something_is_done(run):
    run.runner.begin()
    run.query.epoch(0)
    run.query.outgrown = 1000
    for _ in range(3):
        run.runner.step()
    assert [fact for fact in run.told if isinstance(fact, StateOutgrown)] == [StateOutgrown(1000)]
    run.clock.advance(OUTGROWN_SECONDS + 1)
    run.query.outgrown, run.query.holds_still = 2000, True
    run.runner.step()
    told = [fact for fact in run.told if isinstance(fact, StateOutgrown)]
    assert told == [StateOutgrown(1000), StateOutgrown(2000, holds=True)]


def test_without_metrics_nothing_is_told_of_stages(run):
    job = run.registry.get_job("id")
    config = JobConfig(metrics_enabled=False)
    run.registry.save_job(dataclasses.replace(job, version=dataclasses.replace(job.version, config=config)))
    run.query.progress = Progress(epoch=4, input_rows=100, stages={"seen": {"state_rows": 7}})
    run.runner.begin()
    run.runner.step()
    assert run.registry.progress("id") == Progress(epoch=4, input_rows=100)


def test_a_run_whose_stage_holds_too_much_fails_and_is_not_tried_again(run, monkeypatch):
    job = run.registry.get_job("id")
    config = JobConfig(max_accumulated_records=5)
    run.registry.save_job(dataclasses.replace(job, version=dataclasses.replace(job.version, config=config)))
    monkeypatch.setattr(Bounds, "exceeded", lambda self, progress: EngineError("too much") if progress.epoch > 3 else None)
    run.query.epoch(3)
    run.runner.begin()
    assert run.runner.step() is None
    run.query.epoch(4)
    assert run.runner.step() == 1
    failed = run.told[-1]
    assert (failed.error.message, failed.restartable, failed.away) == ("too much", False, False)


@pytest.mark.parametrize(("asked", "seconds"), [("look", 900), ("stop", 900 + 120), ("export", 900)])
def test_a_query_that_does_not_answer_ends_its_run_which_is_started_again(run, asked, seconds):
    """As when the JVM alone stands still: who asks it something waits for ever."""
    run.runner.begin()
    assert run.runner.step() is None
    run.clock.advance(100_000)
    assert not run.runner.give_up_if_overdue(), "nothing is asked"

    def never_answers(*_):
        run.clock.advance(seconds)
        assert not run.runner.give_up_if_overdue()
        run.clock.advance(1)
        assert run.runner.give_up_if_overdue()
        raise SystemExit  # as the end of the process would

    setattr(run.query, asked, never_answers)
    run.registry.add_command("id", 1, StopRun(7, "saved"))
    with pytest.raises(SystemExit):
        run.runner.step()
    failed = run.told[-1]
    limit = "15 minutes" if seconds == 900 else "17 minutes"
    assert failed.error.message == (
        f"The run hangs: its query has not answered for {limit}. Raise the option epoch_timeout if that is too short."
    )
    assert failed.restartable
    assert "never_answers" in failed.details, "the stack of its threads says where"


def test_a_snapshot_of_a_run_that_stops_is_one_of_a_job_at_rest_which_tells_of_an_epoch_that_sinks_have_begun_to_get(run):
    exported = []
    run.query.export = lambda name, at_rest: exported.append((name, at_rest)) or SnapshotRecord(name, "id", "job", 0.0, 1, "/", 6)
    run.runner.begin()
    run.registry.add_command("id", 1, TakeSnapshot(6, "meanwhile"))
    assert run.runner.step() is None
    run.registry.add_command("id", 1, StopRun(7, "saved"))
    assert run.runner.step() == 0
    assert exported == [("meanwhile", False), ("saved", True)]


def test_a_concern_is_noted_in_the_log_and_the_run_goes_on(run):
    run.runner.begin()
    run.registry.add_command("id", 1, NoteConcern("Sink 'out' writes rows again."))
    assert [run.runner.step() for _ in range(2)] == [None, None]
    assert run.said[1:] == [("WARN", "pitstop.runner", "Sink 'out' writes rows again.")]
    assert [type(fact) for fact in run.told] == [Compiled, Running]


@pytest.mark.parametrize(
    ("interruption", "error", "advice"),
    [
        (None, None, "Try again once the job has got rows and done its first epoch."),
        ("Row 3 is wrong.", None, "Its first epoch fails (Row 3 is wrong): mend that, or cancel the job and submit"),
        (
            "Row 3 is wrong.",
            EngineError("Row 4 is."),
            "Its first epoch fails (Row 4 is): mend that, or cancel the job and submit",
        ),
    ],
)
@pytest.mark.parametrize("stops", [True, False])
def test_a_snapshot_of_a_job_without_an_epoch_fails_with_the_cause_of_its_interruption(
    run, tmp_path, interruption, error, advice, stops
):
    run.registry.save_job(dataclasses.replace(run.registry.get_job("id"), interruption=interruption))
    run.query.export = lambda name, at_rest: export_checkpoint(Checkpoint(tmp_path / "c"), tmp_path / "s", name, at_rest=at_rest)
    run.runner.begin()
    run.query.stop = lambda seconds: setattr(run.query, "error", error) or -1
    if not stops:
        run.query.failure = lambda: error
    run.registry.add_command("id", 1, StopRun(7, "saved") if stops else TakeSnapshot(6, "saved"))
    run.runner.step()
    problem = run.told[-1].error if stops else next(fact.error for fact in run.told if isinstance(fact, ExportFailed))
    assert problem.message.startswith(f"No epoch is committed yet, so there is no state to export as 'saved'. {advice}")
    assert (problem.code, problem.details) == ("SNAPSHOT", {})


def test_an_export_that_never_ends_does_not_keep_a_run_from_stopping(run):
    job, begun, over = run.registry.get_job("id"), threading.Event(), threading.Event()
    config = JobConfig.from_options({"epoch_timeout": "1 second"})
    run.registry.save_job(dataclasses.replace(job, version=dataclasses.replace(job.version, config=config)))
    run.runner._exports = Lanes(in_thread)

    def export(name, at_rest):
        begun.set()
        assert over.wait(60)

    run.query.export = export
    run.runner.begin()
    run.registry.add_command("id", 1, TakeSnapshot(6, "saved"))
    assert run.runner.step() is None
    assert begun.wait(60)
    run.registry.add_command("id", 1, StopRun(7))
    try:
        assert run.runner.step() == 0
        assert isinstance(run.told[-1], Stopped)
    finally:
        over.set()


class Batch:
    """What is run once, ended by hand."""

    def __init__(self):
        self.tasks, self.error, self.over, self.told_to_end = 0, None, threading.Event(), False
        self.progress = Progress()

    def run(self):
        assert self.over.wait(60)
        if self.error is not None:
            raise self.error

    def done(self):
        return self.tasks

    def end(self):
        self.told_to_end = True
        self.over.set()


@pytest.fixture
def batch(run):
    """Of a run that has begun; its thread ends with the test."""
    run.runtime.whole = batch = Batch()
    run.runner._spawn = in_thread
    assert run.runner.begin() is None
    yield batch
    batch.over.set()


def last_step(run):
    """The exit code of the run, whose batch has come to its end."""
    deadline = time.monotonic() + 60
    while (code := run.runner.step()) is None:
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)
    return code


@pytest.mark.parametrize(("error", "told"), [(None, Completed), (EngineError("boom"), Failed)])
def test_a_batch_runs_beside_the_steps_and_is_told_of_when_it_ends(run, batch, error, told):
    assert run.runner.step() is None
    assert [type(fact) for fact in run.told] == [Compiled, Running]
    assert run.told[0].bounded
    batch.error = error
    batch.over.set()
    assert last_step(run) == (0 if error is None else 1)
    assert isinstance(run.told[-1], told)


def test_the_rows_of_a_batch_are_told_while_it_runs_and_at_its_end(run, batch):
    batch.progress = Progress(input_rows=5, stages={"rows": {"rows_out": 5}})
    assert run.runner.step() is None
    assert run.registry.progress("id").input_rows == 5
    batch.progress = Progress(input_rows=9, stages={"rows": {"rows_out": 9}})
    batch.over.set()
    assert last_step(run) == 0
    assert run.registry.progress("id") == Progress(input_rows=9, stages={"rows": {"rows_out": 9}})


def test_a_batch_may_take_as_long_as_its_tasks_end_and_one_that_makes_no_progress_is_seen(run, batch):
    for _ in range(3):
        run.clock.advance(800)
        batch.tasks += 1
        assert run.runner.step() is None
        assert run.registry.progress("id").busy_seconds == 0
    run.clock.advance(900)
    assert run.runner.step() is None
    assert run.registry.progress("id").busy_seconds == 900
    run.clock.advance(1)
    assert run.runner.step() == 1
    failed = run.told[-1]
    assert failed.error.message == (
        "The run hangs: the next task of the batch did not end within 15 minutes. Raise the option epoch_timeout if that is too "
        "short."
    )
    assert failed.restartable


def test_a_batch_ends_at_once_with_a_control_plane_that_takes_its_runs_with_it(run, batch):
    run.registry.add_command("id", 1, StopRun())
    assert run.runner.step() == 0
    assert batch.told_to_end
    assert isinstance(run.told[-1], Stopped)


def test_a_sinks_function_that_never_ends_ends_its_run_though_it_keeps_the_store_from_being_told(run):
    """It runs within a transaction of the store, so that no step finds that store writable."""
    run.runner.begin()
    run.query.epoch(0)
    assert run.runner.step() is None

    def never_ends():
        run.link.away = True
        run.clock.advance(900)
        assert run.runner.step() is None
        assert not run.runner.give_up_if_overdue()
        run.clock.advance(1)
        assert run.runner.give_up_if_overdue(), "its process ends now, told or not"

    run.runtime.ownership.patiently(never_ends)
    assert not run.runtime.ownership.seconds


def test_a_run_that_waits_for_other_writers_of_the_store_does_not_hang_however_short_its_epochs_may_be(run):
    job = run.registry.get_job("id")
    config = JobConfig(epoch_timeout_ms=5_000)
    run.registry.save_job(dataclasses.replace(job, version=dataclasses.replace(job.version, config=config)))
    run.runner.begin()
    run.query.epoch(0)
    assert run.runner.step() is None

    def waits():
        run.clock.advance(WRITERS_SECONDS - 1)
        assert not run.runner.give_up_if_overdue()

    run.runtime.ownership.patiently(waits)


def test_a_run_tells_its_last_rows_before_it_says_that_it_has_stopped(run):
    """A run that follows counts on from them, and begins as soon as the other one has stopped."""
    run.runner.begin()
    run.runner.step()
    told, order = run.link._link, []
    for name in ("observe", "report"):
        call = getattr(told, name)
        setattr(told, name, lambda value, name=name, call=call: order.append((name, value)) or call(value))
    stop = run.query.stop

    def last_epoch(seconds):
        run.query.progress = dataclasses.replace(run.query.progress, epoch=5, input_rows=70)
        return stop(seconds)

    run.query.stop = last_epoch
    run.registry.add_command("id", 1, StopRun(7))
    before = time.time()
    assert run.runner.step() == 0
    stopped = next(number for number, (_, value) in enumerate(order) if isinstance(getattr(value, "fact", None), Stopped))
    rows = next(number for number, (_, value) in enumerate(order) if getattr(value, "input_rows", 0) == 70)
    assert rows < stopped
    assert before <= order[stopped][1].fact.stopped_at <= time.time()


@pytest.mark.parametrize(
    ("up", "under_way", "loss"),
    [(True, None, EngineLoss.RESTED), (True, 7, EngineLoss.WORKED), (False, None, EngineLoss.WORKED)],
)
def test_a_run_whose_shared_engine_has_ended_tells_whether_it_was_at_work(run, up, under_way, loss):
    assert run.runner.begin() is None
    run.runtime.over, run.query.active, run.query.up, run.query.under_way = True, False, up, under_way
    assert run.runner.step() == 1
    failed = run.told[-1]
    assert isinstance(failed, Failed)
    assert failed.engine_loss is loss
    assert failed.error.message == "The engine that this job shares with others has ended: the next run has another one."


def test_a_run_whose_shared_engine_ends_before_its_query_is_there_was_at_work(run):
    def open(job, ties):
        raise EngineError("its Java is gone")

    run.runtime.open, run.runtime.over = open, True
    assert run.runner.begin() == 1
    assert run.told[-1].engine_loss is EngineLoss.WORKED
