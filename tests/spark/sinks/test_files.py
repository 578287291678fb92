"""The file sink beside runs that die, or have lost the job and do not know it yet."""

import dataclasses
import json
from contextlib import contextmanager

import pytest

import pitstop as ps
from pitstop.control.ports.ownership import NoOtherRun
from pitstop.errors import FencedError
from pitstop.maps.ports import Fence
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.sinks import write_sink


class Lost(NoOtherRun):
    """Ownership of a job that another run takes at the last moment: after the look, before the commit."""

    @contextmanager
    def held(self):
        raise FencedError("replaced")
        yield


@pytest.fixture
def sink(spark, tmp_path):
    """The node of a file sink, rows for it, and the environment of a run with a token."""
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([(1,)], "n bigint"), name="rows")
    rows.write_to(ps.sinks.files(str(tmp_path / "out"), format="json"), name="files")

    def run(token, ownership=None):
        environment = Environment("id", "job", "l1", ProcessingGuarantee.EXACTLY_ONCE, tmp_path, print, fence=Fence("id", token))
        return dataclasses.replace(environment, ownership=ownership or NoOtherRun())

    frame = spark.createDataFrame([(n,) for n in range(10)], "n bigint").repartition(2)
    return p.nodes[-1], frame, run


def written(spark, folder):
    return sorted(row.n for row in spark.read.json(str(folder / "out")).collect())


@pytest.mark.long
def test_a_run_that_loses_the_job_between_the_look_and_the_commit_writes_nothing(spark, sink, tmp_path):
    node, frame, run = sink
    with pytest.raises(FencedError):
        write_sink(node, frame, 0, run(1, Lost()))
    assert not list((tmp_path / "out").glob("*.json"))
    write_sink(node, frame, 0, run(2))
    assert written(spark, tmp_path) == list(range(10))


def test_what_a_run_that_has_lost_the_job_still_writes_aside_is_none_of_the_next_one_s(spark, sink, tmp_path):
    node, frame, run = sink
    aside = tmp_path / "out" / "_pitstop" / "l1" / "files" / "0-1.staging"
    aside.mkdir(parents=True)
    (aside / "part-00000-old.json").write_text('{"n":0}\n')
    write_sink(node, frame, 0, run(2))
    assert written(spark, tmp_path) == list(range(10))
    for epoch in (1, 2):
        write_sink(node, frame, epoch, run(2))
    assert not aside.exists(), "it goes away with its epoch"


def test_an_epoch_that_an_earlier_release_committed_and_had_not_moved_is_moved(spark, sink, tmp_path):
    node, frame, run = sink
    control = tmp_path / "out" / "_pitstop" / "l1" / "files"
    (control / "0.staging").mkdir(parents=True)
    (control / "0.staging" / "part-0.json").write_text('{"n":7}\n')
    (control / "0.json").write_text(json.dumps({"part-0.json": "files-l1-00000000-000.json"}))
    write_sink(node, frame, 0, run(1))
    assert written(spark, tmp_path) == [7], "committed is committed"


@pytest.mark.parametrize("streaming", [True, False])
def test_a_plan_tells_which_sinks_a_stream_reads_itself(spark, tmp_path, streaming):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(tmp_path, "json", "n bigint", streaming=streaming), name="in")
    rows.write_to(ps.sinks.files(tmp_path, "json"), name="again")
    rows.write_to(ps.sinks.files(tmp_path / "out", "json"), name="out")
    plan = compile_pipeline(spark, p)
    assert {stage.name: stage.reads_sinks for stage in plan.stages if stage.reads_sinks} == (
        {"in": ("again",)} if streaming else {}
    )
