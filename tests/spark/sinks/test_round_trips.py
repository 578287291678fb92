"""What the file sink writes, the sources read as the same values: each type, in each format."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import pitstop as ps
from pitstop.errors import PipelineError, UsageError
from pitstop.model.config import ProcessingGuarantee
from pitstop.spark.base.environment import Environment
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.lowering import Lowering
from pitstop.spark.sinks import check_sink, write_sink

pytestmark = pytest.mark.spark

LETTERS = st.sampled_from('a\\"\'", \t#é😀%0') | st.characters(exclude_categories=["Cs"])
ODD = [
    "",
    " ",
    "  x",
    "x  ",
    '"',
    '""',
    'say "hi"',
    '"a","b"',
    "\\",
    '\\"',
    "a\\",
    "null",
    "\\N",
    "NaN",
    "\0",
    "#x",
    ",",
    "a,b",
    "\t",
]
TEXT = st.sampled_from(ODD) | st.text(LETTERS, max_size=8)
BREAKS = st.sampled_from(["\n", "\r", "\r\n", "a\nb", '"\n"', "\n\n", 'x"\r\n,', "\r"]) | st.text(
    st.sampled_from('a"\r\n, \\'), max_size=6
)
YEARS = datetime(1, 1, 2), datetime(9999, 12, 30)
PRICES = st.sampled_from([Decimal("-1.50"), Decimal("0.00")])
FLOATS = st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 5e-324, 1.7976931348623157e308]) | st.floats()

DEEP = st.dictionaries(TEXT, st.lists(FLOATS))


def whole(bits):
    return st.sampled_from([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]) | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


FLAT = {
    "text": ("string", TEXT),
    "truth": ("boolean", st.booleans()),
    "small": ("tinyint", whole(8)),
    "whole": ("bigint", whole(64)),
    "exact": ("decimal(38,10)", st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: Decimal(f"{n}E-10"))),
    "half": ("float", st.floats(width=32)),
    "double": ("double", FLOATS),
    "day": ("date", st.sampled_from([date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)]) | st.dates()),
    "moment": ("timestamp", st.datetimes(*YEARS).map(lambda moment: moment.replace(tzinfo=UTC))),
    "local": ("timestamp_ntz", st.datetimes(*YEARS)),
    "span": ("interval day to second", st.timedeltas(timedelta(-9999), timedelta(9999))),
}
LINES = {"lines": ("string", BREAKS)}
NESTED = {
    "bytes": ("binary", st.binary(max_size=6)),
    "place": ("struct<a:string,at:timestamp>", st.tuples(TEXT, FLAT["moment"][1])),
    "list": ("array<timestamp_ntz>", st.lists(st.datetimes(*YEARS) | st.none(), max_size=3)),
    "map": ("map<string,decimal(10,2)>", st.dictionaries(TEXT, st.none() | PRICES, max_size=3)),
    "deep": ("array<struct<m:map<string,array<double>>>>", st.lists(st.tuples(DEEP), max_size=2)),
}  # fmt: skip


def schema_of(columns):
    return ", ".join(["n bigint", *(f"{name} {kind}" for name, (kind, _) in columns.items())])


def drawn(columns):
    """Many rows of drawn values, each with its number: one writing of them tries all."""
    found = []

    @settings(max_examples=200, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.tuples(*(st.none() | values for _, values in columns.values())))
    def draw(row):
        found.append((len(found), *row))

    draw()
    assert len(found) >= 150
    return found


def written(spark, folder, frame, **how):
    p = ps.Pipeline()
    p.read_from(ps.sources.items([(1,)], "n bigint"), name="rows").write_to(ps.sinks.files(str(folder), **how), name="files")
    check_sink(p.nodes[-1], frame)
    lines = []
    environment = Environment("id", "job", "l1", ProcessingGuarantee.EXACTLY_ONCE, folder, lambda *line: lines.append(line[2]))
    write_sink(p.nodes[-1], frame, 0, environment)
    return lines


def read(spark, source):
    p = ps.Pipeline()
    rows = p.read_from(source, name="rows")
    rows.write_to(ps.sinks.noop(), name="out")
    return Lowering(spark, streaming=False).frame(p.nodes[-1])


def shown(frame):
    """Its values as texts, to the last bit that each type has."""
    exact = (
        "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\", 'ignoreNullFields', 'false', "
        "'timestampNTZFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")"
    )
    parts = [
        f"to_json(struct(`{f.name}`), {exact}) AS `{f.name}`"
        if f.dataType.typeName() in ("struct", "array", "map")
        else f"hex(`{f.name}`) AS `{f.name}`"
        if f.dataType.typeName() in ("string", "binary")
        else f"CAST(`{f.name}` AS string) AS `{f.name}`"
        for f in frame.schema.fields
    ]
    return sorted((row.asDict() for row in frame.selectExpr(*parts).collect()), key=lambda row: row["n"])


def differences(before, after):
    """(column, before, after) of the values that are not as they were."""
    assert [row["n"] for row in before] == [row["n"] for row in after]
    return [
        (name, row[name], other[name])
        for row, other in zip(before, after, strict=True)
        for name in row
        if row[name] != other[name]
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "more"),
    [("csv", {}), ("csv", {"header": True}), ("json", {}), ("parquet", {})],
    ids=["csv", "header", "json", "parquet"],
)
def test_files_give_back_what_was_written(spark, tmp_path, form, more):
    columns = FLAT | LINES | (NESTED if form != "csv" else {})
    frame = spark.createDataFrame(drawn(columns), schema_of(columns))
    written(spark, tmp_path, frame, format=form, **more)
    more = more | ({"multiLine": True} if form == "csv" else {})
    assert not differences(shown(frame), shown(read(spark, ps.sources.files(tmp_path, form, schema_of(columns), **more))))


OTHERS = {
    "short": "32767S",
    "int": "-2147483648",
    "char": "CAST(' a' AS CHAR(4))",
    "varchar": "CAST(' a ' AS VARCHAR(4))",
    "collated": "'A ' COLLATE UTF8_LCASE",
    "scale": "CAST('1E-38' AS DECIMAL(38, 38))",
    "span": "INTERVAL '-178956970-8' YEAR TO MONTH",
    "months": "INTERVAL '3' MONTH",
    "days": "INTERVAL '-3' DAY",
    "hours": "INTERVAL '23:59:59.000001' HOUR TO SECOND",
    "day": "DATE'-0044-03-15'",
    "far": "DATE'+20000-01-01'",
    "moment": "TIMESTAMP'+200000-01-01 00:00:00.000001Z'",
    "local": "TIMESTAMP_NTZ'-290000-01-01 00:00:00.000001'",
}
"""Types, and values, that Python has no place for."""
NESTED_OTHERS = {
    "variant": """PARSE_JSON('{"a": [1, null, "x "]}')""",
    "variants": "ARRAY(PARSE_JSON('1'), NULL)",
    "void": "NULL",
    "voids": "NAMED_STRUCT('a', NULL, 'b', ARRAY(NULL))",
    "spans": "NAMED_STRUCT('a', INTERVAL '1-2' YEAR TO MONTH, 'b', INTERVAL '1 02:03:04.5' DAY TO SECOND)",
    "bytes": "MAP('a', NAMED_STRUCT('b', X'00FF'), 'b', NULL)",
    "empty": "ARRAY(CAST(ARRAY() AS ARRAY<INT>), NULL)",
}


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_types_that_python_has_not_come_back_too(spark, tmp_path, form):
    columns = OTHERS | (NESTED_OTHERS if form != "csv" else {})
    frame = spark.sql(f"SELECT 1L AS n, {', '.join(f'{sql} AS `{name}`' for name, sql in columns.items())}")
    written(spark, tmp_path, frame, format=form)
    schema = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)
    assert not differences(shown(frame), shown(read(spark, ps.sources.files(tmp_path, form, schema))))


@pytest.mark.long
@pytest.mark.parametrize("multiline", [False, True], ids=["lines", "records"])
def test_csv_tail_reads_what_the_sink_has_written(spark, tmp_path, multiline):
    columns = FLAT | (LINES if multiline else {})
    rows = drawn(columns)
    if not multiline:
        rows = [tuple(re.sub("[\r\n]", " ", v) if isinstance(v, str) else v for v in row) for row in rows]
    frame = spark.createDataFrame(rows, schema_of(columns))
    written(spark, tmp_path, frame, format="csv")
    source = ps.sources.csv_tail(tmp_path, schema_of(columns), multiline=multiline)
    assert not differences(shown(frame), shown(read(spark, source)))


@pytest.mark.parametrize("source", ["files", "csv_tail"])
def test_a_csv_of_one_column_has_a_line_for_each_row(spark, tmp_path, source):
    texts = ["x", None, "", "  ", '"', "#", "\t"]
    written(spark, tmp_path / "texts", spark.createDataFrame([(text,) for text in texts], "t string"), format="csv")
    written(spark, tmp_path / "numbers", spark.createDataFrame([(1,), (None,), (3,)], "n bigint"), format="csv")

    def values(name, schema):
        made = (
            ps.sources.files(tmp_path / name, "csv", schema)
            if source == "files"
            else ps.sources.csv_tail(tmp_path / name, schema)
        )
        return sorted((row[0] for row in read(spark, made).collect()), key=str)

    assert values("texts", "t string") == sorted(["x", "", "", "  ", '"', "#", "\t"])
    assert values("numbers", "n bigint") == [1, 3, None]


def test_options_of_the_user_go_before_ours(spark, tmp_path):
    frame = spark.createDataFrame([(1, ' say "hi" ', None)], "n int, t string, u string")
    options = {"escape": "\\", "ignoreleadingwhitespace": True, "nullValue": "-", "timestampFormat": "yyyy"}
    written(spark, tmp_path, frame, format="csv", **options)
    assert next(tmp_path.glob("*.csv")).read_text() == '1,"say \\"hi\\" ",-\n'
    row = read(spark, ps.sources.files(tmp_path, "csv", "n int, t string, u string", escape="\\", nullValue="-")).first()
    assert tuple(row) == (1, 'say "hi" ', None)


@pytest.mark.parametrize(
    ("form", "column", "told"),
    [
        ("csv", "array(1)", "column 'odd' is nested, and csv has no place for it: use json or parquet."),
        ("csv", "X'00'", "column 'odd' is binary, and csv holds text: use parquet, or write base64(...) of it."),
        ("json", "map(date'2020-01-01', 1)", "column 'odd' has a map with keys of type date, and json has text for keys"),
        ("json", "array(struct(map(1.5, 1)))", "column 'odd' has a map with keys of type decimal(2,1)"),
        ("csv", "null", "column 'odd' is null in every row, and has no type"),
        ("json", "make_interval(1, 2)", "column 'odd' has values of type interval, and json has no place for them"),
        ("parquet", "array(make_interval(1, 2))", "column 'odd' has values of type interval, and parquet has no place for them"),
        ("parquet", "named_struct('s', struct())", "column 'odd' has a struct without fields, and parquet has no place for it"),
        (
            "csv",
            "st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')",
            "has values of type geometry(0), and csv has no",
        ),
        (
            "parquet",
            "time'12:34:56'",
            "column 'odd' has times of day, which Spark takes with spark.sql.timeType.enabled=true only",
        ),
    ],
)
def test_what_a_format_cannot_hold_is_refused_by_column_and_type(spark, tmp_path, form, column, told):
    with pytest.raises(PipelineError, match="Sink 'files'") as refused:
        written(spark, tmp_path, spark.sql(f"SELECT 1 AS n, {column} AS odd"), format=form)
    assert told in refused.value.message


def test_a_version_that_runs_already_goes_on_with_what_is_refused_now(spark, tmp_path):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.rate(), name="rows").select("X'00' AS odd")
    rows.write_to(ps.sinks.files(tmp_path, "csv"), name="files")
    with pytest.raises(PipelineError, match="column 'odd' is binary"):
        compile_pipeline(spark, p)
    compile_pipeline(spark, p, runs_already=True)


PARTS = [
    "007",
    "a/b",
    "..",
    ".",
    "x=y",
    "%41",
    " lead",
    "trail ",
    "a\nb",
    "a:b",
    "*[{",
    "null",
    "1.0",
    "\x01",
    "_x",
    ".h",
    "\\",
    "😀" * 60,
]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_values_of_partitions_come_back_with_their_type(spark, tmp_path, form):
    rows = [(n, part, None) for n, part in enumerate([*PARTS, None])]
    frame = spark.createDataFrame(rows, "n int, part string, more string")
    assert written(spark, tmp_path, frame, format=form, partition_by=["part"]) == []
    back = read(spark, ps.sources.files(tmp_path, form, "n int, part string, more string"))
    assert sorted((row.n, row.part) for row in back.collect()) == [(n, part) for n, part, _ in rows]


def test_values_of_every_type_name_folders_and_come_back(spark, tmp_path):
    kinds = {
        "truth": ("boolean", [True, False, None]),
        "whole": ("bigint", [-(2**63), 2**63 - 1, 0]),
        "exact": ("decimal(38,10)", [Decimal("-1E-10"), Decimal("0.5"), Decimal(10**27)]),
        "double": ("double", [float("nan"), float("-inf"), 5e-324]),
        "day": ("date", [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)]),
        "moment": ("timestamp", [YEARS[0].replace(tzinfo=UTC), YEARS[1].replace(tzinfo=UTC, microsecond=999_999), None]),
        "local": ("timestamp_ntz", [YEARS[0].replace(microsecond=1), YEARS[1], None]),
        "span": ("interval day to second", [timedelta(microseconds=-1), timedelta(9999, 1), timedelta(0)]),
    }
    rows = [(n, *values) for n, values in enumerate(zip(*(values for _, values in kinds.values()), strict=True))]
    schema = schema_of(kinds)
    frame = spark.createDataFrame(rows, schema)
    written(spark, tmp_path, frame, format="parquet", partition_by=list(kinds))
    assert not differences(shown(frame), shown(read(spark, ps.sources.files(tmp_path, "parquet", schema))))


@pytest.mark.long
def test_texts_of_any_length_and_content_are_in_a_folder_or_aside(spark, tmp_path):
    texts = st.text(LETTERS | st.sampled_from("\0\n:/=*"), max_size=4) | st.tuples(LETTERS, st.integers(60, 300)).map(
        lambda drawn: drawn[0] * drawn[1]
    )
    rows = drawn({"part": ("string", texts)})
    written(spark, tmp_path, spark.createDataFrame(rows, "n bigint, part string"), format="json", partition_by=["part"])
    found = read(spark, ps.sources.files(tmp_path, "json", "n bigint, part string")).collect()
    aside = read(spark, ps.sources.files(tmp_path / "_unplaced", "json", "n bigint, part string")).collect()
    assert aside, "some are too long"
    assert sorted((row.n, row.part) for row in [*found, *aside]) == [(n, part or None) for n, part in rows]


def test_rows_whose_value_names_no_folder_are_kept_aside_and_told(spark, tmp_path):
    odd = ["x" * 300, "a\0b", "%" * 85, "é" * 130, "__HIVE_DEFAULT_PARTITION__"]
    rows = [(n, part) for n, part in enumerate(["x" * 250, "%" * 83, "fine", *odd])]
    lines = written(spark, tmp_path, spark.createDataFrame(rows, "n int, part string"), format="parquet", partition_by=["part"])
    assert lines == [f"5 rows for 'files' with values that name no folder: kept in {tmp_path / '_unplaced'}"]
    placed = read(spark, ps.sources.files(tmp_path, "parquet", "n int, part string")).collect()
    assert sorted((row.n, row.part) for row in placed) == rows[:3]
    kept = read(spark, ps.sources.files(tmp_path / "_unplaced", "parquet", "n int, part string")).collect()
    assert sorted((row.n, row.part) for row in kept) == rows[3:]


@pytest.mark.parametrize(
    ("columns", "by", "told"),
    [
        ("1 AS n, X'00' AS part", "part", "column 'part' is binary, whose values name no folders"),
        ("1 AS n, null AS part", "part", "column 'part' is void, whose values name no folders"),
        ("1 AS n, 'a' COLLATE UTF8_LCASE AS part", "part", "column 'part' is string collate UTF8_LCASE, whose values name no"),
        ("1 AS n, 'a' AS `.part`", ".part", "column '.part' names hidden folders"),
        ("1 AS n", "n", "all columns are to partition by"),
    ],
)
def test_columns_that_make_no_folders_are_refused(spark, tmp_path, columns, by, told):
    with pytest.raises(PipelineError) as refused:
        written(spark, tmp_path, spark.sql(f"SELECT {columns}"), format="json", partition_by=[by])
    assert told in refused.value.message


@pytest.mark.parametrize("compression", ["none", "gzip", "bzip2", "deflate"])
@pytest.mark.parametrize(("form", "header"), [("csv", True), ("csv", False), ("json", False), ("parquet", False)])
def test_no_file_is_written_that_holds_no_row(spark, tmp_path, form, header, compression):
    if form == "parquet" and compression in ("bzip2", "deflate"):
        pytest.skip("parquet has others")
    options = {"compression": compression} | ({"header": True} if header else {})
    frame = spark.createDataFrame([(1, "x")], "`n\nm` int, t string")
    written(spark, tmp_path / "none", frame.where("t = 'y'"), format=form, **options)
    written(spark, tmp_path / "one", frame.union(frame.where("t = 'y'")), format=form, **options)
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["_pitstop"]
    assert len([path for path in (tmp_path / "one").iterdir() if path.is_file()]) == 1


@pytest.mark.parametrize("path", ["s3a://bucket/out", "hdfs://host/out", "file://elsewhere/out"])
def test_a_folder_of_another_file_system_is_refused_where_it_is_named(path):
    with pytest.raises(UsageError, match="must lie in a folder of the machine that jobs run on"):
        ps.sinks.files(path)
    with pytest.raises(UsageError, match="must lie in a folder of the machine that jobs run on"):
        ps.sources.csv_tail(path, "n int")
