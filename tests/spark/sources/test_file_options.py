"""Pitstop knows the names of options of files that Spark has, and refuses the values that Spark refuses."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.pipeline import file_option_values
from pitstop.pipeline.file_option_values import wrong_value_read, wrong_value_written
from pitstop.pipeline.file_options import FORMATS, OF_FOLDERS, OF_STREAMS
from pitstop.spark.lowering.compile import compile_pipeline

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
    fields = {
        field.getName() for field in java_class(spark, f"{EXECUTION}.streaming.runtime.FileStreamOptions").getDeclaredFields()
    }
    of_itself = {name for name in fields if "$" in name} | {"parameters", "optionMapWithoutPath"}
    assert lower(OF_STREAMS) == {name.removesuffix("Ms").lower() for name in fields - of_itself}


CONTENT = {"csv": "1\n", "json": '{"n":1}\n', "text": "1\n"}
WHOLE = ["1", "0", "-1", "+7", "one", "1.0", " 1", "", "2147483648", "99999999999999999999"]
TIMES = ["7d", "7D", " 7d ", "12h", "1min", "5us", "100", "0", "7 d", "7days", "1w", "1.5d", "-1d", "", "99999999999999999999d"]
OF_STREAM_VALUES = {
    "maxFilesPerTrigger": WHOLE,
    "maxBytesPerTrigger": [*WHOLE, "10m", "1 kb"],
    "maxCachedFiles": WHOLE,
    "maxFileAge": TIMES,
    "cleanSource": ["DELETE", "off", "no", "true"],
    "latestFirst": ["True", "FALSE", "yes", "1", ""],
    "fileNameOnly": ["True", "FALSE", "yes", "1", ""],
}
TRUTHS = [
    (form, name)
    for form, names in file_option_values._OF_FORMATS.items()
    for name in (*names, *file_option_values._OF_READERS[form], *file_option_values._OF_FOLDERS)
    if (file_option_values._OF_FORMATS[form] | file_option_values._OF_READERS[form] | file_option_values._OF_FOLDERS)[name]
    is file_option_values._TRUTH
]


@pytest.fixture
def folder(spark, tmp_path):
    """Return a function that makes a folder with a file of a format."""

    def of(form):
        if form == "parquet":
            spark.range(1).selectExpr("int(id) n").write.parquet(str(tmp_path / "in"))
        else:
            (tmp_path / "in").mkdir()
            (tmp_path / "in" / f"a.{form}").write_text(CONTENT[form])
        return str(tmp_path / "in")

    return of


def refuses(action, *arguments):
    try:
        action(*arguments)
    except Exception:  # whatever Spark makes of it
        return True
    return False


@pytest.mark.parametrize(("form", "name"), TRUTHS)
def test_a_truth_is_what_spark_takes_for_one(spark, folder, form, name):
    path, schema = folder(form), "value string" if form == "text" else "n int"

    def run(value):
        spark.read.format(form).schema(schema).option(name, value).load(path).collect()

    for value in ("true", "False", "yes"):
        told = wrong_value_read(form, {name: value}, streaming=False)
        assert (told is not None) == refuses(run, value), value


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form, names in file_option_values._OF_FORMATS.items() for name in names]
)
def test_a_truth_of_a_writer_is_what_spark_takes_for_one(spark, tmp_path, form, name):
    def run(value):
        spark.range(1).write.format(form).option(name, value).save(str(tmp_path / value))

    for value in ("true", "yes"):
        told = wrong_value_written(form, {name: value})
        assert (told is not None) == refuses(run, value), value


@pytest.mark.parametrize("name", file_option_values._OF_READERS["csv"])
def test_a_number_of_csv_is_what_spark_takes_for_one(spark, folder, name):
    path = folder("csv")

    def run(value):
        spark.read.schema("n int").option(name, value).csv(path).collect()

    for value in ("1000", "x", "1.5", " 5", ""):
        told = wrong_value_read("csv", {name: value}, streaming=False)
        assert (told is not None) == refuses(run, value), value


@pytest.mark.parametrize("name", OF_STREAM_VALUES)
def test_a_value_of_a_stream_is_refused_exactly_where_spark_refuses_it(spark, folder, tmp_path, name):
    assert OF_STREAM_VALUES.keys() == {known for known in OF_STREAMS if known.lower() in file_option_values._OF_STREAMS}
    path = folder("json")

    def run(value, number):
        rows = spark.readStream.format("json").schema("n int").option(name, value).load(path)
        query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / str(number)))
        query.trigger(availableNow=True).start().awaitTermination(60)

    for number, value in enumerate(OF_STREAM_VALUES[name]):
        told = wrong_value_read("json", {name: value}, streaming=True)
        assert (told is not None) == refuses(run, value, number), value


def test_a_version_that_runs_already_keeps_its_misspelt_option(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(tmp_path, "json", "n bigint", maxFilesPerTriger=1), name="numbers")
    rows.write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError, match="Did you mean 'maxFilesPerTrigger'"):
        compile_pipeline(spark, p)
    assert [stage.name for stage in compile_pipeline(spark, p, runs_already=True).stages][-1] == "out"
