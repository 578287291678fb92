"""Messages of Protobuf as rows, by a Java function of ours around Google's parser, which Spark Connect brings along
(java/ProtobufRows.java)."""

from __future__ import annotations

from pyspark.sql import Column, SparkSession
from pyspark.sql.types import StructType

from pitstop.errors import UsageError
from pitstop.spark.internals.java_code import new, shared_class
from pitstop.spark.internals.jvm import session_of

_FUNCTION = "ProtobufRows"


def protobuf_rows(spark: SparkSession, value: Column, columns: StructType, descriptors: bytes, message: str) -> Column:
    """Return a struct of the row that a column of bytes holds, and of the reason why it holds none: ``row``, ``reason``.

    ``descriptors`` are a FileDescriptorSet with the type ``message``. UsageError if they do not have it, or if a column fits none
    of its fields.
    """
    java_columns = session_of(spark).parseDataType(columns.json()).asNullable()
    function = new(spark, shared_class(spark, _FUNCTION), descriptors, message, java_columns)
    problem = function.problem()
    if problem is not None:
        raise UsageError(problem)
    return Column(function.of(value._jc))
