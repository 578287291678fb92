"""Topics of Kafka, by Spark's own reader in a shell of ours (java/kafka/KafkaFeed.java).

Offset: ``{"cluster": id, "ids": {topic: id}, "at": {topic: {partition: offset}}}``, and ``from``, where new partitions begin.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Callable
from functools import cache

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pitstop.machine.named_secrets import names_in, revealed
from pitstop.model.report import SourceFate
from pitstop.pipeline.kafka_security import KafkaSecurity
from pitstop.pipeline.kafka_values import OPTIONS
from pitstop.pipeline.option_paths import is_kafka_path, with_whole_paths
from pitstop.pipeline.source import Source
from pitstop.spark.base.kafka_clients import java_properties
from pitstop.spark.base.looking import Look
from pitstop.spark.base.naming import REASON
from pitstop.spark.base.seeking import Sought
from pitstop.spark.internals.kafka_reader import KEPT, kafka_feed, keep_options
from pitstop.spark.sources import SourceKind
from pitstop.spark.sources.kafka_look import look_at_topics
from pitstop.spark.sources.kafka_places import adopted_place, judge_place, seek_place
from pitstop.spark.sources.kafka_values import TOMBSTONE_REASON, with_avro, with_changes, with_protobuf

_OWN = ("topics", "pattern", "value", "start", "metadata", "onLoss", "maxRows", "security", "group", *OPTIONS)
_PROMPT = {"kafka.fetch.max.wait.ms": "10"}
"""The setting by which no broker waits for messages behind the known end of a batch; KafkaFeed.java sets it for epochs."""
_PATHS = ("schemaFolder", "descriptorFile")


@cache
def process_mark(pid: int) -> str:
    """Return the option by which a feed knows its run: in an engine, runs of one job follow one another in one JVM.

    ``pid``: of this process. A mark that was made at the import would be that of all processes that are forked afterwards.
    """
    return f"{pid}-{secrets.token_hex(8)}"


def _stream(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    feed = kafka_feed(spark)
    reader = spark.readStream.format(feed).options(
        **source.options, **facts, **_kept(spark, source), process=process_mark(os.getpid())
    )
    return _rows(reader.options(**_readers(source), failOnDataLoss=_fails(source)).load(), source)


def _batch(spark: SparkSession, source: Source, facts: dict[str, str]) -> DataFrame:
    feed, name_of_secrets = kafka_feed(spark), _kept(spark, source)
    consumer = {name: value for name, value in source.options.items() if name not in _OWN}
    options = {**_PROMPT, **consumer, **_readers(source), **name_of_secrets, "failOnDataLoss": _fails(source)}
    reader = spark.read.format(feed if name_of_secrets else "kafka").options(**options)
    return _rows(reader.load(), source)


def _look(spark: SparkSession, source: Source) -> Look:
    return look_at_topics(spark, source, _settings(source), _rows)


def _seek(spark: SparkSession, source: Source, place: str, saved: str, planned: str | None) -> Sought:
    return seek_place(spark, source, _settings(source), place, saved, planned)


def _judge(spark: SparkSession, source: Source, saved: str) -> SourceFate:
    return judge_place(spark, source, _settings(source), saved)


def _adopt(spark: SparkSession, source: Source, offset: str) -> str:
    return adopted_place(spark, source, _settings(source), offset)


def _settings(source: Source) -> dict[str, str]:
    """Return the settings of Kafka's client with which the job reads."""
    options = source.options | _hidden_options(source)
    return {name.removeprefix("kafka."): value for name, value in options.items() if name.startswith("kafka.")}


def _kept(spark: SparkSession, source: Source) -> dict[str, str]:
    """Keep what no plan of Spark may show for the feed; return the option by which it finds it, none if there is nothing."""
    values = _hidden_options(source)
    return {KEPT: keep_options(spark, source.digest, values)} if values else {}


def _hidden_options(source: Source) -> dict[str, str]:
    """Return the options that hold secrets, with their values, and those that follow from ``security``."""
    values = {name: revealed(value) for name, value in source.options.items() if name not in _OWN and any(names_in(value))}
    if "security" in source.options:
        properties = java_properties(KafkaSecurity.from_text(source.options["security"]))
        values |= {f"kafka.{name}": value for name, value in properties.items()}
    return values


def _readers(source: Source) -> dict[str, str]:
    """Return the options of Spark's reader that say what is read."""
    headers = {"includeHeaders": str("headers" in json.loads(source.options["metadata"])).lower()}
    if "pattern" in source.options:
        return {"subscribePattern": source.options["pattern"], **headers}
    return {"subscribe": source.options["topics"], **headers}


def _fails(source: Source) -> str:
    return str(source.options["onLoss"] != "continue").lower()


def _rows(messages: DataFrame, source: Source) -> DataFrame:
    """Return the value and the chosen facts; of a value to be parsed also its place, and what speaks against parsing it."""
    metadata = [_fact(name).alias(column) for name, column in json.loads(source.options["metadata"]).items()]
    if source.options["value"] == "bytes":
        return messages.select("value", *metadata)
    text = F.col("value").cast("string")
    if source.parse is None:
        return messages.select(text.alias("value"), *metadata)
    place = [F.col(name).alias(f"__{name}") for name in ("topic", "partition", "offset")]
    valid = F.expr("is_valid_utf8(cast(value as string))")
    readable = F.when(valid, text).otherwise(F.concat(F.lit("base64:"), F.base64("value")))
    if source.parse in ("avro", "protobuf"):
        decoded = with_avro if source.parse == "avro" else with_protobuf
        return decoded(messages.select("value", *metadata, *place), source)
    reason = _reason(text, valid, source).alias(REASON)
    rows = messages.select(readable.alias("value"), reason, *metadata, *place)
    return with_changes(rows, source) if source.parse == "debezium" else rows


def _reason(text: Column, valid: Column, source: Source) -> Column:
    blank = F.lit(" \t\r\n")
    bare = F.btrim(text, blank)
    reason = (
        F.when(F.col("value").isNull(), TOMBSTONE_REASON)
        .when(~valid, "The value is not UTF-8.")
        .when(bare == "", "The value is empty.")
    )
    if source.parse == "csv":
        return reason
    # from_json stops at the end of the first object, and says nothing of what follows.
    alone = (F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1) & bare.endswith("}")
    return reason.when(bare.startswith("{") & ~F.coalesce(alone, F.lit(False)), "The value is not a single JSON object.")


def _fact(name: str) -> Column:
    if name == "headers":
        # Of several headers of one name the last one counts, as with Kafka's own lastHeader.
        pairs = F.transform(F.col("headers"), lambda header: F.struct(header["key"], header["value"].cast("string")))
        latest = F.aggregate(
            F.coalesce(pairs, F.array().cast("array<struct<key:string,value:string>>")),
            F.expr("cast(map() as map<string,string>)"),
            lambda pairs_before, pair: F.map_concat(
                F.map_filter(pairs_before, lambda key, value: key != pair["key"]), F.create_map(pair["key"], pair["value"])
            ),
        )
        return F.when(F.col("headers").isNotNull(), latest)
    return F.col("key").cast("string") if name == "key" else F.col(name)


def _placed(source: Source, whole: Callable[[str], str]) -> Source:
    """Return the source with whole paths of its schemas and descriptors, and of files in the consumer's settings."""
    options = with_whole_paths(source.options, lambda name: name in _PATHS or is_kafka_path(name), whole)
    return dataclasses.replace(source, options=options)


KIND = SourceKind(
    _stream,
    _batch,
    gated=True,
    has_limit=lambda source: True,
    placed=_placed,
    secrets=True,
    real_time=True,
    look=_look,
    seek=_seek,
    judge=_judge,
    adopt=_adopt,
)
