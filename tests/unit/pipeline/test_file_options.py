"""Options of files that Spark would ignore, or refuse only as the job runs, are refused with the stage."""

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.pipeline.file_options import check_options


def read(form="json", streaming=True, **options):
    p = ps.Pipeline()
    p.read_from(ps.sources.files("/data/in", form, "n bigint", streaming=streaming, **options), name="cars")
    check_options(p.nodes)


def write(form="json", **options):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files("/data/in", "json", "n bigint"), name="cars")
    rows.write_to(ps.sinks.files("/data/out", form, **options), name="out")
    check_options(p.nodes)


@pytest.mark.parametrize(
    ("form", "wrong", "right"),
    [
        ("json", "maxFilesPerTriger", "maxFilesPerTrigger"),
        ("json", "max_files_per_trigger", "maxFilesPerTrigger"),
        ("json", "MAXFILEPERTRIGGER", "maxFilesPerTrigger"),
        ("json", "allowSingleQuote", "allowSingleQuotes"),
        ("csv", "headers", "header"),
        ("csv", "ignoreLeadingWhitespaces", "ignoreLeadingWhiteSpace"),
        ("parquet", "mergeShema", "mergeSchema"),
        ("parquet", "pathGlobFiltre", "pathGlobFilter"),
        ("text", "wholeTxt", "wholetext"),
    ],
)
def test_a_misspelt_option_of_a_source_is_refused_with_the_right_name(form, wrong, right):
    with pytest.raises(PipelineError) as error:
        read(form, **{wrong: 1})
    sentence = str(error.value)
    assert sentence.startswith("Source 'cars' (test_file_options.py:")
    assert sentence.endswith(f"): files of {form} have no option '{wrong}'. Did you mean '{right}'?")


def test_a_misspelt_option_of_a_sink_is_refused_with_the_right_name():
    with pytest.raises(PipelineError, match=r"^Sink 'out' \(.*\): files of csv have no option 'heder'. Did you mean 'header'\?$"):
        write("csv", heder=True)
    with pytest.raises(PipelineError, match="Did you mean 'maxRecordsPerFile'"):
        write("json", maxRecordPerFile=10)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("json", {"MULTILINE": True, "maxfilespertrigger": 1}),
        ("json", {"header": True, "sep": ";"}),  # options of csv, which change nothing
        ("parquet", {"parquet.compression.codec.zstd.level": 3, "parquet.block.size": 1000, "mapreduce.input.x": 1}),
        ("csv", {"fs.s3a.threads.max": 4}),
    ],
)
def test_known_options_in_any_case_and_those_of_others_pass(form, options):
    read(form, **options)
    write(form, **options)


@pytest.mark.parametrize(
    ("form", "name", "value", "words"),
    [
        ("json", "maxFilesPerTrigger", "one", "a whole number above 0, not 'one'."),
        ("json", "maxfilespertrigger", 0, "a whole number above 0, not '0'."),
        ("csv", "maxBytesPerTrigger", "10m", "a whole number of bytes above 0, without a unit, not '10m'."),
        ("csv", "maxFileAge", "7 days", "a time such as 12h or 365d, not '7 days'."),
        ("csv", "cleanSource", True, "archive, delete or off, not 'True'."),
        ("csv", "header", "yes", "true or false, not 'yes'."),
        ("parquet", "recursiveFileLookup", 1, "true or false, not '1'."),
    ],
)
def test_a_value_that_spark_would_refuse_is_told_with_the_source(form, name, value, words):
    with pytest.raises(PipelineError) as error:
        read(form, **{name: value})
    assert str(error.value).startswith("Source 'cars' (test_file_options.py:")
    assert str(error.value).endswith(f"): option '{name}' is {words}")


def test_a_value_that_spark_would_refuse_is_told_with_the_sink():
    with pytest.raises(PipelineError, match=r"^Sink 'out' \(.*\): option 'header' is true or false, not 'yes'\.$"):
        write("csv", header="yes")


def test_the_two_limits_of_an_epoch_exclude_each_other():
    with pytest.raises(PipelineError, match="maxFilesPerTrigger and maxBytesPerTrigger exclude each other: leave one out"):
        read(maxFilesPerTrigger=1, maxBytesPerTrigger=1000)


def test_options_of_streams_are_not_judged_where_spark_does_not_look_at_them():
    read(streaming=False, maxFilesPerTrigger="one")
