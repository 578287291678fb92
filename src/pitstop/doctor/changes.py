"""Answers to the question what may be changed in a query that goes on from a checkpoint.

Each sentence on Spark was tried with Spark 4.3 (docs/doctor.md has the table); those on Pitstop are its rules (docs/stages.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pitstop.doctor.facts import Checkpoint, Operator, OperatorKind

_ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
_CODEC = "spark.sql.streaming.stateStore.compression.codec"


class Change(StrEnum):
    """Kinds of changes of a query."""

    ADD_OPERATOR = "add a stateful operator"
    REMOVE_OPERATOR = "remove a stateful operator"
    REORDER_OPERATORS = "reorder stateful operators"
    KEYS = "change keys"
    AGGREGATES = "change aggregates"
    WINDOW = "change the size of a window"
    STATE_FIELDS = "change the fields of state of your own"
    VARIABLES = "change the variables of a processor"
    PARTITIONS = "change the number of partitions"
    PROVIDER = "change the state store provider"
    PINNED = "change another setting in the checkpoint"
    SOURCES = "add or remove a source"
    SINK = "change the sink"
    OUTPUT_MODE = "change the output mode"
    WATERMARK = "change the delay of a watermark"
    STATELESS = "change filters, columns and functions without state"
    UPGRADE = "upgrade Spark"


class Verdict(StrEnum):
    """The outcome of a change in plain Spark."""

    GOES_ON = "goes on"
    IGNORED = "is ignored without a word"
    FAILS = "fails at the start"
    WRONG = "may go on with wrong results"
    DEPENDS = "depends"


@dataclass(frozen=True)
class ChangeAnswer:
    """The outcome of one kind of change with this checkpoint."""

    change: Change
    verdict: Verdict
    spark: str
    pitstop: str


def answers_of(checkpoint: Checkpoint) -> tuple[ChangeAnswer, ...]:
    """Return an answer for each kind of change that the checkpoint can be asked about."""
    return tuple(answer for answer_of in _ANSWERS for answer in answer_of(checkpoint))


def _kinds(checkpoint: Checkpoint) -> set[OperatorKind]:
    return {operator.kind for operator in checkpoint.operators}


def _named(operators: tuple[Operator, ...]) -> str:
    return ", ".join(f"{operator.number} ({operator.spark_name or operator.kind})" for operator in operators)


def _operators(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    operators = checkpoint.operators
    if not operators:
        yield ChangeAnswer(
            Change.ADD_OPERATOR,
            Verdict.FAILS,
            "The checkpoint has no state, and a start with a stateful operator ends with "
            "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY. A new checkpoint begins at the sources' beginning.",
            "A stage with state that is new begins empty; sources go on where they were.",
        )
        return
    named = f"Spark knows operators by their number and name alone: {_named(operators)}."
    if all(operator.spark_name is not None for operator in operators):
        ends = "Another number or name ends with STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA."
    else:
        named = f"The checkpoint holds no names of its operators, as those of Spark 3.5: {_named(operators)}."
        ends = "State is matched by number, and only schemas are compared: operators of one schema get each other's state."
    yield ChangeAnswer(
        Change.ADD_OPERATOR,
        Verdict.FAILS,
        f"{named} {ends}",
        "A stage that is new begins empty; the others keep their state, by name.",
    )
    yield ChangeAnswer(
        Change.REMOVE_OPERATOR,
        Verdict.FAILS,
        ends,
        "Refused until you allow it (--allow-drop); the other stages keep their state.",
    )
    if len(operators) > 1:
        yield ChangeAnswer(
            Change.REORDER_OPERATORS,
            Verdict.WRONG,
            f"{ends} Two of one kind that change places end with STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE if their keys "
            "differ in type "
            "or number. If they do not, nothing notices, and each goes on with the state of the other.",
            "State belongs to the name of its stage, wherever that stands.",
        )


def _keys(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if checkpoint.operators and _kinds(checkpoint) != {OperatorKind.LIMIT}:
        yield ChangeAnswer(
            Change.KEYS,
            Verdict.FAILS,
            "A key that is added, removed or of another type ends with STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE. A new "
            "name for a key of "
            "the same type goes on with the state of the old one, whatever it holds.",
            "Refused, with the stage's name, unless a migration of yours says what becomes of the rows (@ps.migrate).",
        )


def _aggregates(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if not _kinds(checkpoint) & {OperatorKind.AGGREGATE, OperatorKind.SESSION}:
        return
    yield ChangeAnswer(
        Change.AGGREGATES,
        Verdict.WRONG,
        "An aggregate that is added, removed or of another type ends with STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE. One "
        "that is replaced "
        "by another of the same type, such as min by max, or that changes places with it, goes on with the other's values, and "
        "results are wrong.",
        "Aggregates may come and go; the others keep their state, by name. One of the same name that takes in "
        "something else is refused.",
    )
    keys = [column for operator in checkpoint.operators for family in operator.families for column in family.keys]
    if any(column.type.startswith("struct<start: timestamp, end: timestamp>") for column in keys):
        yield ChangeAnswer(
            Change.WINDOW,
            Verdict.WRONG,
            "The size is not in the checkpoint: windows of the old size stay as they are, and end beside the new ones.",
            "Converted: open windows of the new size are made of the old ones, and the report says until when they may "
            "be incomplete.",
        )


def _own_state(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if OperatorKind.GROUP_STATE in _kinds(checkpoint):
        yield ChangeAnswer(
            Change.STATE_FIELDS,
            Verdict.FAILS,
            "The value's schema is compared: a field that is added, removed or of another type does not fit it.",
            "Fields may be added and widened; a field that is dropped is refused, unless a migration says what becomes of it.",
        )
    if OperatorKind.PROCESSOR in _kinds(checkpoint):
        is_avro = checkpoint.settings.get(_ENCODING) == "avro"
        fields = (
            "State is in Avro, so fields may be added to a variable's values. Narrowing one ends with "
            "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION."
            if is_avro
            else "State is in rows of Spark (unsaferow), so another field ends with STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE. "
            "The encoding cannot be changed in this checkpoint."
        )
        yield ChangeAnswer(
            Change.VARIABLES,
            Verdict.DEPENDS,
            f"A variable may be added, and begins empty, or be left out. {fields}",
            "A variable may be added; one that is removed or renamed wants --allow-drop; another type is refused.",
        )


def _pinned(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if not checkpoint.settings:
        return
    partitions = checkpoint.settings.get("spark.sql.shuffle.partitions")
    if checkpoint.operators:
        yield ChangeAnswer(
            Change.PARTITIONS,
            Verdict.IGNORED,
            f"A start goes on with {partitions} partitions, whatever spark.sql.shuffle.partitions says. Spark 4.2 and "
            "later can "
            "repartition a checkpoint whose query is stopped, by an internal function.",
            "Option partitions, at each update or start from a snapshot.",
        )
        providers = ", ".join(sorted({operator.provider or "-" for operator in checkpoint.operators}))
        yield ChangeAnswer(
            Change.PROVIDER,
            Verdict.IGNORED,
            f"A start goes on with the provider in the checkpoint ({providers}), whatever "
            "spark.sql.streaming.stateStore.providerClass says.",
            "Option state_store, at each update or start from a snapshot.",
        )
    names = [key for key in (_POLICY, _CODEC) if key in checkpoint.settings]
    yield ChangeAnswer(
        Change.PINNED,
        Verdict.IGNORED,
        f"A start takes {' and '.join(names)} from the checkpoint, like all settings that it lists. Changelog "
        "checkpointing is none of "
        "them: it may be turned on and off.",
        "A start from a snapshot lays down a new checkpoint where stages with state change, with the settings of then.",
    )


def _ends(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    number = len(checkpoint.sources)
    if checkpoint.logs.offset_format == 2:
        spark = "Sources have names in the offset log, so one may be added or removed."
    else:
        spark = (
            f"The offset log has {number} sources without names: another number ends with 'There are [{number}] sources "
            "in the checkpoint "
            "offsets'. They are matched by their place alone. Naming "
            "sources cannot be turned on in this checkpoint (CANNOT_ENABLE_ON_EXISTING_CHECKPOINT)."
        )
    verdict = Verdict.GOES_ON if checkpoint.logs.offset_format == 2 else Verdict.FAILS
    yield ChangeAnswer(
        Change.SOURCES, verdict, spark, "Sources are named: one may be added; one that is removed wants --allow-drop."
    )
    yield ChangeAnswer(
        Change.SINK,
        Verdict.DEPENDS,
        "The checkpoint does not know its sink, so another one gets the rows from the next epoch on, and an epoch that "
        "is run again "
        "may be in both. A sink in memory does not go on from a checkpoint.",
        "Sinks may be added and removed; a sink of another kind under one name is refused.",
    )
    if checkpoint.operators:
        yield ChangeAnswer(
            Change.OUTPUT_MODE,
            Verdict.DEPENDS,
            "An aggregate goes on from append to update or complete and back, and its state stays. Update to append "
            "needs a watermark; "
            "results that were given before are not taken back. A processor keeps its mode in its metadata.",
            "There are no modes: stages say when they give results (early_results).",
        )


def _rest(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    delays = sorted(
        {
            column.watermark_delay_ms
            for operator in checkpoint.operators
            for family in operator.families
            for column in (*family.keys, *family.values)
            if column.watermark_delay_ms is not None
        }
    )
    if delays:
        texts = ", ".join(f"{delay / 1000:g} s" for delay in delays)
        yield ChangeAnswer(
            Change.WATERMARK,
            Verdict.GOES_ON,
            f"The delay was {texts}. The watermark does not go back: a longer delay makes it stand until times have caught up.",
            "Restored with another allowed_lag.",
        )
    yield ChangeAnswer(
        Change.STATELESS,
        Verdict.GOES_ON,
        "Filters and columns may change, as long as keys and values of stateful operators stay what they are.",
        "Restored; optimizer rules that would let state depend on later stages are off.",
    )
    yield ChangeAnswer(
        Change.UPGRADE,
        Verdict.GOES_ON,
        f"Written by Spark {checkpoint.release}. A later release reads older formats; an earlier one refuses logs of a "
        "later format.",
        "A job runs with the Spark of its release of Pitstop; every release goes on from the snapshots of earlier ones.",
    )


_ANSWERS: tuple[Callable[[Checkpoint], Iterator[ChangeAnswer]], ...] = (
    _operators,
    _keys,
    _aggregates,
    _own_state,
    _pinned,
    _ends,
    _rest,
)
