"""By what a sink tells the newest of its rows, as it is known when the pipeline is defined."""

import pytest

import pitstop as ps
from pitstop.plan.cuts import cuts_of

FINAL, EARLY = ("window_end",), ("window_end", "is_early")


def timed(p):
    rows = p.read_from(ps.sources.csv_tail("in", schema="k string, v bigint, ts timestamp"), name="rows")
    return rows.with_timestamps("ts", name="timed")


def windows(p):
    return timed(p).group_by("k").window(ps.sliding("4 minutes", "1 minute")).aggregate("w", n=ps.count())


def early(p):
    return timed(p).group_by("k").window(ps.tumbling("1 minute")).early_results("1 second").aggregate("w", n=ps.count())


def order(build):
    p = ps.Pipeline()
    build(p).write_to(ps.sinks.map("m", key="k"), name="out")
    return p.nodes[-1].sink.comes


@pytest.mark.parametrize(
    ("build", "columns", "stage", "shuffled"),
    [
        (lambda p: p.read_from(ps.sources.rate(1), name="rate"), (), None, False),
        (timed, ("ts",), "timed", False),
        (lambda p: timed(p).filter("v > 1", name="f"), ("ts",), "f", False),
        (lambda p: timed(p).select("k", "ts", name="s"), ("ts",), "s", False),
        (lambda p: timed(p).select("k", "ts AS at", name="s"), ("ts",), "timed", False),
        (lambda p: timed(p).select("k", name="s").filter("k > ''").with_columns(x="1"), ("ts",), "timed", False),
        (lambda p: timed(p).with_columns(ts="ts + interval 1 day", name="w"), ("ts",), "timed", False),
        (lambda p: timed(p).select("k", "current_timestamp() AS ts"), ("ts",), "timed", False),
        (lambda p: timed(p).transform(lambda rows: rows), ("ts",), None, False),
        (windows, FINAL, "w", True),
        (lambda p: windows(p).select("k", "n"), FINAL, "w", True),
        (lambda p: windows(p).with_timestamps("window_start", name="t"), FINAL, "t", True),
        (lambda p: windows(p).transform(lambda rows: rows), FINAL, None, True),
        (early, EARLY, "w", True),
        (lambda p: early(p).select("k", "window_end", "n", name="s"), FINAL, "s", True),
        (lambda p: windows(p).group_by("k").rolling_aggregate("r", m=ps.max("n")), (), None, False),
        (lambda p: timed(p).group_by("k").rolling_aggregate("r", m=ps.max("v")), (), None, False),
        (lambda p: timed(p).group_by("v").rolling_aggregate("r", m=ps.max("v")), ("ts",), "r", True),
        (lambda p: timed(p).group_by("k").rolling_aggregate("r", m=ps.max("v")).group_by("k").distinct("d"), ("ts",), "d", True),
        (lambda p: timed(p).group_by("k").distinct("d").select("k"), ("ts",), "d", True),
        (lambda p: timed(p).join("j", timed_other(p), "k", within="1 minute"), ("ts",), "j", True),
        (lambda p: timed(p).group_by("k").map_stateful("m", print, "n int", "o int"), (), None, True),
    ],
)
def test_rows_are_newer_by_the_end_of_their_windows_or_else_by_their_event_time(build, columns, stage, shuffled):
    found = order(build)
    assert (found.columns, found.stage, found.shuffled) == (columns, stage, shuffled)


@pytest.mark.parametrize(
    ("group", "key", "last_is_newest"),
    [
        ("k", "k", True),
        ("k", "K", True),
        ("k", "`k`", True),
        ("k", "v", False),
        ("k", "substr(k, 1, 1)", False),
        (("k", "v"), "k", False),
        (("k", "v"), "concat(k, ' (', v)", True),
        (("k", "v"), "concat_ws('/', v, k)", True),
        (("k", "v"), "concat(k, ' v ', n)", False),
        ("k", "concat(k, '/', v)", True),
        ("k", "coalesce(k, '-')", True),
        ("k", "COALESCE(`k`, 'none, at all')", True),
        ("k", "nvl(k, -1)", True),
        ("k", "coalesce(cast(k as string), '-')", True),
        ("k", "cast(k AS string)", True),
        ("k", "coalesce(k, v)", False),
        ("k", "coalesce(v, 'k')", False),
        (("k", "v"), "concat(coalesce(k, '-'), '/', ifnull(v, 0))", True),
    ],
)
def test_the_last_running_result_of_a_key_is_the_newest_if_the_map_tells_groups_apart(group, key, last_is_newest):
    p = ps.Pipeline()
    keys = (group,) if isinstance(group, str) else group
    totals = timed(p).group_by(*keys).rolling_aggregate("r", n=ps.count()).filter("n > 1").drop("ts")
    totals.write_to(ps.sinks.map("m", key=key), name="out")
    assert (p.nodes[-1].sink.takes_order.columns == ()) is last_is_newest


def test_a_renamed_key_of_running_results_is_still_known():
    p = ps.Pipeline()
    timed(p).group_by("k").rolling_aggregate("r", n=ps.count()).rename({"k": "car"}).write_to(
        ps.sinks.map("m", key="car"), name="out"
    )
    assert p.nodes[-1].spec.describe() == "sink map"


def timed_other(p):
    other = p.read_from(ps.sources.csv_tail("other", schema="k string, w bigint, at timestamp"), name="other")
    return other.with_timestamps("at", name="other-timed")


@pytest.mark.parametrize(("name", "columns"), [("ts", ("ts",)), ("at", ())])
def test_rows_that_were_merged_are_newer_by_their_time_if_all_call_it_the_same(name, columns):
    p = ps.Pipeline()
    other = p.read_from(ps.sources.csv_tail("other", schema=f"k string, {name} timestamp"), name="other").with_timestamps(name)
    timed(p).select("k", "ts").merge(other.select("k", f"{name} AS ts"), name="both").write_to(
        ps.sinks.map("m", key="k"), name="out"
    )
    assert p.nodes[-1].sink.comes.columns == columns


def test_the_plan_says_which_row_wins():
    p = ps.Pipeline()
    rows = windows(p)
    rows.write_to(ps.sinks.map("a", key="k"), name="a")
    rows.write_to(ps.sinks.map("b", key="k", order_by=("n", "k")), name="b")
    rows.write_to(ps.sinks.map("c", key="k", order_by=()), name="c")
    rows.write_to(ps.sinks.map("d", key="k", order_by="n", merge=max), name="d")
    told = [node.spec.describe() for node in p.nodes if node.name in "abcd"]
    assert told == ["sink map, newest by window_end", "sink map, newest by n, k", "sink map", "sink map, in order by n"]


def test_a_cut_stands_where_the_order_is_still_known_and_there_are_no_more_of_them():
    p = ps.Pipeline()
    timed(p).select("k", "v", name="narrow").write_to(ps.sinks.map("m", key="k"), name="map")
    assert [cut.node.name for cut in cuts_of(p.nodes)] == ["timed"]
    p = ps.Pipeline()
    narrow = timed(p).select("k", "v", name="narrow")
    narrow.write_to(ps.sinks.map("m", key="k", order_by="v"), name="map")
    narrow.write_to(ps.sinks.noop(), name="noop")
    assert [cut.node.name for cut in cuts_of(p.nodes)] == ["narrow"]
