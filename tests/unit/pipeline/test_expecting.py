"""A verb that gets the wrong kind of thing says what it takes, what it got, and what to write."""

import pytest

import pitstop as ps
from pitstop.errors import PitstopError


def rows():
    return ps.Pipeline().read_from(ps.sources.rate(5), name="numbers")


def timed():
    return rows().with_timestamps("time", name="timed")


SINKS = r": write ps\.sinks\.files\(\.\.\.\) or another of ps\.sinks\."
MISTAKES = {
    "source": (
        lambda: ps.Pipeline().read_from("cars", name="cars"),
        r"Source 'cars' is read from a source, not the text 'cars': write ps\.sources\.files\(\.\.\.\) or another",
    ),
    "source, its class": (lambda: ps.Pipeline().read_from(int, name="cars"), "not the class int itself: "),
    "sink": (lambda: rows().write_to("out", name="o"), f"Stage 'o' writes to a sink, not the text 'out'{SINKS}"),
    "sink of several": (
        lambda: ps.Pipeline().write_to(ps.sinks.noop(), "rows", name="o"),
        "Sink 'o' gets the rows of stages, not the text 'rows': write the stages that read_from and other verbs return",
    ),
    "dead letters": (
        lambda: ps.Pipeline().read_from(ps.sources.csv_tail("/x", "a int"), name="c", dead_letters="bad"),
        f"Stage 'c-dead-letters' writes to a sink, not the text 'bad'{SINKS}",
    ),
    "dead letters of state": (
        lambda: rows().group_by("sequence").map_stateful("s", max, "n int", "m int", dead_letters="bad"),
        f"The dead letters of stage 's' go to a sink, not the text 'bad'{SINKS}",
    ),
    "late rows": (
        lambda: timed().group_by("sequence").window(ps.tumbling("1 minute"), late="l").aggregate("w", n=ps.count()),
        f"The late rows of stage 'w' go to a sink, not the text 'l'{SINKS}",
    ),
    "window": (
        lambda: timed().group_by("sequence").window("1 minute"),
        r"Rows of stage 'timed' are cut by a window, not the text '1 minute': write ps\.tumbling\(\.\.\.\), ps\.sliding",
    ),
    "window of several": (
        lambda: ps.co_group(a=timed().group_by("sequence"), b=timed().group_by("sequence")).window(60),
        "are cut by a window, not an int: ",
    ),
    "grouped stage": (
        lambda: ps.co_group(a=timed().group_by("sequence"), b=timed()),
        r"Input 'b' of co_group is a grouped stage, not a Stage: write rows\.group_by\(\.\.\.\)\.",
    ),
    "merged stage": (lambda: rows().merge("others"), "Stage 'numbers' goes together with a stage, not the text 'others': "),
    "joined stage": (
        lambda: timed().join("j", "others", on="sequence", within="1 minute"),
        "Stage 'j' joins with a stage, not the text 'others': ",
    ),
    "table": (
        lambda: rows().hash_join("prices", on="sequence"),
        "Stage 'numbers' is joined with a stage or a function of SparkSession, not the text 'prices': ",
    ),
    "function of batches": (lambda: rows().map("f", "n int"), "are mapped by a function, not the text 'f': "),
    "function of rows of batches": (lambda: rows().flat_map(None, "n int"), "are mapped by a function, not None: "),
    "function of a frame": (lambda: rows().transform(3), "The rows of stage 'numbers' go through a function, not an int: "),
    "function with state": (
        lambda: rows().group_by("sequence").map_stateful("s", "f", "n int", "m int"),
        "Stage 's' keeps state by a function, not the text 'f': ",
    ),
    "own code": (lambda: rows().stateful("s", "f"), "Stage 's' is a function of DataFrames, not the text 'f': "),
    "own sink": (
        lambda: ps.sinks.custom(print),
        r"is an object with write\(rows, info\): write ps\.sinks\.custom\(MySink\(\)\)\.",
    ),
    "own sink, its class": (lambda: ps.sinks.custom(type(ps.sinks.noop())), "is an object with write"),
    "name of a map": (lambda: ps.sinks.map("a/b", key="k"), "'a/b' cannot name a map: use letters"),
    "name of a map that is read": (lambda: ps.sources.map_journal("a/b"), "'a/b' cannot name a map: use letters"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_of_the_wrong_kind_is_told_with_what_to_write(mistake):
    build, message = MISTAKES[mistake]
    with pytest.raises(PitstopError, match=message):
        build()


def test_files_are_partitioned_by_one_column_as_by_a_list_of_one():
    assert ps.sinks.files("/x", partition_by="vin") == ps.sinks.files("/x", partition_by=["vin"])


def test_stages_and_pipelines_show_their_names():
    p = ps.Pipeline()
    assert repr(p) == "<Pipeline: empty>"
    stage = p.read_from(ps.sources.rate(5), name="numbers")
    assert repr(p) == "<Pipeline: numbers>"
    assert repr(stage).startswith("<Stage 'numbers' (test_expecting.py:")
    assert repr(stage.group_by("sequence")).endswith(" grouped by sequence>")
