"""A streaming folder of files that was moved between two versions: what has been read of it is not read again."""

import json

import pytest

import pitstop as ps
from pitstop.pipeline.sources import files
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def pipeline(folder, sink, more=None):
    p = ps.Pipeline()
    rows = p.read_from(files(str(folder), "json", schema="n bigint", streaming=True, maxFilesPerTrigger=1), name="in")
    rows.write_to(ps.sinks.custom(sink), name="out")
    if more is not None:
        rows.group_by("n").rolling_aggregate(more, seen=ps.count()).write_to(ps.sinks.noop(), name=f"to {more}")
    return p


def put(folder, number):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"part {number}.json").write_text(json.dumps({"n": number}) + "\n")


@pytest.mark.long
@pytest.mark.parametrize("more", [None, "counts"], ids=["resumed", "rebuilt"])
def test_its_files_are_read_once_under_either_path(spark, tmp_path, more):
    harness, first, second = FilesHarness(spark, tmp_path), Collected(), Collected()
    before, after = tmp_path / "Straße, day=1" / "in", tmp_path / "mount é=(a)+b@c%20^ &" / "in"
    for number in range(3):
        put(before, number)
    harness.run(pipeline(before, first), until=3)
    after.parent.mkdir()
    before.rename(after)
    put(after, 3)
    harness.run(pipeline(after, second, more), until=4)
    assert sorted(row.n for row in first.rows) == [0, 1, 2]
    assert [row.n for row in second.rows] == [3]
    assert "moved to" in next(line.detail for line in harness.report.lines if line.stage == "in")


def test_its_files_are_read_once_when_its_pattern_takes_in_more_folders(spark, tmp_path):
    harness, first, second = FilesHarness(spark, tmp_path), Collected(), Collected()
    for number in range(2):
        put(tmp_path / "data" / "2024", number)
    harness.run(pipeline(tmp_path / "data" / "2024" / "*.json", first), until=2)
    put(tmp_path / "data" / "2025", 2)
    harness.run(pipeline(tmp_path / "data" / "{2024,2025}" / "*.json", second), until=3)
    assert sorted(row.n for row in first.rows) == [0, 1]
    assert [row.n for row in second.rows] == [2]
    assert "moved to" not in next(line.detail for line in harness.report.lines if line.stage == "in")
