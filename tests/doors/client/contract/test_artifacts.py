"""The files of jobs that are kept, over every service."""

import hashlib
import time

import pytest

from pitstop.client import Client
from pitstop.model.operation import Cancel
from pitstop.service.api import SubmitRequest
from pitstop.service.kept_artifacts import ArtifactUse
from tests.doors.doors import running


def test_each_file_is_told_with_the_versions_that_use_it(pair):
    service, state = pair
    job = running(state)
    state.update(job, SubmitRequest("newer.py", b"# newer"))
    again = running(state, "again")
    found = Client(service).artifacts()
    assert [(artifact.name, artifact.sha256, artifact.bytes) for artifact in found] == [
        ("job.py", hashlib.sha256(b"").hexdigest(), 0),
        ("newer.py", hashlib.sha256(b"# newer").hexdigest(), 7),
    ]
    first, second = found
    assert {(use.job, use.version, use.current) for use in first.used_by} == {(job, 1, False), (again, 1, True)}
    assert second.used_by == [ArtifactUse(job, "hello-world", 2, True)]
    assert second.path == service.job(job).source.artifact
    assert second.stored == pytest.approx(time.time(), abs=60)


def test_an_ended_job_uses_its_file_as_long_as_it_is_remembered(pair):
    service, state = pair
    job = running(state)
    state.do(job, Cancel())
    assert service.artifacts()[0].used_by == [ArtifactUse(job, "hello-world", 1, True)]
    state.registry.delete_ended(0, 0.0)
    assert service.artifacts()[0].used_by == []
