"""State of a checkpoint in Spark's raw form: read, written anew, and described."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import java_gateway
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from pitstop.spark.internals.java_code import call, new, shared_class
from pitstop.spark.internals.jvm import classes, gateway, hadoop_settings, java_frame, session_of

_start_callback_server: Callable[[Any], None] = java_gateway.ensure_callback_server_started

NOT_COLLECTED = "NOT_COLLECTED"
"""The word in the error of a buffer that holds no array of the type that is expected."""
FAMILY = "column_family_name"
"""The column of raw state that says what a row belongs to, such as a variable of a user-defined processor."""


class _Transform:
    """A Python function as a Scala ``Function1[DataFrame, DataFrame]``."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def apply(self, frame: Any) -> Any:
        return self._function(frame)

    def toString(self) -> str:
        return "pitstop state transform"

    class Java:
        implements = ("scala.Function1",)


def rewrite_state(
    spark: SparkSession,
    checkpoint: Path,
    read_epoch: int,
    write_epoch: int,
    transform: Callable[[int, str, DataFrame], DataFrame],
) -> None:
    """Write all state as of ``write_epoch`` = transform(operator id, name of its store, state as of ``read_epoch``).

    The frames are in Spark's raw form of all column families (key and value bytes, partition key). A join has four
    stores, any other operator one. Works for the RocksDB provider only. Uses Spark's StateRewriter (4.2 and later), the
    tool behind offline repartitioning.
    """
    _start_callback_server(spark.sparkContext._gateway)
    jvm = classes(spark)

    def convert(frame: Any) -> Any:
        options = frame.queryExecution().analyzed().options()
        return java_frame(transform(int(options.get("operatorId")), options.get("storeName"), DataFrame(frame, spark)))

    none = jvm.scala.Option.empty()
    rewriter = jvm.org.apache.spark.sql.execution.streaming.state.StateRewriter(
        session_of(spark),
        read_epoch,
        write_epoch,
        str(checkpoint),
        hadoop_settings(spark),
        none,
        jvm.scala.Option.apply(_Transform(convert)),
        none,
    )
    rewriter.run()


def raw_state(spark: SparkSession, checkpoint: Path, epoch: int, operator: int, store: str) -> DataFrame:
    """Return one store's state in the raw form that :func:`rewrite_state` writes."""
    options = classes(spark).org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
    return (
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("batchId", epoch)
        .option("storeName", store)
        .option(options.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES(), "true")
        .load(str(checkpoint))
    )


def raw_state_of_memory(
    spark: SparkSession, checkpoint: Path, epoch: int, operator: int, store: str, family: str, form: DataFrame
) -> DataFrame:
    """Return one store's state, kept by the provider in memory, in the raw form of the rows ``form``, as rows of ``family``.

    That provider knows no column families, so Spark's raw reader refuses it.
    """
    reader = spark.read.format("statestore").option("operatorId", operator).option("batchId", epoch)
    rows = java_frame(reader.option("storeName", store).load(str(checkpoint)))
    key, values = (rows.schema().apply(place).dataType() for place in (0, 1))
    prefix = java_frame(form).schema().apply(0).dataType().length()
    java_class = shared_class(spark, "StateBytes")
    function = new(spark, java_class, key, values.length(), prefix, family)
    raw = call(spark, java_class, "raw", rows.queryExecution().toRdd().toJavaRDD(), function)
    return DataFrame(session_of(spark).internalCreateDataFrame(raw, java_frame(form).schema(), False), spark)


def with_values(spark: SparkSession, state: DataFrame, family: str, schemas: tuple[Any, Any], places: Sequence[int]) -> DataFrame:
    """Return raw state in which the values of a column family have the fields at these places, in their order; -1 gives null.

    ``schemas``: of the values before and after, in Java's form (:func:`store_schemas`).
    """
    array = gateway(spark).new_array(classes(spark).int, len(places))
    for number, place in enumerate(places):
        array[number] = place
    frame = java_frame(state)
    prefix = frame.schema().apply(0).dataType().length()
    java_class = shared_class(spark, "StateValues")
    function = new(spark, java_class, family, *schemas, array, prefix)
    changed = call(spark, java_class, "over", frame.queryExecution().toRdd().toJavaRDD(), function)
    return DataFrame(session_of(spark).internalCreateDataFrame(changed, frame.schema(), False), spark)


def with_collected(rows: DataFrame, types: Mapping[str, DataType]) -> DataFrame:
    """Return rows in which buffers of collect_set and collect_list, which Spark keeps as bytes, are arrays.

    ``types``: column -> type of the array. When it is read, a buffer of another type is an error with ``NOT_COLLECTED``.
    """
    spark, frame = rows.sparkSession, java_frame(rows)
    schema = StructType([StructField(each.name, types.get(each.name, each.dataType)) for each in rows.schema.fields])
    after = java_frame(spark.createDataFrame([], schema)).schema()
    java_class = shared_class(spark, "CollectedValues")
    function = new(spark, java_class, frame.schema(), after)
    changed = call(spark, java_class, "over", frame.queryExecution().toRdd().toJavaRDD(), function)
    return DataFrame(session_of(spark).internalCreateDataFrame(changed, after, False), spark)


def store_forms(spark: SparkSession, checkpoint: Path, operator: int, store: str, files: list[str]) -> dict[str, str]:
    """Return column family -> the types of its keys and values, without names, of one store of an operator.

    ``files``: where Spark says that the schema is; none if it is in its usual place.
    """
    schemas = store_schemas(spark, checkpoint, operator, store, files)
    return {family: f"{_types(key)} -> {_types(value)}" for family, (key, value) in schemas.items()}


def store_schemas(
    spark: SparkSession, checkpoint: Path, operator: int, store: str, files: list[str]
) -> dict[str, tuple[Any, Any]]:
    """Return column family -> Java's schemas of its keys and values, of one store of an operator. ``files`` as above."""
    jvm = classes(spark)
    state = jvm.org.apache.spark.sql.execution.streaming.state
    at = state.StateStoreId(str(checkpoint / "state"), operator, 0, store)
    provider = state.StateStoreProviderId(at, jvm.java.util.UUID.randomUUID())
    paths = [jvm.org.apache.hadoop.fs.Path(file) for file in files]
    listed = jvm.scala.jdk.javaapi.CollectionConverters.asScala(paths).toList()
    none = jvm.scala.Option.empty()
    families = state.StateSchemaCompatibilityChecker(provider, hadoop_settings(spark), listed, none, False).readSchemaFile()
    column_families = [families.apply(number) for number in range(families.size())]
    return {family.colFamilyName(): (family.keySchema(), family.valueSchema()) for family in column_families}


def _types(schema: Any) -> str:
    return ", ".join(str(field.dataType().catalogString()) for field in schema.fields())
