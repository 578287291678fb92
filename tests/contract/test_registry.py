import subprocess
import sys

import pytest

from pitstop.control.ports import CONTROL, RunHandle
from pitstop.errors import ConflictError, FencedError, Problem
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Progress
from pitstop.model.operation import Export, OperationState
from pitstop.model.run import EpochCommitted, Observation, Running, StopRun, TakeSnapshot
from pitstop.model.snapshot import SnapshotRecord
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from pitstop.testing.wake import MemoryWake


def job(job_id="id-1", name="ingest", state=JobState.RUNNING, **more):
    options = {"processing_guarantee": "exactly_once"}
    return Job(job_id, name, state, JobSource("a.py", "m:f", ("x",)), JobConfig.from_options(options), 5.0, options, **more)


@pytest.fixture
def database(tmp_path):
    return open_database(sqlite_url(tmp_path / "r.db"))


@pytest.fixture
def registry(database):
    return SqlRegistry(database)


def test_a_job_reads_back_as_it_was_written(registry):
    registry.add_job(job(token=4, plan={"stages": []}))
    assert registry.get_job("id-1") == job(token=4, plan={"stages": []})


def test_only_one_active_job_has_a_name_and_an_ended_one_frees_it(registry):
    registry.add_job(job())
    with pytest.raises(ConflictError, match=r"Another active job with equal name \(ingest\) exists: id-1"):
        registry.add_job(job("id-2"))
    registry.save_job(job(state=JobState.FAILED))
    registry.add_job(job("id-2"))
    assert [found.id for found in registry.find_jobs("ingest")] == ["id-2", "id-1"]


ADD = """
import sys
sys.path.insert(0, "")
from tests.contract.test_registry import job
from pitstop.errors import ConflictError
from pitstop.store.database import open_database
from pitstop.store.registry import SqlRegistry
registry = SqlRegistry(open_database(sys.argv[1]))
sys.stdin.readline()
try:
    registry.add_job(job(sys.argv[2]))
    print("won")
except ConflictError:
    print("lost")
"""


def test_of_several_processes_that_submit_one_name_at_once_one_wins(database):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ADD, database.url, f"id-{n}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0].strip() for process in processes) == ["lost", "lost", "lost", "won"]


def test_an_operation_is_pending_then_running_then_answered_once(registry):
    registry.add_job(job())
    operation = registry.add_operation("id-1", Export("s"))
    assert registry.pending_operations() == [operation]
    registry.start_operation(operation.id)
    assert registry.pending_operations() == []
    assert [found.id for found in registry.open_operations("id-1")] == [operation.id]
    record = SnapshotRecord("s", "id-1", "ingest", 1.0, 10, "/x", 3)
    registry.finish_operation(operation.id, result=record)
    registry.finish_operation(operation.id, Problem("TIMEOUT", "too late"))
    done = registry.get_operation(operation.id)
    assert (done.request, done.state, done.result, done.error) == (Export("s"), OperationState.DONE, record, None)


def test_a_snapshot_of_a_name_replaces_the_one_before(registry):
    for size in (10, 20):
        registry.add_snapshot(SnapshotRecord("s", "id-1", "ingest", 1.0, size, "/x", 3))
    assert [record.bytes for record in registry.snapshots()] == [20]
    assert registry.delete_snapshot("s")
    assert not registry.delete_snapshot("s")


def test_a_run_is_told_its_commands_and_nobody_elses(database, registry):
    registry.add_job(job(token=2))
    link = SqlRunnerLink(database, MemoryWake())
    link.claim("id-1", 2, RunHandle("first"), 10)
    registry.add_command("id-1", 1, StopRun())
    mine = registry.add_command("id-1", 2, TakeSnapshot(7, "s"))
    assert link.commands(0) == [mine]
    assert link.commands(mine.id) == []


def test_a_run_that_lost_its_job_can_do_nothing_more(database, registry):
    registry.add_job(job(token=2))
    link = SqlRunnerLink(database, MemoryWake())
    link.claim("id-1", 2, RunHandle("first"), 10)
    registry.save_job(job(token=3))
    for attempt in (
        link.check,
        lambda: link.renew(10),
        lambda: link.commands(0),
        lambda: link.report(Progress(epoch=1)),
        lambda: link.observe(Observation("id-1", 2, Running(1))),
    ):
        with pytest.raises(FencedError):
            attempt()
    assert registry.take_observations() == []


def test_one_run_belongs_to_one_process(database, registry):
    registry.add_job(job(token=2))
    SqlRunnerLink(database, MemoryWake()).claim("id-1", 2, RunHandle("first"), 10)
    with pytest.raises(FencedError, match=r"belongs to another process already \(first\)"):
        SqlRunnerLink(database, MemoryWake()).claim("id-1", 2, RunHandle("second"), 10)


def test_facts_stay_until_they_are_consumed_in_order(database, registry):
    registry.add_job(job(token=2))
    wake = MemoryWake()
    link = SqlRunnerLink(database, wake)
    link.claim("id-1", 2, RunHandle("first"), 10)
    for fact in (Running(1, 5.0), EpochCommitted(1)):
        link.observe(Observation("id-1", 2, fact))
    first, second = registry.take_observations()
    assert (first.fact, second.fact) == (Running(1, 5.0), EpochCommitted(1))
    registry.consume(first.id)
    assert [found.id for found in registry.take_observations()] == [second.id]
    assert wake.wakes[CONTROL] == 3
