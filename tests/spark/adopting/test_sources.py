"""Sources of other kinds than files, and what is refused: the old checkpoint stays as it is, and nothing is left behind."""

import json
import shutil
from datetime import datetime
from pathlib import Path

import fsspec
import pyspark.cloudpickle
import pytest
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

import pitstop as ps
from pitstop.errors import ConflictError, IncompatibleError, SnapshotError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.snapshots import manifest as manifests
from pitstop.spark.adopting.adopting import Request
from pitstop.spark.internals.kafka_reader import kafka_feed
from tests.brokers.broker import Broker
from tests.spark.adopting import test_sources as own
from tests.spark.adopting.plain import MEMORY, adopt, adopting, content_of, run, session_of
from tests.spark.harness import Collected, FilesHarness, Harness, check
from tests.spark.sources.test_kafka import KafkaHarness

pyspark.cloudpickle.register_pickle_by_value(own)
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SCHEMA = "n bigint, at timestamp"


@pytest.fixture
def broker(tmp_path):
    running = Broker(tmp_path / "kafka")
    yield running
    running.kill()


def put(folder, *numbers):
    folder.mkdir(exist_ok=True)
    path = folder / f"{numbers[0]}.json"
    rows = ({"n": n, "at": datetime.fromtimestamp(1_767_225_600 + n).isoformat()} for n in numbers)
    path.with_name(f".{path.name}").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path.with_name(f".{path.name}").rename(path)


def once(rows):
    return rows.dropDuplicates(["n"])


def plain(session, folder):
    return session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def job_of(folder, sink, function=once, name="mine", files="numbers"):
    p = ps.Pipeline()
    source = ps.sources.files(str(folder), "json", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    rows = p.read_from(source, name=files)
    rows.stateful(name, function).write_to(ps.sinks.custom(sink), name="out")
    return p


@pytest.fixture
def checkpoint(spark, tmp_path):
    """The checkpoint of a query that has read numbers 0 to 9 in two files."""
    put(tmp_path / "in", *range(5))
    put(tmp_path / "in", *range(5, 10))
    run(once(plain(session_of(spark, MEMORY), tmp_path / "in")), tmp_path / "checkpoint")
    return tmp_path / "checkpoint"


def goes_on(spark, tmp_path, pipeline, sink):
    harness = FilesHarness(spark, tmp_path)
    harness.runs = 1
    put(tmp_path / "in", 9, *range(10, 15))
    harness.run(pipeline, until=3)
    assert sorted(row.n for row in sink.rows) == list(range(10, 15))


@pytest.mark.long
def test_topics_of_kafka_go_on_with_their_ids(spark, tmp_path, broker):
    broker.make("numbers")
    broker.send_numbers("numbers", range(100))
    kafka_feed(spark)
    session = session_of(spark, MEMORY)
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", broker.servers)
    values = (
        reader.option("subscribe", "numbers").option("startingOffsets", "earliest").load().selectExpr("cast(value as string)")
    )
    run(values.dropDuplicates(["value"]), tmp_path / "checkpoint")
    sink, p = Collected(), ps.Pipeline()
    rows = p.read_from(ps.sources.kafka(broker.servers, topic="numbers", value="text"), name="numbers")
    rows.stateful("mine", lambda f: f.dropDuplicates(["value"])).write_to(ps.sinks.custom(sink), name="out")

    adoption = adopt(spark, p, tmp_path / "checkpoint", tmp_path)

    assert (adoption.sources[0].kind, adoption.sources[0].source) == ("kafka", "numbers")
    [offset] = manifests.read(adoption.snapshot.path).offsets["numbers"].values()
    assert json.loads(offset)["at"] == {"numbers": {"0": 50, "1": 50}}
    assert json.loads(offset)["ids"].keys() == {"numbers"}
    broker.send_numbers("numbers", range(95, 130))
    harness = KafkaHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(p, until=135)
    assert sorted(int(json.loads(row.value)["n"]) for row in sink.rows) == list(range(100, 130))


@pytest.mark.long
def test_a_topic_that_was_created_again_is_refused(spark, tmp_path, broker):
    broker.make("numbers")
    broker.send_numbers("numbers", range(10))
    kafka_feed(spark)
    session = session_of(spark, MEMORY)
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", broker.servers)
    run(reader.option("subscribe", "numbers").option("startingOffsets", "earliest").load(), tmp_path / "checkpoint")
    broker.delete("numbers")
    broker.make("numbers")
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.kafka(broker.servers, topic="numbers", value="text"), name="numbers")
    rows.write_to(ps.sinks.custom(Collected()), name="out")
    with pytest.raises(IncompatibleError) as caught:
        adopt(spark, p, tmp_path / "checkpoint", tmp_path)
    assert caught.value.message == (
        "Source 0 of the checkpoint cannot go on as source 'numbers': numbers:0 ends at 0, and the query has read up to 5: the "
        "topic was deleted and created again."
    )


@pytest.mark.long
def test_files_go_on_as_a_format_of_spark(spark, tmp_path, checkpoint):
    sink, p = Collected(), ps.Pipeline()
    source = ps.sources.spark("json", schema=SCHEMA, path=str(tmp_path / "in"), maxFilesPerTrigger=1)
    p.read_from(source, name="numbers").stateful("mine", once).write_to(ps.sinks.custom(sink), name="out")
    adopt(spark, p, checkpoint, tmp_path)
    goes_on(spark, tmp_path, p, sink)


class Counted(DataSource):
    """Numbers below the one in a file, three in an epoch."""

    @classmethod
    def name(cls):
        return "counted"

    def schema(self):
        return "n bigint"

    def streamReader(self, schema):
        return CountedReader(self.options["path"])


class CountedReader(DataSourceStreamReader):
    def __init__(self, path):
        self.path, self.at = path, 0

    def initialOffset(self):
        return {"n": 0}

    def latestOffset(self, start=None, limit=None):
        first = self.at if start is None else start["n"]
        self.at = min(int(Path(self.path).read_text()), first + 3)
        return {"n": self.at}

    def partitions(self, start, end):
        self.at = max(self.at, end["n"])
        return [InputPartition((start["n"], end["n"]))]

    def read(self, partition):
        yield from ((n % 7,) for n in range(*partition.value))

    def commit(self, end):
        pass


@pytest.mark.long
def test_state_goes_on_in_another_number_of_partitions(spark, tmp_path, checkpoint):
    sink = Collected()
    pipeline = job_of(tmp_path / "in", sink)
    adoption = adopt(spark, pipeline, checkpoint, tmp_path, partitions=3)
    assert (adoption.partitions, manifests.read(adoption.snapshot.path).partitions) == (3, 3)
    goes_on(spark, tmp_path, pipeline, sink)


@pytest.mark.long
def test_a_data_source_in_python_goes_on(spark, tmp_path):
    (tmp_path / "numbers").write_text("5")
    session = session_of(spark, MEMORY)
    session.dataSource.register(Counted)
    frame = session.readStream.format("counted").option("path", str(tmp_path / "numbers")).load()
    old = run(once(frame), tmp_path / "checkpoint", until=lambda offset: json.loads(offset)["n"] >= 5)
    sink, p = Collected(), ps.Pipeline()
    source = ps.sources.custom(Counted, schema="n bigint", path=str(tmp_path / "numbers"))
    p.read_from(source, name="numbers").stateful("mine", once).write_to(ps.sinks.custom(sink), name="out")
    adoption = adopt(spark, p, tmp_path / "checkpoint", tmp_path)
    assert (adoption.sources[0].kind, adoption.sources[0].source) == ("custom", "numbers")
    (tmp_path / "numbers").write_text("12")
    harness = CountedHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(p, until=12)
    assert [sorted(row.n for row in rows) for rows in (old, sink.rows)] == [[0, 1, 2, 3, 4], [5, 6]]


class CountedHarness(Harness):
    def wait_for(self, running, until):
        def read():
            epoch = running.checkpoint.committed()
            offsets = running.checkpoint.offsets(epoch).offsets if epoch >= 0 else [None]
            return not running.active or all(offset and json.loads(offset)["n"] >= until for offset in offsets)

        assert wait_until(read, self.read_seconds, step=0.05)
        check(running)


@pytest.mark.long
def test_a_query_without_state_goes_on(spark, tmp_path):
    put(tmp_path / "in", *range(5))
    old = run(plain(session_of(spark, MEMORY), tmp_path / "in"), tmp_path / "checkpoint")
    sink, p = Collected(), ps.Pipeline()
    source = ps.sources.files(str(tmp_path / "in"), "json", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
    p.read_from(source, name="numbers").write_to(ps.sinks.custom(sink), name="out")
    adoption = adopt(spark, p, tmp_path / "checkpoint", tmp_path)
    assert (adoption.operators, adoption.begins_empty) == ([], [])
    put(tmp_path / "in", *range(5, 10))
    harness = FilesHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(p, until=2)
    assert sorted([row.n for row in old] + [row.n for row in sink.rows]) == list(range(10))


@pytest.mark.long
def test_a_checkpoint_in_an_object_store_goes_on(spark, tmp_path, checkpoint):
    store = fsspec.filesystem("memory")
    store.put(str(checkpoint), "/adopted", recursive=True)
    shutil.rmtree(checkpoint)
    sink = Collected()
    pipeline = job_of(tmp_path / "in", sink)
    try:
        adoption = adopt(spark, pipeline, "memory://adopted", tmp_path)
    finally:
        store.rm("/adopted", recursive=True)
    assert [operator.rows for operator in adoption.operators] == [10]
    goes_on(spark, tmp_path, pipeline, sink)


@pytest.mark.long
def test_an_epoch_that_was_not_committed_is_read_again(spark, tmp_path):
    for numbers in (range(5), range(5, 10)):
        put(tmp_path / "in", *numbers)
    old = run(once(plain(session_of(spark, MEMORY), tmp_path / "in")), tmp_path / "checkpoint", fails_at=1)
    assert len(old) == 5
    sink = Collected()
    pipeline = job_of(tmp_path / "in", sink)
    adoption = adopt(spark, pipeline, tmp_path / "checkpoint", tmp_path)
    assert (adoption.epoch, adoption.sources[0].place[:12]) == (0, "1 file read,")
    assert adoption.warnings == [
        "Epoch 1 was planned and not committed: it is left out, and the job reads its rows again. The old sink may have some or "
        "all of what epoch 1 wrote: remove that there, or these rows are there twice."
    ]
    harness = FilesHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(pipeline, until=2)
    assert sorted([row.n for row in old] + [row.n for row in sink.rows]) == list(range(10))


def test_a_plan_writes_nothing_beside_its_scratch(spark, tmp_path, checkpoint):
    before = content_of(checkpoint)
    plan = adopting(spark, job_of(tmp_path / "in", Collected()), checkpoint, tmp_path / "scratch").plan()
    assert plan.snapshot is None
    assert [(each.number, each.stage, each.rows) for each in plan.operators] == [(0, "mine", None)]
    assert content_of(checkpoint) == before
    assert {path.name for path in tmp_path.iterdir()} <= {"in", "checkpoint", "scratch", "agreements"}


def test_a_query_that_goes_on_meanwhile_is_refused(spark, tmp_path, checkpoint):
    under_way = adopting(spark, job_of(tmp_path / "in", Collected()), checkpoint, tmp_path / "scratch")
    put(tmp_path / "in", 10, 11)
    run(once(plain(session_of(spark, MEMORY), tmp_path / "in")), checkpoint)
    with pytest.raises(ConflictError, match="is running: it has gone on to epoch 2"):
        under_way.export(tmp_path / "snapshots" / "saved", "saved")
    assert not (tmp_path / "snapshots").exists()


def refused(spark, pipeline, checkpoint, folder, error=IncompatibleError, request=None):
    before = content_of(checkpoint)
    with pytest.raises(error) as caught:
        adopt(spark, pipeline, checkpoint, folder, request)
    assert "\n" not in caught.value.message
    assert content_of(checkpoint) == before
    assert not (folder / "snapshots").exists()
    return caught.value.message


def test_what_does_not_fit_is_refused_with_the_way_out(spark, tmp_path, checkpoint):
    def two_keys(rows):
        return rows.dropDuplicates(["n", "at"])

    folder = tmp_path / "in"
    assert refused(spark, job_of(folder, Collected(), two_keys), checkpoint, tmp_path) == (
        "Operator 0 (dropDuplicates by n) does not fit stage 'mine': its key is (n bigint), and that of the stage (n bigint, at "
        "timestamp). Bring the query's code as it is, without columns that it does not use, and change it after the "
        "adoption."
    )
    shutil.rmtree(tmp_path / "scratch")
    put(tmp_path / "elsewhere", 1)
    assert "is not in file:" in refused(spark, job_of(tmp_path / "elsewhere", Collected()), checkpoint, tmp_path)
    request = Request({3: "mine"})
    assert "has no operator 3" in refused(spark, job_of(folder, Collected()), checkpoint, tmp_path, request=request)


def test_a_damaged_checkpoint_is_refused(spark, tmp_path, checkpoint):
    (checkpoint / "state" / "0" / "1" / "2.delta").unlink()
    said = refused(spark, job_of(tmp_path / "in", Collected()), checkpoint, tmp_path, SnapshotError)
    assert said.startswith(f"Checkpoint {checkpoint} is damaged: ")
    assert said.endswith("Nothing was adopted: pitstop doctor says what to do.")


def test_a_folder_that_is_no_checkpoint_is_refused(spark, tmp_path):
    put(tmp_path / "in", 1)
    with pytest.raises(UsageError, match="is not a checkpoint"):
        adopt(spark, job_of(tmp_path / "in", Collected()), tmp_path / "in", tmp_path)
