"""State that goes in as rows is counted before a new version takes over."""

import pytest

from pitstop.errors import EngineError
from pitstop.plan.model import OperatorSlot, Plan
from pitstop.spark.restoring.checks import check_fed
from pitstop.spark.restoring.feeding import Fed

PLAN = Plan((), (OperatorSlot("moved", "state"), OperatorSlot("speed", "windows"), OperatorSlot("speed", "frames")))


def fed(windows, frames, exact):
    return {("speed", "windows"): Fed(None, windows, exact), ("speed", "frames"): Fed(None, frames, exact)}


@pytest.mark.parametrize(
    ("given", "kept"),
    [(fed(3, 5, True), [0, 3, 5]), (fed(3, 5, False), [9, 1, 4]), (fed(0, 0, False), [0, 0, 0])],
    ids=["each", "several-become-one", "none"],
)
def test_what_a_rule_explains_is_let_through(given, kept):
    check_fed(PLAN, given, kept)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(fed(3, 5, True), [0, 3, 4]), (fed(3, 5, False), [0, 0, 5]), (fed(3, 5, False), [0, 3, 6])],
    ids=["one-less", "empty", "more"],
)
def test_any_other_number_ends_the_restore(given, kept):
    with pytest.raises(EngineError, match="The saved state of stage 'speed' has"):
        check_fed(PLAN, given, kept)
