"""The source of Kafka: the messages of topics."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pitstop.errors import UsageError
from pitstop.pipeline.kafka_security import KafkaSecurity, security_of
from pitstop.pipeline.kafka_values import Format, values_of
from pitstop.pipeline.schemas import optional_ddl
from pitstop.pipeline.source import Source
from pitstop.pipeline.starts import kafka_start

_CONSUMERS_OWN = ("bootstrap.servers", "isolation.level", "group.id", "auto.offset.reset", "enable.auto.commit")
TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""The name of a topic of Kafka."""
METADATA = {
    "key": "string",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "headers": "map<string,string>",
}
"""Column that tells where a message of Kafka is from -> its type."""


def kafka(
    servers: str,
    topic: str | None = None,
    *,
    topics: Sequence[str] = (),
    pattern: str | None = None,
    value: Format = "json",
    schema: Any = None,
    schema_registry: str | None = None,
    schema_folder: str | None = None,
    avro_schema: str | None = None,
    message: Any = None,
    descriptor_file: str | None = None,
    op_column: str = "op",
    number_times: Literal["millis", "micros"] | None = None,
    start: str | datetime | Mapping[str, Mapping[int, int]] = "earliest",
    with_metadata: Sequence[str] | Mapping[str, str] = (),
    on_loss: Literal["fail", "wait", "continue"] = "fail",
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    max_rows: int = 1_000_000,
    settings: Mapping[str, str] | None = None,
    security: KafkaSecurity | Mapping[str, Any] | None = None,
    group: str | None = None,
) -> Source:
    """Read the messages of topics of Kafka. Spark's own reader does it; its jars are fetched when a job first needs them.

    Rows: the columns of ``schema`` (DDL), by which ``value`` is parsed (``json``, ``csv``, ``avro``, ``protobuf``,
    ``debezium``); without a schema ``value string`` (``text``) or ``value binary`` (``bytes``). Beside them the columns of
    ``with_metadata``: ``key string``, ``topic string``, ``partition int``, ``offset bigint``, ``timestamp timestamp``,
    ``headers map<string,string>``; as a mapping ``{"offset": "place"}`` under other names. Offset: the id of
    each topic, and the next offset of each partition.

    ``servers`` are addresses as ``host:port,host:port``. Name one ``topic``, several ``topics``, or all whose names match
    ``pattern``; those that appear later, and new partitions, are read from their beginning. ``start`` is where a job begins that
    does not start from a snapshot: ``earliest``, ``latest``, a time (a datetime, or its text in ISO 8601), or offsets, as in
    ``{"orders": {0: 17}}``; it is decided once, in a first epoch without rows. ``max_rows`` bounds what one epoch reads.
    If there is more, the epoch ends at one moment in all partitions, by the times of the messages, so that none of them is read
    ahead of the others and makes their rows late.

    Messages that do not parse go to the dead letters with topic, partition and offset: null ones (tombstones), empty ones, what
    is not UTF-8 (its text is then ``base64:...``), and more than one JSON object, too. Of transactions only what is committed is
    read, unless ``isolation`` says otherwise.

    Values of ``avro`` begin with the id of the schema with which they were written: it is looked up while the job runs, in the
    ``schema_registry``, a URL (``https://user:${secret:REGISTRY_PASSWORD}@host:8081``), or in the ``schema_folder``, whose files
    are ``ID.avsc``. Values without an id are all of the one ``avro_schema``, a text of JSON. Fields become the columns of
    ``schema`` by their names; ``schema`` may also be a record of Avro as JSON, into which Avro then resolves each value, with
    that record's defaults and aliases. A registry that is away is waited for.

    Values of ``protobuf`` are messages of the type ``message``: its full name, as in ``shop.Order``, with the ``descriptor_file``
    that ``protoc --include_imports --descriptor_set_out=FILE`` writes, or the class that protoc has made of it. Fields become the
    columns of ``schema`` by their names. The frame that a schema registry's serializer puts before a message is skipped.

    Values of ``debezium`` are its envelopes of JSON. A row has the columns of ``schema`` as they are after the change, before it
    for a delete, and the change in the column ``op_column``: ``c``, ``r``, ``u`` or ``d``. The null value behind a delete is
    skipped and counted. ``number_times`` says in which unit a column ``timestamp`` is a number: ``millis`` or ``micros``.

    A topic that was deleted and made anew, one that was cut, and messages that the topic has dropped before they were read are
    noticed before anything else is read. ``on_loss`` says what then happens: the job fails with topic, partition, offsets and
    their number (``fail``), waits where it is (``wait``), or goes on without them (``continue``). What is away is
    waited for.

    ``security`` says how the job signs in: see :func:`pitstop.kafka_security`, whose arguments may also be given as a mapping.
    ``settings`` are those of Kafka's consumer, such as ``{"fetch.max.bytes": "1048576"}``. ``group`` names a consumer group that
    gets the offsets of the job after each committed epoch, for tools that show the lag of groups; the job never reads them.
    """
    if isinstance(topics, str):
        raise UsageError(f"topics is a list of names: write topic={topics!r} for one.")
    names = [*([topic] if topic is not None else []), *topics]
    if bool(names) == (pattern is not None):
        raise UsageError("kafka reads one topic, several topics, or the topics of a pattern: give topic, topics or pattern.")
    for name in names:
        if not TOPIC.fullmatch(name):
            raise UsageError(f"{name!r} is not a topic name: use at most 249 letters, digits, '.', '_' and '-'.")
    ddl = optional_ddl(schema)
    avro_places = (schema_registry, schema_folder, avro_schema)
    values = values_of(value, ddl, *avro_places, message, descriptor_file, op_column, number_times)
    if on_loss not in ("fail", "wait", "continue"):
        raise UsageError(f"on_loss is fail, wait or continue, not {on_loss!r}.")
    if isolation not in ("read_committed", "read_uncommitted"):
        raise UsageError(f"isolation is read_committed or read_uncommitted, not {isolation!r}.")
    if max_rows < 1:
        raise UsageError("max_rows is at least 1.")
    if group is not None and not group.strip():
        raise UsageError("group is the name of a consumer group, or left out.")
    columns = dict(with_metadata) if isinstance(with_metadata, Mapping) else {name: name for name in with_metadata}
    if unknown := columns.keys() - METADATA.keys():
        raise UsageError(f"Messages of Kafka have no {', '.join(sorted(unknown))}. There are: {', '.join(METADATA)}.")
    for name in settings or {}:
        if name.lower() in _CONSUMERS_OWN:
            instead = ", or set group= for other tools" if name.lower() == "group.id" else ""
            raise UsageError(f"{name} is Pitstop's own: leave it out of settings{instead}.")
    if len(set(columns.values())) < len(columns):
        raise UsageError("with_metadata gives two columns one name.")
    if "value" in columns.values() and values.schema is None:
        raise UsageError(
            "Two columns would have the name 'value': give the metadata another name, with a mapping as with_metadata."
        )
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise UsageError(f"The pattern {pattern!r} is not a regular expression: {error}.") from None
    where = {"pattern": pattern} if pattern is not None else {"topics": ",".join(names)}
    consumer = {f"kafka.{name}": str(setting) for name, setting in (settings or {}).items()}
    signing_in = security_of(security, settings or {})
    return Source(
        "kafka",
        {
            **consumer,
            **({"security": signing_in.to_text()} if signing_in is not None else {}),
            "kafka.bootstrap.servers": servers,
            "kafka.isolation.level": isolation,
            **where,
            "value": value,
            **values.options,
            "start": kafka_start(start),
            "metadata": json.dumps(columns),
            "onLoss": on_loss,
            "maxRows": str(max_rows),
            **({"group": group} if group is not None else {}),
        },
        schema=values.schema,
        parse=values.parse,
        parse_options=values.parse_options,
        metadata=tuple(columns.values()),
    )
