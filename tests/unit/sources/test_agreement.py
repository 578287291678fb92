"""The readers of one source agree on where each epoch ends, over branches, runs and versions; those of other sources do not."""

import dataclasses

from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.sources.csv_tail import CsvTailReader
from pitstop.spark.sources.http_poll import HttpPollReader
from pitstop.spark.sources.shared import GATE, OF_THE_RUN, SourceOptions

START = {"n": 0}


def options(folder, **more):
    return SourceOptions("csv_tail", {"stage": "in", "agreements": str(folder)} | more)


def test_readers_of_one_source_agree_whatever_their_run_is_told_besides(tmp_path):
    first = options(tmp_path, path="/a", maxBytes="5", job="one", admission="/x", startOffset="{}", store="sqlite:////one")
    later = options(tmp_path, Path="/a", maxbytes="5", job="two", admission="/y", store="sqlite:////two", storeFactory="m:f")
    assert first.agreed(START, lambda: {"n": 1}) == {"n": 1}
    assert later.agreed(START, lambda: {"n": 2}) == {"n": 1}


def test_readers_of_another_source_in_the_same_stage_do_not_take_its_ends(tmp_path):
    assert options(tmp_path, path="/a").agreed(START, lambda: {"n": 1}) == {"n": 1}
    assert options(tmp_path, path="/b").agreed(START, lambda: {"n": 2}) == {"n": 2}
    assert options(tmp_path, path="/b", glob="*.log").agreed(START, lambda: {"n": 3}) == {"n": 3}
    assert options(tmp_path, path="/a").agreed(START, lambda: {"n": 4}) == {"n": 1}


def test_a_version_that_is_gone_back_to_reads_on_where_it_was_and_not_to_the_ends_of_the_other_one(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csv").write_text(f"{name} 1\n")

    def reader(name):
        return CsvTailReader(options(tmp_path / "agreements", path=str(tmp_path / name)))

    old = reader("a").latestOffset({"files": {}}, None)
    reader("b").latestOffset(old, None)
    with (tmp_path / "a" / "a.csv").open("a") as file:
        file.write("a 2\n")
    source = reader("a")
    end = source.latestOffset(old, None)
    assert list(end["files"]) == ["a.csv"]
    rows = [row["value"] for part in source.partitions(old, end) for batch in source.read(part) for row in batch.to_pylist()]
    assert rows == ["a 2"]


def test_a_secret_in_a_url_is_not_in_what_readers_agree_on(tmp_path):
    told = {"stage": "in", "agreements": str(tmp_path), "url": "http://user:hush@localhost/x"}
    HttpPollReader(SourceOptions("http_poll", told))._options.agreed(START, lambda: {"n": 1})
    (file,) = tmp_path.iterdir()
    assert "hush" not in file.name + file.read_text()


def test_all_that_a_run_tells_its_readers_is_known_as_such():
    told = SourceSettings(**{field.name: "x" for field in dataclasses.fields(SourceSettings) if field.name != "extra"})
    assert told.options("in").keys() | {GATE, "startOffset"} == OF_THE_RUN
