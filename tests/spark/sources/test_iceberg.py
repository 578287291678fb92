"""Iceberg tables as sources of jobs: all types, batches, hash joins, SQL, and what does not fit is told."""

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, TimeType

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.kit.waiting import wait_until
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.looking import findings
from pitstop.spark.sinks import EpochContext
from pitstop.spark.sinks.iceberg import KIND as SINK
from pitstop.spark.sources.iceberg import KIND
from pitstop.sql.programs import read_program
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
NAME = "shop.numbers"
ALL_TYPES = (
    "id AS n",
    "concat('w', id) AS word",
    "int(id) AS i",
    "float(id) AS f",
    "double(id) / 3 AS d",
    "CAST(id AS DECIMAL(12, 3)) AS price",
    "id % 2 = 0 AS even",
    "binary(string(id)) AS raw",
    "date_add(DATE'2026-01-01', int(id)) AS day",
    "timestamp_micros(1000001 * id) AS at",
    "TIMESTAMP_NTZ'2026-03-29 02:30:00' AS clock",
    "array(named_struct('x', id, 'y', map('k', double(id)))) AS deep",
)


@pytest.fixture
def properties(tmp_path):
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}


@pytest.fixture
def catalog(properties):
    catalog = load_catalog("default", **properties)
    catalog.create_namespace("shop")
    return catalog


def append(catalog, numbers):
    rows = pa.table({"n": pa.array(numbers, pa.int64()), "word": [f"w{n}" for n in numbers]})
    if not catalog.table_exists(NAME):
        catalog.create_table(NAME, rows.schema)
    catalog.load_table(NAME).append(rows)


def pipeline_of(sink, properties, schema=None, **options):
    p = ps.Pipeline()
    p.read_from(ps.sources.iceberg(NAME, schema, catalog=properties, **options), name="rows").write_to(
        ps.sinks.custom(sink), name="sink"
    )
    return p


def test_values_of_each_type_come_through_a_sink_and_a_source_as_they_were(spark, tmp_path, properties):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    rows = spark.range(20).selectExpr(*ALL_TYPES)
    sink = ps.sinks.iceberg(NAME, catalog=properties, partition_by="day(at)")
    run = Environment("job-1", "job", "l", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, lambda *_: None)
    SINK.write(sink, rows, EpochContext("job", "sink", "l", 0, "exactly_once", run, None))
    read = KIND.batch(spark, ps.sources.iceberg(NAME, catalog=properties, streaming=False), {})
    assert [(field.name, field.dataType.simpleString()) for field in read.schema] == [(name, kind) for name, kind in rows.dtypes]
    assert sorted(read.collect()) == sorted(rows.collect())


def test_a_stream_reads_what_is_there_and_what_comes(spark, tmp_path, catalog, properties):
    append(catalog, range(5))
    sink = Collected()
    job = ps.run(pipeline_of(sink, properties, "n bigint", interval="0 ms"), spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: len(sink.rows) == 5, 100)
    append(catalog, range(5, 8))
    assert wait_until(lambda: len(sink.rows) == 8, 100)
    job.stop()
    assert sorted(row.n for row in sink.rows) == list(range(8))


def test_a_table_of_a_hash_join_is_read_once(spark, tmp_path, catalog, properties):
    append(catalog, range(3))
    sink = Collected()
    p = ps.Pipeline()
    words = p.read_from(ps.sources.iceberg(NAME, catalog=properties, streaming=False), name="words")
    rows = p.read_from(ps.sources.items([[1], [2], [9]], "n bigint"), name="numbers")
    rows.hash_join(words, on="n", name="joined").write_to(ps.sinks.custom(sink), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert sorted(((row.n, row.word) for row in sink.rows), key=str) == [(1, "w1"), (2, "w2"), (9, None)]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("n bigint, other string", "has no column 'other'. It has: n, word"),
        ("n int", "has column 'n' as bigint, and the source's schema as int"),
    ],
)
def test_columns_that_a_table_does_not_have_are_told_when_the_job_is_compiled(spark, catalog, properties, schema, message):
    append(catalog, [1])
    with pytest.raises(PipelineError, match=message):
        compile_pipeline(spark, pipeline_of(Collected(), properties, schema))


def test_a_type_that_rows_do_not_have_is_told_unless_its_column_is_left_out(spark, catalog, properties):
    catalog.create_table(
        NAME, Schema(NestedField(1, "n", LongType(), required=False), NestedField(2, "t", TimeType(), required=False))
    )
    with pytest.raises(
        PipelineError, match="has column 't' of type time, which rows do not have: give the source a schema without"
    ):
        compile_pipeline(spark, pipeline_of(Collected(), properties))
    compile_pipeline(spark, pipeline_of(Collected(), properties, "n bigint"))


def test_a_table_that_is_not_there_needs_a_schema(spark, properties):
    with pytest.raises(PipelineError, match=f"There is no Iceberg table '{NAME}' of .*: give the source a schema"):
        compile_pipeline(spark, pipeline_of(Collected(), properties))
    compile_pipeline(spark, pipeline_of(Collected(), properties, "n bigint"))


def test_check_says_what_is_there(spark, catalog, properties):
    append(catalog, [1])
    p = pipeline_of(Collected(), properties)
    [sentence] = findings(spark, p, compile_pipeline(spark, p))
    assert "reads the Iceberg table 'shop.numbers' of" in sentence
    assert "with the columns n long, word string" in sentence
    p = ps.Pipeline()
    p.read_from(ps.sources.items([(1, 0.5)], "n bigint, more double"), name="rows").write_to(
        ps.sinks.iceberg(NAME, catalog=properties), name="sink"
    )
    [sentence] = findings(spark, p, compile_pipeline(spark, p))
    assert "the table has no column 'more'" in sentence


def test_a_job_that_reads_its_own_table_is_known(properties):
    source, sink = ps.sources.iceberg(NAME, "n bigint", catalog=properties), ps.sinks.iceberg(NAME, catalog=properties)
    assert KIND.reads(source, SINK.example(sink, "sink"))
    assert not KIND.reads(source, SINK.example(ps.sinks.iceberg("shop.other", catalog=properties), "sink"))


@pytest.mark.long
def test_sql_reads_and_writes_tables(spark, tmp_path, catalog, properties):
    append(catalog, range(4))
    options = ", ".join(f"'catalog.{name}' = '{value}'" for name, value in properties.items())
    program = read_program(f"""
        CREATE MAPPING numbers EXTERNAL NAME "shop.numbers" (n BIGINT, word VARCHAR) TYPE Iceberg OPTIONS ({options});
        CREATE MAPPING doubled EXTERNAL NAME "shop.doubled" (n BIGINT, twice BIGINT) TYPE Iceberg
        OPTIONS ({options}, 'partitionBy' = 'bucket(2, n)');
        CREATE JOB doubling AS INSERT INTO doubled SELECT n, n * 2 AS twice FROM numbers WHERE n > 0;
    """)
    job = ps.run(program.definition().build(()), spark, data_dir=tmp_path / "data")

    def read():
        there = catalog.table_exists("shop.doubled")
        return catalog.load_table("shop.doubled").scan().to_arrow().to_pylist() if there else []

    assert wait_until(lambda: len(read()) == 3, 100)
    job.stop()
    assert sorted((row["n"], row["twice"]) for row in read()) == [(1, 2), (2, 4), (3, 6)]
