"""Errors of a check that need no Spark: they are told before a session is there, which an engine that starts has not yet."""

import pytest

from pitstop.errors import PitstopError, UsageError
from pitstop.model.job import JobSource
from pitstop.model.process_folders import WorkerFolder
from pitstop.model.task import Compile
from pitstop.runner.prepared import compiled_for_check

JOB = """
import pitstop as ps
{more}

@ps.job({options})
def cars(folder: str) -> ps.Pipeline:
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="vin string, speed double, time timestamp"), name="rows")
    {line}
    return p
"""


class SessionIsStarted(Exception):
    """A session is asked for."""


def session():
    raise SessionIsStarted


@pytest.fixture
def check(tmp_path):
    def run(line="rows.write_to(ps.sinks.noop(), name='out')", args=("/in",), more="", options="", run_options=None):
        (tmp_path / "job.py").write_text(JOB.format(line=line, more=more, options=options))
        source = JobSource(str(tmp_path / "job.py"), args=list(args))
        return compiled_for_check(session, Compile(source, run_options or {}), WorkerFolder(tmp_path / "worker"))

    return run


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("rows.writeto(1)", "'Stage' object has no attribute 'writeto'"),
        ("rows.write_to(ps.sinks.map('m'))", "missing 1 required positional argument: 'key'"),
        ("rows.with_timestamps('time').group_by('vin').window(ps.tumbling('1 parsec'))", "parsec"),
        ("[rows.group_by('vin').rolling_aggregate('w', n=ps.count()) for _ in 'ab']", "'w'"),
        ("[rows.write_to(ps.sinks.noop(), name='out') for _ in 'ab']", "'out'"),
        ("ps.sources.csv_tail('s3a://bucket/in', schema='n int')", "s3a://bucket/in"),
        ("raise ValueError('no such day')", "ValueError: no such day (job.py, line 9)"),
    ],
)
def test_mistakes_in_code_are_told_without_a_session(check, line, sentence):
    with pytest.raises(PitstopError, match=r"\w") as error:
        check(line)
    assert sentence in error.value.message


def test_wrong_arguments_and_options_are_told_without_a_session(check):
    with pytest.raises(UsageError, match="it takes \\(folder\\), got 2"):
        check(args=("/in", "/out"))
    with pytest.raises(PitstopError, match="partitions"):
        check(options="partitions='many'")
    with pytest.raises(UsageError, match="snapshot_interval"):
        check(run_options={"snapshot_interval": "1 parsec"})


def test_a_sound_job_and_one_that_uses_spark_get_a_session(check):
    with pytest.raises(SessionIsStarted):
        check()
    with pytest.raises(SessionIsStarted):
        check("rows.writeto(1)", more="from pyspark.sql import functions as F")
