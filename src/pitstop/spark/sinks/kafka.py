"""Topics of Kafka as sinks: each task of an epoch writes one transaction, which also holds the mark of the epoch.

The mark is the metadata of an offset that the transaction commits for a group of its own. A task first takes its transactional
id, which ends what an earlier writer of it left open and shuts that writer out, and only then reads the mark: nothing can be
added any more.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructType

from pitstop.errors import EngineError, UsageError
from pitstop.kit.counts import counted
from pitstop.machine.named_secrets import revealed
from pitstop.maps.json_form import OPTIONS
from pitstop.pipeline.needs import OF_SINKS
from pitstop.pipeline.option_paths import is_kafka_path, with_whole_paths
from pitstop.pipeline.sink import KafkaSink
from pitstop.spark.base.columns import to_column
from pitstop.spark.base.kafka_clients import librdkafka_settings
from pitstop.spark.base.looking import LOOK_SECONDS
from pitstop.spark.base.naming import quoted
from pitstop.spark.base.row_order import ORDER
from pitstop.spark.sinks import LAST, EpochContext, SinkKind, take_all
from pitstop.spark.sinks.kafka_avro import avro_value, schema_id, schema_of
from pitstop.spark.sinks.map import json_of

if TYPE_CHECKING:
    from confluent_kafka import Producer

TASKS = 4
"""The tasks of an epoch: a row of an epoch that is written again comes to the same one. Never changed: marks are kept by task."""
_SECONDS = 60
_AGAIN_SECONDS = 0.1
_ON_THE_MOVE = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS")
"""The answers of brokers among which the offsets of a group are being moved, as after their start."""
_AT_ONCE = {"retry.backoff.ms": 10, "reconnect.backoff.ms": 10}
"""Each task of each epoch has clients of its own. With librdkafka's 100 ms they wait twice for what is there a moment later."""
_SILENT = logging.getLogger("pitstop.sink.kafka.look")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
_FORMS = (StringType, BinaryType)
_BEGUN: set[tuple[str, str, int]] = set()
"""The sinks that this process has written, by name, topic and run."""


@dataclass(frozen=True)
class Mark:
    """The epoch that a task has written last."""

    lineage: str
    epoch: int
    digest: str | None
    token: int
    """Of the run that has written it; runs of a job have ever higher ones."""


def write_kafka(sink: KafkaSink, rows: DataFrame, context: EpochContext) -> int:
    """Write one epoch's rows, once; return their number. EngineError if the topic has another epoch by its name."""
    run = context.run
    fence = run.fence
    names = tuple(run.known_as)
    mark = Mark(context.lineage, context.epoch, context.digest, fence.token if fence is not None else 0)
    name = f"pitstop.{run.job_id}.{context.stage}"
    begins = (name, sink.topic, mark.token) not in _BEGUN
    writer = _TaskWriter(revealed(sink.servers), sink.topic, name, mark, names, client_settings(sink), begins)
    messages = by_tasks(sink, rows, _schema_id(sink, rows, context))
    run.ownership.check()
    run.begins()
    answers = messages.mapInArrow(writer, "messages bigint, problem string").collect()
    for answer in answers:
        if answer.problem is not None:
            raise EngineError(f"Sink '{context.stage}': {answer.problem}")
    _BEGUN.add((name, sink.topic, mark.token))
    return sum(answer.messages for answer in answers)


def client_settings(sink: KafkaSink) -> tuple[tuple[str, str], ...]:
    """Return the settings of librdkafka, with the values of secrets."""
    security = librdkafka_settings(sink.security) if sink.security is not None else {}
    return (*((name, revealed(setting)) for name, setting in sink.settings), *security.items())


def by_tasks(sink: KafkaSink, rows: DataFrame, schema_id: int | None = None) -> DataFrame:
    """Return the messages of rows, each in the task that gets it again whenever the epoch is written again."""
    # The id of a schema is none of the row's: a registry that was set up anew gives another one.
    value = "value" if schema_id is None else F.expr("substring(value, 6)")
    return messages_of(sink, rows, schema_id).repartition(TASKS, F.xxhash64(F.coalesce("key", value)))


def messages_of(sink: KafkaSink, rows: DataFrame, schema_id: int | None = None) -> DataFrame:
    """Return ``key binary, value binary, headers map<string, binary>`` of each row.

    ``schema_id``: of the schema of values of Avro; None if they begin without one.
    """
    columns = [name for name in rows.columns if name != ORDER]
    value = None
    if sink.value is None and sink.avro is None:
        value = F.expr(f"to_json(struct({', '.join(map(quoted, columns))}), {OPTIONS})").cast("binary")
    expressions = {"__key": sink.key, "__value": sink.value} | {f"__header_{name}": column for name, column in sink.headers}
    computed = rows.withColumns({name: to_column(rows, column) for name, column in expressions.items() if column is not None})
    if sink.avro is not None:
        row, fields = _record(sink, computed, columns)
        value = avro_value(computed, row, fields, schema_of(sink.avro, fields, sink.topic), schema_id)
    headers = [part for name, _ in sink.headers for part in (F.lit(name), _bytes(computed, f"__header_{name}"))]
    return computed.select(
        (F.lit(None).cast("binary") if sink.key is None else _bytes(computed, "__key")).alias("key"),
        (value if value is not None else _bytes(computed, "__value")).alias("value"),
        (F.create_map(*headers) if headers else F.lit(None).cast("map<string,binary>")).alias("headers"),
    )


def _record(sink: KafkaSink, computed: DataFrame, columns: list[str]) -> tuple[Column, StructType]:
    """Return the struct that becomes a record of Avro, behind its columns. UsageError if the value is no struct."""
    if sink.value is None:
        return F.struct(*map(quoted, columns)), StructType([computed.schema[name] for name in columns])
    kind = computed.schema["__value"].dataType
    if not isinstance(kind, StructType):
        raise UsageError(f"A value of Avro is a struct, and not {kind.simpleString()}: write struct(...), or leave value out.")
    return F.col("__value"), kind


def _schema_id(sink: KafkaSink, rows: DataFrame, context: EpochContext) -> int | None:
    if sink.avro is None:
        return None
    columns = [name for name in rows.columns if name != ORDER]
    computed = rows if sink.value is None else rows.withColumn("__value", to_column(rows, sink.value))
    schema = schema_of(sink.avro, _record(sink, computed, columns)[1], sink.topic)
    try:
        return schema_id(sink.avro, schema, sink.topic)
    except EngineError as error:
        raise EngineError(f"Sink '{context.stage}': {error}", **error.details) from None


def _bytes(rows: DataFrame, column: str) -> Column:
    """Return texts and bytes as they are, and all else as JSON."""
    if isinstance(rows.schema[column].dataType, _FORMS):
        return F.col(column).cast("binary")
    return F.expr(json_of(rows, column)).cast("binary")


def check_columns(sink: KafkaSink, rows: DataFrame) -> str | None:
    """Return why the sink cannot be written; Spark's own errors report what is no column or expression of these rows."""
    missing_package = OF_SINKS["kafka"].missing_package()
    if missing_package is not None:
        return missing_package
    try:
        messages_of(sink, rows)
    except UsageError as error:
        return f"{str(error).rstrip('.')}."
    return None


@dataclass(frozen=True)
class _TaskWriter:
    """Writes the messages of one task. It is sent to Spark's Python workers."""

    servers: str
    topic: str
    name: str
    mark: Mark
    names: tuple[tuple[str, int], ...]
    """Other lineages and numbers by which the topic may have the epoch."""
    settings: tuple[tuple[str, str], ...] = field(repr=False)
    begins: bool
    """True for the first epoch of a run: what a run before has left open is then ended, for readers wait for its end."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        yield _answer(*self._written(batches, f"{self.name}.{context.partitionId()}"))

    def _written(self, batches: Iterator[pa.RecordBatch], name: str) -> tuple[int, str | None]:
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None and not self.begins:
            return 0, None
        from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

        common = {"bootstrap.servers": self.servers, "log_level": 3} | _AT_ONCE | dict(self.settings)
        producer = Producer({"linger.ms": 20, "compression.type": "lz4"} | common | {"transactional.id": name})
        producer.init_transactions(_SECONDS)
        if first is None:
            return 0, None
        consumer = Consumer(
            _of_consumer(common) | {"group.id": name, "isolation.level": "read_committed", "enable.auto.commit": False}
        )
        try:
            mark = _mark_at(consumer, TopicPartition(self.topic, 0))
            if mark is not None:
                if mark.token > self.mark.token:
                    return 0, "another run of the job has taken over."
                if self._is_there(mark):
                    same = mark.digest == self.mark.digest or None in (mark.digest, self.mark.digest)
                    return 0, None if same else self._other_epoch(mark)
            producer.begin_transaction()
            errors: list[Any] = []
            count = self._produce(producer, first, errors)
            for batch in batches:
                count += self._produce(producer, batch, errors)
            written = TopicPartition(self.topic, 0, self.mark.epoch, metadata=json.dumps(dataclasses.asdict(self.mark)))
            producer.send_offsets_to_transaction([written], consumer.consumer_group_metadata(), _SECONDS)
            producer.commit_transaction(_SECONDS)
            if errors:
                raise KafkaException(errors[0])
            return count, None
        finally:
            consumer.close()

    def _is_there(self, mark: Mark) -> bool:
        ours = mark.lineage == self.mark.lineage and mark.epoch >= self.mark.epoch
        return ours or (mark.lineage, mark.epoch) in self.names

    def _other_epoch(self, mark: Mark) -> str:
        return (
            f"topic '{self.topic}' has another epoch {mark.epoch} of this job: its saved state was put back from an older copy, "
            "or two servers run from one copy. Write into another topic, or start "
            "the job from a snapshot under another name."
        )

    def _produce(self, producer: Producer, batch: pa.RecordBatch, errors: list[Any]) -> int:
        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                errors.append(error)

        keys, values, headers = (column.to_pylist() for column in batch.columns)
        for key, value, pairs in zip(keys, values, headers, strict=True):
            while True:
                try:
                    producer.produce(self.topic, value, key, headers=dict(pairs) if pairs else None, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
        return int(batch.num_rows)


def _of_consumer(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that say how brokers are reached: those of producers mean nothing to a consumer."""
    reach = ("bootstrap.servers", "log_level", "security.", "sasl.", "ssl.", "client.", "socket.", "broker.", *_AT_ONCE)
    return {name: setting for name, setting in settings.items() if name.startswith(reach)}


def _mark_at(consumer: Any, place: Any) -> Mark | None:
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            committed = consumer.committed([place], _SECONDS)[0]
            return Mark(**json.loads(committed.metadata)) if committed.metadata else None
        except KafkaException as error:
            name = error.args[0].name()
            if name == "GROUP_ID_NOT_FOUND":  # some brokers say so of a group without offsets
                return None
            if name not in _ON_THE_MOVE or time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)


def _answer(messages: int, problem: str | None) -> pa.RecordBatch:
    columns = [pa.array([messages], pa.int64()), pa.array([problem], pa.string())]
    return pa.RecordBatch.from_arrays(columns, names=["messages", "problem"])


def _look(sink: KafkaSink, columns: tuple[tuple[str, str], ...]) -> str:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    settings = {"bootstrap.servers": revealed(sink.servers), "log_level": 0} | dict(client_settings(sink))
    try:
        # Of all topics: to ask for one by its name lets some brokers make it.
        topics = AdminClient(_of_consumer(settings), logger=_SILENT).list_topics(timeout=LOOK_SECONDS).topics
    except KafkaException as error:
        late = error.args[0].name() in ("_TRANSPORT", "_TIMED_OUT", "_ALL_BROKERS_DOWN")
        why = f"no broker answered within {LOOK_SECONDS} s" if late else error.args[0].str()
        return f"cannot write to {sink.servers}: {why}"
    if sink.topic not in topics:
        return f"writes to {sink.servers}: topic '{sink.topic}' is not there yet"
    partitions = counted(len(topics[sink.topic].partitions), "partition")
    return f"writes to {sink.servers}: topic '{sink.topic}' has {partitions}"


def _rehearse(sink: KafkaSink, rows: DataFrame, context: EpochContext) -> None:
    take_all(messages_of(sink, rows))


def _placed(sink: KafkaSink, whole: Callable[[str], str]) -> KafkaSink:
    """Return the sink with whole paths of files in the producer's settings."""
    return dataclasses.replace(sink, settings=tuple(with_whole_paths(dict(sink.settings), is_kafka_path, whole).items()))


KIND = SinkKind(
    write_kafka,
    check_columns,
    _rehearse,
    rank=LAST,
    reads_once=True,
    transactional=True,
    handles_epochs=True,
    placed=_placed,
    secrets=("servers", "settings", "security", "avro"),
    look=_look,
)
