"""The fields of an operator's state that become the accumulators of a stage of Pitstop."""

import pytest

from pitstop.adoption.conversions import Accumulator, Making, NoConversionError, StageAggregate, Target, conversion, fed_role
from pitstop.doctor.facts import OperatorKind
from pitstop.model.layout import StageKind, StateLayout
from tests.unit.adoption.test_operators import operator

WINDOW = "window struct<start: timestamp>, name string"


def aggregate(values, keys=WINDOW):
    return operator(0, OperatorKind.AGGREGATE, ("default", keys, values))


def target(accumulators, aggregates, kind=StageKind.WINDOW, keys=(("name", "string"),), roles=("frames",)):
    layout = StateLayout(kind, keys, tuple(accumulators.items()), parameters={"text": "tumbling(1 minute)"}, roles=roles)
    return Target(layout, aggregates)


def made(values, accumulators, aggregates):
    converted = conversion(aggregate(values), target(accumulators, aggregates))
    return [(each.name, each.making, each.places, each.digits) for each in converted.accumulators]


def objection(old, new, any_names=False):
    with pytest.raises(NoConversionError) as raised:
        conversion(old, new, any_names)
    return str(raised.value)


def test_an_average_takes_two_fields_that_a_sum_and_a_count_would_keep_too():
    fields, accumulators = "sum double, count bigint", {"a__0": "double", "b__0": "bigint"}
    both = {"a": StageAggregate("sum", ("double",)), "b": StageAggregate("count", ())}
    assert made(fields, accumulators, both) == [("a__0", Making.COPY, (0,), 0), ("b__0", Making.COPY, (1,), 0)]
    one = {"m": StageAggregate("avg", ("double",))}
    assert made(fields, {"m__0": "double", "m__1": "bigint"}, one) == [
        ("m__0", Making.COPY, (0,), 0),
        ("m__1", Making.COPY, (1,), 0),
    ]


def test_a_sum_of_decimals_is_none_if_spark_says_that_it_is_empty():
    taken = {"t": StageAggregate("sum", ("decimal(20,3)",)), "n": StageAggregate("count", ())}
    assert made("sum decimal(30,3), isEmpty boolean, count bigint", {"t__0": "decimal(38,3)", "n__0": "bigint"}, taken) == [
        ("t__0", Making.UNLESS_EMPTY, (0, 1), 0),
        ("n__0", Making.COPY, (2,), 0),
    ]


@pytest.mark.parametrize(
    ("taken", "field", "accumulators"),
    [
        ("sum", "sum bigint", {"t__0": "decimal(38,2)"}),
        ("avg", "sum double, count bigint", {"t__0": "double", "t__1": "bigint"}),
    ],
)
def test_short_decimals_are_summed_up_without_their_point(taken, field, accumulators):
    first, *_ = made(field, accumulators, {"t": StageAggregate(taken, ("decimal(8,2)",))})
    assert first == ("t__0", Making.COPY, (0,), 2)


def test_firsts_and_extremes_are_two_fields():
    first = {"f": StageAggregate("first", ("bigint", "timestamp"))}
    assert made("first bigint, valueSet boolean", {"f__0": "struct<by:timestamp,value:bigint>"}, first) == [
        ("f__0", Making.IF_SET, (0, 1), 0)
    ]
    most = {"m": StageAggregate("max_by", ("string", "int"))}
    fields = "valueWithExtremumOrdering string, extremumOrdering int"
    assert made(fields, {"m__0": "struct<by:int,value:string>"}, most) == [("m__0", Making.BY_ORDER, (0, 1), 0)]


def test_accumulators_keep_the_order_of_the_stage_and_keys_go_by_name():
    old = aggregate("count bigint, max int", "b string, window struct<start: timestamp>, a int")
    new = target(
        {"m__0": "int", "n__0": "bigint"},
        {"n": StageAggregate("count", ()), "m": StageAggregate("max", ("int",))},
        keys=(("a", "int"), ("b", "string")),
    )
    converted = conversion(old, new)
    assert converted.keys == (("a", "a"), ("b", "b"))
    assert converted.accumulators == (
        Accumulator("m__0", "int", Making.COPY, (1,)),
        Accumulator("n__0", "bigint", Making.COPY, (0,)),
    )


def test_keys_of_other_names_need_the_word_of_the_user():
    new = target({"n__0": "bigint"}, {"n": StageAggregate("count", ())}, keys=(("who", "string"),))
    assert objection(aggregate("count bigint"), new) == "its keys are (name string), and those of the stage (who string)"
    assert conversion(aggregate("count bigint"), new, any_names=True).keys == (("who", "name"),)


def test_windows_become_windows_and_what_has_none_a_rolling_aggregate():
    counts = {"n__0": "bigint"}, {"n": StageAggregate("count", ())}
    rolling = target(*counts, kind=StageKind.ROLLING, roles=("state",))
    assert objection(aggregate("count bigint"), rolling) == "it has windows, and the stage has none"
    assert objection(aggregate("count bigint", "name string"), target(*counts)) == "it has no windows, and the stage has"
    assert conversion(aggregate("count bigint", "name string"), rolling).keys == (("name", "name"),)
    session = target(*counts, kind=StageKind.SESSION, roles=("sessions",))
    assert objection(aggregate("count bigint"), session) == "it is of another kind than tumbling(1 minute)"


def test_the_values_of_sessions_follow_the_session_and_its_keys():
    values = "session_window struct<start: timestamp>, name string, count bigint"
    old = operator(0, OperatorKind.SESSION, ("default", "name string, sessionStartTime timestamp", values))
    new = target({"n__0": "bigint"}, {"n": StageAggregate("count", ())}, kind=StageKind.SESSION, roles=("sessions",))
    assert conversion(old, new).accumulators == (Accumulator("n__0", "bigint", Making.COPY, (0,)),)


@pytest.mark.parametrize(
    ("fields", "kind", "types", "accumulators", "clause"),
    [
        ("min int", "max", ("int",), {"x__0": "int"}, "for 'x' (max) it would keep 'max', and there it keeps 'min'"),
        ("sum double", "avg", ("double",), {"x__0": "double", "x__1": "bigint"}, "and there it keeps nothing more"),
        ("sum bigint, count bigint", "sum", ("int",), {"x__0": "bigint"}, "it also keeps 'count'"),
        ("max bigint", "max", ("int",), {"x__0": "int"}, "its 'x' is bigint, and that of the stage int"),
        ("sum double", "sum", ("decimal(6,2)",), {"x__0": "decimal(38,2)"}, "is double, and the stage takes in decimal(6,2)"),
        ("sum bigint", "sum", ("decimal(9,2)",), {"x__0": "decimal(38,2)"}, "is bigint, and the stage takes in decimal(9,2)"),
        ("MS[0] bigint", "stddev", ("int",), {"x__0": "double"}, "Spark keeps nothing that could become stddev"),
        ("buf binary", "collect_set", ("array<int>",), {"x__0": "array<array<int>>"}, "'x' collects values of type array<int>"),
    ],
)
def test_what_does_not_fit_is_named(fields, kind, types, accumulators, clause):
    assert clause in objection(aggregate(fields), target(accumulators, {"x": StageAggregate(kind, types)}))


def test_sliding_windows_keep_whole_windows_apart_from_frames():
    assert fed_role(StateLayout(StageKind.WINDOW, roles=("windows", "frames", 0))) == "windows"
