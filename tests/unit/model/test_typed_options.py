"""Options as type checkers know them are those that there are."""

from typing import get_type_hints

import pitstop as ps
from pitstop.local.version import OF_A_SERVER
from pitstop.model.config import OPTIONS
from pitstop.model.typed_options import CodeOptions, JobOptions, RunOptions

NAMES = {name: option.name for option in OPTIONS for name in option.readers}
"""Each name under which an option may be written -> its own name."""


def test_a_job_may_be_submitted_with_every_option():
    assert set(JobOptions.__annotations__) == set(NAMES)


def test_code_asks_for_what_only_its_submission_may_say_in_no_option():
    refused = set()
    for name in NAMES:
        try:
            ps.job(**{name: {"requirements": ["six"], "allow_drop": True, "seek": "orders=latest"}.get(name)})(ps.Pipeline)
        except ps.PitstopError:
            refused.add(name)
    assert refused == set(NAMES) - set(CodeOptions.__annotations__) == {"requirements", "allow_drop", "seek"}


def test_a_run_in_this_process_has_no_option_that_only_a_server_carries_out():
    of_arguments = {"spark", "initial_snapshot"}  # of the same names as parameters of ps.run
    assert {NAMES[name] for name in RunOptions.__annotations__} == set(NAMES.values()) - set(OF_A_SERVER) - of_arguments


def test_the_types_can_be_read():
    assert get_type_hints(JobOptions)["partitions"] == int | None


def test_users_see_what_they_call():
    assert dir(ps) == sorted(ps.__all__)
    assert {"run", "connect", "job"} <= set(dir(ps))
    sources = ["csv_tail", "custom", "delta", "files", "http_poll", "iceberg", "items", "kafka", "map_entries", "map_journal"]
    assert dir(ps.sources) == [*sources, "postgres", "rate", "spark"]
    sinks = [
        "EpochInfo",
        "SinkWriter",
        "custom",
        "delta",
        "files",
        "iceberg",
        "kafka",
        "logger",
        "map",
        "noop",
        "postgres",
        "spark",
    ]
    assert dir(ps.sinks) == sinks
