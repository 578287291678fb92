"""Records of Avro as rows and back, by Java functions of ours around Apache Avro (java/AvroRows.java, java/AvroBytes.java)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from pitstop.errors import UsageError
from pitstop.spark.internals.java_code import new, shared_class
from pitstop.spark.internals.jvm import session_of

_FUNCTION, _WRITER = "AvroRows", "AvroBytes"
AWAY = r"java\.net\.ConnectException: (?P<sentence>The schema (?:registry|folder) .*)"
"""Matches the error by which the function says that schemas cannot be looked up now."""
UNKNOWN_ID = r"AvroRows\$UnknownIdException: (?P<sentence>The schema (?:registry|folder) .*)"
"""Matches the error by which the function says that an id has no schema yet."""


@dataclass(frozen=True)
class SchemaPlace:
    """The place of the schemas with which values were written: a registry, a folder, or one schema for all."""

    registry: str | None = None
    """The URL of a registry, without user and password."""
    authorization: str | None = field(default=None, repr=False)
    """The header by which the registry is signed in to."""
    folder: str | None = None
    writer: str | None = None
    reader: str | None = None
    """The schema into which Avro resolves that of the writer; None: fields become columns by their names."""
    topics: str = "the topic"
    """The topics of the values, in words, for errors."""


def avro_rows(spark: SparkSession, value: Column, columns: StructType, place: SchemaPlace, run: str) -> Column:
    """Return a struct of the row that a column of bytes holds, and of the reason why it holds none: ``row``, ``reason``.

    ``run`` names the memory in which schemas are kept. Of two functions with one name the second asks for no schema again.
    """
    java_columns = session_of(spark).parseDataType(columns.json()).asNullable()
    fields = (place.registry, place.authorization, place.folder, place.writer, place.reader, place.topics)
    function = new(spark, shared_class(spark, _FUNCTION), *fields, run, java_columns)
    return Column(function.of(value._jc))


def avro_bytes(spark: SparkSession, row: Column, columns: StructType, schema: str, number: int | None) -> Column:
    """Return the bytes of a record of Avro, behind 0 and the ``number`` of its schema if it has one; null for a row that is null.

    ``columns`` are the columns of the row, whose times are numbers: days, or microseconds from 1970 on. UsageError if the schema
    has no place for one of them.
    """
    java_columns = session_of(spark).parseDataType(columns.json())
    function = new(spark, shared_class(spark, _WRITER), schema, -1 if number is None else number, java_columns)
    problem = function.problem()
    if problem is not None:
        raise UsageError(problem)
    return Column(function.of(row._jc))
