"""Which stage takes over the state of which operator, and what is refused or asked for."""

from dataclasses import replace

import pytest

from pitstop.adoption.conversions import StageAggregate, Target
from pitstop.adoption.forms import FILLED, Fit, difference, fit, in_words, new_variables, orders, unused_columns
from pitstop.adoption.operators import Place, everywhere, matched
from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.doctor.schemas import Column, ColumnFamily
from pitstop.errors import IncompatibleError
from pitstop.model.layout import StageKind, StateLayout
from pitstop.plan.model import OperatorSlot


def columns(text):
    return tuple(Column(*part.split(" ", 1)) for part in text.split(", ")) if text else ()


def operator(number, kind, *families):
    """An operator with families (name, keys, values)."""
    forms = tuple(ColumnFamily(name, columns(keys), columns(values)) for name, keys, values in families)
    return Operator(number, kind, "name", None, 1, 2, forms, ("default",), "RocksDB", (), 2, 1, None, 0, {})


def aggregate(number=0, keys="window struct<start: timestamp>, name string", values="count bigint"):
    return operator(number, OperatorKind.AGGREGATE, ("default", keys, values))


def dedupe(number=0, keys="id bigint"):
    return operator(number, OperatorKind.DEDUPLICATE, ("default", keys, "__dummy__ void"))


def join(number=0, left="id bigint, at timestamp, matched boolean", right="other bigint, matched boolean"):
    sides = [("left", left), ("right", right)]
    counts = [(f"{side}-keyToNumValues", "field0 bigint", "value bigint") for side, _ in sides]
    rows = [(f"{side}-keyWithIndexToValue", "field0 bigint, index bigint", values) for side, values in sides]
    return operator(number, OperatorKind.JOIN, *counts, *rows)


def processor(*variables, number=0):
    return operator(number, OperatorKind.PROCESSOR, *((name, "name string", values) for name, values in variables))


def place(stage, new, role="op0", copy=0, takes_raw=True, unused=None, target=None):
    return Place(OperatorSlot(stage, role, copy), new, takes_raw, unused or {}, target)


def chosen(old, places, asked=None):
    return {number: (each.slot.stage, each.slot.role) for number, each in matched(old, places, asked or {}).items()}


def refusal(old, places, asked=None):
    with pytest.raises(IncompatibleError) as caught:
        matched(old, places, asked or {})
    assert "\n" not in caught.value.message
    return caught.value.message


def test_the_only_stage_that_fits_takes_over():
    places = [place("seen", dedupe(0)), place("counts", aggregate(1))]
    assert chosen([aggregate(0), dedupe(1)], places) == {0: ("counts", "op0"), 1: ("seen", "op0")}


def test_names_decide_where_types_are_equal():
    places = [place("by id", dedupe(0, "id bigint")), place("by order", dedupe(1, "order bigint"))]
    assert chosen([dedupe(0, "order bigint"), dedupe(1, "id bigint")], places) == {0: ("by order", "op0"), 1: ("by id", "op0")}


def test_equal_operators_are_asked_for():
    places = [place("a", dedupe(0)), place("b", dedupe(1))]
    said = refusal([dedupe(0), dedupe(1)], places)
    assert said == ("Operator 0 (dropDuplicates by id) fits stages 'a' and 'b': choose by --operator 0=a or --operator 0=b.")
    assert chosen([dedupe(0), dedupe(1)], places, {0: "b"}) == {0: ("b", "op0"), 1: ("a", "op0")}


def test_operators_of_one_stage_keep_their_order():
    places = [place("both", dedupe(0), "op0"), place("both", dedupe(1), "op1")]
    assert chosen([dedupe(0), dedupe(1)], places) == {0: ("both", "op0"), 1: ("both", "op1")}


def test_one_of_two_that_one_stage_has_is_asked_for_by_another_stage():
    places = [place("both", dedupe(0), "op0"), place("both", dedupe(1), "op1")]
    assert refusal([dedupe(0)], places) == (
        "Operator 0 (dropDuplicates by id) fits several operators of stage 'both': give each of them a stage of its own."
    )


def test_two_operators_do_not_become_one():
    said = refusal([dedupe(0), dedupe(1)], [place("a", dedupe(0))])
    assert said.startswith("No arrangement of stages takes over all operators of the checkpoint: operator 0 fits stage 'a'; ")


def test_other_names_are_taken_only_if_the_user_says_so():
    old, places = [dedupe(0, "id bigint")], [place("seen", dedupe(0, "order bigint"))]
    assert refusal(old, places) == (
        "Operator 0 (dropDuplicates by id) has the types of stage 'seen' (dropDuplicates by order), but not its names: if it is "
        "the same state, say so with --operator 0=seen."
    )
    assert chosen(old, places, {0: "seen"}) == {0: ("seen", "op0")}


@pytest.mark.parametrize(
    ("new", "clause"),
    [
        (
            aggregate(values="count bigint, sum double"),
            "its value is (count bigint), and that of the stage (count bigint, sum double)",
        ),
        (aggregate(values="max bigint"), "it aggregates count, and the stage max"),
        (
            aggregate(keys="name string"),
            "its key is (window struct<start: timestamp>, name string), and that of the stage (name string)",
        ),
    ],
)
def test_another_form_is_refused_with_the_difference(new, clause):
    assert refusal([aggregate()], [place("counts", new)]) == (
        f"Operator 0 (aggregate by window, name) does not fit stage 'counts': {clause}. Bring the query's code as it is, without "
        "columns that it does not use, and change it after the adoption."
    )
    assert "does not fit" in refusal([aggregate()], [place("counts", new)], {0: "counts"})


def test_a_stage_with_a_form_of_its_own_is_refused_with_the_way_out():
    assert refusal([join()], [place("pairs", join(), takes_raw=False)]) == (
        "Operator 0 (stream-stream join of (id, at, matched) and (other, matched)) cannot become stage 'pairs': the stage keeps "
        "its state in a form of its own. Or bring the query's code as it is, in stateful(name, function)."
    )


def test_a_stage_of_pitstop_takes_over_what_can_be_converted():
    layout = StateLayout(
        StageKind.ROLLING,
        keys=(("name", "string"),),
        accumulators=(("n__0", "bigint"),),
        aggregates=(("n", "sum"),),
        parameters={"text": "rolling"},
        roles=("state",),
    )
    target = Target(layout, {"n": StageAggregate("count", ())})
    places = [place("counts", operator(0, OperatorKind.GROUP_STATE), "state", takes_raw=False, target=target)]
    assert chosen([aggregate(keys="name string")], places) == {0: ("counts", "state")}
    raw = [*places, place("mine", aggregate(1, keys="name string"))]
    assert chosen([aggregate(keys="name string")], raw) == {0: ("mine", "op0")}, "state that goes on as it is comes first"


def test_no_stage_of_its_kind():
    assert refusal([dedupe()], []) == (
        "Operator 0 (dropDuplicates by id) fits no stage of the job, which has no stage with state: bring the query's code as it "
        "is, in stateful(name, function)."
    )


def test_a_limit_is_refused():
    limit = operator(0, OperatorKind.LIMIT, ("default", "", "count bigint"))
    assert refusal([limit], [place("limit", limit)]).startswith("Operator 0 is a limit: ")


def test_numbers_and_stages_that_there_are_not():
    places = [place("seen", dedupe())]
    assert refusal([dedupe()], places, {7: "seen"}) == ("The checkpoint has no operator 7: it has 0. Correct --operator 7=seen.")
    assert refusal([dedupe()], places, {0: "sen"}) == (
        "The job has no stage 'sen' with state: it has stage 'seen'. Correct --operator 0=sen."
    )


def test_all_copies_of_a_stage_get_its_state():
    places = [place("seen", dedupe(0)), place("counts", aggregate(1)), place("seen", dedupe(2), copy=1)]
    assert everywhere(places, matched([aggregate(0), dedupe(1)], places, {})) == {0: 1, 1: 0, 2: 1}


def test_the_columns_of_a_joins_side_may_have_another_order():
    new = join(left="at timestamp, id bigint, matched boolean")
    assert fit(join(), new) is Fit.NAMES
    assert orders(join(), new) == {"left-keyWithIndexToValue": (1, 0, 2)}


def test_a_column_that_nothing_uses_is_filled_and_another_one_is_refused():
    new = join(right="other bigint, note string, matched boolean")
    assert fit(join(), new) is Fit.NONE
    unused = unused_columns(new, join())
    assert unused["right-keyWithIndexToValue"] == {"note"}
    assert fit(join(), new, unused) is Fit.NAMES
    assert orders(join(), new, unused) == {"right-keyWithIndexToValue": (0, FILLED, 1)}
    assert unused_columns(new, new)["right-keyWithIndexToValue"] == set()


def test_a_column_of_a_side_that_goes_is_left_out():
    old = join(left="id bigint, note string, at timestamp, matched boolean")
    assert orders(old, join()) == {"left-keyWithIndexToValue": (0, 2, 3)}


def test_a_column_of_a_side_with_another_type_is_refused():
    new = join(left="id string, at timestamp, matched boolean")
    assert difference(join(), new).startswith("its value of 'left-keyWithIndexToValue' is (id bigint, ")


def test_variables_of_a_processor_may_be_added_and_not_lost():
    old = processor(("total", "rows bigint"), ("$eventTimers_keyToTimestamp", "expiry bigint"))
    more = processor(
        ("total", "rows bigint"),
        ("$eventTimers_keyToTimestamp", "expiry bigint"),
        ("recent", "id bigint"),
        ("$rowCounter_recent", "n bigint"),
    )
    assert fit(old, more) is Fit.NAMES
    assert new_variables(old, more) == ["recent"]
    assert difference(more, old) == "the stage does not keep '$rowCounter_recent'"
    assert difference(processor(("total", "rows bigint")), old) == (
        "the stage also keeps '$eventTimers_keyToTimestamp', which the checkpoint does not have"
    )


def test_a_function_in_scala_is_refused():
    old = replace(processor(("total", "rows bigint")), spark_name="transformWithStateExec")
    assert difference(old, processor(("total", "rows bigint"))) == "its function is in Scala or Java, and a job's are in Python"


def test_operators_in_words():
    assert in_words(aggregate()) == "aggregate by window, name"
    assert in_words(processor(("total", "rows bigint"))) == "processor with total"
    assert in_words(join()) == "stream-stream join of (id, at, matched) and (other, matched)"
    assert in_words(replace(dedupe(), families=())) == "dropDuplicates"
