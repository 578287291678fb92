"""A job's pipeline as a graph, and where the values of its options come from."""

import dataclasses

import pytest

from pitstop.errors import ConflictError, NotFoundError
from pitstop.model.config import OPTIONS, JobConfig
from pitstop.model.job import Job, JobSource, JobState, KeptVersion, Version
from pitstop.model.layout import StageKind, StateLayout
from pitstop.plan.model import Plan, PlanStage
from pitstop.service.job_views import GraphColumn, GraphEdge, Origin, graph_of, options_of, version_of, versions_of

STAGES = (
    PlanStage("a", StageKind.SOURCE, "source", (), "rate", "job.py:3", columns=(("n", "bigint"),)),
    PlanStage("b", StageKind.SOURCE, "source", (), "items", "job.py:4"),
    PlanStage("both", StageKind.JOIN, "join", ("a", "b"), "join", "job.py:5", StateLayout(StageKind.JOIN)),
    PlanStage("out", StageKind.SINK, "sink", ("both",), "sink map", "job.py:6"),
)


def job(plan=None, options=None, config=None):
    version = Version(3, JobSource("job.py"), options or {}, config or JobConfig(), plan.to_dict() if plan else None)
    return Job("id", "speeds", 0.0, version, JobState.RUNNING)


def graph(found):
    return graph_of(found, found.version)


def test_a_graph_has_a_node_for_each_stage_and_an_edge_for_each_input():
    found = graph(job(Plan(STAGES)))
    assert (found.version, [node.name for node in found.nodes]) == (3, ["a", "b", "both", "out"])
    assert found.edges == [GraphEdge("a", "both"), GraphEdge("b", "both"), GraphEdge("both", "out")]
    assert [node.keeps_state for node in found.nodes] == [False, False, True, False]
    assert found.nodes[0].columns == [GraphColumn("n", "bigint")]
    assert (found.nodes[3].description, found.nodes[3].location) == ("sink map", "job.py:6")


def test_a_job_that_was_never_compiled_has_no_graph():
    with pytest.raises(ConflictError, match="The pipeline of version 3 of job 'speeds' is not known: it was never compiled"):
        graph(job())


def test_each_option_tells_where_its_value_comes_from():
    in_force = dataclasses.replace(JobConfig(), snapshot_interval_ms=500, partitions=7, suspend_on_failure=True)
    asked = {"snapshot_interval_ms": 500, "partitions": 7, "timeout": None}
    found = {option.name: (option.value, option.origin) for option in options_of(job(options=asked, config=in_force))}
    assert list(found) == [option.name for option in OPTIONS]
    assert found["snapshot_interval"] == (500, Origin.ASKED)
    assert found["partitions"] == (7, Origin.ASKED)
    assert found["suspend_on_failure"] == (True, Origin.CODE)
    assert found["timeout"] == (None, Origin.DEFAULT)
    assert found["processing_guarantee"] == ("exactly_once", Origin.DEFAULT)


def test_the_version_of_a_job_of_an_older_release_is_among_its_versions_too():
    kept = [KeptVersion(dataclasses.replace(job().version, number=number), float(number)) for number in (2, 1)]
    assert [found.version.number for found in versions_of(job(), kept)] == [3, 2, 1]
    assert versions_of(job(), [KeptVersion(job().version, 9.0), *kept])[0].since == 9.0
    assert version_of(job(), kept, 1).number == 1
    with pytest.raises(NotFoundError, match="Job 'speeds' has no version 7: see 'pitstop versions speeds'"):
        version_of(job(), kept, 7)
