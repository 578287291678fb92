"""Places of sinks: equal where two sinks write into one place, however they say so."""

import pytest

import pitstop as ps
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.specs import SinkSpec
from pitstop.spark.sinks import sink_kind


def place(sink):
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(1), name="in").write_to(sink, name="out")
    node: Node = next(node for node in p.nodes if isinstance(node.spec, SinkSpec))
    return sink_kind(node).place(node.sink)


@pytest.mark.parametrize("written", ["{}/rows", "{}/rows/", "file://{}/rows", "{}/x/../rows", "{}/linked"])
def test_a_folder_is_one_place_however_its_path_is_written(tmp_path, written):
    (tmp_path / "rows").mkdir()
    (tmp_path / "linked").symlink_to("rows")
    assert place(ps.sinks.files(written.format(tmp_path))) == f"the folder {tmp_path.resolve()}/rows"


def test_a_folder_that_is_not_there_yet_is_a_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert place(ps.sinks.files("new", format="json")) == f"the folder {tmp_path.resolve()}/new"


def test_a_map_is_a_place_and_a_log_is_none():
    assert place(ps.sinks.map("m", key="timestamp")) == place(ps.sinks.map("m", key="value", mode="delete")) == "the map 'm'"
    assert place(ps.sinks.logger()) is place(ps.sinks.noop()) is place(ps.sinks.custom(object())) is None
