"""A run ends within an epoch that some sinks have already: the version after it gives the epoch to the others alone."""

import dataclasses
import json
import os
import threading
from collections import Counter
from contextlib import contextmanager

import pytest

import pitstop as ps
from pitstop.control.ports.ownership import NoOtherRun
from pitstop.kit.waiting import wait_until
from pitstop.model.config import ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.outputs.file_epochs import noted
from pitstop.pipeline.sink import FilesSink
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.files import write_files
from tests.maps import map_store
from tests.spark.harness import Collected, FilesHarness, Harness, numbers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROWS, STEP, POISON = 4_000, 500, 1_700


def pipeline(folder, cast, more=None):
    p = ps.Pipeline()
    rows = numbers(p, rows=ROWS, step=STEP, keys=10)
    rows.select("seq").write_to(ps.sinks.files(folder / "plain", format="json"), name="plain")
    counted = rows.group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.select("key", "n").write_to(ps.sinks.map("sums", key="key", value="n", merge=add), name="sums")
    text = f"if(seq = {POISON}, 'none', cast(seq as string))"
    rows.select("seq", f"{cast}({text} AS bigint) AS number").write_to(
        ps.sinks.files(folder / "cast", format="json"), name="cast"
    )
    if more is not None:
        rows.group_by("key").window(ps.tumbling("1 second")).aggregate(more, n=ps.count()).write_to(
            ps.sinks.noop(), name=f"to {more}"
        )
    return p


def add(old, new):
    return (old or 0) + new


def written(folder):
    return Counter(json.loads(line).get("seq") for file in folder.glob("*.json") for line in file.open())


def expected_sums():
    """Key -> the sum of its running counts, by plain Python."""
    counts = Counter(seq * 7919 % 10 for seq in range(ROWS))
    return {str(key): n * (n + 1) // 2 for key, n in counts.items()}


def failed(harness, built):
    """Run a version until it fails, and export what it keeps."""
    running = harness.start(built, harness.folder / f"checkpoint-{harness.runs}", 2)
    assert wait_until(lambda: not running.active, 120)
    assert running.failure() is not None
    snapshot = DataFolder(harness.folder).snapshot("saved")
    export_checkpoint(running.checkpoint, snapshot, "saved", at_rest=True)
    harness.runs += 1
    return manifests.read(snapshot)


@pytest.mark.parametrize("more", [None, pytest.param("windows", marks=pytest.mark.long)], ids=["the-same-state", "another-stage"])
def test_no_row_is_missed_or_doubled_in_any_sink(spark, tmp_path, more):
    harness = Harness(spark, tmp_path, maps=map_store(tmp_path))
    saved = failed(harness, pipeline(tmp_path, "cast"))
    assert saved.unfinished["known_as"] == [[saved.lineage, saved.epoch + 1]]
    held = written(tmp_path / "plain")
    assert held[POISON] == 1, "this sink has the epoch"
    assert not written(tmp_path / "cast")[POISON]
    harness.run(pipeline(tmp_path, "try_cast", more))
    once = Counter(range(ROWS))
    assert written(tmp_path / "plain") == once
    assert written(tmp_path / "cast") == once
    assert {entry.key: json.loads(entry.value) for entry in harness.maps.entries("sums")} == expected_sums()


@pytest.mark.long
def test_a_version_that_fails_in_the_same_epoch_hands_it_on(spark, tmp_path):
    harness = Harness(spark, tmp_path, maps=map_store(tmp_path))
    first = failed(harness, pipeline(tmp_path, "cast"))
    harness.restore(pipeline(tmp_path, "cast"), tmp_path / "checkpoint-1", None, None, True)
    again = failed(harness, pipeline(tmp_path, "cast"))
    number = first.unfinished["known_as"][0][1]
    assert again.unfinished["known_as"] == [[first.lineage, number], [again.lineage, again.epoch + 1]]
    harness.run(pipeline(tmp_path, "try_cast"))
    assert written(tmp_path / "plain") == written(tmp_path / "cast") == Counter(range(ROWS))


class SlowlyFailing:
    """A sink whose epoch with the poisoned row waits until it is told to fail."""

    def __init__(self):
        self.begun, self.fails = threading.Event(), threading.Event()

    def write(self, rows, info):
        if rows.where(f"seq = {POISON}").count():
            self.begun.set()
            assert self.fails.wait(60)
            raise ValueError("no place for it")


@pytest.mark.long
def test_a_stop_while_an_epoch_fails_hands_the_epoch_on(spark, tmp_path):
    """It ends at the boundary before, as it was told, and knows that some sinks have what comes after it."""

    def version(last):
        p = ps.Pipeline()
        rows = numbers(p, rows=ROWS, step=STEP, keys=10)
        rows.select("seq").write_to(ps.sinks.custom(given), name="given")
        rows.select("seq").write_to(ps.sinks.custom(last), name="last")
        return p

    given, failing, rest = Collected(), SlowlyFailing(), Collected()
    harness = Harness(spark, tmp_path)
    running = harness.start(version(failing), tmp_path / "checkpoint-0", 2)
    assert failing.begun.wait(120)
    threading.Timer(0.2, failing.fails.set).start()
    epoch = running.stop(60)
    export_checkpoint(running.checkpoint, DataFolder(tmp_path).snapshot("saved"), "saved", at_rest=True)
    harness.runs += 1
    assert epoch + 1 in given.epochs, "this sink has the epoch that failed"
    names = []
    given.write = lambda rows, info: names.append((info.lineage, info.epoch))
    harness.run(version(rest))
    assert names[0] == ("run0", epoch + 1)
    assert Counter(row.seq for row in rest.rows) == Counter(range(STEP * (epoch + 1), ROWS))


@pytest.mark.long
def test_an_epoch_that_fails_while_its_rows_are_made_is_planned_anew(spark, tmp_path):
    """The version after it may read less at once: no file or map sink has anything of it."""

    def version(cast):
        p = ps.Pipeline()
        text = f"if(seq = {POISON}, 'none', cast(seq as string))"
        rows = numbers(p, rows=ROWS, step=STEP, keys=10).select("seq", f"{cast}({text} AS bigint) AS number")
        rows.write_to(ps.sinks.files(tmp_path / "cast", format="json"), name="cast")
        rows.write_to(ps.sinks.map("kept", key="seq", value="number"), name="kept")
        rows.write_to(ps.sinks.logger("{seq}"), name="told")
        return p

    harness = Harness(spark, tmp_path, maps=map_store(tmp_path))
    assert failed(harness, version("cast")).unfinished is None
    harness.run(version("try_cast"))
    assert written(tmp_path / "cast") == Counter(range(ROWS))


def test_an_epoch_of_files_that_is_planned_anew_reads_no_more_of_them_than_the_new_version_wants(spark, tmp_path):
    def version(cast, at_once):
        p = ps.Pipeline()
        folder = ps.sources.files(
            str(tmp_path / "in"), format="text", schema="value string", streaming=True, maxFilesPerTrigger=at_once
        )
        numbers = p.read_from(folder, name="numbers").select(f"{cast}(value AS bigint) AS seq")
        numbers.write_to(ps.sinks.files(tmp_path / "out", format="json"), name="out")
        return p

    (tmp_path / "in").mkdir()
    for number, text in enumerate(["0", "1", "2", "3", "none", "5"]):
        file = tmp_path / "in" / f"{number}.txt"
        file.write_text(text)
        os.utime(file, (1_700_000_000 + number,) * 2)
    harness = FilesHarness(spark, tmp_path)
    assert failed(harness, version("cast", 3)).unfinished is None
    harness.run(version("try_cast", 1), until=4)
    logs = tmp_path / "checkpoint-1" / "sources" / "0"
    assert {name: len((logs / name).read_text().splitlines()) - 1 for name in "0123"} == {"0": 3, "1": 1, "2": 1, "3": 1}
    assert written(tmp_path / "out") == Counter([0, 1, 2, 3, None, 5])


def test_an_epoch_that_no_sink_has_begun_to_get_is_planned_anew(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write_facts({"lineage": "L1", "sources": []})
    for epoch in (6, 7):
        (tmp_path / "offsets").mkdir(exist_ok=True)
        (tmp_path / "offsets" / str(epoch)).write_text("v1\n{}")
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / "6").write_text("v1\n{}")
    checkpoint.begin_writing(6)
    assert checkpoint.unfinished() is None
    checkpoint.begin_writing(7)
    assert checkpoint.unfinished()["known_as"] == (("L1", 7),)


class Updating(NoOtherRun):
    """Owns the job while its update 5 may be gone back from."""

    @contextmanager
    def held(self):
        yield 5


@pytest.mark.long
def test_what_is_withdrawn_of_the_version_after_it_leaves_what_the_one_before_had_written(spark, tmp_path):
    """Its epochs, and the mark that it has them, are the older version's own: it goes on from them."""

    def written_by(lineage, epoch, value, sink="a", notes=None, known_as=()):
        ownership = Updating() if notes is not None else NoOtherRun()
        environment = Environment("id", "job", lineage, ProcessingGuarantee.EXACTLY_ONCE, tmp_path, print, ownership, notes)
        run = dataclasses.replace(environment, known_as=known_as)
        rows = spark.createDataFrame([(value,)], "seq bigint")
        write_files(
            FilesSink(str(tmp_path / sink), "json", ()), rows, EpochContext("job", sink, lineage, epoch, "exactly_once", run)
        )

    for sink in "ab":
        written_by("L1", 6, 6, sink)
    written_by("L1", 7, 7, "a")
    for sink in "ab":
        written_by("L2", 2, 700, sink, tmp_path / "notes", (("L1", 7),))
    assert (written(tmp_path / "a"), written(tmp_path / "b")) == (Counter([6, 7]), Counter([6, 700]))
    assert sum(epochs.withdraw() for epochs in noted(tmp_path / "notes" / "5")) == 1
    for sink in "ab":
        written_by("L1", 7, 7, sink)
    assert written(tmp_path / "a") == written(tmp_path / "b") == Counter([6, 7])
