"""Everything we use of Spark that is not public API, one function each.

tests/spark/test_internals.py fails loudly when Spark changes one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

_NUMBERS = re.compile(r"#\d+L?|@[0-9a-f]{4,}|0x[0-9a-f]+|\bplan_id=\d+")

STATEFUL_NODES = frozenset(
    {
        "Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "FlatMapGroupsWithState",
        "FlatMapGroupsInPandasWithState", "TransformWithState", "TransformWithStateInPandas",
        "TransformWithStateInPySpark", "GlobalLimit", "Sort", "Window",
    }
)  # fmt: skip


def stateful_nodes(frame: DataFrame) -> list[str]:
    """Names of the stateful nodes in the analysed plan of a streaming DataFrame, root first."""
    return [name for name, _ in own_operators(frame, [])]  # type: ignore[misc]


def own_operators(frame: DataFrame, inputs: list[DataFrame]) -> list[tuple[str, str] | int]:
    """Stateful nodes in the analysed plan of a streaming DataFrame that are not those of its inputs, root first.

    Each as (name, form): the form is its text without numbers of expressions, with the types of its rows, so that equal
    code has equal forms. A number stands where that input is met, with all its own operators.
    """
    known = [(number, given._jdf.queryExecution().analyzed()) for number, given in enumerate(inputs)]
    found: list[tuple[str, str] | int] = []

    def walk(node: Any) -> None:
        for number, given in known:
            if node.equals(given) or node.sameResult(given):
                found.append(number)
                return
        children = [node.children().apply(i) for i in range(node.children().size())]
        if _keeps_state(node, children):
            found.append((node.nodeName(), _form(node, children)))
        for child in children:
            walk(child)

    walk(frame._jdf.queryExecution().analyzed())
    return found


def source_relations(frame: DataFrame) -> list[int]:
    """For each reader in the analysed plan of a streaming DataFrame, in Spark's order, the number of its relation.

    Spark makes one source of equal relations, and calls its folder below ``sources/`` by that number.
    """
    known: list[Any] = []
    found: list[int] = []

    def walk(node: Any) -> None:
        children = node.children()
        if children.size() == 0 and node.isStreaming():
            number = next((i for i, other in enumerate(known) if other.equals(node)), len(known))
            if number == len(known):
                known.append(node)
            found.append(number)
        for i in range(children.size()):
            walk(children.apply(i))

    walk(frame._jdf.queryExecution().analyzed())
    return found


def check_streamable(frame: DataFrame) -> None:
    """Raise Spark's AnalysisException if it would refuse to run this streaming DataFrame in append mode."""
    jvm = frame.sparkSession._jvm
    mode = jvm.org.apache.spark.sql.catalyst.streaming.InternalOutputModes.__getattr__("Append$").__getattr__("MODULE$")
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode)


def _keeps_state(node: Any, children: list[Any]) -> bool:
    name = node.nodeName()
    if name == "Join":
        return all(child.isStreaming() for child in children)
    return name in STATEFUL_NODES and bool(node.isStreaming())


def _form(node: Any, children: list[Any]) -> str:
    text = _NUMBERS.sub("", str(node.simpleString(1000)))
    return f"{text} over {', '.join(str(child.schema().simpleString()) for child in children)}"


def forget_rows(checkpointed: DataFrame) -> None:
    """Free what ``localCheckpoint`` keeps of a DataFrame, which Spark itself does only after some garbage collection."""
    checkpointed._jdf.queryExecution().logical().rdd().unpersist(False)


def watermark_id(frame: DataFrame) -> str:
    """The id of the watermark operator in which a streaming DataFrame ends."""
    return str(frame._jdf.queryExecution().analyzed().nodeId().toString())


@dataclass(frozen=True)
class WatermarkNode:
    """One watermark operator of an epoch's plan, after the epoch's rows have passed it."""

    id: str
    rows: int
    watermark_ms: int
    """Highest event time minus lag; means nothing without rows."""
    _node: Any

    def raise_to(self, watermark_ms: int) -> None:
        """Count as if a row with this watermark had passed."""
        self._node.eventTimeStats().add(watermark_ms + self._node.delayMs())


def watermark_nodes(query: StreamingQuery) -> list[WatermarkNode]:
    """The watermark operators of the epoch that is running, or of the last one."""
    found: list[WatermarkNode] = []

    def walk(node: Any) -> None:
        if node.nodeName() == "EventTimeWatermark":
            seen = node.eventTimeStats().value()
            highest = int(seen.max()) - int(node.delayMs())
            found.append(WatermarkNode(str(node.nodeId().toString()), int(seen.count()), highest, node))
        children = node.children()
        for i in range(children.size()):
            walk(children.apply(i))

    walk(_execution(query).lastExecution().executedPlan())
    return found


@contextmanager
def no_epoch_begins(query: StreamingQuery) -> Iterator[None]:
    """While this lasts, the query neither plans nor commits an epoch."""
    lock = _execution(query).awaitProgressLock()
    lock.lock()
    try:
        yield
    finally:
        lock.unlock()


def take_up_watermarks(query: StreamingQuery, next_epoch: int) -> None:
    """Let the next epoch run by the raised watermarks of the last one's operators. Only while no epoch begins or runs."""
    execution = _execution(query)
    execution.watermarkTracker().updateWatermark(execution.lastExecution().executedPlan())
    # What was worked out for the next epoch, when there seemed to be no need for one, holds no more.
    execution.lastExecution().watermarkPropagator().purge(next_epoch)


def _execution(query: StreamingQuery) -> Any:
    return query._jsq.streamingQuery()


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
) -> Any:
    """Write all state as of ``write_epoch`` = transform(operator id, name of its store, state as of ``read_epoch``).

    The frames are in Spark's raw form of all column families (key and value bytes, partition key). A join has four
    stores, any other operator one. Works for the RocksDB provider only. Uses Spark's StateRewriter (4.2 and later), the
    tool behind offline repartitioning. Returns what Spark returns: the state checkpoint ids, if any.
    """
    ensure_callback_server_started(spark.sparkContext._gateway)
    jvm = spark._jvm

    def convert(jdf: Any) -> Any:
        options = jdf.queryExecution().analyzed().options()
        return transform(int(options.get("operatorId")), options.get("storeName"), DataFrame(jdf, spark))._jdf

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


def raw_state(spark: SparkSession, checkpoint: Path, epoch: int, operator: int, store: str) -> DataFrame:
    """One store's state in the raw form that :func:`rewrite_state` writes."""
    options = spark._jvm.org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
    return (
        spark.read.format("statestore")
        .option("operatorId", operator)
        .option("batchId", epoch)
        .option("storeName", store)
        .option(options.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES(), "true")
        .load(str(checkpoint))
    )


def store_forms(spark: SparkSession, checkpoint: Path, operator: int, store: str, files: list[str]) -> dict[str, str]:
    """Column family -> the types of its keys and values, without names, of one store of an operator.

    ``files``: where Spark says that the schema is; none if it is in its usual place.
    """
    jvm = spark._jvm
    state = jvm.org.apache.spark.sql.execution.streaming.state
    at = state.StateStoreId(str(checkpoint / "state"), operator, 0, store)
    provider = state.StateStoreProviderId(at, jvm.java.util.UUID.randomUUID())
    paths = [jvm.org.apache.hadoop.fs.Path(file) for file in files]
    listed = jvm.scala.jdk.javaapi.CollectionConverters.asScala(paths).toList()
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    checker = state.StateSchemaCompatibilityChecker(provider, hadoop, listed, jvm.scala.Option.empty(), False)
    families = checker.readSchemaFile()
    found = [families.apply(number) for number in range(families.size())]
    return {family.colFamilyName(): f"{_types(family.keySchema())} -> {_types(family.valueSchema())}" for family in found}


def _types(schema: Any) -> str:
    return ", ".join(str(field.dataType().simpleString()) for field in schema.fields())
