"""The engine knows every kind of stage."""

from pitstop.pipeline.specs import Spec
from pitstop.spark.lowering.lowering import lower


def test_every_kind_of_stage_is_lowered():
    assert [spec.__name__ for spec in Spec.__subclasses__() if lower.dispatch(spec) is lower.dispatch(Spec)] == []
