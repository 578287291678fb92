"""A streaming folder of files that was moved between two versions: what has been read of it is not read again."""

import json

import pytest

import pitstop as ps
from pitstop.pipeline.sources import files
from pitstop.spark.sources.files import folder_url
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


@pytest.mark.parametrize("more", [None, "counts"], ids=["resumed", "rebuilt"])
def test_its_files_are_read_once_under_either_path(spark, tmp_path, more):
    harness, first, second = FilesHarness(spark, tmp_path), Collected(), Collected()
    before, after = tmp_path / "data" / "in", tmp_path / "mount" / "in"
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


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/data/in", "file:///data/in/"),
        ("/data/in/", "file:///data/in/"),
        ("/data/*/in", "file:///data/"),
        ("s3a://bucket/a b/{x,y}", "s3a://bucket/a%20b/"),
    ],
)
def test_the_folder_of_a_source_is_what_stands_before_a_pattern(path, url):
    assert folder_url(files(path, "text", streaming=True)) == url
