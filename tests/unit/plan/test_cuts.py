"""Where the streaming query ends and the work inside an epoch begins."""

import pitstop as ps
from pitstop.model.layout import StageKind, StateLayout
from pitstop.plan.cuts import cuts_of, operators_of, sources_of


def layout(*roles):
    return StateLayout(StageKind.WINDOW, roles=(*roles, 0))


def source(p, name="numbers"):
    return p.read_from(ps.sources.rate(5), name=name)


def names(cuts):
    return [(cut.node.name, [sink.name for sink in cut.sinks]) for cut in cuts]


def test_one_sink_leaves_the_whole_pipeline_to_the_query():
    p = ps.Pipeline()
    source(p).filter("true").write_to(ps.sinks.noop(), name="out")
    assert names(cuts_of(p.nodes)) == [("filter", ["out"])]


def test_several_sinks_below_one_stage_share_one_cut_so_the_source_is_read_once():
    p = ps.Pipeline()
    stage = source(p).merge(source(p, "more")).filter("true", name="both")
    stage.write_to(ps.sinks.noop(), name="one")
    stage.select("sequence").write_to(ps.sinks.noop(), name="two")
    assert names(cuts_of(p.nodes)) == [("both", ["one", "two"])]


def test_a_stateful_stage_is_computed_once_for_all_its_sinks():
    p = ps.Pipeline()
    counts = source(p).with_timestamps("time").group_by("sequence").window(ps.tumbling("1 s")).aggregate("counts", n=ps.count())
    counts.write_to(ps.sinks.noop(), name="one")
    counts.filter("n > 1").write_to(ps.sinks.noop(), name="two")
    assert names(cuts_of(p.nodes)) == [("counts", ["one", "two"])]
    assert [(slot.stage, slot.role) for slot in operators_of(cuts_of(p.nodes), {"counts": layout("frames")})] == [
        ("counts", "frames")
    ]


def test_operators_are_numbered_from_the_sink_upwards_and_sliding_windows_have_two():
    p = ps.Pipeline()
    timed = source(p).with_timestamps("time").group_by("sequence")
    timed.window(ps.sliding("4 s", "1 s")).aggregate("slow", n=ps.count()).write_to(ps.sinks.noop(), name="one")
    timed.window(ps.tumbling("1 s")).aggregate("fast", n=ps.count()).write_to(ps.sinks.noop(), name="two")
    cuts = cuts_of(p.nodes)
    layouts = {"slow": layout("windows", "frames"), "fast": layout("frames")}
    assert [(s.stage, s.role) for s in operators_of(cuts, layouts)] == [
        ("slow", "windows"),
        ("slow", "frames"),
        ("fast", "frames"),
    ]
    assert [(s.stage, s.reader) for s in sources_of(cuts, layouts)] == [("numbers", "slow"), ("numbers", "fast")]
