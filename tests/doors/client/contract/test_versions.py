"""Versions of a job, and going back to one, over every service."""

import pytest
from sqlalchemy import delete

from pitstop.errors import ConflictError, NotFoundError
from pitstop.model.job import JobState
from pitstop.service.api import SubmitRequest
from pitstop.store import schema
from tests.doors.doors import MOMENT, request, running


def test_an_earlier_version_is_gone_back_to_with_its_code_arguments_and_options(pair):
    service, state = pair
    job = running(state, options={"snapshot_interval": "3 seconds"}, args=("one",))
    newer = SubmitRequest(
        "newer.py", b"# another", args=("two",), options={"snapshot_interval": "9 seconds", "timeout": "2 hours"}
    )
    service.update(job, newer)
    found = service.versions("hello-world")
    assert [(kept.number, kept.current, kept.artifact, kept.args) for kept in found] == [
        (2, True, "newer.py", ["two"]),
        (1, False, "job.py", ["one"]),
    ]
    assert [kept.since for kept in found] == [pytest.approx(MOMENT, abs=1e-6)] * 2
    assert found[1].options == {"snapshot_interval": "3 seconds"}

    done = service.go_back(job, 1)
    assert done.version == 3
    now = service.job(job)
    assert (now.version, now.status, now.source.args) == (3, JobState.RUNNING, ("one",))
    assert (now.config.snapshot_interval_ms, now.config.timeout_ms) == (3_000, None)
    assert now.config.initial_snapshot == done.snapshot
    assert [(kept.number, kept.current) for kept in service.versions(job)] == [(3, True), (2, False), (1, False)]
    assert service.graph(job, 2).version == 2

    service.go_back(job, 2, {"timeout": "3 hours"})
    assert service.job(job).config.timeout_ms == 3 * 3_600_000


def test_what_cannot_be_gone_back_to_is_told(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(NotFoundError, match="Job 'hello-world' has no version 7: see 'pitstop versions hello-world'"):
        service.go_back(job, 7)
    with pytest.raises(ConflictError, match="Version 1 is what job 'hello-world' has now"):
        service.go_back(job, 1)
    state.update(job, request(text="# again"))
    state.cancel(job)
    with pytest.raises(NotFoundError):
        service.graph(job, 3)


def test_a_version_that_failed_gives_its_number_to_the_next_one(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(Exception, match="No such table"):
        state.update(job, request(text="# fails: No such table."))
    state.wait_for(job, (JobState.RUNNING,), 20)
    state.update(job, SubmitRequest("good.py", b"# good"))
    assert [(kept.number, kept.artifact) for kept in service.versions(job)] == [(2, "good.py"), (1, "job.py")]


def test_a_version_that_an_older_release_has_begun_is_kept_when_the_next_one_comes(pair):
    service, state = pair
    job = running(state)
    with state._database.write() as connection:
        connection.execute(delete(schema.job_versions))
    assert [kept.number for kept in service.versions(job)] == [1]
    state.update(job, SubmitRequest("newer.py", b"# newer"))
    assert [(kept.number, kept.artifact) for kept in service.versions(job)] == [(2, "newer.py"), (1, "job.py")]
    assert service.go_back(job, 1).version == 3
