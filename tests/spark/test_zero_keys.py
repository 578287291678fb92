"""0.0 and -0.0 are one key, however the rows are spread over epochs, as in Spark's own batch."""

import json

import pytest

import pitstop as ps
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def count(state, row):
    state.n = (state.n or 0) + 1
    return {"n": state.n}


def pipeline(folder, sinks):
    p = ps.Pipeline()
    schema = "at timestamp, x double, y float"
    rows = p.read_from(
        ps.sources.files(str(folder), "json", schema=schema, streaming=True, maxFilesPerTrigger=1), name="rows"
    ).with_timestamps("at")
    by_key = rows.group_by("x", "y")
    stages = {
        "rolled": by_key.rolling_aggregate("rolled", n=ps.count()),
        "own": by_key.map_stateful("own", count, "n bigint", "n bigint"),
        "distinct": by_key.distinct("distinct"),
        "within": by_key.distinct("within", within="1 hour"),
    }
    for name, stage in stages.items():
        stage.write_to(ps.sinks.custom(sinks[name]), name=f"to {name}")
    return p


@pytest.mark.long
def test_rows_of_either_zero_are_of_one_key(spark, tmp_path):
    (tmp_path / "in").mkdir()
    for number, zero in enumerate(("-0.0", "0.0", "-0.0")):
        told = {"at": f"2026-01-01T00:00:0{number}Z", "x": float(zero), "y": float(zero)}
        (tmp_path / "in" / f"{number}.json").write_text(json.dumps(told) + "\n")
    sinks = {name: Collected() for name in ("rolled", "own", "distinct", "within")}
    FilesHarness(spark, tmp_path).run(pipeline(tmp_path / "in", sinks), until=3)
    assert sorted(row.n for row in sinks["rolled"].rows) == [1, 2, 3]
    assert sorted(row.n for row in sinks["own"].rows) == [1, 2, 3]
    assert (len(sinks["distinct"].rows), len(sinks["within"].rows)) == (1, 1)
