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
        (tail("in"), ps.sinks.noop(), r"Source 'in' \(test_placing.py:\d+\) has the path 'in', which counts from the folder"),
        (
            watched("~/in"),
            ps.sinks.noop(),
            r"Source 'in' \(test_placing.py:\d+\) has the path '~/in', which counts from the home",
        ),
        (
            tail("/in"),
            ps.sinks.files("out"),
            r"Sink 'out' \(test_placing.py:\d+\) has the path 'out', which counts from the folder",
        ),
    ],
)
def test_from_elsewhere_a_relative_path_is_refused_with_its_stage_and_what_to_do(source, sink, said):
    with pytest.raises(PipelineError, match=f"^{said}.*: give a whole path of that machine, such as /srv/data\\.$"):
        placed(job(source, sink), ELSEWHERE)


PEM = {"ssl.truststore.location": "ca.pem", "ssl.keystore.location": "~/k.pem", "fetch.max.bytes": "1"}
ROWS = {"schema": "a string"}
DATABASE = "postgresql://db/shop?sslmode=verify-full&sslrootcert={}&sslkey={}"


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (
            ps.sources.kafka("h:1", "t", value="avro", schema_folder="schemas", **ROWS),
            {"schemaFolder": "/work/ann/schemas"},
        ),
        (
            ps.sources.kafka("h:1", "t", value="protobuf", message="A", descriptor_file="~/a.desc", **ROWS),
            {"descriptorFile": "/home/ann/a.desc"},
        ),
        (
            ps.sources.kafka("h:1", "t", value="json", settings=PEM, **ROWS),
            {
                "kafka.ssl.truststore.location": "/work/ann/ca.pem",
                "kafka.ssl.keystore.location": "/home/ann/k.pem",
                "kafka.fetch.max.bytes": "1",
            },
        ),
        (
            ps.sources.files("in", "json", "a string", basePath="in", sourceArchiveDir="~/old"),
            {"path": "/work/ann/in", "basePath": "/work/ann/in", "sourceArchiveDir": "/home/ann/old"},
        ),
        (
            ps.sources.postgres(DATABASE.format("my%20ca.pem", "~/k.pem"), "orders", "a string"),
            {"url": DATABASE.format("/work/ann/my%20ca.pem", "/home/ann/k.pem")},
        ),
        (
            ps.sources.postgres(DATABASE.format("system", "${secret:KEY}"), "orders", "a string"),
            {"url": DATABASE.format("system", "${secret:KEY}")},
        ),
    ],
)
def test_paths_in_options_are_the_submitters_too(source, options):
    source_placed = placed(job(source, ps.sinks.noop()), ANN).nodes[0].source
    assert source_placed.options | options == source_placed.options
    again = placed(job(source_placed, ps.sinks.noop()), ELSEWHERE).nodes[0].source
    assert again.options == source_placed.options, "whole paths and secrets are nobody's"


@pytest.mark.parametrize(
    ("source", "sink", "said"),
    [
        (
            ps.sources.kafka("h:1", "t", value="avro", schema_folder="schemas", **ROWS),
            ps.sinks.noop(),
            "Source 'in' .* has the path 'schemas', which counts from the folder of",
        ),
        (tail("/in"), ps.sinks.kafka("h:1", "t", settings={"ssl.ca.location": "~/ca.pem"}), "has the path '~/ca.pem'"),
        (tail("/in"), ps.sinks.postgres(DATABASE.format("ca.pem", "/k"), "t"), "Sink 'out' .* has the path 'ca.pem'"),
    ],
)
def test_from_elsewhere_relative_paths_in_options_are_refused(source, sink, said):
    with pytest.raises(PipelineError, match=said):
        placed(job(source, sink), ELSEWHERE)


def test_paths_in_options_of_sinks_are_the_submitters_too():
    sink = ps.sinks.kafka("h:1", "t", settings={"ssl.ca.location": "ca.pem", "sasl.kerberos.keytab": "~/k", "linger.ms": "5"})
    (out,) = (node.sink for node in placed(job(tail("in"), sink), ANN).nodes if node.name == "out")
    assert dict(out.settings) == {
        "ssl.ca.location": "/work/ann/ca.pem",
        "sasl.kerberos.keytab": "/home/ann/k",
        "linger.ms": "5",
    }


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
