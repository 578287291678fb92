"""The state of plain operators, converted into rows that stages of Pitstop take in."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from pitstop.adoption.conversions import Accumulator, Conversion, Making, StageAggregate, Target, fed_role
from pitstop.adoption.forms import aggregated, in_words, is_window
from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.errors import IncompatibleError
from pitstop.model.layout import StateLayout
from pitstop.plan.kinds import rules_of
from pitstop.plan.model import OperatorSlot
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.adopting.old_checkpoint import reading
from pitstop.spark.base.environment import SourceSettings
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.type_texts import type_of
from pitstop.spark.internals.raw_state import NOT_COLLECTED, with_collected
from pitstop.spark.lowering.aggregate_types import aggregate_types
from pitstop.spark.lowering.compiled_job import CompiledJob
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.restoring.feeding import Fed, fed, has_two_zeros
from pitstop.spark.state.rows import END, LAST_EVENT, PART, START, own_names, shown_names, taken
from pitstop.spark.state.saved import operator_frame

_LONG_AGO = "0001-01-01 00:00:00"
_WHOLE_WINDOW, _WHOLE_WINDOWS = "window", "windows"
"""The part of a row of sliding windows that is a whole window, and the role of the operator that keeps these."""


def targets_of(job: CompiledJob, settings: SourceSettings) -> dict[str, Target]:
    """Return stage -> its state, of the stages whose state can be made of a plain operator's."""
    lowering = Lowering(job.spark, settings, keeps_tables=False)
    targets = {}
    for node in job.pipeline.nodes:
        types = aggregate_types(lowering, node)
        aggregates = {
            result: StageAggregate(aggregate.kind, tuple(field.dataType.simpleString() for field in inputs.fields))
            for result, (aggregate, inputs) in types.items()
        }
        if aggregates:
            targets[node.name] = Target(job.plan.stateful[node.name], aggregates)
    return targets


def target_of(targets: Mapping[str, Target], slot: OperatorSlot) -> Target | None:
    """Return the state that an operator of the job can take over once it is converted; None if there is none."""
    target = targets.get(slot.stage)
    return target if target is not None and fed_role(target.layout) == slot.role else None


@dataclass(frozen=True)
class Converting:
    """A conversion of state in the view of an old checkpoint, as of an epoch, for a job; ``scratch``: a folder for its rows."""

    job: CompiledJob
    view: Checkpoint
    epoch: int
    scratch: Path

    def fed(self, operator: Operator, stage: str, conversion: Conversion) -> dict[str, Fed]:
        """Return an operator's state as streams of the stage's, by role. UsageError if its windows are not those of the stage."""
        layout, folder = self.job.plan.stateful[stage], self.scratch / f"converted-{operator.number}"
        what = f"Operator {operator.number} ({in_words(operator)}) cannot become stage '{stage}'"
        with reading(self.job.spark, self.view, self.epoch), _errors_of_collected(what):
            self._rows(operator, layout, conversion).write.parquet(str(folder))
        rows, collected = self.job.spark.read.parquet(str(folder)), _collected(conversion)
        streams = {}
        for role, own in taken(rows, layout, stage, what, arrays=bool(collected)).items():
            target, exact = folder.with_name(f"{folder.name}-{role}"), not has_two_zeros(layout)
            if collected and rules_of(layout.kind).windowed and role != _WHOLE_WINDOWS:
                elements = fed(_with_elements(own, layout, list(collected)), target, exact)
                streams[role] = dataclasses.replace(elements, rows=own.count())  # the values of a window become one row again
            else:
                streams[role] = fed(own, target, exact)
        return streams

    def _rows(self, operator: Operator, layout: StateLayout, conversion: Conversion) -> DataFrame:
        """Return the state of an operator as rows that people would import into a stage (state/rows.py, columns_of)."""
        state = operator_frame(self.job.spark, self.view.path, self.epoch, operator.number)
        values = operator.families[0].values
        by_place = StructType([StructField(f"_{place}", type_of(column.type)) for place, column in enumerate(values)])
        rows = state.select("key", F.col("value").cast(by_place).alias("value"))
        before = len(values) - len(aggregated(operator))
        fields = [F.col(f"value._{place}") for place in range(before, len(values))]
        span = _span(operator)
        keys = [F.col(f"key.{quoted(was)}").alias(name) for name, was in conversion.keys]
        names, own = shown_names(layout), own_names(layout)
        accumulators = [_made(each, fields, span).alias(names[each.name]) for each in conversion.accumulators]
        if span is None:
            rows = rows.select(*keys, *accumulators, F.lit(None).cast("timestamp").alias(own[LAST_EVENT]))
        else:
            window = [span.getField("start").alias(own[START]), span.getField("end").alias(own[END])]
            part = [F.lit(_WHOLE_WINDOW).alias(own[PART])] if PART in own else []
            rows = rows.select(*keys, *window, *part, *accumulators)
        arrays = {names[name]: type_of(kind) for name, kind in _collected(conversion).items()}
        return with_collected(rows, arrays) if arrays else rows


def _collected(conversion: Conversion) -> dict[str, str]:
    """Return accumulator -> its type, of those that are arrays of collected values."""
    return {each.name: each.type for each in conversion.accumulators if each.making is Making.ELEMENTS}


@contextmanager
def _errors_of_collected(what: str) -> Iterator[None]:
    """Turn the error of a buffer of another type into one for people, which begins with ``what``."""
    try:
        yield
    except Exception as error:
        complaint = re.search(rf"{NOT_COLLECTED}: ([^\n]*)", str(error))
        if complaint is None:
            raise
        raise IncompatibleError(
            f"{what}: {complaint[1]}, so the query collected values of another type. Give the source the query's schema."
        ) from error


def _with_elements(rows: DataFrame, layout: StateLayout, collected: list[str]) -> DataFrame:
    """Return rows of state with one row for each collected value: windows take in values, and make arrays of them."""
    names = [name for name, _ in layout.accumulators]
    others = [quoted(column) for column in rows.columns if column not in names]

    def only(name: str | None) -> list[Column]:
        columns = []
        for each in names:
            column = F.col(quoted(each))
            if each in collected:
                column = F.explode(column) if each == name else F.get(column, F.lit(-1))  # null, of the type of an element
            elif name is not None:
                column = F.when(F.lit(False), column)
            columns.append(column.alias(each))
        return columns

    parts = [rows.select(*others, *only(name)) for name in (None, *collected)]
    return reduce(DataFrame.unionByName, parts)


def _span(operator: Operator) -> Column | None:
    """Return the window of a row of state; None if the operator has none."""
    family = operator.families[0]
    if operator.kind is OperatorKind.SESSION:
        return F.col(f"value._{next(place for place, column in enumerate(family.values) if is_window(column))}")
    spans = [column.name for column in family.keys if is_window(column)]
    return F.col(f"key.{quoted(spans[0])}") if spans else None


def _made(accumulator: Accumulator, fields: list[Column], span: Column | None) -> Column:
    """Return an accumulator of a row of state."""
    kind = type_of(accumulator.type)
    value, *others = (fields[place] for place in accumulator.places)
    if accumulator.making is Making.ELEMENTS:
        return value
    if accumulator.making is Making.COPY:
        return _with_point(value, accumulator).cast(kind)
    (other,) = others
    if accumulator.making is Making.UNLESS_EMPTY:
        return F.when(~other, value).cast(kind)
    if accumulator.making is Making.BY_ORDER:
        return F.when(other.isNotNull(), F.struct(other.alias("by"), value.alias("value"))).cast(kind)
    # Spark's first and last know no event time: what they have comes before all that the stage will see.
    before = F.lit(_LONG_AGO).cast("timestamp") if span is None else span.getField("start") - F.expr("INTERVAL 1 MICROSECOND")
    return F.when(other, F.struct(before.alias("by"), value.alias("value"))).cast(kind)


def _with_point(value: Column, accumulator: Accumulator) -> Column:
    """Return a sum of decimals that was kept as a whole number, with its point."""
    if not accumulator.digits:
        return value
    if accumulator.type == "double":
        return value / F.lit(10.0**accumulator.digits)
    return value.cast("decimal(20,0)") * F.lit(Decimal(1).scaleb(-accumulator.digits))
