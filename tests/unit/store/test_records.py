"""A row that this release cannot read: it stays, it is said, and everything else goes on."""

import json

import pytest
from sqlalchemy import text

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import EngineError
from pitstop.model.job import Progress
from pitstop.model.operation import OperationState, Suspend
from pitstop.model.run import Completed, Observation, StopRun
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from tests.contract.test_registry import job
from tests.doubles.clock import ManualClock
from tests.doubles.wake import MemoryWake


@pytest.fixture
def database(tmp_path):
    return open_database(sqlite_url(tmp_path / "s.db"))


@pytest.fixture
def registry(database):
    registry = SqlRegistry(database)
    for name in ("good", "odd"):
        registry.add_job(job(f"id-{name}", name))
    return registry


def spoil(database, table, column, value, where):
    with database.write() as connection:
        connection.execute(text(f"UPDATE {table} SET {column} = :value WHERE {where}"), {"value": value})


def test_a_job_of_a_later_release_is_not_listed_and_asked_for_by_name_says_so(database, registry):
    odd = registry.find_jobs("odd")[0]
    spoil(database, "jobs", "body", json.dumps({"id": odd.id, "state": "ASCENDING"}), "name = 'odd'")
    assert [job.name for job in registry.jobs()] == ["good"]
    assert registry.unreadable_jobs() == [odd.id]
    with pytest.raises(EngineError, match=f"record of job {odd.id} cannot be read by this release"):
        registry.find_jobs("odd")
    with pytest.raises(EngineError, match="start the release that wrote it"):
        registry.get_job(odd.id)


def test_an_operation_that_cannot_be_read_is_answered_as_failed_and_the_next_one_is_taken(database, registry):
    good = registry.find_jobs("good")[0].id
    first, second = registry.add_operation(good, Suspend()), registry.add_operation(good, Suspend())
    spoil(database, "operations", "verb", "teleport", f"id = {first.id}")
    assert [operation.id for operation in registry.pending_operations()] == [second.id]
    assert [operation.id for operation in registry.open_operations(good)] == [second.id]
    spoil(database, "operations", "verb", "suspend", f"id = {first.id}")
    answered = registry.get_operation(first.id)
    assert answered.state is OperationState.FAILED
    assert "(teleport)" in answered.error.message


def test_a_fact_that_cannot_be_read_keeps_no_other_from_being_taken(database, registry):
    link = claimed(database, registry, "good")
    for _ in range(2):
        link.observe(Observation(registry.find_jobs("good")[0].id, 0, Completed()))
    spoil(database, "observations", "kind", "levitated", "id = 1")
    assert [fact.id for fact in registry.take_observations()] == [2]


def test_a_run_that_is_told_what_it_does_not_understand_is_started_again(database, registry):
    """A run of the release before, under the control plane of the next one."""
    good = registry.find_jobs("good")[0]
    link = claimed(database, registry, "good")
    registry.add_command(good.id, 0, StopRun())
    spoil(database, "commands", "kind", "levitate", "id = 1")
    with pytest.raises(EngineError, match="levitate") as raised:
        link.commands(0)
    assert raised.value.details["restartable"] is True


def claimed(database, registry, name):
    link = SqlRunnerLink(database, MemoryWake())
    link.claim(registry.find_jobs(name)[0].id, 0, RunHandle("boot/1/1"), 10.0)
    return link


def test_a_version_that_cannot_be_read_is_left_out_and_its_job_keeps_its_files(database, registry):
    good = registry.find_jobs("good")[0]
    registry.put_version(good.id, good.version, 1.0)
    assert registry.unreadable_jobs() == []
    spoil(database, "job_versions", "body", '{"number": "later"}', f"job_id = '{good.id}'")
    assert (registry.versions(good.id), registry.unreadable_jobs()) == ([], [good.id])


def test_a_sample_that_cannot_be_read_ends_no_run_and_is_overwritten(database, registry):
    clock = ManualClock()
    good = registry.find_jobs("good")[0]

    def reported(number):
        link = SqlRunnerLink(database, MemoryWake(), clock)
        link.claim(good.id, good.token, RunHandle("a handle"), 100)
        link.report(Progress(epoch=number))

    reported(1)
    spoil(database, "samples", "body", '{"at": "later"}', "step = 60")
    assert registry.samples(good.id, 60, 0) == []
    reported(2)
    assert [sample.epoch for sample in registry.samples(good.id, 60, 0)] == [2]
