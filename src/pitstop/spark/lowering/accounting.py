"""Accounts for the rows of an epoch: the number that each stage takes and gives, and the reason why others go no further."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pitstop.errors import EngineError
from pitstop.model.left_out import LeftOut
from pitstop.pipeline.row_specs import DropSpec, ExplodeSpec, MapSpec, RenameSpec
from pitstop.pipeline.specs import (
    DistinctSpec,
    IngestionTimestampsSpec,
    NotAheadSpec,
    ParsedSpec,
    RollingSpec,
    SelectSpec,
    TimestampsSpec,
    WithColumnsSpec,
)
from pitstop.plan.model import Plan, PlanStage
from pitstop.spark.base.naming import AHEAD, FAILED, KEPT, LETTERS, LOOKED_AT, OBSERVED, ROWS_IN, ROWS_OUT
from pitstop.spark.internals.late_rows import LATE

TAKEN, GIVEN = "rows_in", "rows_out"
CHECK_VARIABLE = "PITSTOP_CHECK_ROWS"
"""The environment variable that, set to ``1``, makes an epoch whose rows are not all accounted for end its job."""

_FRAMES, _SESSIONS, _SEEN, _JOIN = "frames", "sessions", "seen", "join"
_REPEATED = "numDroppedDuplicateRows"
_KEPT = (LeftOut.LATE, LeftOut.UNTIMED, LeftOut.KEYLESS)
"""The reasons whose rows a stage with ``late`` keeps as dead letters."""
_PASSING = (
    *(SelectSpec.op, WithColumnsSpec.op, RenameSpec.op, DropSpec.op, ExplodeSpec.op, MapSpec.op),
    *(TimestampsSpec.op, IngestionTimestampsSpec.op, NotAheadSpec.op, ParsedSpec.op),
)
"""Stages that pass on each row unless they count it as left out, or that tell how many rows they give."""


class Operator(Protocol):
    """Spark's report on an operator with state after an epoch."""

    @property
    def numRowsDroppedByWatermark(self) -> int: ...
    @property
    def numRowsUpdated(self) -> int: ...
    @property
    def customMetrics(self) -> Mapping[str, int]: ...


@dataclass(frozen=True)
class EpochRows:
    """The rows of one epoch."""

    figures: dict[str, dict[str, int]] = field(default_factory=dict)
    """Stage -> ``rows_in``, ``rows_out`` or a LeftOut -> rows."""
    inputs: dict[tuple[str, int], int] = field(default_factory=dict)
    """(stage, number of an input) -> rows that it takes from there."""
    letters: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Stage -> the number of rows among which late ones were looked for, and the number that was kept as dead letters."""
    operators: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """(stage, role of an operator) -> Spark's counts of rows that it dropped as late, and of rows of state that it changed."""

    def of(self, stage: str, figure: str) -> int:
        """Return one figure; 0 if nothing of it was observed."""
        return self.figures.get(stage, {}).get(figure, 0)


def epoch_rows(plan: Plan, observed: Mapping[str, Mapping[str, Any]], operators: list[Operator]) -> EpochRows:
    """Return the rows of an epoch according to its observations and operators."""
    epoch = EpochRows()

    def add(stage: str, figure: str, rows: Any) -> None:
        figures = epoch.figures.setdefault(stage, {})
        figures[figure] = figures.get(figure, 0) + int(rows or 0)

    observes_late: set[str] = set()
    for name, row in observed.items():
        if name.startswith(ROWS_IN):
            number, _, stage = name.removeprefix(ROWS_IN).partition(":")
            epoch.inputs[stage, int(number)] = int(row["rows"])
            add(stage, TAKEN, row["rows"])
            for column, rows in row.items():
                if column.startswith(LATE):
                    observes_late.add(stage)
                    add(stage, LeftOut.LATE, rows)
                elif column != "rows":
                    add(stage, column, rows)
        elif name.startswith(ROWS_OUT):
            add(name.removeprefix(ROWS_OUT), GIVEN, row["rows"])
            if LeftOut.LOST in row:
                add(name.removeprefix(ROWS_OUT), LeftOut.LOST, row[LeftOut.LOST])
        elif name.startswith(OBSERVED):
            add(name.removeprefix(OBSERVED), GIVEN, row["rows"])
            add(name.removeprefix(OBSERVED), LeftOut.UNPARSED, row["bad"])
            if LeftOut.TOMBSTONE in row:
                add(name.removeprefix(OBSERVED), LeftOut.TOMBSTONE, row[LeftOut.TOMBSTONE])
        elif name.startswith(AHEAD):
            add(name.removeprefix(AHEAD), LeftOut.AHEAD, row["rows"])
        elif name.startswith(FAILED):
            add(name.removeprefix(FAILED), LeftOut.FAILED, row["rows"])
        elif name.startswith(LETTERS):
            stage = name.removeprefix(LETTERS).partition(":")[2]
            looked, letters = epoch.letters.get(stage, (0, 0))
            epoch.letters[stage] = looked + int(row[LOOKED_AT]), letters + int(row[KEPT])
    for slot, operator in zip(plan.operators, operators, strict=False):
        if slot.copy:  # the same rows once more
            continue
        dropped = int(operator.numRowsDroppedByWatermark)
        epoch.operators[slot.stage, slot.role] = dropped, int(operator.numRowsUpdated)
        if slot.stage not in observes_late:
            add(slot.stage, LeftOut.LATE, dropped)
        if slot.role == _SEEN:
            add(slot.stage, LeftOut.REPEATED, operator.customMetrics.get(_REPEATED, 0))
    return epoch


def check_rows(plan: Plan, rows: EpochRows, epoch: int) -> EngineError | None:
    """Return an error that names a stage with rows in an epoch that are neither passed on nor counted; None if there is none.

    Three figures are exact: the rows that reach a stage with state from a source that is read once, by steps that leave no rows
    out but those they count; distinct; rolling aggregates. Of windows Spark tells how many of them changed or were late, not how
    many rows they had. No window changes without a row, and none is late without late rows. Of joins it tells the rows that were
    late, perhaps with those that have no key, and those that came into state: that is no row that was left out. The rows that
    a function of map_stateful gives, or remembers, have no sum.
    """
    for wrong in _wrong(plan, rows):
        return EngineError(f"Rows of epoch {epoch} are not accounted for: {wrong} ({CHECK_VARIABLE}=1).")
    return None


def _wrong(plan: Plan, rows: EpochRows) -> Iterator[str]:
    copied = {slot.stage for slot in plan.operators if slot.copy}
    """Stages that two branches compute, each with its own rows: user-defined sources need not agree on an epoch."""
    stages = {stage.name: stage for stage in plan.stages if stage.name not in copied}
    once = [slot.stage for slot in plan.source_slots]
    for (name, number), rows_in in rows.inputs.items():
        stage = stages.get(name)
        if stage is None:
            continue
        came = _came(stages, stage.inputs[number], rows, once)
        if came is not None and came != rows_in:
            yield f"stage '{name}' takes {rows_in} rows of '{stage.inputs[number]}', which gives {came}"
    for name, stage in stages.items():
        if GIVEN not in rows.figures.get(name, {}) or not any(of == name for of, _ in rows.inputs):
            continue
        rows_in, rows_out = rows.of(name, TAKEN), rows.of(name, GIVEN)
        reasons = {reason: rows.of(name, reason) for reason in LeftOut if rows.of(name, reason)}
        losses = "".join(f" + {count} {reason.words}" for reason, count in reasons.items())
        if stage.op in (DistinctSpec.op, RollingSpec.op) and rows_in != rows_out + sum(reasons.values()):
            yield f"stage '{name}' takes {rows_in} rows and gives {rows_out}{losses}"
        yield from _wrong_windows(name, rows, rows_in - sum(reasons.values()), losses)
        yield from _wrong_join(name, rows, rows_in - sum(reasons.values()), losses)
        looked, letters = rows.letters.get(name, (0, 0))
        if looked == rows_in and letters != sum(rows.of(name, reason) for reason in _KEPT):
            yield f"stage '{name}' takes {rows_in} rows{losses}, and {letters} are kept as dead letters"


def _wrong_windows(name: str, rows: EpochRows, on_time: int, losses: str) -> Iterator[str]:
    rows_in, late = rows.of(name, TAKEN), rows.of(name, LeftOut.LATE)
    for role in (_FRAMES, _SESSIONS):
        if (name, role) not in rows.operators:
            continue
        dropped, changed = rows.operators[name, role]
        if on_time < 0 or dropped > late or (late and not dropped):
            yield f"stage '{name}' takes {rows_in} rows{losses}, and {dropped} of its windows were late"
        elif role == _FRAMES and (changed > on_time or (on_time and not changed)):
            yield f"stage '{name}' takes {rows_in} rows{losses}, and {changed} of its windows have changed"


def _wrong_join(name: str, rows: EpochRows, on_time: int, losses: str) -> Iterator[str]:
    if (name, _JOIN) not in rows.operators:
        return
    dropped, held = rows.operators[name, _JOIN]
    rows_in, late = rows.of(name, TAKEN), rows.of(name, LeftOut.LATE)
    if not late <= dropped <= late + rows.of(name, LeftOut.KEYLESS):
        yield f"stage '{name}' takes {rows_in} rows{losses}, and {dropped} of them were late"
    elif held > on_time:
        yield f"stage '{name}' takes {rows_in} rows{losses}, and {held} of them have come into its state"


def _came(stages: Mapping[str, PlanStage], name: str, rows: EpochRows, read: list[str]) -> int | None:
    """Return the number of rows that a stage gives; None if that is not known exactly."""
    stage = stages.get(name)
    if stage is None:
        return None
    if not stage.inputs:
        return rows.of(name, GIVEN) if read.count(name) == 1 and GIVEN in rows.figures.get(name, {}) else None
    tells = GIVEN in rows.figures.get(name, {})
    if stage.op not in _PASSING:
        return rows.of(name, GIVEN) if stage.layout is not None and tells else None
    came = _came(stages, stage.inputs[0], rows, read)
    if came is None:
        return None
    if tells:  # a column explodes
        return rows.of(name, GIVEN)
    unparsed = (LeftOut.UNPARSED, LeftOut.TOMBSTONE) if stage.op == ParsedSpec.op else ()
    return came - sum(rows.of(stage.inputs[0], reason) for reason in unparsed) - rows.of(name, LeftOut.AHEAD)
