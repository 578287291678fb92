"""The names of options of files that Pitstop knows are Spark's own."""

import pytest

from pitstop.pipeline.file_options import FORMATS, OF_FOLDERS, OF_STREAMS

pytestmark = pytest.mark.spark

CATALYST, EXECUTION = "org.apache.spark.sql.catalyst", "org.apache.spark.sql.execution"
OF_FORMATS = {
    "csv": f"{CATALYST}.csv.CSVOptions",
    "json": f"{CATALYST}.json.JSONOptions",
    "parquet": f"{EXECUTION}.datasources.parquet.ParquetOptions",
    "text": f"{EXECUTION}.datasources.text.TextOptions",
}


def java_class(spark, name):
    java = spark._jvm.java.lang
    return java.Class.forName(name, True, java.Thread.currentThread().getContextClassLoader())


def companion(spark, name):
    return java_class(spark, f"{name}$").getField("MODULE$").get(None)


def listed(spark, name):
    """Return the names, in lower case, that the object of Spark with this name lists as its options."""
    kind = java_class(spark, f"{name}$")
    names = kind.getMethod("getAllOptions", None).invoke(companion(spark, name), None)
    return set(names.mkString(" ").lower().split())


def lower(names):
    return {name.lower() for name in names}


@pytest.mark.parametrize("form", FORMATS)
def test_the_options_of_a_format_are_those_of_spark(spark, form):
    assert lower(FORMATS[form]) == listed(spark, OF_FORMATS[form])


def test_the_options_of_folders_are_those_of_spark(spark):
    kind = java_class(spark, f"{CATALYST}.FileSourceOptions$")
    one = companion(spark, f"{CATALYST}.FileSourceOptions")
    constants = [method for method in kind.getMethods() if method.getName().isupper() and not method.getParameterCount()]
    names = lower(str(method.invoke(one, None)) for method in constants)
    assert "ignoremissingfiles" in names, "Spark has its constants elsewhere now"
    assert lower(OF_FOLDERS) == names | listed(spark, f"{EXECUTION}.datasources.FileIndexOptions")


def test_the_options_of_streams_are_those_of_spark(spark):
    """Spark has no list of them: its class has a field for each."""
    fields = {field.getName() for field in java_class(spark, f"{EXECUTION}.streaming.runtime.FileStreamOptions").getDeclaredFields()}
    of_itself = {name for name in fields if "$" in name} | {"parameters", "optionMapWithoutPath"}
    assert lower(OF_STREAMS) == {name.removesuffix("Ms").lower() for name in fields - of_itself}
