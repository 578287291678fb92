"""Values of Kafka that the source decodes by itself: Avro, Protobuf, and the envelopes of Debezium."""

from __future__ import annotations

import base64
import secrets
from decimal import Decimal
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, StringType, StructField, StructType, TimestampNTZType, TimestampType

from pitstop.errors import UsageError
from pitstop.machine.local_paths import local_path
from pitstop.pipeline.source import Source
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.naming import PARSED, REASON, TOMBSTONE, quoted
from pitstop.spark.base.schema_registry import registry_at
from pitstop.spark.base.text_formats import CORRUPT
from pitstop.spark.internals.avro_rows import SchemaPlace, avro_rows
from pitstop.spark.internals.protobuf_rows import protobuf_rows

TOMBSTONE_REASON = "The value is null, a tombstone."
"""The reason of a value that is null, where it is no change of a table."""
_WITH_IMAGE = {"c": "after", "r": "after", "u": "after", "d": "before"}
"""Operation of Debezium -> the part of its envelope that has the row."""
_DATES = (-719_162, 2_932_896)
_MILLISECONDS = (-62_135_596_800_000, 253_402_300_799_999)
"""The first and the last day, and millisecond, of the years 1 to 9999, from 1970 on."""
_TIMES = (DateType, TimestampType, TimestampNTZType)


def with_avro(messages: DataFrame, source: Source) -> DataFrame:
    """Add the row of each value, and the reason why there is none. The value becomes a text."""
    columns = struct_of(source.schema or "")
    run = secrets.token_hex(8)
    return _with_decoded(messages, avro_rows(messages.sparkSession, F.col("value"), columns, _place_of_schemas(source), run))


def with_protobuf(messages: DataFrame, source: Source) -> DataFrame:
    """Add the row of each value, and the reason why there is none. The value becomes a text."""
    columns, message = struct_of(source.schema or ""), source.options["message"]
    place, descriptors = _descriptors(source)
    try:
        decoded = protobuf_rows(messages.sparkSession, F.col("value"), columns, descriptors, message)
    except UsageError as error:
        raise UsageError(f"{place} does not fit: {error}.") from None
    return _with_decoded(messages, decoded)


def _descriptors(source: Source) -> tuple[str, bytes]:
    """Return the descriptors of a message of Protobuf, behind their place in words."""
    options = source.options
    if "descriptorSet" in options:
        return f"The class of message {options['message']}", base64.b64decode(options["descriptorSet"])
    file = Path(local_path(options["descriptorFile"], "The file of descriptors"))
    try:
        return f"The file of descriptors {file}", file.read_bytes()
    except OSError as error:
        raise UsageError(f"The file of descriptors {file} cannot be read: {error.strerror}.") from None


def _with_decoded(messages: DataFrame, decoded: Column) -> DataFrame:
    return (
        messages.withColumn("__decoded", decoded)
        .withColumn(PARSED, F.col("__decoded.row"))
        .withColumn(REASON, F.col("__decoded.reason"))
        .withColumn("value", F.concat(F.lit("base64:"), F.base64("value")))
    )


def _place_of_schemas(source: Source) -> SchemaPlace:
    options = source.options
    reader = options.get("readerSchema")
    if "avroSchema" in options:
        return SchemaPlace(writer=options["avroSchema"], reader=reader)
    topics = f"the topics {options['pattern']}" if "pattern" in options else f"topic {options['topics'].replace(',', ' or ')}"
    if "schemaFolder" in options:
        folder = str(local_path(options["schemaFolder"], "The schema folder"))
        return SchemaPlace(folder=folder, reader=reader, topics=topics)
    registry = registry_at(options["schemaRegistry"])
    return SchemaPlace(registry.address, registry.authorization, reader=reader, topics=topics)


def with_changes(messages: DataFrame, source: Source) -> DataFrame:
    """Add the row of each envelope, the reason why there is none, and whether it is a tombstone.

    The column REASON says already what speaks against a text as JSON.
    """
    op_column = source.options["opColumn"]
    columns = struct_of(source.schema or "").fields[:-1]
    if op_column.casefold() in (field.name.casefold() for field in columns):
        raise UsageError(f"Two columns would have the name '{op_column}': choose another one with op_column.")
    image = StructType([StructField(field.name, _type_in_text(field.dataType)) for field in columns])
    change = [StructField("before", image), StructField("after", image), StructField("op", StringType())]
    envelope = StructType([*change, StructField("payload", StructType(change)), StructField(CORRUPT, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    bare = F.struct(*(F.col(f"__envelope.{name}").alias(name) for name in ("before", "after", "op")))
    changes = (
        messages.withColumn("__envelope", F.from_json("value", envelope, options))
        .withColumn("__change", F.coalesce(F.col("__envelope.payload"), bare))
        .withColumn("__image", F.when(F.col("__change.op") == "d", F.col("__change.before")).otherwise(F.col("__change.after")))
    )
    texts = {field.name: F.col(f"__image.{quoted(field.name)}") for field in columns}
    values = {field.name: _value(texts[field.name], field.dataType, source) for field in columns}
    wrong_times = [
        F.when(texts[field.name].isNotNull() & values[field.name].isNull(), _time_reason(texts[field.name], field, source))
        for field in columns
        if isinstance(field.dataType, _TIMES)
    ]
    row = F.struct(*(values[field.name].alias(field.name) for field in columns), F.col("__change.op").alias(op_column))
    return (
        changes.withColumn(TOMBSTONE, F.col("value").isNull())
        .withColumn(REASON, F.when(~F.col(TOMBSTONE), F.coalesce(F.col(REASON), _envelope_reason(), *wrong_times)))
        .withColumn(PARSED, row)
    )


def _envelope_reason() -> Column:
    op = F.col("__change.op")
    missing = F.lit(None).cast("string")
    for name, part in _WITH_IMAGE.items():
        is_missing = (op == name) & F.col(f"__change.{part}").isNull()
        missing = F.coalesce(missing, F.when(is_missing, f"The envelope has the op {name} but no {part}."))
    return (
        F.when(
            F.col("__envelope").isNull() | F.col(f"__envelope.{CORRUPT}").isNotNull(),
            "The value is not a Debezium envelope with these columns.",
        )
        .when(op.isNull(), "The envelope has no op.")
        .when(~op.isin(*_WITH_IMAGE), F.concat(F.lit("The envelope has the op "), op, F.lit(", which is not c, r, u or d.")))
        .otherwise(missing)
    )


def _type_in_text(kind: DataType) -> DataType:
    """Return the type by which a column is parsed: Spark would take a number for the seconds of a time."""
    return StringType() if isinstance(kind, _TIMES) else kind


def _value(text: Column, kind: DataType, source: Source) -> Column:
    if not isinstance(kind, _TIMES):
        return text
    name = kind.simpleString()
    is_number, is_time = text.rlike(r"^-?\d+$"), text.rlike(r"^\d{4}-")
    written = F.when(is_time, text.try_cast(name))
    number = text.try_cast("bigint")
    if isinstance(kind, DateType):
        days = F.when(number.between(*_DATES), number).cast("int")
        return F.when(is_number, F.date_from_unix_date(days)).otherwise(written)
    unit = {"millis": 1, "micros": 1000}.get(source.options.get("numberTimes", ""))
    if unit is None:
        return written
    first, last = (bound * unit for bound in _MILLISECONDS)
    bounded = F.when(number.between(first, last), number)
    if isinstance(kind, TimestampNTZType):
        seconds = bounded.cast("decimal(18,0)") * F.lit(Decimal("0.001") / unit)
        moment = F.lit("1970-01-01").cast("timestamp_ntz") + F.make_dt_interval(secs=seconds.cast("decimal(18,6)"))
    else:
        moment = F.timestamp_millis(bounded) if unit == 1 else F.timestamp_micros(bounded)
    return F.when(is_number, moment).otherwise(written)


def _time_reason(text: Column, field: StructField, source: Source) -> Column:
    column = field.name.replace("'", "")
    wrong = F.lit(f"Column {column} is not of type {field.dataType.simpleString()}.")
    if isinstance(field.dataType, DateType) or "numberTimes" in source.options:
        return wrong
    return F.when(text.rlike(r"^-?\d+$"), f"Column {column} is a number: set its unit with number_times.").otherwise(wrong)
