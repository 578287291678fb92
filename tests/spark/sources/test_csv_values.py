"""Fields of CSV as RFC 4180 has them, through Spark's parser."""

import csv
import io

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

FIELDS = ['say "hi"', '"', "a,b", "back\\slash", '\\"', "two\nlines", "crlf\r\nend", "Zoë", " padded ", "'", '""']


@pytest.mark.long
def test_fields_in_quotes_come_as_they_were_written(spark, tmp_path):
    folder, sink, bad, p = tmp_path / "rows", Collected(), Collected(), ps.Pipeline()
    folder.mkdir()
    text = io.StringIO()
    csv.writer(text).writerows((number, field, "end") for number, field in enumerate(FIELDS))
    (folder / "a.csv").write_bytes(b"\xef\xbb\xbf" + text.getvalue().encode())
    source = ps.sources.csv_tail(folder, schema="n bigint, field string, last string", multiline=True)
    p.read_from(source, name="rows", dead_letters=ps.sinks.custom(bad)).write_to(ps.sinks.custom(sink), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: len(sink.rows) + len(bad.rows) >= len(FIELDS), 60)
    job.stop()
    assert [(row.n, row.field, row.last) for row in sink.rows] == [(n, field, "end") for n, field in enumerate(FIELDS)]
    assert bad.rows == []
