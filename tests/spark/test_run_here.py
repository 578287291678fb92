"""``ps.run`` of a function marked with ``@ps.job`` gives the rows that a server's job of the same code gives."""

import json
import re
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, UsageError

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TICKS = [(1, 0), (2, 1), (1, 2), (1, 100)]
"""Keys, and seconds at which they tick."""

FORGETS = """
import sys, pitstop as ps
p = ps.Pipeline()
rows = p.read_from(ps.sources.rate(1000), name="rows")
rows.write_to(ps.sinks.files(sys.argv[1], format="json"), name="out")
job = ps.run(p)
job.wait_for_epoch(1)
"""


def count(state, row):
    state.n = (state.n or 0) + 1
    return []


def ended(state, key, at):
    return [{"n": state.n}]


def rows_of(folder):
    files = sorted(folder.glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@ps.job
def silences(out: Path, most: int = 100) -> ps.Pipeline:
    assert isinstance(out, Path)
    p = ps.Pipeline()
    ticks = p.read_from(ps.sources.items(TICKS[:most], "id bigint, second bigint"), name="ticks")
    timed = ticks.with_columns(at="timestamp_seconds(second)").with_timestamps("at")
    ends = timed.group_by("id").map_stateful("silence", count, "n bigint", "n bigint", ttl="10 seconds", on_evict=ended)
    ends.write_to(ps.sinks.files(str(out), format="json"), name="out")
    return p


def test_at_the_end_of_all_rows_the_state_of_each_key_has_come_to_its_end(spark, tmp_path):
    with ps.run(silences, str(tmp_path / "out"), spark=spark, data_dir=tmp_path / "data") as job:
        assert not job.active
    assert sorted((row["id"], row["n"]) for row in rows_of(tmp_path / "out")) == [(1, 1), (1, 2), (2, 1)]


def test_arguments_are_converted_as_on_a_server(spark, tmp_path):
    ps.run(silences, tmp_path / "out", "2", spark=spark, data_dir=tmp_path / "data")
    assert sorted((row["id"], row["n"]) for row in rows_of(tmp_path / "out")) == [(1, 1), (2, 1)]
    with pytest.raises(UsageError, match=r"^Argument 'most' of job 'silences' takes a whole number \(int\), not 'two'.$"):
        ps.run(silences, "out", "two", spark=spark, data_dir=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def versions():
    """Two versions of a job in modules of their own: the second one keeps its count under another name, by a migration."""

    @ps.job(partitions=1, timeout="1 hour")
    def counting(folder: str):
        p = ps.Pipeline()
        rows = p.read_from(ps.sources.files(folder, format="json", schema="id bigint", streaming=True), name="in")
        counted = rows.group_by("id").map_stateful("count", count_all, "n bigint", "n bigint")
        counted.write_to(ps.sinks.map("counts", key="id", value="n"), name="counts")
        return p

    return counting


def count_all(state, row):
    state.n = (state.n or 0) + 1
    return [{"n": state.n}]


SECOND = """
import pitstop as ps
from pyspark.sql import functions as F

def count_all(state, row):
    state.total = (state.total or "0")
    state.total = str(int(state.total) + 1)
    return [{"total": state.total}]

@ps.job(partitions=1)
def counting(folder: str):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(folder, format="json", schema="id bigint", streaming=True), name="in")
    counted = rows.group_by("id").map_stateful("count", count_all, "total string", "total string")
    counted.write_to(ps.sinks.map("totals", key="id", value="total"), name="totals")
    return p

@ps.migrate("count")
def as_text(old):
    return old.select("id", F.col("n").cast("string").alias("total"), "last_event")
"""


@pytest.mark.long
def test_options_of_the_code_and_the_migrations_beside_it_are_taken(spark, tmp_path):
    inside, data = tmp_path / "in", tmp_path / "data"
    inside.mkdir()
    (inside / "1.json").write_text('{"id": 1}\n{"id": 1}\n{"id": 2}\n')
    with ps.run(versions(), str(inside), spark=spark, data_dir=data) as job:
        job.wait_for_epoch(0, 120)
        assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
        job.cancel_and_export_snapshot("saved")
        assert not job.active
    module = {"__name__": "second"}
    exec(SECOND, module)
    (inside / "2.json").write_text('{"id": 1}\n')
    with ps.run(module["counting"], str(inside), spark=spark, data_dir=data, initial_snapshot="saved") as job:
        while not (entries := list(job.maps.entries("totals"))):
            assert job.active
    assert [(entry.key, json.loads(entry.value)) for entry in entries] == [("1", "3")]
    assert not job.active


def test_a_job_that_cannot_be_built_is_told(spark, tmp_path):
    @ps.job
    def nothing():
        return None

    with pytest.raises(PipelineError, match="'nothing' returned NoneType"):
        ps.run(nothing, spark=spark, data_dir=tmp_path)
    with pytest.raises(UsageError, match=r"ps.run takes no arguments beside a pipeline: \['x'\]"):
        ps.run(ps.Pipeline(), "x", spark=spark, data_dir=tmp_path)
    with pytest.raises(UsageError, match=r"ps.run takes a function marked with @ps.job.*: mark it with @ps.job: versions"):
        ps.run(versions, spark=spark, data_dir=tmp_path)


def test_a_wrong_column_is_told_in_one_sentence_and_without_a_trace_of_spark(spark, capfd):
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(5), name="ticks").select("nn", name="chosen").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError) as error:
        ps.run(p, spark)
    shown = "".join(traceback.format_exception(error.value))
    assert "Stage 'chosen' (test_run_here.py:" in shown
    assert "Py4J" not in shown
    assert "AnalysisException" in error.value.details["trace"]
    assert capfd.readouterr().err == ""


def test_an_error_of_the_users_own_function_has_its_own_trace(spark):
    def wrong(frame):
        return frame.select({}["missing"])

    p = ps.Pipeline()
    p.read_from(ps.sources.rate(5), name="ticks").transform(wrong, name="chosen").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match="failed in its own function: KeyError: 'missing'") as error:
        ps.run(p, spark)
    assert isinstance(error.value.__cause__, KeyError)
    assert 'select({}["missing"])' in "".join(traceback.format_exception(error.value))


@pytest.mark.long
def test_a_job_that_its_program_does_not_end_ends_with_it_between_two_epochs(tmp_path):
    script = tmp_path / "forgets.py"
    script.write_text(FORGETS)
    program = subprocess.run([sys.executable, script, tmp_path / "out"], capture_output=True, text=True, timeout=300)
    assert program.returncode == 0, program.stderr
    assert not re.search(r"Fatal|Traceback|Exception|^\tat ", program.stdout + program.stderr, re.MULTILINE)
    assert rows_of(tmp_path / "out")
