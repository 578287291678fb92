"""Whether the files of a table were the same before and after it was read."""

import os
import time

import pytest

from pitstop.spark.lowering.table_files import look


@pytest.fixture
def seen(tmp_path):
    folder = tmp_path / "dim é" / "k=1"
    folder.mkdir(parents=True)
    (folder / "a b.csv").write_text("1")

    def seen():
        urls = [path.as_uri() for path in sorted(tmp_path.rglob("*.csv"))]
        return look(urls, [str(tmp_path / "dim é")])

    return seen


def age(root, seconds):
    then = time.time() - seconds
    for path in (root, *root.rglob("*")):
        os.utime(path, (then, then))


def test_what_nobody_touches_is_the_same(seen):
    assert seen() == seen()


@pytest.mark.parametrize("how", ["more text", "another file of that name", "gone"])
def test_a_file_that_is_written_again_or_goes_away_is_another(seen, tmp_path, how):
    path, before = tmp_path / "dim é" / "k=1" / "a b.csv", seen()
    urls = list(before.files)
    if how == "more text":
        path.write_text("12")
    elif how == "gone":
        path.unlink()
    else:
        (tmp_path / "new").write_text("1")
        os.utime(tmp_path / "new", ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
        (tmp_path / "new").replace(path)
    assert look(urls).files != before.files


def test_a_new_partition_changes_the_folders_and_no_file(seen, tmp_path):
    age(tmp_path, 100)
    before = seen()
    (tmp_path / "dim é" / "k=2").mkdir()
    after = seen()
    assert after.files == before.files
    assert after.folders != before.folders


def test_what_spark_writes_at_this_moment_is_under_way(seen, tmp_path):
    assert not seen().under_way
    (tmp_path / "dim é" / "_temporary").mkdir()
    assert seen().under_way


def test_what_has_changed_a_short_time_ago_is_known_by_files_and_folders(seen, tmp_path):
    assert seen().changed_within(10)
    (tmp_path / "dim é" / "b.csv").touch()
    age(tmp_path, 100)
    assert not seen().changed_within(10)
    (tmp_path / "dim é" / "b.csv").unlink()
    assert seen().changed_within(10)


def test_files_of_other_systems_and_patterns_are_not_looked_at():
    seen = look(["s3a://bucket/dim/a.csv"], ["s3a://bucket/dim", "/data/*/dim"])
    assert seen.files == {"s3a://bucket/dim/a.csv": None}
    assert (seen.folders, seen.under_way, seen.changed_within(1e9)) == ({}, False, False)
