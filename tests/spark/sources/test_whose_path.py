"""Paths of a job in this process: relative ones are the caller's, and stay so when it goes to another folder."""

import json

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def written(folder):
    return sorted(json.loads(line)["n"] for file in folder.glob("*.json") for line in file.open())


def test_the_callers_folder_is_that_in_which_it_started_the_job_and_a_missing_one_is_waited_for(spark, tmp_path, monkeypatch):
    work, other = tmp_path / "work [1]", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    p = ps.Pipeline()
    p.read_from(ps.sources.csv_tail("in", "n int"), name="in").write_to(ps.sinks.files("out", "json"), name="out")
    p.read_from(ps.sources.csv_tail("~/in", "n int"), name="more").write_to(ps.sinks.files("~/out", "json"), name="more-out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    try:
        monkeypatch.chdir(other)
        missing = {"in": str(work / "in"), "more": str(tmp_path / "home" / "in")}
        assert wait_until(lambda: job.progress.waits_for == missing, 60)
        for folder in missing.values():
            (tmp_path / folder).mkdir(parents=True)
            (tmp_path / folder / "a.csv").write_text("1\n")
        assert wait_until(lambda: written(work / "out") == written(tmp_path / "home" / "out") == [1], 60)
        assert wait_until(lambda: job.progress.waits_for == {}, 60)
    finally:
        job.stop()
    assert not list(other.iterdir())


def test_a_folder_that_has_a_bracket_in_its_name_is_read_by_a_pattern_that_counts_from_it(spark, tmp_path, monkeypatch):
    folder, rows = tmp_path / "work [1]", Collected()
    (folder / "day").mkdir(parents=True)
    (folder / "day" / "a.json").write_text('{"n":1}\n')
    monkeypatch.chdir(folder)
    p = ps.Pipeline()
    p.read_from(ps.sources.files("d*", "json", "n int"), name="in").write_to(ps.sinks.custom(rows), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert [row.n for row in rows.rows] == [1]


def test_files_of_another_file_system_that_spark_has_are_read_once_over_two_versions(spark, tmp_path):
    (tmp_path / "in").mkdir()
    mount = "fs.viewfs.mounttable.pitstop.link./data"
    spark.conf.set(mount, f"file://{tmp_path}")
    harness, first, second = FilesHarness(spark, tmp_path), Collected(), Collected()

    def version(sink):
        p = ps.Pipeline()
        files = ps.sources.files("viewfs://pitstop/data/in", "json", "n int", streaming=True, maxFilesPerTrigger=1)
        p.read_from(files, name="in").write_to(ps.sinks.custom(sink), name="out")
        return p

    try:
        for number in range(2):
            (tmp_path / "in" / f"{number} é.json").write_text(json.dumps({"n": number}) + "\n")
        harness.run(version(first), until=2)
        (tmp_path / "in" / "2 é.json").write_text(json.dumps({"n": 2}) + "\n")
        harness.run(version(second), until=3)
    finally:
        spark.conf.unset(mount)
    assert sorted(row.n for row in first.rows) == [0, 1]
    assert [row.n for row in second.rows] == [2]
