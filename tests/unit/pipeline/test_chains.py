"""Which stages follow which is judged where the second one is defined, in a sentence with both."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError

MINUTE = ps.tumbling("1 minute")


def step(state, row):
    return 1


def numbers(**options):
    return ps.Pipeline().read_from(ps.sources.rate(5, **options), name="numbers").with_timestamps("time", "2 s")


def windows(stage, window=MINUTE, name="minutes"):
    return stage.group_by("sequence").window(window).aggregate(name, n=ps.count())


def state(stage, **options):
    return stage.group_by("sequence").map_stateful("mine", step, "n bigint", "at timestamp", **options)


@pytest.mark.parametrize("column", ["window_start", "window_end"])
def test_windows_of_a_multiple_follow_windows_by_either_of_their_times(column):
    hours = windows(windows(numbers()).with_timestamps(column), ps.sliding("1 hour", "2 minutes"), "hours")
    assert hours.name == "hours"


@pytest.mark.parametrize(
    ("first", "second", "remedy"),
    [
        (ps.tumbling("1 minute"), ps.tumbling("90 seconds"), ", or a slide of a multiple of 1 minutes"),
        (ps.tumbling("1 minute"), ps.sliding("1 minute", "30 seconds"), ", or a slide of a multiple of 1 minutes"),
        (ps.tumbling("1 minute"), ps.session("1 hour"), ""),
        (ps.sliding("1 minute", "10 seconds"), ps.tumbling("1 minute"), ""),
        (ps.session("1 minute"), ps.tumbling("1 minute"), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else value.describe(),
)
def test_windows_that_would_get_the_start_of_others_too_late_are_refused(first, second, remedy):
    starts = windows(numbers(), first).with_timestamps("window_start", name="starts").filter("n > 1")
    with pytest.raises(PipelineError) as caught:
        windows(starts, second, "second")
    said = str(caught.value)
    assert said.startswith("Stage 'second' (test_chains.py:")
    assert " would get rows of stage 'minutes' (test_chains.py:" in said
    assert said.endswith(f"{remedy}.")
    assert "use with_timestamps('window_end') in stage 'starts' (test_chains.py:" in said
    assert windows(windows(numbers(), first).with_timestamps("window_end"), second, "second").name == "second"


@pytest.mark.parametrize(
    "follow",
    [
        lambda rows: rows.group_by("sequence").distinct("seen", within="1 hour"),
        lambda rows: state(rows, ttl="1 hour"),
        lambda rows: rows.join("pairs", rows.select("sequence", "window_start as at"), on="sequence", within="1 hour"),
    ],
    ids=["distinct", "state", "join"],
)
def test_what_looks_at_lateness_row_by_row_takes_no_start_of_a_window(follow):
    starts = windows(numbers()).with_timestamps("window_start").group_by("sequence").distinct("once")
    with pytest.raises(PipelineError, match=r"would get rows of stage 'minutes' \(.*\) too late"):
        follow(starts)


def test_state_that_is_kept_for_ever_takes_the_start_of_a_window():
    assert state(windows(numbers()).with_timestamps("window_start")).name == "mine"


def test_a_column_that_replaces_the_start_of_a_window_is_another_one():
    later = windows(numbers()).with_columns(window_start="window_end").with_timestamps("window_start")
    assert later.group_by("sequence").distinct("seen", within="1 hour").name == "seen"


RENAMED = {
    "as": lambda rows: rows.select("sequence", "window_start as begin"),
    "without as": lambda rows: rows.select("sequence", "window_start begin"),
    "quoted": lambda rows: rows.select("`sequence`", "`window_start` AS `begin`"),
    "upper case": lambda rows: rows.select("WINDOW_START AS BEGIN", "sequence"),
    "all and one more": lambda rows: rows.select("*", "window_start as begin"),
    "with_columns": lambda rows: rows.with_columns(begin="window_start"),
    "twice": lambda rows: rows.with_columns(at="window_start").filter("n > 1").select("sequence", "at as begin"),
    "behind distinct": lambda rows: rows.group_by("sequence").distinct("once").with_columns(begin="window_start"),
    "behind rolling": lambda rows: (
        rows.group_by("sequence").rolling_aggregate("so_far", m=ps.count()).with_columns(begin="window_start")
    ),
}


@pytest.mark.parametrize("rename", RENAMED.values(), ids=RENAMED.keys())
def test_the_start_of_a_window_is_one_by_any_name(rename):
    starts = rename(windows(numbers(), ps.sliding("1 minute", "10 seconds"))).with_timestamps("begin")
    with pytest.raises(PipelineError, match=r"'second' \(.*would get rows of stage 'minutes' \(.*\) too late"):
        windows(starts, name="second")


HARMLESS = {
    "computed": lambda rows: rows.select("sequence", "window_start + interval 1 minute as begin"),
    "a function": lambda rows: rows.with_columns(begin="greatest(window_start, window_end)"),
    "the end": lambda rows: rows.select("sequence", "window_start", "window_end as begin"),
    "the end as the start": lambda rows: rows.select("sequence", "window_end as window_start").with_columns(begin="window_start"),
    "another of that name": lambda rows: rows.with_columns(begin="window_start").with_columns(begin="window_end"),
    "spark code": lambda rows: rows.transform(lambda frame: frame.withColumn("begin", frame["window_end"])),
}


@pytest.mark.parametrize("make", HARMLESS.values(), ids=HARMLESS.keys())
def test_other_times_of_windows_are_taken(make):
    made = make(windows(numbers(), ps.sliding("1 minute", "10 seconds"))).with_timestamps("begin")
    assert windows(made, name="second").name == "second"


def test_rolling_aggregates_pass_their_event_time_on():
    so_far = numbers().group_by("sequence").rolling_aggregate("so-far", m=ps.count())
    assert so_far.timestamp_column() == "time"
    assert windows(so_far).name == "minutes"


def test_an_event_time_that_is_set_twice_is_refused():
    with pytest.raises(
        PipelineError, match=r"Stage 'timestamps-2' \(.*\) sets the event time that stage 'timestamps' \(.*\) has"
    ):
        numbers().filter("sequence > 3").with_timestamps("time")


@pytest.mark.parametrize("options", [{"allowed_lag": "1 s"}, {"idle_timeout": "1 minute"}])
def test_a_lag_or_an_idle_timeout_behind_state_is_refused(options):
    with pytest.raises(PipelineError, match=r"Stage 'timestamps-2' \(.*\) goes on with the watermark of stage 'minutes' \(.*\)"):
        windows(numbers()).with_timestamps("window_end", **options)


def test_ingestion_timestamps_behind_a_watermark_are_refused():
    with pytest.raises(PipelineError, match=r"stamps the rows of stage 'minutes' \(.*\), which have an event time"):
        windows(numbers()).with_ingestion_timestamps()


def test_ingestion_timestamps_behind_state_without_a_watermark_are_the_first():
    rows = ps.Pipeline().read_from(ps.sources.rate(5), name="numbers")
    assert windows(state(rows).with_ingestion_timestamps().with_columns(sequence="1")).name == "minutes"


def test_rows_with_and_without_event_time_are_not_given_one_together():
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(5), name="numbers")
    ends = windows(rows.with_timestamps("time")).select("sequence", "window_end as time")
    with pytest.raises(
        PipelineError, match=r"of stage 'minutes' \(.*\), and without one, of stage 'numbers' \(.*\): call with_time"
    ):
        ends.merge(rows.select("sequence", "time")).with_timestamps("time")


def test_a_batch_job_has_no_watermark_that_could_be_in_the_way():
    rows = ps.Pipeline().read_from(ps.sources.items([(1,)], "sequence bigint"), name="rows")
    timed = rows.with_columns(time="timestamp_seconds(sequence)").with_timestamps("time").with_timestamps("time", "1 s")
    starts = windows(timed, ps.sliding("1 minute", "1 s")).with_timestamps("window_start")
    assert windows(starts, name="again").name == "again"


def test_a_batch_source_in_a_job_that_streams_is_judged_as_a_stream():
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([(1,)], "sequence bigint"), name="rows")
    rows.with_timestamps("time").with_timestamps("time").write_to(ps.sinks.noop(), name="out")
    p.check()
    p.read_from(ps.sources.rate(5), name="numbers").write_to(ps.sinks.noop(), name="out-2")
    with pytest.raises(PipelineError, match="keep one of the two"):
        p.check()


def early_minutes():
    p = ps.Pipeline()
    numbered = p.read_from(ps.sources.rate(5), name="numbers").with_timestamps("time", "2 s")
    grouped = numbered.group_by("sequence").window(MINUTE).early_results("1 s")
    return p, grouped.aggregate("minutes", n=ps.count()).select("sequence", "n", "window_end")


def test_early_results_cannot_pass_a_stage_that_is_part_of_the_query():
    _, early = early_minutes()
    with pytest.raises(PipelineError, match=r"^Stage 'both' .* reads the early results of stage 'minutes' .* before merge"):
        early.merge(early, name="both")


def test_early_results_that_reach_no_sink_are_refused():
    p, early = early_minutes()
    windows(early.with_timestamps("window_end"), name="again").write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match=r"^Stage 'minutes' .* gives early results that reach no sink"):
        p.check()


def test_stages_with_state_follow_windows_that_give_early_results_to_a_sink():
    p, early = early_minutes()
    early.write_to(ps.sinks.noop(), name="early out")
    windows(early.with_timestamps("window_end"), name="again").write_to(ps.sinks.noop(), name="out")
    p.check()


@pytest.mark.parametrize(
    "before",
    [windows, lambda rows: rows.group_by("sequence").distinct("minutes"), lambda rows: state(rows).select("*", name="minutes")],
    ids=["windows", "distinct", "map_stateful"],
)
def test_windows_behind_a_stage_with_state_cannot_keep_their_late_rows(before):
    rows = before(numbers())
    time = rows.timestamp_column() or ("window_end" if before is windows else "at")
    timed = rows if rows.timestamp_column() else rows.with_timestamps(time)
    with pytest.raises(PipelineError) as caught:
        timed.group_by("sequence").window(MINUTE, late=ps.sinks.noop()).aggregate("second", n=ps.count())
    said = str(caught.value)
    assert said.startswith("Stage 'second' (test_chains.py:")
    assert " cannot keep its late rows, because they come from stage '" in said
    assert "leave late out, and they are counted" in said


KEEPING = {
    "join": lambda rows: rows.join(
        "second", rows.select("sequence", "time as at"), on="sequence", within="1 s", late=ps.sinks.noop()
    ),
    "distinct": lambda rows: rows.group_by("sequence").distinct("second", within="1 s", late=ps.sinks.noop()),
    "map_stateful": lambda rows: rows.group_by("sequence").map_stateful(
        "second", step, "n bigint", "at timestamp", ttl="1 s", late=ps.sinks.noop()
    ),
}


@pytest.mark.parametrize("keep", KEEPING.values(), ids=KEEPING.keys())
def test_other_stages_behind_a_stage_with_state_cannot_keep_their_late_rows(keep):
    before = windows(numbers()).with_timestamps("window_end").with_columns(time="window_end")
    with pytest.raises(PipelineError) as caught:
        keep(before)
    said = str(caught.value)
    assert said.startswith("Stage 'second' (test_chains.py:")
    assert " cannot keep its late rows, because they come from stage 'minutes' (test_chains.py:" in said


@pytest.mark.parametrize("keep", KEEPING.values(), ids=KEEPING.keys())
def test_other_stages_of_rows_that_no_stage_with_state_has_made_can_keep_their_late_rows(keep):
    made = keep(numbers())
    made.write_to(ps.sinks.noop(), name="out")
    late = [node for node in made._graph.nodes if node.spec.op in ("late", "sink")]
    assert [node.name for node in late] == ["second-late", "second-late-rows", "out"]
    assert late[0].inputs == made._node.inputs


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        (
            lambda rows: rows.distinct("second", late=ps.sinks.noop()),
            "'second' remembers its rows forever",
        ),
        (
            lambda rows: rows.map_stateful("second", step, "n bigint", "at timestamp", late=ps.sinks.noop()),
            "'second' drops no late rows without a ttl",
        ),
    ],
    ids=["distinct", "map_stateful"],
)
def test_stages_that_drop_no_late_rows_keep_none(keep, said):
    with pytest.raises(PipelineError, match=said):
        keep(numbers().group_by("sequence"))


def test_distinct_by_its_event_time_drops_late_rows_and_can_keep_them():
    kept = numbers().group_by("sequence", "time").distinct("seen", late=ps.sinks.noop())
    assert [node.name for node in kept._graph.nodes if node.spec.op == "late"] == ["seen-late"]


def test_windows_of_rows_that_no_stage_with_state_has_made_can_keep_their_late_rows():
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(5), name="numbers").filter("sequence > 3").with_timestamps("time")
    kept = rows.group_by("sequence").window(MINUTE, late=ps.sinks.noop()).early_results("1 s").aggregate("minutes", n=ps.count())
    kept.write_to(ps.sinks.noop(), name="out")
    p.check()
    assert [node.name for node in p.nodes if node.spec.op in ("late", "sink")] == ["minutes-late", "minutes-late-rows", "out"]
