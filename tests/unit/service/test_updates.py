"""What going back to an earlier version asks for."""

import pytest

from pitstop.control.scaling import as_update
from pitstop.errors import UsageError
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import Rescale
from pitstop.service.api import SubmitRequest
from pitstop.service.updates import checked_options, options_after, request_of

OPTIONS = {"partitions": 3, "requirements": ["six"], "initial_snapshot": "s", "renamed": {"a": "b"}, "allow_drop": ["*"]}
SEEK = {"seek": {"orders": "earliest"}}
VERSION = Version(1, JobSource("/a/job.py", "m:f", ("x",)), OPTIONS, JobConfig())


def test_an_earlier_version_is_asked_for_with_its_code_and_options_but_not_with_where_it_started():
    found = request_of(VERSION, {"partitions": 5, "requirements": None, "renamed": {"c": "d"}})
    assert (found.artifact_name, found.entry, found.args) == ("/a/job.py", "m:f", ("x",))
    assert checked_options(found) == {"partitions": 5, "requirements": ["six"], "renamed": {"c": "d"}}
    assert "renamed" not in checked_options(request_of(VERSION, {}))


def test_what_one_version_was_allowed_to_drop_the_next_one_is_not():
    job = Job("id", "job", 0.0, VERSION, JobState.RUNNING)
    assert options_after(job, SubmitRequest("job.py")) == {"partitions": 3, "requirements": ["six"], "initial_snapshot": "s"}
    assert options_after(job, SubmitRequest("job.py", options={"allow_drop": "speed"}))["allow_drop"] == ["speed"]
    assert "allow_drop" not in checked_options(request_of(VERSION, {}))
    assert "allow_drop" not in as_update(job, Rescale("s")).options


def test_a_source_is_put_to_another_place_by_one_start_alone():
    version = Version(1, JobSource("/a/job.py", "m:f", ("x",)), OPTIONS | SEEK, JobConfig(), lineage="it has begun")
    job = Job("id", "job", 0.0, version, JobState.RUNNING)
    assert "seek" not in options_after(job, SubmitRequest("job.py"))
    assert options_after(job, SubmitRequest("job.py", options={"seek": "a=latest"}))["seek"] == {"a": "latest"}
    assert "seek" not in checked_options(request_of(version, {}))
    assert "seek" not in as_update(job, Rescale("s")).options


def test_a_place_that_a_source_is_yet_to_be_put_to_is_not_forgotten_by_another_update():
    version = Version(2, JobSource("/a/job.py"), OPTIONS | SEEK, JobConfig())
    job = Job("id", "job", 0.0, version, JobState.SUSPENDED)
    with pytest.raises(
        UsageError, match=r"Version 2 of job 'job' has not started yet, and is to begin at orders=earliest: give --seek"
    ):
        options_after(job, SubmitRequest("job.py"))
    assert options_after(job, SubmitRequest("job.py", options={"seek": "orders=latest"}))["seek"] == {"orders": "latest"}
