"""Steps of rows: the names of keys, the titles of stages without a name, and the names that stand beside saved rows."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, UsageError
from pitstop.pipeline.key_columns import exactly, key_columns
from pitstop.pipeline.specs import WithColumnsSpec


class Column:
    """A Spark Column, as far as its text."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"Column<'{self.text}'>"


def numbers():
    p = ps.Pipeline()
    return p, p.read_from(ps.sources.rate(5), name="numbers")


@pytest.mark.parametrize(
    ("columns", "names", "computed"),
    [
        ("vin", ("vin",), {}),
        (["vin", "a b"], ("vin", "a b"), {}),
        ("upper(vin) AS vin", ("vin",), {"vin": "upper(vin)"}),
        ("date(ts) as `the day`", ("the day",), {"the day": "date(ts)"}),
        ("vin AS vin", ("vin",), {}),
        ("CAST(a AS int) AS b", ("b",), {"b": "CAST(a AS int)"}),
        ("`a AS b`", ("a AS b",), {}),
        (exactly("x`y AS z"), ("x`y AS z",), {}),
        (Column("vin"), ("vin",), {}),
    ],
)
def test_a_key_is_a_name_or_an_expression_with_a_name(columns, names, computed):
    keys = key_columns(columns)
    assert (keys.names, keys.computed) == (names, computed)


def test_a_column_with_a_name_is_computed_and_one_without_is_refused():
    named = Column("upper(vin) AS vin")
    assert key_columns(named).computed == {"vin": named}
    with pytest.raises(UsageError, match=r"The column 'upper\(vin\)' has no name by which rows could be grouped"):
        key_columns(Column("upper(vin)"))
    with pytest.raises(PipelineError, match=r"A key of stage 'numbers': 3 is no column: give a name, SQL such as"):
        numbers()[1].group_by(3)


def test_what_is_computed_is_a_column_of_the_rows():
    _, stage = numbers()
    keyed = stage.group_by("sequence", "sequence % 3 AS part").rolling_aggregate("totals", n=ps.count())._node
    assert keyed.spec.keys == ("sequence", "part")
    assert keyed.inputs[0].spec == WithColumnsSpec({"part": "sequence % 3"})
    timed = stage.with_timestamps("timestamp_seconds(sequence) AS at")
    assert timed.timestamp_column() == "at"
    pairs = timed.join("pairs", timed.select("at"), on="sequence % 3 AS part", within="1 s")._node
    assert [parent.spec for parent in pairs.inputs] == [WithColumnsSpec({"part": "sequence % 3"})] * 2


def clean(rows):
    return rows


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (lambda s: s.with_columns(speed="a / b", hours="1"), "with_columns speed hours"),
        (lambda s: s.filter("speed > 3 AND upper(vin) LIKE 'a b'"), "filter speed vin"),
        (lambda s: s.filter("true"), "filter"),
        (lambda s: s.filter(clean), "filter_by_function clean"),
        (lambda s: s.select("vin", "upper(x) AS `the x`", "sum(y) z", "*"), "select vin the x z"),
        (lambda s: s.select(Column("speed AS v")), "select v"),
        (lambda s: s.transform(clean), "transform clean"),
        (lambda s: s.transform(lambda rows: rows), "transform"),
        (lambda s: s.map(clean, "a int"), "map clean"),
        (lambda s: s.flat_map(clean, "a int"), "flat_map clean"),
        (lambda s: s.rename({"vin": "vehicle"}), "rename vehicle"),
        (lambda s: s.drop("vin", "speed"), "drop vin speed"),
        (lambda s: s.explode("tags", into="tag"), "explode tag"),
        (lambda s: s.explode("tags"), "explode tags"),
        (lambda s: s.merge(s.filter("b", name="other")), "merge numbers other"),
        (lambda s: s.split("amount > 100")[0], "split amount"),
        (lambda s: s.split("amount > 100")[1], "split rest"),
        (lambda s: s.with_timestamps("time"), "timestamps"),
        (lambda s: s.select(*[f"column_{number}" for number in range(30)]), "select column_0 column_1 column_2 column_3"),
    ],
)
def test_a_stage_without_a_name_is_called_by_what_it_is_about(step, name):
    _, stage = numbers()
    assert step(stage).name == name


def test_two_stages_about_one_column_have_two_names():
    _, stage = numbers()
    assert stage.filter("a > 1").filter("a < 9").name == "filter a-2"


def test_sinks_of_dead_letters_keep_the_names_that_they_have_had():
    p, stage = numbers()
    first = stage.with_columns(a="1").with_columns(b="2").filter("a > 1")
    for rows in (first, first.filter("a < 9")):
        rows.with_timestamps("time", dead_letters=ps.sinks.noop()).write_to(ps.sinks.noop(), name=f"out of {rows.name}")
    # As release 0.1 named them, when the stages before were 'filter' and 'filter-2'.
    assert [node.name for node in p.nodes if "far-ahead" in node.name] == ["filter-far-ahead", "filter-2-far-ahead"]


def test_names_of_the_user_are_kept_and_a_stage_with_state_may_bear_that_of_a_column():
    _, stage = numbers()
    timed = stage.with_columns(speed="1").with_timestamps("time")
    assert timed.group_by("sequence").rolling_aggregate("speed", n=ps.count()).name == "speed"
    assert [each.name for each in stage.split("a", "b", names=["one", "two", "three"])] == ["one", "two", "three"]


def test_a_part_of_a_split_may_be_left_alone_and_a_stage_behind_it_may_not():
    p, stage = numbers()
    large, _ = stage.split("sequence > 9")
    with pytest.raises(PipelineError, match="The pipeline has no sink"):
        p.check()
    stage.write_to(ps.sinks.noop(), name="all")
    with pytest.raises(PipelineError, match=r"Stage 'split sequence' .* leads to no sink"):
        p.check()
    large.write_to(ps.sinks.noop(), name="large")
    p.check()
    _.filter("sequence < 3")
    with pytest.raises(PipelineError, match=r"leads to no sink"):
        p.check()


def test_an_event_time_goes_with_its_column():
    timed = numbers()[1].with_timestamps("time")
    assert timed.rename({"time": "at"}).timestamp_column() == "at"
    assert timed.map(clean, "time timestamp, n int").timestamp_column() == "time"
    assert timed.map(clean, "n int").timestamp_column() is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.rename({}), "rename takes a dict of old and new names"),
        (lambda s: s.drop(), "drop takes the names of columns"),
        (lambda s: s.split(), "split takes one condition or more"),
        (lambda s: s.split("a", names=["one"]), "split of 1 conditions makes 2 stages, not 1"),
        (lambda s: s.with_map("cars", on=["a", "b"]), r"A map has one key: give with_map\('cars'\) one column, not 2"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_given(wrong, message):
    with pytest.raises(UsageError, match=message):
        wrong(numbers()[1])
