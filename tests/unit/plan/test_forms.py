"""Rolling state of older releases: it keeps its form on its own checkpoint, and is converted by any restore."""

import dataclasses

import pytest

from pitstop.model.layout import StageKind, StateLayout
from pitstop.plan.diff import Verdict, Way, compare
from pitstop.plan.forms import as_kept
from pitstop.plan.model import OperatorSlot, Plan, PlanStage

NOW = StateLayout(
    StageKind.ROLLING,
    keys=(("vin", "string"),),
    accumulators=(("n__0", "bigint"),),
    aggregates=(("n", "sum"),),
    parameters={"text": "rolling", "form": "columns"},
)
BEFORE = dataclasses.replace(NOW, parameters={"text": "rolling"})
MAPPED = StateLayout(StageKind.MAPPED, accumulators=(("n", "bigint"),), parameters={"text": "state", "ttl_ms": None})


def plan(**layouts):
    stages = [PlanStage(name, layout.kind, "op", (), "", layout=layout) for name, layout in layouts.items()]
    return Plan(tuple(stages), tuple(OperatorSlot(name, "state") for name in layouts))


def test_a_checkpoint_of_an_older_release_is_gone_on_with_in_its_form():
    new, old = plan(a=NOW, b=NOW, mine=MAPPED), plan(a=BEFORE, b=NOW, mine=MAPPED)
    assert as_kept(new, old) == old
    assert as_kept(new, new) == new


def test_a_stage_that_is_new_has_the_new_form():
    assert as_kept(plan(a=NOW, new=NOW), plan(a=BEFORE)) == plan(a=BEFORE, new=NOW)


@pytest.mark.parametrize(
    ("old", "new", "verdict", "way"),
    [
        (BEFORE, NOW, Verdict.CONVERTED, Way.REBUILD),
        (NOW, NOW, Verdict.RESTORED, Way.RESUME),
        (BEFORE, dataclasses.replace(NOW, keys=(("vin", "bigint"),)), Verdict.REFUSED, Way.RESUME),
    ],
)
def test_a_restore_writes_the_older_form_anew(old, new, verdict, way):
    report = compare(plan(a=old).to_dict(), plan(a=new).to_dict(), 2)
    assert [line.verdict for line in report.lines] == [verdict]
    assert report.way is way


def test_a_renamed_stage_is_recognised_whatever_the_form():
    report = compare(plan(a=BEFORE).to_dict(), plan(b=NOW).to_dict(), 2)
    assert "looks renamed to 'b'" in report.reasons
    renamed = compare(plan(a=BEFORE).to_dict(), plan(b=NOW).to_dict(), 2, {"b": "a"})
    assert renamed.of(Verdict.CONVERTED) == ("b",)
