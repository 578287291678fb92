"""Answers to the question what you may change in a query that continues from a checkpoint.

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
    STATE_FIELDS = "change the fields of your own state"
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

    GOES_ON = "continues"
    IGNORED = "is ignored silently"
    FAILS = "fails at the start"
    WRONG = "may continue with wrong results"
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
            "The checkpoint has no state, so a start with a stateful operator fails with "
            "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY. A new checkpoint begins at the sources' beginning.",
            "A new stage with state begins empty; sources continue where they were.",
        )
        return
    named = f"Spark knows operators only by number and name: {_named(operators)}."
    if all(operator.spark_name is not None for operator in operators):
        ends = "Another number or name fails with STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA."
    else:
        named = f"Like those of Spark 3.5, the checkpoint has no names of operators: {_named(operators)}."
        ends = "Spark matches state by number and compares only schemas: operators of the same schema get each other's state."
    yield ChangeAnswer(
        Change.ADD_OPERATOR,
        Verdict.FAILS,
        f"{named} {ends}",
        "A new stage begins empty; the others keep their state, by name.",
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
            f"{ends} If you swap two of one kind whose keys differ in type or number, the start fails with "
            "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE. If the keys do not differ, Spark does not notice: each operator continues "
            "with the state of the other.",
            "State belongs to the name of its stage, in any order.",
        )


def _keys(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if checkpoint.operators and _kinds(checkpoint) != {OperatorKind.LIMIT}:
        yield ChangeAnswer(
            Change.KEYS,
            Verdict.FAILS,
            "Adding a key, removing one or changing its type fails with STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE. A renamed key "
            "of the same type continues with the state of the old one, whatever it holds.",
            "Refused, with the stage's name, unless you write a migration that converts the rows (@ps.migrate).",
        )


def _aggregates(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if not _kinds(checkpoint) & {OperatorKind.AGGREGATE, OperatorKind.SESSION}:
        return
    yield ChangeAnswer(
        Change.AGGREGATES,
        Verdict.WRONG,
        "Adding an aggregate, removing one or changing its type fails with STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE. If you "
        "replace or swap aggregates of the same type, such as min and max, each continues with the other's values, and results "
        "are wrong.",
        "You may add and remove aggregates; the others keep their state, by name. Changing the input of an aggregate under its "
        "name is refused.",
    )
    keys = [column for operator in checkpoint.operators for family in operator.families for column in family.keys]
    if any(column.type.startswith("struct<start: timestamp, end: timestamp>") for column in keys):
        yield ChangeAnswer(
            Change.WINDOW,
            Verdict.WRONG,
            "The checkpoint does not store the size: open windows keep the old size, and end beside the new ones.",
            "Converted: Pitstop builds open windows of the new size from the old ones, and the report says until when they may "
            "be incomplete.",
        )


def _own_state(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if OperatorKind.GROUP_STATE in _kinds(checkpoint):
        yield ChangeAnswer(
            Change.STATE_FIELDS,
            Verdict.FAILS,
            "Spark compares the value's schema: adding a field, removing one or changing its type fails.",
            "You may add and widen fields; dropping a field is refused unless you write a migration.",
        )
    if OperatorKind.PROCESSOR in _kinds(checkpoint):
        is_avro = checkpoint.settings.get(_ENCODING) == "avro"
        fields = (
            "State is in Avro, so you may add fields to a variable's values. Narrowing one fails with "
            "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION."
            if is_avro
            else "State is in rows of Spark (unsaferow), so another field fails with STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE. "
            "You cannot change the encoding in this checkpoint."
        )
        yield ChangeAnswer(
            Change.VARIABLES,
            Verdict.DEPENDS,
            f"You may add a variable, which begins empty, or remove one. {fields}",
            "You may add a variable. Removing or renaming one needs --allow-drop; another type is refused.",
        )


def _pinned(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    if not checkpoint.settings:
        return
    partitions = checkpoint.settings.get("spark.sql.shuffle.partitions")
    if checkpoint.operators:
        yield ChangeAnswer(
            Change.PARTITIONS,
            Verdict.IGNORED,
            f"A start continues with {partitions} partitions, whatever spark.sql.shuffle.partitions says. Spark 4.2 and later "
            "have an internal function that repartitions the checkpoint of a stopped query.",
            "Set the option partitions at any update or start from a snapshot.",
        )
        providers = ", ".join(sorted({operator.provider or "-" for operator in checkpoint.operators}))
        yield ChangeAnswer(
            Change.PROVIDER,
            Verdict.IGNORED,
            f"A start continues with the provider in the checkpoint ({providers}), whatever "
            "spark.sql.streaming.stateStore.providerClass says.",
            "Set the option state_store at any update or start from a snapshot.",
        )
    names = [key for key in (_POLICY, _CODEC) if key in checkpoint.settings]
    yield ChangeAnswer(
        Change.PINNED,
        Verdict.IGNORED,
        f"A start takes {' and '.join(names)} from the checkpoint, like all settings that it lists. You may turn changelog "
        "checkpointing on and off, because the checkpoint does not list it.",
        "If stages with state change, a start from a snapshot writes a new checkpoint with the current settings.",
    )


def _ends(checkpoint: Checkpoint) -> Iterator[ChangeAnswer]:
    number = len(checkpoint.sources)
    if checkpoint.logs.offset_format == 2:
        spark = "Sources have names in the offset log, so you may add or remove one."
    else:
        spark = (
            f"The offset log has {number} sources without names: another number fails with 'There are [{number}] sources in "
            "the checkpoint offsets'. Spark matches them only by position. You cannot turn on named sources in this "
            "checkpoint (CANNOT_ENABLE_ON_EXISTING_CHECKPOINT)."
        )
    verdict = Verdict.GOES_ON if checkpoint.logs.offset_format == 2 else Verdict.FAILS
    yield ChangeAnswer(
        Change.SOURCES, verdict, spark, "Sources have names: you may add one, and removing one needs --allow-drop."
    )
    yield ChangeAnswer(
        Change.SINK,
        Verdict.DEPENDS,
        "The checkpoint does not know its sink, so another sink gets the rows from the next epoch on. An epoch that runs "
        "again may be in both sinks. A sink in memory does not start from a checkpoint.",
        "You may add and remove sinks; a sink of another kind under the same name is refused.",
    )
    if checkpoint.operators:
        yield ChangeAnswer(
            Change.OUTPUT_MODE,
            Verdict.DEPENDS,
            "An aggregate may change between append, update and complete, and its state stays. Append needs a watermark. "
            "Earlier results are not withdrawn. A processor keeps its mode in its metadata.",
            "Pitstop has no modes: stages say when they give results (early_results).",
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
            f"The delay was {texts}. The watermark never goes back: with a longer delay it stands until times catch up.",
            "State is restored with another allowed_lag.",
        )
    yield ChangeAnswer(
        Change.STATELESS,
        Verdict.GOES_ON,
        "You may change filters and columns as long as keys and values of stateful operators stay the same.",
        "State is restored. Optimizer rules that would make state depend on later stages are off.",
    )
    yield ChangeAnswer(
        Change.UPGRADE,
        Verdict.GOES_ON,
        f"Written by Spark {checkpoint.release}. A later release reads older formats; an earlier one refuses logs of a "
        "later format.",
        "A job runs with the Spark of its Pitstop release. Every release continues from the snapshots of earlier ones.",
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
