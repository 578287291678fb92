"""Everything we use of Spark that is not public API, one function each.

tests/spark/test_internals.py fails loudly when Spark changes one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

STATEFUL_NODES = frozenset(
    {
        "Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "FlatMapGroupsWithState",
        "FlatMapGroupsInPandasWithState", "TransformWithState", "TransformWithStateInPandas",
        "TransformWithStateInPySpark", "GlobalLimit", "LocalLimit", "Sort", "Window",
    }
)  # fmt: skip


def stateful_nodes(frame: DataFrame) -> list[str]:
    """Names of the stateful nodes in the analysed plan of a streaming DataFrame, root first."""
    found: list[str] = []

    def walk(node: Any) -> None:
        name = node.nodeName()
        children = node.children()
        inputs = [children.apply(i) for i in range(children.size())]
        if name in STATEFUL_NODES and node.isStreaming():
            found.append(name)
        if name == "Join" and all(child.isStreaming() for child in inputs):
            found.append("Join")
        for child in inputs:
            walk(child)

    walk(frame._jdf.queryExecution().analyzed())
    return found


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
    transform: Callable[[int, DataFrame], DataFrame],
) -> Any:
    """Write the state of every operator as of ``write_epoch`` = transform(operator id, state as of ``read_epoch``).

    The frames are in Spark's raw form of all column families (key and value bytes, partition key). Operators
    come in ascending id. Works for the RocksDB provider only. Uses Spark's StateRewriter (4.2 and later), the
    tool behind offline repartitioning. Returns what Spark returns: the state checkpoint ids, if any.
    """
    ensure_callback_server_started(spark.sparkContext._gateway)
    jvm = spark._jvm
    order = operator_ids(spark, checkpoint)
    calls = iter(order)

    def convert(jdf: Any) -> Any:
        return transform(next(calls), DataFrame(jdf, spark))._jdf

    none = jvm.scala.Option.empty()
    rewriter = jvm.org.apache.spark.sql.execution.streaming.state.StateRewriter(
        spark._jsparkSession,
        read_epoch,
        write_epoch,
        str(checkpoint),
        spark._jsparkSession.sessionState().newHadoopConf(),
        none,
        jvm.scala.Option.apply(_Transform(convert)),
        none,
    )
    return rewriter.run()


def raw_state(spark: SparkSession, checkpoint: Path, epoch: int, operator: int) -> DataFrame:
    """One operator's state in the raw form that :func:`rewrite_state` writes."""
    options = spark._jvm.org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
    return (
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("batchId", epoch)
        .option(options.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES(), "true")
        .load(str(checkpoint))
    )


def operator_ids(spark: SparkSession, checkpoint: Path) -> list[int]:
    """Ids of the stateful operators of a checkpoint, ascending (public ``state-metadata`` source)."""
    rows = spark.read.format("state-metadata").load(str(checkpoint)).select("operatorId").distinct().collect()
    return sorted(row.operatorId for row in rows)
