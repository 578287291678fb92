"""Fails when Spark's Java starts programs while epochs run, or finds another file system for local files than ours."""

import json
import re
import stat
from pathlib import Path

import pytest

import pitstop as ps
from pitstop.spark.internals.jvm import classes
from tests.spark.harness import Harness, numbers

pytestmark = pytest.mark.spark
STORES = 4
"""Two stages, each in two partitions."""


def path_in_java(spark, path):
    return classes(spark).org.apache.hadoop.fs.Path(str(path))


@pytest.fixture
def files(spark):
    """Hadoop's file system of local files in this session."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    return path_in_java(spark, "file:///").getFileSystem(hadoop)


def test_local_files_are_served_by_our_own_file_system(files):
    assert files.getClass().getName() == "LocalFiles"


@pytest.mark.parametrize("mode", [0o000, 0o600, 0o640, 0o755, 0o777, 0o1777])
def test_permissions_are_set_as_hadoop_is_told(spark, files, tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    permission = classes(spark).org.apache.hadoop.fs.permission.FsPermission(f"{mode:03o}")
    files.setPermission(path_in_java(spark, folder), permission)
    assert stat.S_IMODE(folder.stat().st_mode) == mode


def test_what_is_made_has_the_permissions_that_the_mask_leaves(spark, files, tmp_path):
    files.mkdirs(path_in_java(spark, tmp_path / "a" / "b"))
    files.create(path_in_java(spark, tmp_path / "a" / "b" / "file")).close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file").stat().st_mode) == 0o600


def test_a_file_that_is_not_there_is_told(spark, files, tmp_path):
    permission = classes(spark).org.apache.hadoop.fs.permission.FsPermission("600")
    with pytest.raises(Exception, match="NoSuchFileException"):
        files.setPermission(path_in_java(spark, tmp_path / "nothing"), permission)


@pytest.mark.long
def test_epochs_start_no_program(spark, tmp_path):
    """Of a job with windows, a rolling aggregate and files, whose state is on disk.

    But for one that Spark's state store removes a folder with, when it saves all of its state: once in ten epochs. The session of
    a query that ended before may be collected meanwhile: its artifacts are removed in the same way.
    """
    # Stores of queries that have ended are removed when Spark next looks after its stores.
    of_others = {str(store) for store in Path(spark.conf.get("spark.local.dir")).rglob("StateStoreId*")}
    harness = Harness(spark, tmp_path)
    p = ps.Pipeline()
    rows = numbers(p, step=5_000)
    windows = rows.group_by("key").window(ps.tumbling("5 seconds")).aggregate("windows", n=ps.count())
    windows.write_to(ps.sinks.files(str(tmp_path / "windows"), format="json"), name="windows-out")
    rows.group_by("key").rolling_aggregate("so-far", n=ps.count()).write_to(ps.sinks.noop(), name="so-far-out")
    running = harness.start(p, tmp_path / "checkpoint", 2)
    harness.wait_for(running, 20_000)  # the first epochs start the Python workers
    flight = classes(spark).jdk.jfr
    recording = flight.Recording()
    recording.enable("jdk.ProcessStart")
    recording.start()
    harness.wait_for(running, 60_000)
    recording.stop()
    dump = classes(spark).java.io.File(str(tmp_path / "recording.jfr")).toPath()
    recording.dump(dump)
    recording.close()
    running.stop(60)
    started = [event.getString("command") for event in flight.consumer.RecordingFile.readAllEvents(dump)]
    removals = [command for command in started if command.startswith("rm -rf") and "/StateStoreId(" in command]
    artifacts = [command for command in started if re.match("rm -rf .*/artifacts-", command)]
    assert [command for command in started if command not in (*removals, *artifacts)] == []
    assert len([command for command in removals if command.removeprefix("rm -rf ") not in of_others]) <= 2 * STORES, (
        "eight epochs"
    )
    written = [json.loads(line) for path in (tmp_path / "windows").glob("*.json") for line in path.read_text().splitlines()]
    assert written, "windows are written meanwhile"
