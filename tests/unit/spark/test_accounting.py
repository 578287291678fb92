"""Rows of an epoch that are neither passed on nor counted are found."""

from dataclasses import dataclass, field

import pytest

from pitstop.model.layout import StageKind, StateLayout
from pitstop.model.left_out import LeftOut
from pitstop.plan.model import OperatorSlot, Plan, PlanStage, SourceSlot
from pitstop.spark.lowering.accounting import check_rows, epoch_rows


@dataclass
class Operator:
    """What Spark says of one."""

    numRowsDroppedByWatermark: int = 0
    numRowsUpdated: int = 0
    customMetrics: dict = field(default_factory=dict)


def stage(name, op, *inputs, kind=StageKind.STATELESS, keeps=None):
    layout = StateLayout(kind=keeps) if keeps is not None else None
    return PlanStage(name, keeps or kind, op, inputs, op, layout=layout)


SOURCE = (
    stage("rows", "source", kind=StageKind.SOURCE),
    stage("rows-rows", "parsed", "rows"),
    stage("timed", "timestamps", "rows-rows", kind=StageKind.WATERMARK),
)
WINDOWS = Plan(
    (*SOURCE, stage("counts", "window_aggregate", "timed", keeps=StageKind.WINDOW)),
    (OperatorSlot("counts", "windows"), OperatorSlot("counts", "frames")),
    (SourceSlot("rows", "counts"),),
)
DISTINCT = Plan(
    (*SOURCE, stage("firsts", "distinct", "timed", keeps=StageKind.DISTINCT)),
    (OperatorSlot("firsts", "seen"),),
    (SourceSlot("rows", "firsts"),),
)


JOIN = Plan(
    (*SOURCE, stage("pairs", "join", "timed", "timed", keeps=StageKind.JOIN)),
    (OperatorSlot("pairs", "join"),),
    (SourceSlot("rows", "pairs"), SourceSlot("rows", "pairs")),
)


def observed(stage, rows_in=7, rows_out=0, **left_out):
    return {
        "source:rows": {"rows": 10, "bad": 2, "sample": "x"},
        "ahead:timed": {"rows": 1, "farthest": "9999"},
        f"rows in:0:{stage}": {"rows": rows_in, **left_out},
        f"rows out:{stage}": {"rows": rows_out},
    }


def windows(changed=2, dropped=1, late=3, untimed=1, **more):
    of_window = {"untimed_rows": untimed, "late:10000000:1:frames@counts": late}
    rows = epoch_rows(WINDOWS, observed("counts", **of_window, **more), [Operator(), Operator(dropped, changed)])
    return rows, check_rows(WINDOWS, rows, 5)


def distinct(late=2, repeated=1, **more):
    operators = [Operator(late, customMetrics={"numDroppedDuplicateRows": repeated})]
    rows = epoch_rows(DISTINCT, observed("firsts", **more), operators)
    return rows, check_rows(DISTINCT, rows, 5)


def test_each_reason_is_a_figure_of_its_stage():
    rows, wrong = windows()
    assert wrong is None
    assert rows.figures == {
        "rows": {"rows_out": 10, "unparsed_rows": 2},
        "timed": {"ahead_rows": 1},
        "counts": {"rows_in": 7, "rows_out": 0, "untimed_rows": 1, "late_rows": 3},
    }
    rows, wrong = distinct(rows_out=4)
    assert wrong is None
    assert rows.figures["firsts"] == {"rows_in": 7, "rows_out": 4, "late_rows": 2, "repeated_rows": 1}
    assert rows.of("firsts", LeftOut.UNTIMED) == 0


def test_late_rows_of_windows_are_those_that_were_counted_before_they_were_combined():
    rows, _ = windows(late=6, untimed=0, changed=1)
    assert rows.of("counts", LeftOut.LATE) == 6
    without = epoch_rows(WINDOWS, {}, [Operator(), Operator(4)])
    assert without.of("counts", LeftOut.LATE) == 4  # a job without metrics


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"rows_in": 6}, "stage 'counts' takes 6 rows of 'timed', which gives 7"),
        ({"late": 0, "untimed": 0}, "stage 'counts' takes 7 rows, and 1 of its windows were late"),
        ({"dropped": 0}, "stage 'counts' takes 7 rows + 1 without event time + 3 late, and 0 of its windows were late"),
        ({"untimed": 0, "late": 1, "changed": 0}, "stage 'counts' takes 7 rows + 1 late, and 0 of its windows have changed"),
        ({"untimed": 4}, "stage 'counts' takes 7 rows + 4 without event time + 3 late, and 2 of its windows have changed"),
        ({"untimed": 5}, "stage 'counts' takes 7 rows + 5 without event time + 3 late, and 1 of its windows were late"),
    ],
)
def test_rows_of_windows_that_are_not_accounted_for_are_told(facts, told):
    _, wrong = windows(**facts)
    assert str(wrong) == f"Rows of epoch 5 are not accounted for: {told} (PITSTOP_CHECK_ROWS=1)."


def test_rows_of_distinct_that_are_not_accounted_for_are_told():
    _, wrong = distinct(rows_out=3)
    assert "stage 'firsts' takes 7 rows and gives 3 + 2 late + 1 repeated" in str(wrong)


def pairs(dropped=4, held=4, kept=8):
    """A join that takes 14 rows of two sides: 2 without time, 2 without key, 4 late."""
    left_out = {"untimed_rows": 1, "keyless_rows": 1, "late:1:0:join@pairs": 2}
    seen = observed("pairs", rows_out=1, **left_out) | {"rows in:1:pairs": {"rows": 7, **left_out}}
    seen |= {f"letters:{number}:pairs": {"rows": 7, "kept": kept // 2} for number in (0, 1)}
    rows = epoch_rows(JOIN, seen, [Operator(dropped, held)])
    return rows, check_rows(JOIN, rows, 5)


@pytest.mark.parametrize("dropped", [4, 6], ids=["without a key before", "without a key after"])
def test_late_rows_of_a_join_are_those_with_a_key_whenever_it_leaves_out_those_without(dropped):
    rows, wrong = pairs(dropped)
    assert wrong is None
    assert rows.figures["pairs"] == {"rows_in": 14, "rows_out": 1, "untimed_rows": 2, "keyless_rows": 2, "late_rows": 4}


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"dropped": 3}, "and 3 of them were late"),
        ({"dropped": 7}, "and 7 of them were late"),
        ({"held": 7}, "and 7 of them have come into its state"),
        ({"kept": 6}, "and 6 are kept as dead letters"),
    ],
)
def test_rows_of_a_join_that_are_not_accounted_for_are_told(facts, told):
    _, wrong = pairs(**facts)
    takes = "stage 'pairs' takes 14 rows + 2 without event time + 4 late + 2 without key, "
    assert f"{takes}{told}" in str(wrong)


def test_a_source_that_two_branches_read_need_not_give_both_the_same_rows():
    plan = Plan(DISTINCT.stages, DISTINCT.operators, (SourceSlot("rows", "firsts"), SourceSlot("rows", "")))
    rows = epoch_rows(plan, observed("firsts", rows_in=6, rows_out=6), [Operator()])
    assert check_rows(plan, rows, 5) is None
    assert check_rows(DISTINCT, rows, 5) is not None


def test_a_stage_that_two_branches_compute_counts_its_late_rows_once():
    plan = Plan(DISTINCT.stages, (OperatorSlot("firsts", "seen"), OperatorSlot("firsts", "seen", 1)), DISTINCT.source_slots)
    rows = epoch_rows(plan, observed("firsts"), [Operator(3), Operator(3)])
    assert rows.of("firsts", LeftOut.LATE) == 3


def test_letters_of_windows_are_as_many_as_the_rows_that_they_leave_out():
    more = {"late:10000000:1:frames@counts": 3, "untimed_rows": 1}
    for kept, looked, right in ((4, 7, True), (3, 7, False), (3, 6, True)):  # its branch may see other rows in an epoch
        seen = observed("counts", **more) | {"letters:0:counts": {"rows": looked, "kept": kept}}
        wrong = check_rows(WINDOWS, epoch_rows(WINDOWS, seen, [Operator(), Operator(1, 2)]), 5)
        assert (wrong is None) is right, wrong
        assert right or "7 rows + 1 without event time + 3 late, and 3 are kept as dead letters" in str(wrong)
