"""Places of sinks: equal where two sinks write into one place, however they say so."""

import pytest

import pitstop as ps
from pitstop.pipeline.nodes import Node
from pitstop.spark.sinks import sink_kind
from pitstop.spark.sources import source_kind


def job(source, sink):
    """The nodes of a source and a sink."""
    p = ps.Pipeline()
    p.read_from(source, name="in").write_to(sink, name="out")
    nodes: tuple[Node, ...] = p.nodes
    return nodes[0], nodes[-1]


def place(sink):
    _, node = job(ps.sources.rate(1), sink)
    return sink_kind(node).place(node.sink)


def reads(source, sink):
    """True if the source would read what the sink writes."""
    into, node = job(source, sink)
    example = sink_kind(node).example(node.sink, node.name)
    return example is not None and source_kind(into).reads(into.source, example)


@pytest.mark.parametrize("written", ["{}/rows", "{}/rows/", "file://{}/rows", "{}/x/../rows", "{}/linked"])
def test_a_folder_is_one_place_however_its_path_is_written(tmp_path, written):
    (tmp_path / "rows").mkdir()
    (tmp_path / "linked").symlink_to("rows")
    assert place(ps.sinks.files(written.format(tmp_path))) == f"the folder {tmp_path.resolve()}/rows"


def test_a_folder_that_is_not_there_yet_is_a_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert place(ps.sinks.files("new", format="json")) == f"the folder {tmp_path.resolve()}/new"


class Rows:
    """A sink of a user's own."""

    def write(self, rows, info):
        pass


def test_a_map_is_a_place_and_a_log_is_none():
    assert place(ps.sinks.map("m", key="timestamp")) == place(ps.sinks.map("m", key="value", mode="delete")) == "the map 'm'"
    assert place(ps.sinks.logger()) is place(ps.sinks.noop()) is place(ps.sinks.custom(Rows())) is None


DATABASE = "postgresql://h/d"


@pytest.mark.parametrize(
    ("sink", "adds"),
    [
        (ps.sinks.files("/d", "json"), True),
        (ps.sinks.delta("/d"), True),
        (ps.sinks.postgres(DATABASE, "t"), True),
        (ps.sinks.postgres(DATABASE, "t", key="value"), False),
        (ps.sinks.map("m", key="value"), False),
        (ps.sinks.map("m", key="value", mode="delete"), False),
        (ps.sinks.map("m", key="value", value="value", merge=max), True),
    ],
)
def test_rows_that_are_written_again_come_beside_the_first_ones_unless_they_have_a_key(sink, adds):
    _, node = job(ps.sources.rate(1), sink)
    assert sink_kind(node).adds(node.sink) is adds


def tail(path, glob="*.csv"):
    return ps.sources.csv_tail(path, "a string", glob=glob)


def watched(path, **options):
    return ps.sources.files(path, "json", "a string", streaming=True, **options)


@pytest.mark.parametrize("written", ["{}/rows", "{}/rows/", "file://{}/rows", "{}/x/../rows", "{}/linked"])
@pytest.mark.parametrize("kind", [tail, watched])
def test_a_source_reads_the_folder_that_a_sink_writes_into_however_its_path_is_written(tmp_path, written, kind):
    (tmp_path / "rows").mkdir()
    (tmp_path / "linked").symlink_to("rows")
    assert reads(kind(written.format(tmp_path)), ps.sinks.files(tmp_path / "rows", format="csv"))
    assert reads(kind(str(tmp_path / "rows")), ps.sinks.files(written.format(tmp_path), format="csv"))


@pytest.mark.parametrize(
    ("source", "sink", "read"),
    [
        (tail("/d"), ps.sinks.files("/d", "json"), False),
        (tail("/d", "*"), ps.sinks.files("/d", "json"), True),
        (tail("/d", "in-*.csv"), ps.sinks.files("/d", "csv"), False),
        (tail("/d"), ps.sinks.files("/d", "csv", compression="gzip"), False),
        (tail("/d"), ps.sinks.files("/d/below", "csv"), False),
        (tail("/d/below"), ps.sinks.files("/d", "csv"), False),
        (tail("/d", "*/*.csv"), ps.sinks.files("/d/below", "csv"), True),
        (tail("/d", "**/*.csv"), ps.sinks.files("/d/far/below", "csv"), True),
        (watched("/d"), ps.sinks.files("/d/below", "json"), False),
        (watched("/d", recursiveFileLookup=True), ps.sinks.files("/d/far/below", "json"), True),
        (watched("/d"), ps.sinks.files("/d", "json", partition_by=["day"]), True),
        (watched("/d", pathGlobFilter="in-*"), ps.sinks.files("/d", "json"), False),
        (watched("/d", pathGlobFilter="*.json"), ps.sinks.files("/d", "json"), True),
        (watched("/*/out"), ps.sinks.files("/d/out", "json"), True),
        (watched("/d/*.json"), ps.sinks.files("/d", "json"), True),
        (watched("/d/in-*.json"), ps.sinks.files("/d", "json"), False),
        (watched("s3a://d/"), ps.sinks.files("/d", "json"), False),
        (watched("/d"), ps.sinks.map("m", key="a"), False),
        (ps.sources.map_journal("m"), ps.sinks.map("m", key="key"), True),
        (ps.sources.map_journal("m"), ps.sinks.map("n", key="key"), False),
        (ps.sources.map_journal("m"), ps.sinks.files("/d", "json"), False),
        (ps.sources.rate(1), ps.sinks.files("/d", "json"), False),
        (tail("/d"), ps.sinks.logger(), False),
    ],
)
def test_a_source_reads_what_a_sink_writes_where_its_folder_and_its_pattern_take_it_in(source, sink, read):
    assert reads(source, sink) is read
