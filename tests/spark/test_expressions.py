"""An expression that raises for a row ends the epoch with a sentence that names it and its stage."""

import pytest
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.errors import EngineError
from pitstop.pipeline.names import plain_column
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def summed(rows):
    timed = rows.with_columns(ts="current_timestamp()").with_timestamps("ts")
    return timed.group_by("k").window(ps.tumbling("1 minute")).aggregate("sums", s=ps.sum("cast(k as bigint)"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("follow", "told"),
    [
        (
            lambda rows: rows.with_columns("cast", m="cast(k as bigint)"),
            r"in stage 'cast' \(test_expressions.py:\d+\), expression 'cast\(k as bigint\)': The value 'a' .*Use `try_cast`",
        ),
        (
            lambda rows: rows.filter("1 < n / 0", "divided"),
            r"in stage 'divided' \(test_expressions.py:\d+\), expression 'n / 0': Division by zero\. Use `try_divide`",
        ),
        (summed, r"in stage 'sums' \(test_expressions.py:\d+\), expression 'cast\(k as bigint\)': The value 'a'"),
        (lambda rows: rows.with_columns(m=F.col("k").cast("bigint")), r"in a call of 'cast': The value 'a'"),
    ],
    ids=["cast", "division", "aggregate", "Column"],
)
def test_the_sentence_names_stage_and_expression(spark, tmp_path, follow, told):
    folder, p = tmp_path / "rows", ps.Pipeline()
    folder.mkdir()
    (folder / "rows.csv").write_text("a,3\n")
    rows = p.read_from(ps.sources.csv_tail(folder, schema="k string, n bigint"), name="rows")
    follow(rows).write_to(ps.sinks.custom(Collected()), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    with pytest.raises(EngineError, match=told):
        job.wait_for_epoch(0, 180)


def test_a_spark_column_tells_what_it_gives_on(spark):
    assert plain_column(F.col("window_start").alias("begin")) == ("window_start", "begin")
    assert plain_column(F.expr("window_start")) == ("window_start", "window_start")
    assert plain_column(F.col("n") + 1) is None
