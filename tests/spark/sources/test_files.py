"""Files of a folder: what does not parse is told and kept, and paths are read as people write them."""

import gzip

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.plan.model import Plan
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.lowering import Lowering
from tests.spark.harness import Collected

pytestmark = pytest.mark.spark

CSV = 'k,v\na,1\nfew\nmany,1,2\nwrong,x\n"Bob, the ""2nd""",7\n"","3"\n,4\n"none",""\n'
CSV_GOOD = [("a", 1), ('Bob, the "2nd"', 7), ("", 3), (None, 4), ("none", None)]
CSV_BAD = ["few", "many,1,2", "wrong,x"]
JSON = '{"k":"a","v":1}\n{"k":"wrong","v":"x"}\n{"k":"cut"\n"text"\n\n{"k":"b"}\n'
JSON_GOOD = [("a", 1), ("b", None)]
JSON_BAD = ['{"k":"wrong","v":"x"}', '{"k":"cut"', '"text"']
_OTHER_FIELDS = "This is no csv of the columns k string, v bigint."
REASONS = {
    "csv": {"few": _OTHER_FIELDS, "many,1,2": _OTHER_FIELDS, "wrong,x": "v: 'x' is no bigint."},
    "json": {
        '{"k":"wrong","v":"x"}': "v: 'x' is no bigint.",
        '{"k":"cut"': 'This is no JSON object: {"k":"cut"',
        '"text"': 'This is no JSON object: "text"',
    },
}
FORMS = [("csv", CSV, CSV_GOOD, CSV_BAD, {"header": True}), ("json", JSON, JSON_GOOD, JSON_BAD, {})]


def read(spark, source, *columns):
    p = ps.Pipeline()
    p.read_from(source, name="rows").select(*columns or ("*",)).write_to(ps.sinks.noop(), name="out")
    return [tuple(row) for row in Lowering(spark, streaming=False).frame(p.nodes[-1]).collect()]


def by_text(rows):
    return sorted(rows, key=str)


@pytest.mark.parametrize(("form", "text", "good", "bad", "options"), FORMS, ids=["csv", "json"])
def test_rows_of_a_stream_that_do_not_parse_are_counted_sampled_and_kept(spark, tmp_path, capsys, form, text, good, bad, options):
    folder, rows, letters = tmp_path / "in", Collected(), Collected()
    folder.mkdir()
    (folder / f"a.{form}").write_text(text)
    p = ps.Pipeline()
    source = ps.sources.files(folder, form, "k string, v bigint", streaming=True, **options)
    read = p.read_from(source, name="lines", dead_letters=ps.sinks.custom(letters))
    read.select("k").write_to(ps.sinks.custom(rows), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: job.progress.input_rows == len(good) + len(bad), 60)
    job.stop()
    assert job.progress.bad_rows == len(bad)
    assert by_text(row.k for row in rows.rows) == by_text(k for k, _ in good)
    assert sorted(row.text for row in letters.rows) == sorted(bad)
    assert {row.stage for row in letters.rows} == {"lines"}
    assert {row.place for row in letters.rows} == {f"file://{folder}/a.{form}"}
    assert {row.text: row.error for row in letters.rows} == REASONS[form]
    assert f"{len(bad)} rows of 'lines' could not be parsed, such as: " in capsys.readouterr().out


@pytest.mark.parametrize(("form", "text", "good", "bad", "options"), FORMS, ids=["csv", "json"])
def test_rows_of_a_batch_that_do_not_parse_are_told_and_kept(spark, tmp_path, capsys, form, text, good, bad, options):
    (tmp_path / f"a.{form}").write_text(text)
    rows, letters, p = Collected(), Collected(), ps.Pipeline()
    source = ps.sources.files(tmp_path / f"a.{form}", form, "k string, v bigint", **options)
    read = p.read_from(source, name="lines", dead_letters=ps.sinks.custom(letters))
    read.select("k").write_to(ps.sinks.custom(rows), name="out")
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert by_text(row.k for row in rows.rows) == by_text(k for k, _ in good)
    assert sorted(row.text for row in letters.rows) == sorted(bad)
    assert f"{len(bad)} rows of 'lines' could not be parsed, such as: " in capsys.readouterr().out


@pytest.mark.parametrize("columns", [("k", "v"), ("k",)], ids=["all columns", "one that is good"])
@pytest.mark.parametrize(("form", "text", "good", "bad", "options"), FORMS, ids=["csv", "json"])
def test_a_row_is_good_or_bad_whichever_columns_are_asked_for(spark, tmp_path, form, text, good, bad, options, columns):
    (tmp_path / f"a.{form}").write_text(text)
    schemas = ["k string, v bigint", "v bigint, k string"] if form == "json" else ["k string, v bigint"]
    for schema in schemas:
        found = read(spark, ps.sources.files(tmp_path, form, schema, **options), *columns)
        assert by_text(found) == by_text(row[: len(columns)] for row in good)


def test_a_json_row_is_bad_if_a_part_of_it_is_however_deep(spark, tmp_path):
    good = ['{"s":{"x":1},"a":[1,null],"m":{"k":1}}', '{"s":null}', '{"s":{"x":null,"y":5},"more":true}']
    bad = [
        '{"s":{"x":"no"}}',
        '{"a":[1,"no"]}',
        '{"m":{"k":1.5}}',
        '{"s":[1]}',
        '{"a":[99999999999]}',
        '{"m":{"k":1}',
        "[]x",
        "1",
    ]
    (tmp_path / "a.json").write_text("\n".join([*good, *bad]))
    source = ps.sources.files(tmp_path, "json", "s struct<x:int>, a array<int>, m map<string,int>")
    found = read(spark, source, "s.x AS x", "a", "m")
    assert by_text(found) == by_text([(1, [1, None], {"k": 1}), (None, None, None), (None, None, None)])


@pytest.mark.long
def test_rows_of_a_table_that_do_not_parse_are_told_once(spark, tmp_path, capsys):
    for name in ("table", "in"):
        (tmp_path / name).mkdir()
    (tmp_path / "table" / "a.json").write_text(JSON)
    for number in range(3):
        (tmp_path / "in" / f"{number}.json").write_text('{"k":"a"}\n')
    rows, p = Collected(), ps.Pipeline()
    table = p.read_from(ps.sources.files(tmp_path / "table", "json", "k string, v bigint"), name="table")
    source = ps.sources.files(tmp_path / "in", "json", "k string", streaming=True, maxFilesPerTrigger=1)
    p.read_from(source, name="lines").hash_join(table, on="k", name="joined").write_to(ps.sinks.custom(rows), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: job.progress.input_rows == 3, 60)
    job.stop()
    assert [tuple(row) for row in rows.rows] == [("a", 1)] * 3
    assert job.progress.bad_rows == len(JSON_BAD)
    assert capsys.readouterr().out.count(f"{len(JSON_BAD)} rows of 'table' could not be parsed, such as: ") == 1


def test_files_without_a_schema_are_judged_by_what_spark_makes_of_them(spark, tmp_path):
    (tmp_path / "a.json").write_text('{"k":"a","v":1}\n{"k":"cut"\n')
    (tmp_path / "a.csv").write_text("k,v\na,1\nfew\n")
    assert read(spark, ps.sources.files(tmp_path / "a.json", "json")) == [("a", 1)]
    assert read(spark, ps.sources.files(tmp_path / "a.csv", "csv", header=True, inferSchema=True)) == [("a", 1)]


@pytest.mark.parametrize(
    ("schema", "options", "expected"),
    [
        ("v bigint, _corrupt_record string", {}, [(1, None), (None, "{bad")]),
        ("v bigint, mine string", {"columnNameOfCorruptRecord": "mine"}, [(1, None), (None, "{bad")]),
        ("v bigint", {"mode": "DROPMALFORMED"}, [(1,)]),
    ],
)
def test_who_says_what_becomes_of_such_rows_has_that(spark, tmp_path, schema, options, expected):
    (tmp_path / "a.json").write_text('{"v":1}\n{bad\n')
    source = ps.sources.files(tmp_path, "json", schema, **options)
    assert by_text(read(spark, source)) == by_text(expected)
    with pytest.raises(PipelineError, match="leave that out, and they can be dead letters"):
        ps.Pipeline().read_from(source, name="rows", dead_letters=ps.sinks.noop())


def test_columns_of_folders_have_the_type_of_the_schema(spark, tmp_path):
    for day in ("007", "08"):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "a.csv").write_text('1,x\nbad\n2,""\n')
    source = ps.sources.files(tmp_path, "csv", "n int, t string, day string")
    assert by_text(read(spark, source)) == [(1, "x", "007"), (1, "x", "08"), (2, "", "007"), (2, "", "08")]


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
@pytest.mark.parametrize("name", ["in[1]", "a*b", "{x,y}", "back\\slash", "?"])
def test_a_folder_whose_name_is_a_pattern_is_read_if_it_is_there(spark, tmp_path, name, streaming):
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.json").write_text('{"n":1}\n')
    source = ps.sources.files(tmp_path / name, "json", "n int", streaming=streaming)
    if not streaming:
        assert read(spark, source) == [(1,)]
        return
    rows, p = Collected(), ps.Pipeline()
    p.read_from(source, name="rows").write_to(ps.sinks.custom(rows), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    assert wait_until(lambda: len(rows.rows) == 1, 60)
    job.stop()


@pytest.mark.parametrize("form", ["~/in", "relative/in", "file://{}/relative/in", "file:{}/relative/in", "{}/rel*/in"])
@pytest.mark.parametrize("kind", ["files", "csv_tail"])
def test_paths_are_read_as_people_write_them(spark, tmp_path, monkeypatch, form, kind):
    if kind == "csv_tail" and "*" in form:
        pytest.skip("csv_tail has a glob for that")
    for folder in (tmp_path / "in", tmp_path / "relative" / "in"):
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = form.format(tmp_path)
    source = ps.sources.files(path, "csv", "n int") if kind == "files" else ps.sources.csv_tail(path, "n int")
    assert read(spark, source) == [(1,)]


def test_a_file_system_that_spark_has_not_is_told(spark):
    with pytest.raises(PipelineError, match=r"Spark has nothing here that reads gs://bucket/in: mount it"):
        read(spark, ps.sources.files("gs://bucket/in", "json", "n int"))


def test_maps_of_json_have_texts_for_keys(spark, tmp_path):
    with pytest.raises(PipelineError, match="column 'm' has a map with keys of type int, and json has text for keys"):
        read(spark, ps.sources.files(tmp_path, "json", "n int, m array<map<int,int>>"))


@pytest.mark.parametrize("there", [True, False], ids=["there", "not there"])
def test_a_plan_tells_of_a_folder_or_pattern_that_is_not_there(spark, tmp_path, monkeypatch, there):
    monkeypatch.chdir(tmp_path)
    if there:
        (tmp_path / "in").mkdir()
    p = ps.Pipeline()
    p.read_from(ps.sources.csv_tail("in", "n int"), name="lines").write_to(ps.sinks.noop(), name="a")
    files = ps.sources.files(tmp_path / "i[a-z]", "json", "n int", streaming=True)
    p.read_from(files, name="files").write_to(ps.sinks.noop(), name="b")
    concerns = compile_pipeline(spark, p).concerns
    assert [concern.partition(") ")[2] for concern in concerns] == (
        []
        if there
        else [
            f"waits for folder {tmp_path / 'in'}, which is not there now.",
            f"reads {tmp_path / 'i[a-z]'}, and there is no file or folder of that pattern now.",
        ]
    )
    assert Plan.from_dict(compile_pipeline(spark, p).to_dict()).concerns == concerns


def in_folder(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1\n")


def concern_of(spark, source):
    """Return what the plan tells of the source, without the name of its stage; None if it tells nothing."""
    p = ps.Pipeline()
    p.read_from(source, name="rows").write_to(ps.sinks.noop(), name="out")
    concerns = compile_pipeline(spark, p).concerns
    return concerns[0].partition(") ")[2] if concerns else None


@pytest.mark.parametrize(
    ("names", "glob", "number"),
    [
        (["a.ndjson", "b.ndjson"], "*.csv", "2 files"),
        (["a.ndjson"], "*.csv", "1 file"),
        (["a.ndjson", "b.csv"], "*.csv", None),
        (["below/b.csv"], "*.csv", None),  # it has no file itself
        (["a.ndjson", "host/logs/a.log", "host/logs/more/b.csv"], "*/logs/*.csv", "2 files"),
        (["a.ndjson", "host/logs/b.csv"], "*/logs/*.csv", None),
        (["a.ndjson", "some/where/below/b.csv"], "**/*.csv", None),
        ([".gitkeep", "_SUCCESS"], "*.csv", None),
        ([], "*.csv", None),
    ],
)
def test_a_plan_tells_of_a_folder_with_files_that_its_glob_does_not_name(spark, tmp_path, names, glob, number):
    in_folder(tmp_path, *names)
    concern = concern_of(spark, ps.sources.csv_tail(tmp_path, "n int", glob=glob))
    told = f"reads files like {glob} in {tmp_path}, which has {number} and none of that name: one is 'a.ndjson'."
    assert concern == (told if number else None)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("names", "options", "number"),
    [
        (["a.ndjson", "b.ndjson"], {"pathGlobFilter": "*.json"}, "2 files"),
        (["a.ndjson", "b.json"], {"pathglobfilter": "*.json"}, None),
        (["a.ndjson", "b.txt"], {"pathGlobFilter": "*.{json,txt}"}, None),
        (["a.ndjson", "_b.json"], {"pathGlobFilter": "*.json"}, "1 file"),
        (["a.ndjson", "day=7/b.json"], {"pathGlobFilter": "*.json"}, None),
        (["a.ndjson", "below/b.json"], {"pathGlobFilter": "*.json"}, "1 file"),
        (["a.ndjson", "below/b.json"], {"pathGlobFilter": "*.json", "recursiveFileLookup": True}, None),
        (["a.ndjson"], {}, None),
        ([], {"pathGlobFilter": "*.json"}, None),
    ],
)
def test_a_plan_tells_of_a_folder_with_files_that_its_filter_leaves_out(spark, tmp_path, names, options, number, streaming):
    in_folder(tmp_path, *names)
    concern = concern_of(spark, ps.sources.files(tmp_path, "json", "n int", streaming=streaming, **options))
    pattern = next((value for name, value in options.items() if name.casefold() == "pathglobfilter"), None)
    told = f"reads files like {pattern} in {tmp_path}, which has {number} and none of that name: one is 'a.ndjson'."
    assert concern == (told if number else None)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("a,b\n1,2\n", {}, None),
        ("A, b\n1,2\n", {}, None),
        ("b,a\n1,2\n", {}, "'x.csv' begins with b, a, and the schema with a, b. Put the columns of the schema into the order"),
        ("b;a\n1;2\n", {"sep": ";"}, "'x.csv' begins with b, a, and the schema with a, b. Put the columns of the schema into"),
        ("a,c,b\n1,2,3\n", {}, "'x.csv' begins with a, c, b, and the schema with a, b. Put the columns of the schema into"),
        ("1,2\n", {}, "'x.csv' begins with 1, 2, and the schema with a, b. If that line is a row, leave out header=True."),
        ("b,a\n1,2\n", {"header": False}, None),
        ("b,a\n1,2\n", {"enforceSchema": False}, None),
        ("", {}, None),
        (None, {}, None),
    ],
)
def test_a_plan_tells_of_a_header_that_does_not_fit_the_schema(spark, tmp_path, text, options, told, streaming):
    if text is not None:
        (tmp_path / "x.csv").write_text(text)
    options = {"header": True} | options
    concern = concern_of(spark, ps.sources.files(tmp_path, "csv", "a int, b int", streaming=streaming, **options))
    assert (concern is None) == (told is None)
    assert told is None or told in concern


def test_a_plan_says_nothing_of_the_header_of_a_compressed_file(spark, tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    source = ps.sources.files(tmp_path, "csv", "a int, b int", header=True, encoding="ISO-8859-1")
    assert concern_of(spark, source) is None


@pytest.mark.parametrize(("text", "fails"), [("a,b\n1,2\n", False), ("b,a\n1,2\n", True)])
def test_a_header_is_compared_where_the_source_is_told_to(spark, tmp_path, text, fails):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x.csv").write_text(text)
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(tmp_path / "in", "csv", "a int, b int", header=True, enforceSchema=False), name="rows")
    rows.write_to(ps.sinks.files(tmp_path / "out", "json"), name="out")
    if fails:
        with pytest.raises(PitstopError, match="header"):
            ps.run(p, spark, data_dir=tmp_path / "data")
        return
    ps.run(p, spark, data_dir=tmp_path / "data")
    assert [file.read_text() for file in (tmp_path / "out").glob("*.json")] == ['{"a":1,"b":2}\n']


def reasons(spark, source):
    """Return text -> reason, of the rows of the source that are dead letters."""
    p = ps.Pipeline()
    p.read_from(source, name="rows", dead_letters=ps.sinks.noop())
    unread = next(node for node in p.nodes if node.name == "rows-unparsed")
    return {row.text: row.error for row in Lowering(spark, streaming=False).frame(unread).collect()}


def test_a_dead_letter_of_json_names_each_column_that_cannot_be_read_with_its_text(spark, tmp_path):
    expected = {
        '{"id":"a","amount":"lots"}': "amount: 'lots' is no double.",
        '{"amount":"x","ts":"yesterday","id":7}': "amount: 'x' is no double. ts: 'yesterday' is no timestamp.",
        '{"s":{"x":"no","y":1}}': """s: '{"x":"no","y":1}' is no struct<x:int,y:int>.""",
        '{"a":[1,"no"]}': """a: '[1,"no"]' is no array<int>.""",
        "{'amount':'in single quotes'}": "amount: 'in single quotes' is no double.",
        '{"amount":"good","amount":"bad"}': "amount: 'bad' is no double.",
        '{"odd name.":2.5}': "odd name.: '2.5' is no bigint.",
        '{"amount":"' + "long" * 20 + '"}': "amount: '" + "long" * 10 + "…' is no double.",
        '{"id":"a","amo': 'This is no JSON object: {"id":"a","amo',
        "b" * 200: "This is no JSON object: " + "b" * 100 + "…",
        "1": "This is no JSON object: 1",
    }
    schema = "id string, amount double, ts timestamp, s struct<x:int,y:int>, a array<int>, `odd name.` bigint"
    (tmp_path / "a.json").write_text("\n".join([*expected, '{"id":"good","amount":1}']))
    assert reasons(spark, ps.sources.files(tmp_path, "json", schema)) == expected


def test_a_dead_letter_of_csv_names_each_column_that_cannot_be_read_with_its_text(spark, tmp_path):
    schema = "k string, v bigint, d date, b boolean"
    fields = f"This is no csv of the columns {schema}."
    expected = {
        "wrong,x,2026-01-01,true": "v: 'x' is no bigint.",
        '"Bob, the ""2nd""",7,yesterday,maybe': "d: 'yesterday' is no date. b: 'maybe' is no boolean.",
        '"","x, y",,""': "v: 'x, y' is no bigint.",
        "few": fields,
        "many,1,2026-01-01,true,2": fields,
    }
    (tmp_path / "a.csv").write_text("\n".join([*expected, "good,1,2026-01-01,true", '"","3",,""', ""]))
    assert reasons(spark, ps.sources.files(tmp_path, "csv", schema)) == expected
    assert reasons(spark, ps.sources.csv_tail(tmp_path, schema)) == expected


def test_options_of_the_reader_count_where_a_dead_letter_names_its_columns(spark, tmp_path):
    (tmp_path / "a.csv").write_text("k;d\ngood;31.12.2026\nNONE;NONE\nbad;2026-12-31\n")
    options = {"sep": ";", "header": True, "dateFormat": "dd.MM.yyyy", "nullValue": "NONE", "encoding": "UTF-8"}
    source = ps.sources.files(tmp_path, "csv", "k string, d date", **options)
    assert reasons(spark, source) == {"bad;2026-12-31": "d: '2026-12-31' is no date."}


def test_columns_of_folders_are_none_of_the_text_of_a_dead_letter(spark, tmp_path):
    in_folder(tmp_path, "day=7/a.json")
    (tmp_path / "day=7" / "a.json").write_text('{"n":"x"}\n')
    source = ps.sources.files(tmp_path, "json", "n int, day int")
    assert reasons(spark, source) == {'{"n":"x"}': "n: 'x' is no int."}
