"""What going back to an earlier version asks for."""

from pitstop.model.config import JobConfig
from pitstop.model.job import JobSource, Version
from pitstop.service.updates import checked_options, request_of

OPTIONS = {"partitions": 3, "requirements": ["six"], "initial_snapshot": "s", "renamed": {"a": "b"}}
VERSION = Version(1, JobSource("/a/job.py", "m:f", ("x",)), OPTIONS, JobConfig())


def test_an_earlier_version_is_asked_for_with_its_code_and_options_but_not_with_where_it_started():
    found = request_of(VERSION, {"partitions": 5, "requirements": None, "renamed": {"c": "d"}})
    assert (found.artifact_name, found.entry, found.args) == ("/a/job.py", "m:f", ("x",))
    assert checked_options(found) == {"partitions": 5, "requirements": ["six"], "renamed": {"c": "d"}}
    assert "renamed" not in checked_options(request_of(VERSION, {}))
