"""Rows that a sink cannot take are told of, and do not end the job."""

import pytest

import pitstop as ps
from pitstop.store.dialects.sqlite import Sqlite

pytestmark = pytest.mark.spark


def test_rows_without_a_key_are_left_out_of_a_map_and_told(spark, tmp_path, capsys):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a", 1), (None, 2), ("b", 3), (None, 4)], "k string, v bigint"), name="rows")
    rows.write_to(ps.sinks.map("m", key="k", value="v"), name="out")
    job = ps.run(p, spark, data_dir=tmp_path)
    assert {entry.key: entry.value for entry in job.maps.entries("m")} == {"a": "1", "b": "3"}
    assert "2 rows for sink 'out' without a key (k is null) left out, such as: '2'" in capsys.readouterr().out


def test_rows_with_a_key_that_the_store_cannot_keep_are_left_out_of_a_map_and_told(spark, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Sqlite, "longest_key", 50)
    p = ps.Pipeline()
    keys = ["a" * 50, "b" * 51, "ü" * 25, "ü" * 26]
    rows = p.read_from(ps.sources.items([(key, 1) for key in keys], "k string, v bigint"), name="rows")
    rows.write_to(ps.sinks.map("m", key="k", value="v"), name="out")
    job = ps.run(p, spark, data_dir=tmp_path)
    assert {entry.key for entry in job.maps.entries("m")} == {"a" * 50, "ü" * 25}
    told = capsys.readouterr().out
    assert "2 rows for sink 'out' with a key of more than 50 bytes, which this store cannot keep, left out" in told
    assert f"such as: '{'b' * 40}...'" in told


def test_a_row_that_a_template_cannot_show_is_shown_whole(spark, tmp_path, capsys):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a", 1.5), ("b", None)], "k string, v double"), name="rows")
    rows.write_to(ps.sinks.logger("{k} is {v:.1f}"), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    told = capsys.readouterr().out
    assert "a is 1.5" in told
    assert "{'k': 'b', 'v': None} (the template cannot show it" in told


def test_a_time_beyond_those_of_python_is_shown_by_a_template_as_text(spark, tmp_path, capsys):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a", 0), ("b", 500_000_000_000)], "k string, at bigint"), name="rows")
    rows.with_columns(at="timestamp_seconds(at)").write_to(ps.sinks.logger("{k} at {at}"), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    told = capsys.readouterr().out
    assert "a at 1970-01-01 00:00:00" in told
    assert "b at 17814-" in told
