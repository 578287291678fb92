"""Whole paths of all sources and sinks of a version, by the folder and the home of whoever has submitted it."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.model.origin import ELSEWHERE, PathOrigin
from pitstop.spark.lowering.placing import placed

ANN = PathOrigin("/work/ann", "/home/ann")


def job(source, sink, letters=None):
    p = ps.Pipeline()
    p.read_from(source, name="in", dead_letters=letters).write_to(sink, name="out")
    return p


def tail(path):
    return ps.sources.csv_tail(path, "a string")


def watched(path):
    return ps.sources.files(path, "json", "a string", streaming=True)


def paths(pipeline):
    """Stage -> its path."""
    nodes = {node.name: node for node in pipeline.nodes}
    found = {name: node.source.options.get("path") for name, node in nodes.items() if node.spec.op == "source"}
    return found | {name: node.sink.path for name, node in nodes.items() if node.spec.op == "sink"}


@pytest.mark.parametrize("kind", [tail, watched])
def test_relative_paths_and_tildes_of_sources_sinks_and_dead_letters_become_whole(kind):
    pipeline = placed(job(kind("in"), ps.sinks.files("~/out"), ps.sinks.files("bad", "json")), ANN)
    assert paths(pipeline) == {"in": "/work/ann/in", "out": "/home/ann/out", "in-dead-letters": "/work/ann/bad"}


@pytest.mark.parametrize("path", ["/in", "file:///in"])
def test_whole_paths_stay_as_they_are_wherever_a_version_comes_from(path):
    for origin in (None, ELSEWHERE, ANN):
        pipeline = placed(job(tail(path), ps.sinks.files(path)), origin)
        assert paths(pipeline) == {"in": path, "out": path}
        assert pipeline.nodes[0].source.digest == tail(path).digest, "an update recognizes the source by that"


def test_a_version_that_an_older_release_has_taken_counts_as_it_did():
    pipeline = job(tail("in"), ps.sinks.files("~/out"))
    assert placed(pipeline, None) is pipeline


@pytest.mark.parametrize(
    ("source", "sink", "said"),
    [
        (tail("in"), ps.sinks.noop(), r"Source 'in' \(test_placing.py:\d+\) reads 'in', which counts from the folder of whoever"),
        (watched("~/in"), ps.sinks.noop(), r"Source 'in' \(test_placing.py:\d+\) reads '~/in', which counts from the home of"),
        (tail("/in"), ps.sinks.files("out"), r"Sink 'out' \(test_placing.py:\d+\) writes 'out', which counts from the folder of"),
    ],
)
def test_from_elsewhere_a_relative_path_is_refused_with_its_stage_and_what_to_do(source, sink, said):
    with pytest.raises(PipelineError, match=f"^{said}.*: give a whole path of that machine, such as /srv/data\\.$"):
        placed(job(source, sink), ELSEWHERE)


def test_the_pipeline_is_the_same_but_for_its_paths():
    p = ps.Pipeline()
    rows = p.read_from(tail("in"), name="in")
    table = p.read_from(ps.sources.files("dim", "csv", "a string, b int"), name="dim")
    rows.hash_join(table, on="a").write_to(ps.sinks.files("out"), name="out")
    other = placed(p, ANN)
    assert [(node.name, node.location, type(node.spec)) for node in other.nodes] == [
        (node.name, node.location, type(node.spec)) for node in p.nodes
    ]
    assert all(parent in other.nodes for node in other.nodes for parent in node.inputs)
    assert paths(other) == {"in": "/work/ann/in", "dim": "/work/ann/dim", "out": "/work/ann/out"}
    assert paths(p) == {"in": "in", "dim": "dim", "out": "out"}
    other.check()
