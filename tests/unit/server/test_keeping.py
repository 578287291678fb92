"""Each setting of what is kept takes effect in the server itself: alone, on what was there before it started."""

import dataclasses
import time

import pytest

from pitstop.kit.waiting import wait_until
from pitstop.model.audit import AuditEntry, Door
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.model.job_event import StateChange
from pitstop.model.operation import Cancel
from pitstop.model.retention import USUAL, Retention
from pitstop.server.plane import ControlPlane
from pitstop.server.settings import Settings
from pitstop.service.history import Step
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from tests.doubles.clock import ManualClock
from tests.doubles.wake import MemoryWake

HOUR, DAY = 3600.0, 86_400.0

VERSION = Version(1, JobSource("job.py"), {}, JobConfig(), lineage="c0ffee")
CHANGE = StateChange(1.0, JobState.RUNNING, JobState.SUSPENDED, "x", False)


class Before:
    """What an earlier server with the usual settings has left."""

    def __init__(self, folder):
        self.data, self.now = DataFolder(folder), time.time()
        self.database = open_database(sqlite_url(self.data.store))
        self.registry = SqlRegistry(self.database)

    def ended(self, name, ago, state=JobState.COMPLETED, **more):
        """A job that ended so long ago, and whose state is there."""
        checkpoint = Checkpoint(self.data.job(name).checkpoint("c0ffee"))
        checkpoint.write_offsets(3, OffsetLog({"conf": {}}, ()))
        checkpoint.write_commit(3, 0)
        self.registry.add_job(Job(name, name, 0.0, VERSION, state, completion_time=self.now - ago, **more))

    def suspended(self, name, number=1):
        version = dataclasses.replace(VERSION, number=number)
        self.registry.add_job(Job(name, name, 0.0, version, JobState.SUSPENDED))

    def reported(self, name, ago):
        """A job whose run has told its progress so long ago."""
        link = SqlRunnerLink(self.database, MemoryWake(), ManualClock(self.now - ago))
        link.claim(name, 0, "a handle", HOUR)
        link.report(Progress(epoch=1))


@pytest.fixture
def before(tmp_path):
    return Before(tmp_path)


@pytest.fixture
def serving(before):
    """Start a server with these settings; its service."""
    planes = []

    def start(**keep):
        if planes:
            planes.pop().end()
        plane = ControlPlane(Settings(spares=0, keep=Retention(**keep)), before.data, before.data.root, "127.0.0.1:8701")
        planes.append(plane)
        plane.start(lambda: pytest.fail("the control loop ended"))
        return plane.service

    yield start
    for plane in planes:
        plane.end()


def becomes(look, wanted):
    wait_until(lambda: look() == wanted, 20)
    assert look() == wanted


def test_results(before, serving):
    for number in range(4):
        before.ended(f"job-{number}", number * HOUR)
    service = serving(results=2)
    becomes(lambda: {job.id for job in service.jobs(include_ended=True)}, {"job-0", "job-1"})


def test_result_time(before, serving):
    for number, days in enumerate((1, 3, 8)):
        before.ended(f"job-{number}", days * DAY)
    service = serving(result_time=2 * DAY)
    becomes(lambda: {job.id for job in service.jobs(include_ended=True)}, {"job-0"})


def test_a_longer_result_time(before, serving):
    for number, days in enumerate((8, 21)):
        before.ended(f"job-{number}", days * DAY, JobState.FAILED)
    service = serving(result_time=20 * DAY)
    becomes(lambda: {job.id: job.state_kept_until for job in service.jobs(include_ended=True)}, {"job-0": before.now + 12 * DAY})
    assert [kept.until for kept in service.kept_states()] == [before.now + 12 * DAY]


def test_cancelled_time(before, serving):
    before.ended("older", 3 * HOUR, JobState.FAILED, user_cancelled=True)
    before.ended("newer", 1 * HOUR, JobState.FAILED, user_cancelled=True)
    before.ended("failed", 3 * HOUR, JobState.FAILED)
    service = serving(cancelled_time=2 * HOUR)
    kept = {"newer": before.now + 1 * HOUR, "failed": before.now - 3 * HOUR + USUAL.result_time}
    becomes(lambda: {state.id: state.until for state in service.kept_states()}, kept)
    assert {job.id: job.state_kept_until for job in service.jobs(include_ended=True)} == {"older": None, **kept}


def test_events(before, serving):
    before.suspended("job")
    for _ in range(30):
        before.registry.add_event("job", CHANGE)
    service = serving(events=12)
    becomes(lambda: [event.sequence for event in service.job_events("job").events], list(range(19, 31)))
    service.do("job", Cancel())
    becomes(lambda: [event.sequence for event in service.job_events("job").events], list(range(20, 32)))


def test_versions(before, serving):
    before.suspended("job", number=5)
    for number in range(1, 6):
        before.registry.put_version("job", Version(number, JobSource("job.py"), {}, JobConfig()), before.now)
    service = serving(versions=2)
    becomes(lambda: [version.number for version in service.versions("job")], [5, 4])


def test_audit(before, serving):
    service = serving(audit=100)
    for _ in range(300):
        service.note_audit([AuditEntry(1.5, "operator", None, Door.OTHER, "POST", "/x", 200)])
    assert len(service.audit(limit=1000)) == 100


def test_seconds_history(before, serving):
    before.suspended("job")
    for ago in (600, 120, 10):
        before.reported("job", ago)
    service = serving(seconds_history=300)
    becomes(lambda: service.history("job", Step.SECOND).times, [int(before.now - 120), int(before.now - 10)])


def test_minutes_history(before, serving):
    before.suspended("job")
    for ago in (20 * HOUR, 5 * HOUR, HOUR):
        before.reported("job", ago)
    service = serving(minutes_history=6 * HOUR)
    becomes(lambda: service.history("job", Step.MINUTE).times, [int(before.now - ago) // 60 * 60 for ago in (5 * HOUR, HOUR)])


def test_runs_are_told_by_each_server_that_leads(before, serving):
    told = before.data.retention
    for minutes in (6 * HOUR, 7 * HOUR):
        serving(minutes_history=minutes)
        becomes(lambda: told.exists() and Retention.from_json(told.read_text()).minutes_history, minutes)


def test_the_server_shows_them(serving):
    assert {kept.name: kept.value for kept in serving(results=7).settings().keep} == USUAL.written() | {"results": "7"}


def test_a_file_that_cannot_be_written_keeps_nobody_from_leading(before, serving):
    before.data.retention.mkdir()
    before.suspended("job")
    service = serving(results=7)
    service.do("job", Cancel())
    assert service.job("job").status is JobState.FAILED
