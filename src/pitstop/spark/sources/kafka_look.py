"""A look at topics before a job reads them: by the client, and the settings, with which it would."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pitstop.kit.counts import counted
from pitstop.pipeline.source import Source
from pitstop.spark.base.looking import LOOK_SECONDS, Look
from pitstop.spark.internals.kafka_reader import kafka_look

_MESSAGE = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
_HEADERS = "headers array<struct<key:string,value:binary>>"


def look_at_topics(
    spark: SparkSession, source: Source, settings: dict[str, str], rows: Callable[[DataFrame, Source], DataFrame]
) -> Look:
    """Return what is in the topics of a source, with its newest message. ``rows`` makes messages the rows of the source."""
    names, pattern = source.options.get("topics", ""), source.options.get("pattern", "")
    answer = json.loads(kafka_look(spark, settings, names, pattern, LOOK_SECONDS))
    servers = source.options["kafka.bootstrap.servers"]
    if "error" in answer:
        late = answer["error"] == "no broker answered in time"
        return Look(f"cannot read from {servers}: {f'no broker answered within {LOOK_SECONDS} s' if late else answer['error']}")
    topics = answer["topics"]
    parts = [_topic(name, facts) for name, facts in topics.items()]
    parts += [f"topic '{name}' is not there yet" for name in names.split(",") if name and name not in topics]
    clause = f"reads from {servers}: {', '.join(parts) or f'no topic matches {pattern}'}"
    sample = answer.get("sample")
    if sample is None:
        return Look(clause)
    place = f"the newest message ({sample['topic']}:{sample['partition']}:{sample['offset']})"
    return Look(clause, rows(_message(spark, sample), source), place)


def _topic(name: str, facts: dict[str, Any]) -> str:
    newest = f"newest offset {facts['newest']:,}" if "newest" in facts else "no messages"
    return f"topic '{name}' has {counted(facts['partitions'], 'partition')}, {newest}"


def _message(spark: SparkSession, sample: dict[str, Any]) -> DataFrame:
    key, value = (base64.b64decode(sample[name]) if sample[name] is not None else None for name in ("key", "value"))
    at = datetime.fromtimestamp(sample["timestamp"] / 1000, UTC)
    row = (key, value, sample["topic"], sample["partition"], sample["offset"], at, None)
    return spark.createDataFrame([row], f"{_MESSAGE}, {_HEADERS}")
