"""Errors of Java and Python that are raised for real in each phase of a job: the sentence names stage, file, row or setting."""

import contextlib
import gzip
import re
import subprocess
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import EngineError, UsageError, is_of_the_machine
from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots import manifest as manifests
from pitstop.spark.base.failures import explain
from pitstop.spark.base.failures import reason as of_select
from pitstop.spark.state import in_snapshot
from tests.spark.harness import Collected, Harness, numbers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

WRAPPERS = (
    "An error occurred while calling",
    "awaitResult",
    "Job aborted",
    "PythonException",
    "Python worker:",
    "Py4J",
    "Lost task",
)


def plain(message):
    assert not any(wrapper in message for wrapper in WRAPPERS), message
    return message


def failure(spark, folder, p):
    """Return the error by which a job ends."""
    running = Harness(spark, folder).start(p, folder / "checkpoint", 2)
    assert wait_until(lambda: not running.active, 120)
    error = running.failure()
    plain(error.message)
    return error


def reading(folder, file_format, sink=None):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(str(folder), format=file_format, schema="n bigint"), name="rows")
    rows.write_to(sink or ps.sinks.noop(), name="out")
    return p


def parquet(path, values=range(100_000)):
    path.parent.mkdir(exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.table({"n": list(values)}), path)
    return path


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path):
    data = bytearray(path.read_bytes())
    data[100:5000] = b"\xff" * 4900
    path.write_bytes(data)


class TestReading:
    def test_a_parquet_file_that_is_cut_in_half(self, spark, tmp_path):
        file = parquet(tmp_path / "in" / "a.parquet")
        cut(file)
        error = failure(spark, tmp_path, reading(file.parent, "parquet"))
        assert error.message.startswith("An epoch could not be read: stage 'rows' (test_causes.py:")
        assert f"the file {file} is not whole: put it back" in error.message
        assert error.details["passing"]

    def test_a_parquet_file_with_wrong_bytes(self, spark, tmp_path):
        file = parquet(tmp_path / "in" / "a.parquet")
        flipped(file)
        told = failure(spark, tmp_path, reading(file.parent, "parquet")).message
        assert f"the file {file} cannot be read (IOException: FAILED_TO_UNCOMPRESS(5)): replace it by a complete file" in told
        assert "stage 'rows'" in told

    def test_a_parquet_file_with_a_column_of_another_type(self, spark, tmp_path):
        file = parquet(tmp_path / "in" / "a.parquet", ["a", "b"])
        told = failure(spark, tmp_path, reading(file.parent, "parquet")).message
        assert "stage 'rows'" in told
        assert f"the file {file} has column 'n' as binary of parquet, which is not bigint: remove it" in told

    @pytest.mark.parametrize("case", ["cut", "plain"])
    def test_a_packed_file_that_is_broken(self, spark, tmp_path, case):
        (tmp_path / "in").mkdir()
        file, lines = tmp_path / "in" / "a.json.gz", b'{"n":1}\n' * 10_000
        file.write_bytes(lines)
        if case == "cut":
            file.write_bytes(gzip.compress(lines))
            cut(file)
        told = failure(
            spark, tmp_path, reading(file.parent, "json", ps.sinks.files(str(tmp_path / "out"), format="json"))
        ).message
        why = {"cut": "is not whole", "plain": "cannot be read (IOException: not a gzip file)"}[case]
        assert f"the file {file} {why}" in told

    def test_a_file_that_is_gone_when_it_is_to_be_read(self, spark, tmp_path):
        class Removing:
            def write(self, rows, info):
                file.unlink()
                rows.collect()

        file = tmp_path / "in" / "a.json"
        file.parent.mkdir()
        file.write_text('{"n":1}\n')
        told = failure(spark, tmp_path, reading(file.parent, "json", ps.sinks.custom(Removing()))).message
        assert f"the file {file} is not there any more" in told


class TestState:
    @pytest.mark.long
    @pytest.mark.parametrize("damage", ["gone", "cut"])
    def test_a_file_of_saved_state(self, spark, tmp_path, damage):
        harness = Harness(spark, tmp_path)
        harness.store("memory")
        p = ps.Pipeline()
        counts = numbers(p, rows=4_000, step=1_000, keys=5).group_by("key").rolling_aggregate("counted", n=ps.count())
        counts.write_to(ps.sinks.noop(), name="out")
        running = harness.start(p, tmp_path / "checkpoint", 2)
        assert wait_until(lambda: running.checkpoint.committed() >= 0 or not running.active, 120)
        running.stop(60)
        forget_state(spark)
        for file in (tmp_path / "checkpoint" / "state").rglob("[0-9]*.delta"):
            file.unlink() if damage == "gone" else file.write_bytes(b"x" * 20)
        told = failure(spark, tmp_path, p).message
        assert told.startswith("An epoch failed: the saved state of stage 'counted' cannot be read, its file ")
        assert f"{tmp_path / 'checkpoint' / 'state' / '0'}/" in told
        assert ".delta is missing or damaged" in told


def forget_state(spark):
    """Make Spark read state from its files."""
    spark._jvm.org.apache.spark.sql.execution.streaming.state.StateStore.stop()


@contextlib.contextmanager
def full_disk_for_blocks(spark):
    """Lay a disk of a few kilobytes over the folder in which Spark keeps what it shuffles; yields Spark's local folder."""
    local = Path(spark.conf.get("spark.local.dir"))
    (blocks,) = local.glob("blockmgr-*")
    parts = [part.name for part in blocks.iterdir()]
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(blocks)], capture_output=True).returncode:
        pytest.skip("no right to mount a small disk here")
    with contextlib.ExitStack() as stack:
        stack.callback(subprocess.run, ["umount", "-l", str(blocks)])
        for part in parts:  # Spark knows that it has made them
            (blocks / part).mkdir()
        yield local


class TestShuffling:
    def test_no_room_for_what_is_shuffled(self, spark, tmp_path):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path)], capture_output=True).returncode:
            pytest.skip("no right to mount a small disk here")
        with contextlib.ExitStack() as stack:
            stack.callback(subprocess.run, ["umount", "-l", str(tmp_path)])
            frame = spark.range(200_000).selectExpr("sha2(cast(id as string), 512) as text")
            with pytest.raises((PySparkException, Py4JJavaError)) as full:
                frame.repartition(3).write.parquet(str(tmp_path / "out"))
        error = explain(full.value, full.value)
        assert is_of_the_machine(error)
        assert plain(error.message).startswith("An epoch could not be written: ")
        assert "No space left on device" in error.message

    def test_no_room_for_what_a_job_shuffles(self, spark, tmp_path):
        p = ps.Pipeline()
        rows = numbers(p, rows=80_000, step=80_000, keys=40_000)
        counted = rows.group_by("key").rolling_aggregate("counted", total=ps.count())
        counted.write_to(ps.sinks.custom(Collected()), name="out")
        with full_disk_for_blocks(spark) as folder:
            error = failure(spark, tmp_path, p)
        assert is_of_the_machine(error)
        assert re.fullmatch(
            r"An epoch could not be written: the rows that Spark brings together for stage 'counted' \(test_causes.py:\d+\) find "
            rf"no room in the folder {folder} \(java.io.IOException: No space left on device\). Make room on its disk, or .*\.",
            error.message,
        )

    @pytest.mark.long
    def test_rows_that_no_task_can_send(self, spark, tmp_path):
        p = ps.Pipeline()
        lock = F.udf(lambda key: __import__("threading").Lock(), "binary")
        numbers(p, rows=10).select(lock("key").alias("lock"), name="locked").write_to(ps.sinks.custom(Collected()), name="out")
        told = failure(spark, tmp_path, p).message
        assert told.startswith("An epoch failed as sink 'out' (test_causes.py:")
        assert "AssertionError" in told


class TestWriting:
    def test_a_folder_that_cannot_be_made(self, spark, tmp_path):
        class Own:
            def write(self, rows, info):
                rows.write.json("/proc/nowhere/x")

        p = ps.Pipeline()
        numbers(p, rows=10).write_to(ps.sinks.custom(Own()), name="out")
        error = failure(spark, tmp_path, p)
        assert error.message.startswith("An epoch could not be written: sink 'out' (test_causes.py:")
        assert error.message.endswith("the folder /proc/nowhere/x cannot be made: make it, or write into another one.")
        assert error.details["restartable"]

    def test_a_value_that_is_too_long_for_a_name(self, spark, tmp_path):
        class Own:
            def write(self, rows, info):
                rows.selectExpr("seq", "repeat('x', 300) as part").write.partitionBy("part").json(str(tmp_path / "out"))

        p = ps.Pipeline()
        numbers(p, rows=10).write_to(ps.sinks.custom(Own()), name="out")
        told = failure(spark, tmp_path, p).message
        assert told.endswith(f"a name in {tmp_path / 'out'} is longer than the 255 bytes that a file's name may have.")
        assert "sink 'out'" in told


class TestCollecting:
    def test_more_rows_than_the_driver_may_collect(self, spark, tmp_path):
        conf = spark.sparkContext._jsc.sc().conf()
        before = conf.get("spark.driver.maxResultSize", "1g")
        # Spark reads this setting when a set of tasks begins.
        conf.set("spark.driver.maxResultSize", "1m")
        try:
            p = ps.Pipeline()
            texts = numbers(p, rows=20_000).with_columns(t="concat(sha2(cast(seq as string), 512), sha2(cast(v as string), 512))")
            texts.write_to(ps.sinks.custom(Collected()), name="out")
            told = failure(spark, tmp_path, p).message
        finally:
            conf.set("spark.driver.maxResultSize", before)
        assert told.startswith("An epoch failed: sink 'out' (test_causes.py:")
        assert "and spark.driver.maxResultSize allows 1024.0 KiB: write them by tasks" in told


def looked(key):
    return {"0": 1}[key]


def turned(frame):
    return frame.mapInPandas(lambda parts: (part.assign(v=part["nope"]) for part in parts), "v bigint")


class TestUserCode:
    @pytest.mark.long
    def test_a_function_of_an_expression(self, spark, tmp_path):
        p = ps.Pipeline()
        rows = numbers(p, rows=10).with_columns(k="cast(key as string)")
        rows.select(F.udf(looked, "int")("k").alias("v"), name="words").write_to(ps.sinks.custom(Collected()), name="out")
        told = failure(spark, tmp_path, p).message
        assert told.startswith("An epoch failed in stage 'words' (test_causes.py:")
        assert f"function looked (test_causes.py, line {looked.__code__.co_firstlineno + 1}): KeyError: '" in told

    @pytest.mark.long
    def test_a_function_that_turns_frames(self, spark, tmp_path):
        p = ps.Pipeline()
        numbers(p, rows=10).transform(turned, name="turned").write_to(ps.sinks.custom(Collected()), name="out")
        told = failure(spark, tmp_path, p).message
        assert told.startswith("An epoch failed in stage 'turned' (test_causes.py:")
        assert told.endswith("KeyError: 'nope'")

    @pytest.mark.long
    def test_a_sink_of_ones_own_in_processes_of_spark(self, spark, tmp_path):
        class Own:
            def write(self, rows, info):
                rows.foreach(lambda row: {}["zz"])

        p = ps.Pipeline()
        numbers(p, rows=10).write_to(ps.sinks.custom(Own()), name="out")
        told = failure(spark, tmp_path, p).message
        assert told.startswith("An epoch failed in stage 'out' (test_causes.py:")
        assert told.endswith("KeyError: 'zz'")

    def test_a_batch_in_a_notebook(self, spark, tmp_path):
        p = ps.Pipeline()
        rows = p.read_from(ps.sources.items([("a",), ("b",)], "k string"), name="rows")
        rows.select(F.udf(looked, "int")("k").alias("v"), name="words").write_to(ps.sinks.custom(Collected()), name="out")
        with pytest.raises(EngineError) as told:
            ps.run(p, spark, data_dir=tmp_path / "data")
        assert plain(told.value.message).startswith("The job failed in stage 'words' (test_causes.py:")


class TestSnapshotsAndSelect:
    @pytest.mark.long
    @pytest.mark.parametrize("case", ["no parquet", "cut", "flipped"])
    def test_a_file_that_is_imported(self, spark, tmp_path, case):
        state = saved(spark, tmp_path)
        file = tmp_path / "rows.parquet"
        in_snapshot.export(spark, state, file)
        if case == "no parquet":
            file.write_text("no parquet at all")
        elif case == "cut":
            cut(file)
        else:
            data = bytearray(file.read_bytes())
            data[4:60] = b"\xff" * 56
            file.write_bytes(data)
        with pytest.raises(UsageError) as told:
            in_snapshot.put(spark, state, file, DataFolder(tmp_path), "imported")
        assert plain(told.value.message).startswith("The file for stage 'counted' cannot be ")
        assert str(file) in told.value.message

    def test_a_statement_that_is_no_query(self, spark, tmp_path):
        state = saved(spark, tmp_path)
        for sql in ("DROP TABLE state", "CREATE TABLE t AS SELECT * FROM state", "SET spark.sql.ansi.enabled=false"):
            with pytest.raises(UsageError, match="The query on stage 'counted' is not a query: write SELECT"):
                in_snapshot.query(spark, state, sql, 10)
        with pytest.raises(UsageError, match="The query on stage 'counted' failed: Syntax error"):
            in_snapshot.query(spark, state, "SELCT 1", 10)
        assert in_snapshot.query(spark, state, "WITH a AS (SELECT * FROM state) SELECT count(*) FROM a;", 10).rows == [[5]]

    def test_what_a_select_computes(self, spark):
        with pytest.raises(PySparkException) as wrong:
            spark.range(10).select(F.udf(looked, "int")(F.col("id").cast("string"))).toArrow()
        place = f"function looked (test_causes.py, line {looked.__code__.co_firstlineno + 1})"
        assert plain(of_select(wrong.value)).startswith(f"{place}: KeyError: '")


_SAVED = {}


def saved(spark, folder):
    """Return the saved state of a stage with five keys; the first call makes it."""
    if not _SAVED:
        harness = Harness(spark, folder)
        p = ps.Pipeline()
        counts = numbers(p, rows=1_000, step=1_000, keys=5).group_by("key").rolling_aggregate("counted", n=ps.count())
        counts.write_to(ps.sinks.noop(), name="out")
        harness.run(p)
        path = folder / "snapshots" / "saved"
        _SAVED["state"] = in_snapshot.SnapshotState.open(path, manifests.read(path), "counted")
    return _SAVED["state"]


@pytest.mark.long
@pytest.mark.parametrize("metrics", [True, False])
def test_the_rows_of_a_source_count_once_however_many_branches_read_it(spark, tmp_path, metrics):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text("".join(f'{{"n":{n},"at":"2026-01-01T00:00:00Z"}}\n' for n in range(32)))
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(str(folder), format="json", schema="n bigint, at timestamp", streaming=True), name="rows")
    timed = rows.with_timestamps("at")
    for number in range(3):
        windows = timed.group_by().window(ps.tumbling("1 minute")).aggregate(f"windows{number}", n=ps.count())
        windows.write_to(ps.sinks.noop(), name=f"out{number}")
    job = ps.run(p, spark, data_dir=tmp_path / "data", metrics_enabled=metrics)
    job.wait_for_epoch(0, 120)
    job.stop()
    assert job.progress.input_rows == 32
