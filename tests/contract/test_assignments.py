"""What a store promises of the runs that members are given."""

import dataclasses

import pytest

from pitstop.control.ports.assignments import AssignmentState
from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.store.assignments import LOST_SECONDS, SqlAssignments
from pitstop.store.database import open_database
from pitstop.store.registry import SqlRegistry
from tests.contract.stores import DATABASES
from tests.doubles.clock import ManualClock


class Store:
    def __init__(self, url):
        self.clock = ManualClock()
        self.database = open_database(url)
        self.registry = SqlRegistry(self.database, self.clock)
        self.assignments = SqlAssignments(self.database, self.clock)

    def job(self, job_id, token=1):
        job = Job(job_id, job_id, 1.0, Version(1, JobSource("job.py"), {}, JobConfig()), JobState.STARTING, token=token)
        self.registry.add_job(job)
        return job


@pytest.fixture(params=DATABASES)
def store(request, tmp_path):
    made = Store(DATABASES[request.param](tmp_path))
    yield made
    made.database.close()


def test_a_member_finds_the_runs_that_it_was_given(store):
    for name in ("a", "b"):
        store.job(name)
    store.assignments.assign(RunSpec("a", 1, None, "käse"), "member-1")
    store.assignments.assign(RunSpec("b", 1), "member-2")
    assert store.assignments.runs_of("member-1") == [(RunSpec("a", 1, None, "käse"), AssignmentState.ASKED)]
    assert store.assignments.of_run("a", 1) == ("member-1", AssignmentState.ASKED)
    assert store.assignments.of_run("a", 2) is None
    store.assignments.tell("a", 1, AssignmentState.BEGUN)
    assert store.assignments.runs_of("member-1") == [(RunSpec("a", 1, None, "käse"), AssignmentState.BEGUN)]
    assert store.assignments.load() == {"member-1": 1, "member-2": 1}


def test_only_the_run_that_a_job_has_is_anybodys(store):
    job = store.job("a")
    store.assignments.assign(RunSpec("a", 1), "member-1")
    store.registry.save_job(dataclasses.replace(job, token=2))
    assert (store.assignments.runs_of("member-1"), store.assignments.load()) == ([], {})
    store.assignments.assign(RunSpec("a", 2), "member-2")
    store.assignments.tell("a", 1, AssignmentState.FAILED)
    assert store.assignments.runs_of("member-2") == [(RunSpec("a", 2), AssignmentState.ASKED)]
    store.registry.save_job(dataclasses.replace(job, token=2, state=JobState.COMPLETED))
    assert store.assignments.runs_of("member-2") == []


def test_who_is_late_takes_no_later_run_from_its_member(store):
    store.job("a", token=2)
    store.assignments.assign(RunSpec("a", 2), "member-2")
    store.assignments.assign(RunSpec("a", 1), "member-1")
    assert store.assignments.runs_of("member-2") == [(RunSpec("a", 2), AssignmentState.ASKED)]
    assert store.assignments.runs_of("member-1") == []


def test_what_is_to_be_killed_is_so_until_somebody_has_done_it_or_for_a_day(store):
    first, second = RunHandle("a process"), RunHandle("another one")
    for _ in range(2):
        store.assignments.ask_to_kill(first)
    assert store.assignments.to_kill() == [first]
    store.assignments.killed(first)
    assert store.assignments.to_kill() == []
    store.assignments.ask_to_kill(first)
    store.clock.advance(LOST_SECONDS + 1)
    store.assignments.ask_to_kill(second)
    assert store.assignments.to_kill() == [second]
