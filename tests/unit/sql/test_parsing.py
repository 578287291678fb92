import contextlib
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.errors import PitstopError, UsageError
from pitstop.sql.compiling import compile_job
from pitstop.sql.mappings import Column, Mapping, identifier, text
from pitstop.sql.parsing import named, parse
from pitstop.sql.splitting import is_complete
from pitstop.sql.statements import AlterJob, CreateSnapshot, DropJob, DropSnapshot, JobVerb, Show, Shown


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SHOW JOBS", Show(Shown.JOBS)),
        ("show snapshots;", Show(Shown.SNAPSHOTS)),
        ('DROP JOB IF EXISTS "hello-world" WITH SNAPSHOT "snapshot-v1";', DropJob("hello-world", True, "snapshot-v1")),
        ("drop job counts", DropJob("counts")),
        ("DROP JOB 0a1b-2c3d-4e5f-6789", DropJob("0a1b-2c3d-4e5f-6789")),
        ('DROP JOB "if"', DropJob("if")),
        ('DROP JOB "say ""hi"""', DropJob('say "hi"')),
        ("DROP JOB job", DropJob("job")),
        ("ALTER JOB counts SUSPEND", AlterJob("counts", verb=JobVerb.SUSPEND)),
        ("ALTER JOB counts restart", AlterJob("counts", verb=JobVerb.RESTART)),
        (
            "ALTER JOB counts OPTIONS ('snapshotIntervalMillis' = '250', 'autoScaling'='false',) RESUME",
            AlterJob("counts", {"snapshot_interval_ms": 250, "auto_scaling": "false"}, JobVerb.RESUME),
        ),
        ("CREATE OR REPLACE SNAPSHOT before FOR JOB counts", CreateSnapshot("before", "counts")),
        ("DROP SNAPSHOT IF EXISTS before", DropSnapshot("before", True)),
    ],
)
def test_what_a_statement_says(text, statement):
    assert parse(text) == [statement]


def test_statements_stand_one_after_the_other_with_comments_and_empty_ones_between():
    text = "SHOW JOBS; -- all; of them\n;/* none ; here */ DROP JOB a ;\n"
    assert parse(text) == [Show(Shown.JOBS), DropJob("a")]
    assert parse(" -- nothing\n") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SHOW JOB",
            "From line 1, column 6 to line 1, column 8: Encountered 'JOB', expected JOBS or MAPPINGS or SNAPSHOTS or VIEWS",
        ),
        ("SHOW JOBS;\n  ALTER x", "From line 2, column 9 to line 2, column 9: Encountered 'x', expected JOB"),
        (
            "DROP JOBS x",
            "column 9: Encountered 'JOBS', expected EXTERNAL or JOB or MAPPING or SNAPSHOT or VIEW",
        ),
        ("DROPJOB x", "From line 1, column 1 to line 1, column 7: Encountered 'DROPJOB', expected"),
        ("DROP JOB", "From line 1, column 9 to line 1, column 9: Encountered the end, expected"),
        ("DROP JOB 'a'", "From line 1, column 10 to line 1, column 12: Encountered ''a'', expected \"a name\" or IF or a name"),
        ("SHOW JOBS ?", "From line 1, column 11 to line 1, column 11: Encountered '?', expected"),
        ("CREATE SNAPSHOT s FOR JOB j", "The OR REPLACE option is required for CREATE SNAPSHOT"),
        ("ALTER JOB j", "column 11: ALTER JOB needs SUSPEND, RESUME, RESTART or OPTIONS after the job"),
        ("ALTER JOB j OPTIONS ('timeoutMillis'='1') SUSPEND", "Options can only be specified for RESUME operation"),
        ("ALTER JOB j OPTIONS ('nonsense'='1')", "From line 1, column 22 to line 1, column 31: Unknown job option: nonsense"),
        (
            "ALTER JOB j OPTIONS ('timeoutMillis'='0')",
            "timeoutMillis can't be 0, or less than a millisecond: the job would fail at once",
        ),
        (
            "ALTER JOB j OPTIONS ('timeoutMillis'='soon')",
            "column 38 to line 1, column 43: Invalid number for timeoutMillis: soon",
        ),
        ("ALTER JOB j OPTIONS ('autoScaling'='true', 'autoScaling'='true')", "Option 'autoScaling' specified more than once"),
        ("ALTER JOB j OPTIONS ('processingGuarantee'='none')", "processingGuarantee is not supported for ALTER JOB"),
        ("ALTER JOB j OPTIONS ('maxAhead'='soon')", "'soon' is no maxAhead: write a number and a unit"),
        ("ALTER JOB j OPTIONS ('allowDrop'='true')", "allowDrop is not supported for ALTER JOB"),
        ("CREATE JOB j OPTIONS ('allowDrop'='[1]') AS INSERT INTO b SELECT 1", "The job option 'allowDrop' is true, or a list"),
        ("ALTER JOB j OPTIONS ('initialSnapshotName'='s')", "initialSnapshotName is not supported for ALTER JOB"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text, message):
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SHOW TYPES", "From line 1, column 6 to line 1, column 10: There are no types with names of their own"),
        ("create type car (vin VARCHAR)", "From line 1, column 8 to line 1, column 11: There are no types with names"),
        ("SHOW DATA CONNECTIONS", "From line 1, column 6 to line 1, column 9: There are no data connections: each mapping"),
        ("SHOW RESOURCES FOR db", "From line 1, column 6 to line 1, column 14: There are no data connections"),
        ("CREATE OR REPLACE DATA CONNECTION db TYPE Kafka", "column 19 to line 1, column 22: There are no data"),
        ("DROP DATA CONNECTION IF EXISTS db", "column 6 to line 1, column 9: There are no data connections"),
        ("CREATE MAPPING m (a INT) DATA CONNECTION db", "column 26 to line 1, column 29: There are no data connections"),
        ("CREATE MAPPING m EXTERNAL NAME x data connection db OBJECT TYPE t", "column 34 to line 1, column 37: There are"),
        ("ALTER JOB j DATA", "column 13 to line 1, column 16: Encountered 'DATA', expected ; or OPTIONS"),
    ],
)
def test_statements_of_jet_that_there_are_not_are_refused_in_a_sentence_of_their_own(text, message):
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert message in refused.value.message


NINES = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"ALTER JOB a OPTIONS ('timeoutMillis' = '{NINES}')", "Invalid number for timeoutMillis: 999"),
        (f"CREATE MAPPING m (a {'ARRAY<' * 101}INT{'>' * 101}) TYPE Rate", "Types are nested 100 times at most"),
        (f"CREATE MAPPING m (a {'ARRAY<' * 5_000}INT{'>' * 5_000}) TYPE Rate", "nested too deeply"),
        (f"CREATE MAPPING m (a {'STRUCT<x:' * 5_000}INT{'>' * 5_000}) TYPE Rate", "nested too deeply"),
    ],
)
def test_numbers_and_types_without_an_end_are_refused_in_a_sentence(text, message):
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert message in refused.value.message
    assert len(refused.value.message) < 400


def test_a_name_of_a_field_is_no_part_of_how_deep_a_type_is():
    name = "<" * 200
    assert named(f'CREATE MAPPING m (a STRUCT<"{name}": INT>) TYPE Rate').columns[0].type == f"struct<`{name}`:int>"


def test_nothing_is_half_understood():
    with pytest.raises(UsageError):
        parse("DROP JOB a; DROP JOB")


NAMES = st.text(alphabet="\"`'ab ,:<>;-\\é\n", min_size=1, max_size=6)
TYPES = st.recursive(
    st.sampled_from(["INT", "VARCHAR", "DECIMAL(5,2)", "TIMESTAMP"]),
    lambda types: (
        types.map("ARRAY<{}>".format)
        | st.tuples(types, types).map(lambda two: f"MAP<{two[0]}, {two[1]}>")
        | st.lists(st.tuples(NAMES, types), min_size=1, max_size=3).map(
            lambda fields: f"STRUCT<{', '.join(f'{identifier(name)}: {type_}' for name, type_ in fields)}>"
        )
    ),
    max_leaves=4,
)


@given(NAMES, st.lists(st.tuples(NAMES, TYPES, NAMES), min_size=1, max_size=3, unique_by=lambda each: each[0]), NAMES)
def test_a_mapping_is_read_as_it_was_whatever_is_in_its_names(name, columns, value):
    written = ", ".join(f"{identifier(column)} {type_} EXTERNAL NAME {identifier(out)}" for column, type_, out in columns)
    made = named(f"CREATE MAPPING {identifier(name)} ({written}) TYPE {identifier(value)} OPTIONS ({text(value)} = {text(name)})")
    assert [(column.name, column.outside) for column in made.columns] == [(column, out) for column, _, out in columns]
    assert named(made.statement()) == made


EXAMPLES = int(os.environ.get("PITSTOP_FUZZ", "500"))

WORDS = """
SHOW JOBS DROP JOB IF EXISTS WITH SNAPSHOT ALTER OPTIONS CREATE OR REPLACE FOR SUSPEND name é 0a1b-2c3d-4e5f-6789 - ( ) , = ; 'a'
"q" /* */ -- ' " MAPPING TYPE IMap Rate VIEW AS INSERT INTO SELECT * FROM TABLE WHERE GROUP BY TUMBLE( DESCRIPTOR( INTERVAL
'1' MINUTE COUNT(*) JOIN ON UNION ALL /*+ . a 1 \0 \n
""".split(" ")  # noqa: SIM905


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join) | st.text(max_size=60))
def test_whatever_is_written_gives_statements_or_a_sentence(text):
    with contextlib.suppress(UsageError):
        assert isinstance(parse(text), list)
    assert is_complete(text) in (True, False)


NAMED = {"a": Mapping("a", "Rate"), "b": Mapping("b", "Log"), "m": Mapping("m", "IMap", (Column("__key", "string"),))}
PARTS = """SELECT|*|a|b|m|sequence|time|__key|FROM|WHERE|GROUP BY|JOIN|LEFT JOIN|ON|=|,|(|)|COUNT(*)|SUM(sequence)|TABLE(|TUMBLE(
|IMPOSE_ORDER(|DESCRIPTOR(time)|INTERVAL '1' MINUTE|window_start|AS|x|UNION ALL|WITH x AS (|DISTINCT|HAVING|ORDER BY|1|'t'|NULL
|CASE WHEN|THEN|END|OVER|->|/*+ STAGE(s) */|EXISTS|IN|LATERAL VIEW|VALUES|PIVOT|BETWEEN|AND|.|[|]|::|INTERVAL|USING|TABLE|SNAPSHOT
|STAGE""".split("|")  # noqa: SIM905


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=25).map(lambda parts: "SELECT " + " ".join(parts)))
def test_whatever_a_query_says_gives_stages_or_a_sentence(text):
    with contextlib.suppress(PitstopError):
        (statement,) = parse(f"CREATE JOB j AS INSERT INTO b {text}")
        compile_job("j", statement.body, NAMED)
