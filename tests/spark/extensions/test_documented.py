"""What docs/extending.md shows of the sources stands there, and its short examples do what it says."""

import re

import pytest

import pitstop as ps
from tests.spark.extensions.documented import ROOT, TEXT, block_with, files


@pytest.mark.parametrize(("name", "code"), [(n, c) for n, c in files() if n.startswith("src/")], ids=lambda value: value[:40])
def test_code_shown_of_a_file_stands_there(name, code):
    assert code.strip() in (ROOT / name).read_text()


def test_every_file_that_is_named_is_there():
    named = {name for name in re.findall(r"`([\w/]+\.py)`", TEXT) if "/" in name}
    assert len(named) > 10
    assert [name for name in named if not any((ROOT / base / name).exists() for base in ("src/pitstop", "."))] == []


def test_a_source_and_a_sink_in_a_jobs_own_code_are_taken():
    source = type("MySource", (), {})
    p = ps.Pipeline()
    exec(block_with("MySource, schema"), {"p": p, "ps": ps, "MySource": source})
    assert [(node.name, node.source.reader) for node in p.nodes] == [("mine", source)]
    p = ps.Pipeline()
    exec(block_with("class MySink"), {"stage": p.read_from(ps.sources.rate(1), name="numbers"), "ps": ps})
    assert [node.name for node in p.nodes] == ["numbers", "mine"]


@pytest.mark.spark
@pytest.mark.long
def test_an_aggregate_of_ones_own_gives_what_plain_python_does(spark, tmp_path):
    names = {"ps": ps}
    exec(block_with("rms = "), names)
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([[3.0], [4.0]], "v double"), name="rows").with_columns(t="timestamp_seconds(1)")
    windows = rows.with_timestamps("t").group_by().window(ps.tumbling("10 s")).aggregate("rms", rms=names["rms"])
    windows.write_to(ps.sinks.files(str(tmp_path / "out")), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert [row.rms for row in spark.read.parquet(str(tmp_path / "out")).collect()] == [pytest.approx(((9 + 16) / 2) ** 0.5)]
