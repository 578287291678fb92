"""A whole pipeline as one streaming DataFrame: its cuts, told apart by a tag, each in a struct column of its own."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pitstop.pipeline.stages import Pipeline
from pitstop.plan.cuts import chained, cuts_of
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.session import optimizer_settings
from pitstop.spark.lowering.lowering import Lowering

CUT = "__cut"
"""The column with the number of the cut that a row belongs to."""


def streaming_frame(lowering: Lowering, pipeline: Pipeline) -> DataFrame:
    """Return the pipeline as one streaming DataFrame, and set the session's optimizer up for it."""
    for key, value in optimizer_settings(chained(pipeline.nodes)).items():
        lowering.spark.conf.set(key, value)
    return joined([lowering.frame(cut.node) for cut in cuts_of(pipeline.nodes)])


def joined(frames: list[DataFrame]) -> DataFrame:
    """Return the cuts of a pipeline as one DataFrame: a tag, and one nullable struct column for each cut.

    A single cut stays as it is.
    """
    if len(frames) == 1:
        return frames[0]
    kinds = [frame.schema for frame in frames]
    result: DataFrame | None = None
    for number, frame in enumerate(frames):
        parts = [
            F.struct(*[F.col(quoted(c)) for c in frame.columns]).alias(_column(i))
            if i == number
            else F.lit(None).cast(kinds[i]).alias(_column(i))
            for i in range(len(frames))
        ]
        branch = frame.select(F.lit(number).alias(CUT), *parts)
        result = branch if result is None else result.unionByName(branch)
    assert result is not None
    return result


def part(rows: DataFrame, number: int, cuts: int) -> DataFrame:
    """Return the rows of one of ``cuts`` cuts, as they were before they were joined."""
    return rows if cuts == 1 else rows.where(F.col(CUT) == number).select(f"{_column(number)}.*")


def _column(cut: int) -> str:
    return f"__c{cut}"
