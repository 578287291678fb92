"""A job that holds more state than its option allows fails."""

import pytest

from pitstop.model.config import JobConfig
from pitstop.model.job import Progress
from pitstop.model.layout import StageKind, StateLayout
from pitstop.plan.model import Plan, PlanStage
from pitstop.runner.bounds import Bounds


def plan(kind):
    layout = StateLayout(kind, (("k", "string"),), parameters={"text": "x"})
    return Plan((PlanStage("seen", kind, "op", (), "", layout=layout),)).to_dict()


def holding(rows):
    return Progress(epoch=3, stages={"seen": {"state_rows": rows}, "other": {"state_rows": 10**9}})


@pytest.mark.parametrize("kind", [StageKind.DISTINCT, StageKind.JOIN, StageKind.ROLLING, StageKind.MAPPED, StageKind.OPAQUE])
def test_a_stage_with_more_rows_than_allowed_is_told(kind):
    bounds = Bounds(plan(kind), JobConfig(max_accumulated_records=100))
    assert bounds.exceeded(holding(100)) is None
    said = bounds.exceeded(holding(1001)).message
    assert said.startswith("Stage 'seen' holds 1,001 rows of state, and the option max_accumulated_records allows 100: raise it")


@pytest.mark.parametrize("kind", [StageKind.WINDOW, StageKind.SESSION])
def test_windows_are_not_counted(kind):
    assert Bounds(plan(kind), JobConfig(max_accumulated_records=1)).exceeded(holding(1000)) is None


def test_without_the_option_a_stage_may_hold_any_number():
    assert Bounds(plan(StageKind.MAPPED), JobConfig()).exceeded(holding(10**12)) is None
