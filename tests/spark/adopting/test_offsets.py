"""Sources of another form than the query's go on by a function of the job, whose offset their own readers try first."""

import json
from pathlib import Path

import pyarrow as pa
import pyspark.cloudpickle
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

import pitstop as ps
from pitstop.adoption.words import lines_of
from pitstop.errors import IncompatibleError
from pitstop.kit.waiting import wait_until
from pitstop.snapshots import manifest as manifests
from pitstop.spark.adopting.adopting import Request
from tests.brokers.broker import Broker
from tests.spark.adopting import test_offsets as own
from tests.spark.adopting.plain import MEMORY, adopt, adopting, content_of, run, session_of
from tests.spark.adopting.test_sources import Counted
from tests.spark.harness import Collected, Harness, Settled, check
from tests.spark.sources.test_kafka import KafkaHarness

pyspark.cloudpickle.register_pickle_by_value(own)
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


class CountedBefore(Counted):
    """The source of the query. Its name is its own: Spark refuses one that another session of the process has registered."""

    @classmethod
    def name(cls):
        return "counted_before"


class Paged(DataSource):
    """The numbers below the one in a file, by pages of four. Its offset is a page and a row in it."""

    @classmethod
    def name(cls):
        return "paged"

    def schema(self):
        return "n bigint"

    def streamReader(self, schema):
        return PagedReader(self.options["path"])


class PagedReader(DataSourceStreamReader):
    def __init__(self, path):
        self.path = path

    def initialOffset(self):
        return {"page": 0, "row": 0}

    def latestOffset(self, start=None, limit=None):
        page, row = divmod(int(Path(self.path).read_text()), 4)
        return {"page": page, "row": row}

    def partitions(self, start, end):
        first, last = start["page"] * 4 + start["row"], end["page"] * 4 + end["row"]
        if first > last:
            raise ValueError(f"there are only {last} rows")
        return [InputPartition((first, last))]

    def read(self, partition):
        yield from ((n,) for n in range(*partition.value))

    def commit(self, end):
        pass


class Shut(Paged):
    @classmethod
    def name(cls):
        return "shut"

    def streamReader(self, schema):
        raise PermissionError("the door is shut")


class SettledHarness(Harness):
    def wait_for(self, running, until):
        settled = Settled(running)
        assert wait_until(lambda: not running.active or (running.checkpoint.committed() >= until and settled()), 120, step=0.05)
        check(running)


def once(rows):
    return rows.dropDuplicates(["n"])


@pytest.fixture
def checkpoint(spark, tmp_path):
    """The checkpoint of a query that has read numbers 0 to 4 (as 0 to 4 modulo 7) of a data source in Python."""
    (tmp_path / "numbers").write_text("5")
    session = session_of(spark, MEMORY)
    session.dataSource.register(CountedBefore)
    frame = session.readStream.format("counted_before").option("path", str(tmp_path / "numbers")).load()
    old = run(once(frame), tmp_path / "checkpoint", until=lambda offset: json.loads(offset)["n"] >= 5)
    assert sorted(row.n for row in old) == [0, 1, 2, 3, 4]
    return tmp_path / "checkpoint"


def pipeline_of(source, sink, function=None, name="numbers"):
    p = ps.Pipeline()
    p.read_from(source, name=name).stateful("mine", once).write_to(ps.sinks.custom(sink), name="out")
    if function is not None:
        p.migrate_offset(ps.migrate_offset(name)(function))
    return p


def paged(tmp_path, sink, function=None):
    return pipeline_of(ps.sources.custom(Paged, schema="n bigint", path=str(tmp_path / "numbers")), sink, function)


def by_page(old):
    page, row = divmod(json.loads(old)["n"], 4)
    return {"page": page, "row": row}


@pytest.mark.long
def test_a_data_source_of_another_form_goes_on(spark, tmp_path, checkpoint):
    sink, before = Collected(), content_of(checkpoint)
    pipeline = paged(tmp_path, sink, by_page)
    (tmp_path / "numbers").write_text("11")
    adoption = adopt(spark, pipeline, checkpoint, tmp_path)
    assert content_of(checkpoint) == before
    assert lines_of(adoption)[1] == """  source 0 (custom, {"n": 5}): source 'numbers' goes on at {"page": 1, "row": 1}"""
    [offset] = manifests.read(adoption.snapshot.path).offsets["numbers"].values()
    assert json.loads(offset) == {"page": 1, "row": 1}
    assert sink.rows == []
    harness = SettledHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(pipeline, until=2)
    assert sorted(row.n for row in sink.rows) == list(range(5, 11))


@pytest.mark.long
def test_files_go_on_as_lines_that_are_appended(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, numbers in (("a.csv", range(3)), ("b.csv", range(3, 6))):
        (folder / name).write_text("".join(f"{n}\n" for n in numbers))
    session = session_of(spark, MEMORY)
    lines = session.readStream.text(str(folder)).selectExpr("cast(value as bigint) as n")
    old = run(once(lines), tmp_path / "checkpoint")
    assert sorted(row.n for row in old) == list(range(6))

    def whole_files(text):
        paths = [Path(url.removeprefix("file://")) for url in json.loads(text)["files"]]
        return json.dumps({"files": {path.name: [path.stat().st_size, ""] for path in paths}})

    sink = Collected()
    pipeline = pipeline_of(ps.sources.csv_tail(str(folder), schema="n bigint"), sink, whole_files)
    adopt(spark, pipeline, tmp_path / "checkpoint", tmp_path)
    with (folder / "a.csv").open("a") as file:
        file.write("2\n6\n")
    (folder / "c.csv").write_text("7\n")
    harness = SettledHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(pipeline, until=2)
    assert sorted(row.n for row in sink.rows) == [6, 7]


def append(table, numbers):
    write_deltalake(table, pa.table({"n": pa.array(numbers, pa.int64())}), mode="append")


@pytest.mark.long
def test_a_data_source_goes_on_as_a_table_of_delta(spark, tmp_path, checkpoint):
    table = str(tmp_path / "table")
    append(table, [0, 1, 2])
    append(table, [3, 4])

    def delta(function):
        return pipeline_of(ps.sources.delta(table, schema="n bigint"), Collected(), function)

    place = {"table": DeltaTable(table).metadata().id, "version": 2, "file": 0, "snapshot": False}
    other = place | {"table": "another"}
    said = refusal(spark, tmp_path, checkpoint, delta(lambda old: other))
    assert said.startswith(f"Function '<lambda>' returned {json.dumps(other)}: source 'numbers' cannot go on there: ")
    pipeline = delta(lambda old: place)
    adopt(spark, pipeline, checkpoint, tmp_path)
    append(table, [4, 5])
    append(table, [6])
    assert run_to_the_end(spark, tmp_path, pipeline, epochs=2) == [5, 6]


@pytest.mark.long
def test_a_data_source_goes_on_as_objects_over_http(spark, tmp_path, checkpoint, feed):
    def polled(function):
        source = ps.sources.http_poll(feed.url, schema="sequence bigint, v bigint", interval="10 ms")
        p = ps.Pipeline()
        rows = p.read_from(source, name="numbers").select(F.col("v").alias("n"))
        rows.stateful("mine", once).write_to(ps.sinks.custom(Collected()), name="out")
        p.migrate_offset(ps.migrate_offset("numbers")(function))
        return p

    feed.count = 9
    said = refusal(spark, tmp_path, checkpoint, polled(lambda old: {"page": 4}))
    assert said.startswith("""Function '<lambda>' returned {"page": 4}: source 'numbers' cannot go on there: """)
    pipeline = polled(lambda old: {"sequence": json.loads(old)["n"] - 1})
    adopt(spark, pipeline, checkpoint, tmp_path)
    feed.requests.clear()
    assert run_to_the_end(spark, tmp_path, pipeline, epochs=2) == [5, 6, 7, 8]
    assert min(feed.requests) == 4


def run_to_the_end(spark, tmp_path, pipeline, epochs):
    """Run the adopted job until it has nothing left to read; return the numbers that it wrote."""
    harness = SettledHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(pipeline, until=epochs)
    sink = next(node for node in pipeline.nodes if node.name == "out").spec.sink.writer
    return sorted(row.n for row in sink.rows)


@pytest.fixture
def broker(tmp_path):
    running = Broker(tmp_path / "kafka")
    yield running
    running.kill()


@pytest.mark.long
def test_a_data_source_goes_on_as_topics_of_kafka(spark, tmp_path, checkpoint, broker):
    broker.make("numbers", 1)
    broker.send_numbers("numbers", range(9), partitions=1)

    def kafka(function):
        source = ps.sources.kafka(broker.servers, topic="numbers", schema="n bigint", value="json")
        return pipeline_of(source, Collected(), function)

    def refused(offset):
        with pytest.raises(IncompatibleError) as caught:
            adopting(spark, kafka(lambda old: offset), checkpoint, tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}")
        return caught.value.message

    wrong = "Source 0 of the checkpoint cannot go on as source 'numbers'"
    for offset, clause in (
        ({"numbers": 5}, 'an offset of topics is {"topic": {"0": 123}}'),
        ({}, 'an offset of topics is {"topic": {"0": 123}}'),
        ({"others": {"0": 5}}, "there is no topic 'others'"),
        ({"numbers": {"0": 10}}, "numbers:0 ends at 9, and the query has read up to 10: the topic was deleted and created again"),
    ):
        assert refused(offset) == f"Function '<lambda>' returned {json.dumps(offset)}: {wrong}: {clause}."
    pipeline = kafka(lambda old: {"numbers": {"0": json.loads(old)["n"]}})
    sink = next(node for node in pipeline.nodes if node.name == "out").spec.sink.writer
    adopt(spark, pipeline, checkpoint, tmp_path)
    harness = KafkaHarness(spark, tmp_path)
    harness.runs = 1
    harness.run(pipeline, until=9)
    assert sorted(row.n for row in sink.rows) == [5, 6, 7, 8]


def refusal(spark, tmp_path, checkpoint, pipeline, request=None):
    with pytest.raises(IncompatibleError) as caught:
        adopting(spark, pipeline, checkpoint, tmp_path / f"scratch-{len(list(tmp_path.iterdir()))}", request)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_what_a_function_may_not_return_is_one_sentence(spark, tmp_path, checkpoint):
    def of(value):
        def function(old):
            return value

        return refusal(spark, tmp_path, checkpoint, paged(tmp_path, Collected(), function))

    line = PagedReader.partitions.__code__.co_firstlineno + 3
    assert of({"page": 3, "row": 1}) == (
        """Function 'function' returned {"page": 3, "row": 1}: source 'numbers' cannot go on there: function partitions """
        f"(test_offsets.py, line {line}): ValueError: there are only 5 rows."
    )
    (tmp_path / "numbers").write_text("6")
    assert of({"side": 1}) == (
        """Function 'function' returned {"side": 1}: source 'numbers' cannot go on there: function partitions """
        f"(test_offsets.py, line {line - 2}): KeyError: 'page'."
    )
    assert not any(each.name == "snapshots" for each in tmp_path.iterdir())


def test_a_source_that_cannot_be_opened_says_why(spark, tmp_path, checkpoint):
    source = ps.sources.custom(Shut, schema="n bigint", path=str(tmp_path / "numbers"))
    line = Shut.streamReader.__code__.co_firstlineno + 1
    assert refusal(spark, tmp_path, checkpoint, pipeline_of(source, Collected(), by_page)) == (
        """Function 'by_page' returned {"page": 1, "row": 1}: source 'numbers' cannot go on there: function streamReader """
        f"(test_offsets.py, line {line}): PermissionError: the door is shut."
    )


def test_a_source_of_a_map_takes_no_offset_of_a_function(spark, tmp_path, checkpoint):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.map_journal("numbers"), name="numbers").select(F.col("key").cast("bigint").alias("n"))
    rows.stateful("mine", once).write_to(ps.sinks.custom(Collected()), name="out")
    p.migrate_offset(ps.migrate_offset("numbers")(by_page))
    assert refusal(spark, tmp_path, checkpoint, p, Request({}, {0: "numbers"})) == (
        """Source 0 (custom, {"n": 5}) cannot go on as source 'numbers': it reads a map of Pitstop, """
        "in which the query's rows have no place."
    )


def test_a_source_of_files_takes_no_offset_of_a_function(spark, tmp_path, checkpoint):
    (tmp_path / "in").mkdir()
    source = ps.sources.files(str(tmp_path / "in"), "json", schema="n bigint", streaming=True)
    said = refusal(spark, tmp_path, checkpoint, pipeline_of(source, Collected(), by_page), Request({}, {0: "numbers"}))
    assert said == (
        """Source 0 (custom, {"n": 5}) cannot go on as source 'numbers': it keeps its place in a log of the files that it has """
        "read, which no function can give."
    )
