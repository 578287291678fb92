"""What is wrong with a pipeline is said when it is defined, with the stage and its place."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, UsageError


def numbers():
    p = ps.Pipeline()
    return p, p.read_from(ps.sources.rate(5), name="numbers")


def test_a_pipeline_without_a_sink_is_refused():
    p, _ = numbers()
    with pytest.raises(PipelineError, match="The pipeline has no sink"):
        p.check()


def test_an_empty_pipeline_is_refused():
    with pytest.raises(PipelineError, match="The pipeline is empty"):
        ps.Pipeline().check()


def test_doubled_stage_names_are_refused_with_both_places():
    _, stage = numbers()
    stage.write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match=r"Two stages are named 'out' \(test_pipeline.py:\d+ and test_pipeline.py:\d+\)"):
        stage.write_to(ps.sinks.noop(), name="out")


def test_a_stage_that_leads_nowhere_is_named():
    p, stage = numbers()
    stage.write_to(ps.sinks.noop(), name="out")
    stage.filter("sequence > 3", name="lost")
    with pytest.raises(PipelineError, match=r"Stage 'lost' .* leads to no sink"):
        p.check()


def test_an_idle_timeout_is_a_duration_and_none_by_default():
    _, stage = numbers()
    timeouts = [
        timed._node.spec.idle_timeout_ms
        for timed in (stage.with_timestamps("time"), stage.with_timestamps("time", "1 s", "30 seconds"))
    ]
    assert timeouts == [0, 30_000]
    with pytest.raises(UsageError, match="'soon' is no idle timeout: write a number and a unit"):
        stage.with_timestamps("time", idle_timeout="soon")


def test_a_window_without_event_time_says_what_is_missing():
    _, stage = numbers()
    with pytest.raises(PipelineError, match="Stage 'w' needs event time: call with_timestamps"):
        stage.group_by("sequence").window(ps.tumbling("1 s")).aggregate("w", n=ps.count())


def test_sessions_of_no_key_are_refused():
    _, stage = numbers()
    timed = stage.with_timestamps("time")
    timed.group_by().window(ps.tumbling("1 s")).aggregate("all", n=ps.count())
    with pytest.raises(PipelineError, match="Stage 's' has sessions of no key"):
        timed.group_by().window(ps.session("1 s")).aggregate("s", n=ps.count())


def test_stateless_stages_get_names_of_their_own():
    p, stage = numbers()
    stage.filter("true").filter("true").write_to(ps.sinks.noop(), name="out")
    assert [node.name for node in p.nodes] == ["numbers", "filter", "filter-2", "out"]


def test_a_sliding_window_is_a_multiple_of_its_slide():
    with pytest.raises(UsageError, match="10 seconds is not a multiple of 3 seconds"):
        ps.sliding("10 s", slide="3 s")
    assert ps.tumbling("10 s") == ps.sliding("10 s", slide="10 s")


def test_wrong_arguments_are_told_with_those_that_are_wanted():
    @ps.job
    def mine(folder: str, url: str) -> ps.Pipeline:
        return ps.Pipeline()

    with pytest.raises(UsageError, match=r"Wrong arguments for 'mine': it takes \(folder, url\), got 1"):
        mine.build(["only-one"])


def test_a_job_that_returns_something_else_is_refused():
    @ps.job
    def mine() -> ps.Pipeline:
        return None

    with pytest.raises(PipelineError, match="'mine' returned NoneType"):
        mine.build([])


def test_everything_public_is_listed_and_present():
    assert all(hasattr(ps, name) for name in ps.__all__)
