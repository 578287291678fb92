"""What Spark cannot run one after the other is said where the second stage is defined, with both stages."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError

MINUTE = ps.tumbling("1 minute")


def step(state, row):
    return 1


def numbers(**options):
    return ps.Pipeline().read_from(ps.sources.rate(5, **options), name="numbers").with_timestamps("time", "2 s")


def minutes(stage):
    return stage.group_by("sequence").window(MINUTE).aggregate("minutes", n=ps.count())


def test_state_in_python_behind_a_window_is_refused_with_both_stages():
    said = r"Stage 'so-far' \(test_chains.py:\d+\) cannot follow stage 'minutes' \(test_chains.py:\d+\): "
    with pytest.raises(PipelineError, match=said):
        minutes(numbers()).group_by("sequence").rolling_aggregate("so-far", n=ps.count())


def test_an_event_time_behind_a_window_is_refused():
    with pytest.raises(PipelineError, match=r"Stage 'timestamps-2' \(.*\) sets the event time behind stage 'minutes' \(.*\)"):
        minutes(numbers()).with_timestamps("window_start")


def test_an_event_time_that_is_set_twice_is_refused():
    with pytest.raises(PipelineError, match=r"Stage 'timestamps-2' \(.*\) sets the event time that stage 'timestamps' \(.*\) has"):
        numbers().filter("sequence > 3").with_timestamps("time")


def test_a_batch_job_has_no_watermark_that_could_be_in_the_way():
    rows = ps.Pipeline().read_from(ps.sources.items([(1,)], "sequence bigint"), name="rows")
    timed = rows.with_columns(time="timestamp_seconds(sequence)").with_timestamps("time")
    assert minutes(timed).with_timestamps("window_start").timestamp_column() == "window_start"
