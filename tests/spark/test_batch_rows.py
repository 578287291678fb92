"""The numbers of rows that a batch tells of."""

import pytest

import pitstop as ps
from pitstop.model.left_out import LeftOut
from pitstop.spark.running.bounded import BoundedRun
from tests.spark.test_rehearsal import compiled

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


class Shows:
    """A sink of one's own that reads a part first, then all, then nothing."""

    def write(self, rows, info):
        rows.take(1)
        rows.collect()
        rows.limit(0).collect()


def run(spark, tmp_path, p):
    _, environment = compiled(spark, tmp_path, p)
    bounded = BoundedRun(spark, p, environment)
    bounded.run()
    return bounded.progress


def numbers(p, count=100):
    return p.read_from(ps.sources.items([(number, number % 3) for number in range(count)], "n int, key int"), name="rows")


def test_a_batch_tells_the_rows_that_each_source_gives_once_and_those_that_each_sink_takes(spark, tmp_path):
    p = ps.Pipeline()
    rows = numbers(p)
    rows.filter("n >= 40").write_to(ps.sinks.files(tmp_path / "out", format="json"), name="files")
    rows.group_by("key").rolling_aggregate("counts", seen=ps.count()).write_to(ps.sinks.custom(Shows()), name="own")
    progress = run(spark, tmp_path, p)
    assert progress.input_rows == 100
    assert progress.stages["rows"]["rows_out"] == 100
    assert progress.stages["files"]["rows_in"] == 60
    assert progress.stages["own"]["rows_in"] in (3, 100)
    assert progress.epoch == -1
    assert progress.bad_rows == 0


def test_a_table_that_rows_are_joined_with_is_no_row_that_is_read(spark, tmp_path):
    p = ps.Pipeline()
    names = p.read_from(ps.sources.items([(0, "a"), (1, "b")], "key int, name string"), name="names")
    numbers(p, 30).hash_join(names, on="key", how="inner", name="named").write_to(ps.sinks.noop(), name="out")
    progress = run(spark, tmp_path, p)
    assert progress.input_rows == 30
    assert progress.stages["out"]["rows_in"] == 20


def test_lines_that_do_not_parse_are_counted_as_left_out(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"n": 1}\n{"n": \n{"n": 3}\n')
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(tmp_path / "in", schema="n bigint", format="json"), name="rows")
    rows.write_to(ps.sinks.noop(), name="out")
    progress = run(spark, tmp_path, p)
    assert (progress.input_rows, progress.bad_rows) == (2, 1)
    assert progress.left_out == {LeftOut.UNPARSED: 1}
    assert progress.stages["out"]["rows_in"] == 2


def test_a_sink_of_spark_that_looks_for_a_row_first_hides_none(spark, tmp_path):
    p = ps.Pipeline()
    numbers(p, 5000).write_to(ps.sinks.spark("parquet", path=str(tmp_path / "out")), name="out")
    progress = run(spark, tmp_path, p)
    assert (progress.input_rows, progress.stages["out"]["rows_in"]) == (5000, 5000)
