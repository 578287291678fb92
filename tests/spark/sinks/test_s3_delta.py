"""Delta tables in S3: each epoch once whatever breaks, read on from any place, and a store that is told with its bucket."""

import dataclasses

import pytest
from deltalake import DeltaTable

import pitstop as ps
from pitstop.errors import EngineError, PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.machine import named_secrets
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.looking import findings
from pitstop.spark.sinks import EpochContext, delta
from pitstop.spark.sinks.delta import check_columns, write_delta
from tests.spark.harness import Collected, Harness, check

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]
SCHEMA = "n bigint, part string"


@pytest.fixture(scope="module")
def store(object_store):
    for bucket in ("tables", "others"):
        object_store.make(bucket)
    object_store.key = object_store.user("ann", "tables")
    object_store.ask_for_keys(*object_store.key)
    return object_store


@pytest.fixture(autouse=True)
def secrets(request, monkeypatch):
    monkeypatch.setattr(named_secrets, "_values", {})
    key, secret = request.getfixturevalue("store").key
    monkeypatch.setenv("PITSTOP_SECRET_S3_KEY", key)
    monkeypatch.setenv("PITSTOP_SECRET_S3_SECRET", secret)
    folder = request.getfixturevalue("reader_secrets")
    (folder / "S3_KEY").write_text(key)
    (folder / "S3_SECRET").write_text(secret)


@pytest.fixture
def write(spark, tmp_path, store):
    """Write numbers as an epoch of a run, as the engine does."""

    def written(table, numbers, epoch=0, token=1, digest="a1" * 32, checked=True, **sink):
        frame = spark.createDataFrame([(n, "ab"[n % 2]) for n in numbers], SCHEMA)
        run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None)
        run = dataclasses.replace(run, fence=Fence("job-1", token))
        described = ps.sinks.delta(f"s3a://{table}", store=store.reached(), **sink)
        assert not checked or check_columns(described, frame) is None
        return write_delta(described, frame, EpochContext("job", "sink", "l", epoch, "exactly_once", run, digest))

    return written


def rows_in(store, table):
    key, secret = store.key
    options = {"AWS_ENDPOINT_URL": store.direct, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    options |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    return DeltaTable(f"s3://{table}", storage_options=options).to_pyarrow_table().to_pylist()


def numbers_in(store, table):
    return sorted(row["n"] for row in rows_in(store, table))


def test_an_epoch_that_is_written_again_adds_nothing(store, write):
    assert write("tables/again", range(6), epoch=0) == 6
    assert write("tables/again", range(6), epoch=0, token=2) == 0
    assert write("tables/again", range(6, 9), epoch=1, token=2) == 3
    assert numbers_in(store, "tables/again") == list(range(9))


def test_partitions_become_folders_of_the_bucket(store, write):
    assert write("tables/parts", range(4), partition_by="part") == 4
    assert sorted((row["n"], row["part"]) for row in rows_in(store, "tables/parts")) == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]
    folders = {name.split("/")[1] for name in store.names("tables", "parts") if name.endswith(".parquet")}
    assert folders == {"part=a", "part=b"}


def test_an_epoch_that_breaks_off_at_the_store_is_whole_when_it_is_written_again(store, write):
    assert write("tables/broken", [0]) == 1
    store.wire.be("busy")
    try:
        with pytest.raises(EngineError) as failure:
            write("tables/broken", [1, 2], epoch=1, checked=False)
    finally:
        store.wire.be("passes")
    assert failure.value.message.startswith("Sink 'sink': the table s3a://tables/broken cannot be ")
    assert "bucket 'tables' of S3: the store does not answer (it is too busy, status 503)" in failure.value.message
    assert failure.value.details["passing"]
    assert write("tables/broken", [1, 2], epoch=1) == 2
    assert numbers_in(store, "tables/broken") == [0, 1, 2]


@pytest.mark.parametrize("state", ["busy", "away"])
def test_an_epoch_whose_tasks_find_no_store_may_be_written_again(store, write, monkeypatch, state):
    assert write(f"tables/{state}", [0]) == 1
    write_files = delta._write_files

    def write_without_store(*arguments):
        store.wire.be(state)
        return write_files(*arguments)

    monkeypatch.setattr(delta, "_write_files", write_without_store)
    try:
        with pytest.raises(EngineError) as failure:
            write(f"tables/{state}", [1, 2], epoch=1, checked=False)
    finally:
        store.wire.be("passes")
    assert failure.value.message.startswith(
        f"Sink 'sink': the table s3a://tables/{state} cannot be written now (bucket 'tables' of S3: "
    )
    assert failure.value.details["passing"]
    monkeypatch.setattr(delta, "_write_files", write_files)
    assert write(f"tables/{state}", [1, 2], epoch=1) == 2
    assert numbers_in(store, f"tables/{state}") == [0, 1, 2]


def test_a_store_that_refuses_a_sink_is_told_when_the_job_is_checked(spark, store):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([(1, "a")], SCHEMA), name="rows")
    rows.write_to(ps.sinks.delta("s3a://others/t", store=store.reached()), name="table")
    with pytest.raises(
        PipelineError, match=r"^Sink 'table' \(.*\): the table s3a://others/t cannot be reached \(bucket 'others' of"
    ):
        compile_pipeline(spark, p)


class TableHarness(Harness):
    def wait_for(self, running, until):
        assert wait_until(lambda: not running.active or until(), 300, step=0.02)
        check(running)


def numbers_of(table, sink, store):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.delta(f"s3a://{table}", SCHEMA, store=store.reached()), name="numbers")
    counted = rows.group_by("part").rolling_aggregate("counts", total=ps.sum("n"), seen=ps.count())
    counted.write_to(ps.sinks.custom(sink), name="totals")
    return p


def totals(sink):
    return {row.part: (row.total, row.seen) for row in sink.rows}


def test_a_table_is_read_once_over_versions_and_named_state_goes_on(spark, tmp_path, store, write):
    write("tables/read", range(4))
    harness, sink = TableHarness(spark, tmp_path), Collected()
    harness.run(numbers_of("tables/read", sink, store), until=lambda: totals(sink) == {"a": (2, 2), "b": (4, 2)})
    write("tables/read", [4, 5], epoch=1)
    again = Collected()
    harness.run(numbers_of("tables/read", again, store), until=lambda: totals(again) == {"a": (6, 3), "b": (9, 3)})


def test_check_looks_at_the_table(spark, store, write):
    write("tables/looked", [1])
    p = ps.Pipeline()
    source = ps.sources.delta("s3a://tables/looked", SCHEMA, store=store.reached())
    p.read_from(source, name="numbers").write_to(ps.sinks.noop(), name="out")
    (sentence,) = findings(spark, p, compile_pipeline(spark, p))
    assert "reads the table s3a://tables/looked: version 1, with the columns n bigint, part string." in sentence
