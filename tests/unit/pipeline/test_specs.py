"""Every kind of stage is said once, as a spec."""

import dataclasses

from pitstop.pipeline.specs import Spec

SPECS = Spec.__subclasses__()


def test_every_kind_of_stage_has_a_name_of_its_own_in_plans():
    assert len({spec.op for spec in SPECS}) == len(SPECS) >= 18


def test_specs_are_values_that_cannot_be_changed():
    assert all(dataclasses.is_dataclass(spec) and spec.__dataclass_params__.frozen for spec in SPECS)


def test_what_keeps_state_never_runs_outside_the_streaming_query():
    assert [spec.__name__ for spec in SPECS if spec.stateful and spec.passable] == []
