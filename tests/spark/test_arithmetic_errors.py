"""What aggregates and hash joins say where a result cannot be had: of numbers that are too long, and of types that do not fit."""

import pytest

import pitstop as ps
from pitstop.errors import EngineError, PipelineError
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MOST = 2**63 - 1


def bounded(spark, tmp_path, values, kind, stage):
    p, out = ps.Pipeline(), Collected()
    rows = p.read_from(
        ps.sources.items(
            [[f"k{n % 2}", "2026-01-01T00:00:00Z", v] for n, v in enumerate(values)], f"k string, at string, v {kind}"
        ),
        name="rows",
    )
    timed = rows.with_columns(ts="cast(at as timestamp)").with_timestamps("ts")
    stage(timed).write_to(ps.sinks.custom(out), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    return out.rows


WINDOWS = {
    "tumbling": lambda rows, **a: rows.group_by().window(ps.tumbling("1 minute")).aggregate("sums", **a),
    "sliding": lambda rows, **a: rows.group_by().window(ps.sliding("1 minute", slide="30 s")).aggregate("sums", **a),
    "session": lambda rows, **a: rows.with_columns(one="1").group_by("one").window(ps.session("1 minute")).aggregate("sums", **a),
    "rolling": lambda rows, **a: rows.group_by().rolling_aggregate("sums", **a),
}  # fmt: skip
LONG = {
    "bigint": (
        "bigint",
        [MOST, 1],
        ps.sum("v"),
        r'the sum is beyond bigint, .*: sum decimals, as in sum\("cast\(v as decimal\(38,0\)\)"\), which goes on',
    ),
    "decimal": (
        "decimal(38,0)",
        ["9" * 38, "1"],
        ps.sum("v"),
        r'the sum has more than 38 digits: .* doubles, as in sum\("cast\(v as double\)"\), under another name',
    ),
    "interval": (
        "bigint",
        [9223372036854, 1],
        ps.sum("v * interval '1' second"),
        r"the sum is longer than an interval can be: sum numbers",
    ),
    "trend": (
        "bigint",
        [MOST, MOST],
        ps.linear_trend("v", "v"),
        r'the products of its numbers come to more than 38 digits: write linear_trend\("v", "v", wide=True\), which goes on',
    ),
    "several as one": ("bigint", [MOST, 1], ps.all_of(n=ps.count(), total=ps.sum("v")), r"the sum is beyond bigint"),
    "of one's own": (
        "bigint",
        [MOST, 1],
        ps.aggregate(lambda f, v: (v * v,), lambda f, c: f.sum(c), inputs=("v",)),
        r"[^.]*overflow\. Use 'try_multiply'",
    ),
}
TRIED = [("tumbling", case) for case in LONG] + [("rolling", case) for case in LONG if case != "of one's own"]


@pytest.mark.parametrize(
    ("window", "case"),
    [
        ("tumbling", "bigint"),
        *(pytest.param(*tried, marks=pytest.mark.long) for tried in TRIED if tried != ("tumbling", "bigint")),
        ("sliding", "bigint"),
        ("session", "decimal"),
    ],
)
def test_what_has_become_too_long_names_stage_aggregate_and_what_to_write(spark, tmp_path, window, case):
    kind, values, aggregate, told = LONG[case]
    with pytest.raises(
        EngineError, match=rf"in aggregate 'total' of stage 'sums' \(test_arithmetic_errors.py:\d+\): {told}"
    ) as raised:
        bounded(spark, tmp_path, values, kind, lambda rows: WINDOWS[window](rows, n=ps.count(), total=aggregate))
    assert "ansi" not in str(raised.value)


def test_all_sums_are_named_that_may_have_become_too_long(spark, tmp_path):
    sums = {"first": ps.sum("v"), "second": ps.sum("v + 1"), "double": ps.sum("cast(v as double)"), "n": ps.count()}
    told = r"in aggregate 'first' of stage 'sums' \(.*\) or aggregate 'second' of stage 'sums' \(.*\): the sum is beyond bigint"
    with pytest.raises(EngineError, match=told) as raised:
        bounded(spark, tmp_path, [MOST - 1, 1, 1], "bigint", lambda rows: WINDOWS["tumbling"](rows, **sums))
    assert "'double'" not in str(raised.value)
    assert "'n'" not in str(raised.value)


@pytest.mark.parametrize("window", ["tumbling", "rolling"])
@pytest.mark.long
def test_a_job_on_a_stream_says_it_too(spark, tmp_path, window):
    folder, p = tmp_path / "rows", ps.Pipeline()
    folder.mkdir()
    (folder / "rows.csv").write_text(f"{MOST}\n1\n")
    rows = p.read_from(ps.sources.csv_tail(folder, schema="v bigint"), name="rows").with_ingestion_timestamps()
    WINDOWS[window](rows, total=ps.sum("v")).write_to(ps.sinks.custom(Collected()), name="out")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    with pytest.raises(
        EngineError, match=r"An epoch failed in aggregate 'total' of stage 'sums' \(.*\): the sum is beyond bigint"
    ):
        job.wait_for_epoch(0, 180)


def test_what_an_expression_raises_is_no_fault_of_the_aggregates_beside_it(spark, tmp_path):
    def stage(rows):
        return WINDOWS["tumbling"](rows.with_columns("twice", w="v + v"), total=ps.sum("w"))

    with pytest.raises(
        EngineError, match=r"in stage 'twice' \(.*\), expression 'v \+ v': \S*\s?overflow\. Use 'try_add'"
    ) as raised:
        bounded(spark, tmp_path, [MOST], "bigint", stage)
    assert "ansi" not in str(raised.value)


ROWS = "k string, n int, d double, e decimal(20,0), f decimal(9,2), b boolean, at timestamp, day date, bytes binary, whole bigint"
REFUSED = [
    (ps.sum("k"), "numbers or intervals, and 'k' is string: make a number of it, as in \"cast(k as bigint)\""),
    (ps.sum("at"), "numbers or intervals, and 'at' is timestamp: make a number of it: \"unix_micros(at)\""),
    (ps.sum("b"), "numbers or intervals, and 'b' is boolean: make a number of it: \"cast(b as int)\""),
    (ps.avg("at"), "numbers, and 'at' is timestamp"),
    (ps.avg("b"), "numbers, and 'b' is boolean"),
    (ps.avg("day"), "numbers, and 'day' is date: make a number of it: \"unix_date(day)\""),
    (ps.avg("interval '1' day"), "numbers, and 'interval '1' day' is interval day: make a number of it first"),
    (ps.stddev("k"), "numbers, and 'k' is string"),
    (ps.variance("at"), "numbers, and 'at' is timestamp"),
    (ps.linear_trend("k", "n"), "whole numbers, and 'k' is string"),
    (ps.linear_trend("at", "n"), "whole numbers, and 'at' is timestamp"),
    (ps.linear_trend("n", "d"), "whole numbers, and 'd' is double: make whole numbers of it, as in \"cast(1000 * d as bigint)\""),
    (ps.linear_trend("n", "e"), "whole numbers, and 'e' is decimal(20,0)"),
    (ps.linear_trend("n", "f"), "whole numbers, and 'f' is decimal(9,2)"),
    (ps.all_of(n=ps.count("k"), total=ps.sum("k")), "numbers or intervals, and 'k' is string"),
]


def typed(p, name="rows"):
    return p.read_from(ps.sources.items([], ROWS), name=name).with_timestamps("at")


@pytest.mark.parametrize("window", ["tumbling", "rolling"])
@pytest.mark.parametrize(("aggregate", "told"), REFUSED, ids=[told[:40] for _, told in REFUSED])
def test_an_input_of_a_type_that_an_aggregate_does_not_take_is_refused(spark, aggregate, told, window):
    p = ps.Pipeline()
    WINDOWS[window](typed(p), total=aggregate).write_to(ps.sinks.noop(), name="out")
    with pytest.raises(PipelineError) as raised:
        compile_pipeline(spark, p)
    assert raised.value.message.startswith("Stage 'sums' (test_arithmetic_errors.py:")
    assert f"aggregate 'total' ({aggregate.kind}) takes {told}" in raised.value.message
    if aggregate.kind in ("sum", "avg") and "'k'" in told:
        compile_pipeline(spark, p, runs_already=True)  # an older release has accepted it


@pytest.mark.long
def test_inputs_of_all_other_types_are_taken(spark):
    p = ps.Pipeline()
    taken = {f"sum_{n}": ps.sum(v) for n, v in enumerate(["n", "d", "e", "f", "whole", "null", "interval '1' day"])}
    taken |= {f"mean_{n}": ps.avg(v) for n, v in enumerate(["n", "d", "e", "f", "whole", "null"])}
    taken |= {f"spread_{n}": ps.stddev(v) for n, v in enumerate(["n", "d", "e", "f", "whole"])}
    taken |= {f"trend_{n}": ps.linear_trend(v, "n") for n, v in enumerate(["n", "whole", "cast(n as decimal(18,0))", "null"])}
    taken |= {f"about_{n}": ps.approx_count_distinct(v) for n, v in enumerate(["k", "b", "at", "day", "bytes", "d"])}
    WINDOWS["tumbling"](typed(p), **taken).write_to(ps.sinks.noop(), name="out")
    compile_pipeline(spark, p)


@pytest.mark.parametrize(
    ("key", "of_table", "told"),
    [
        ("k", "int", "'k' is string in its rows and int in its table"),
        ("n", "string", "'n' is int in its rows and string in its table"),
        ("at", "date", "'at' is timestamp in its rows and date in its table"),
        ("n", "double", "'n' is int in its rows and double in its table"),
        ("n", "bigint", None),
        ("whole", "decimal(20,0)", None),
        ("d", "float", None),
        ("k", "varchar(9)", None),
        ("k", "string", None),
    ],
)
def test_a_hash_join_of_keys_of_other_types_is_refused_when_it_is_compiled(spark, key, of_table, told):
    p = ps.Pipeline()
    table = p.read_from(ps.sources.items([], f"{key} {of_table}, name string"), name="table")
    typed(p).hash_join(table, on=key, name="named").write_to(ps.sinks.noop(), name="out")
    if told is None:
        compile_pipeline(spark, p)
        return
    with pytest.raises(PipelineError, match=rf"Stage 'named' \(test_arithmetic_errors.py:\d+\): {told}: cast one"):
        compile_pipeline(spark, p)
    compile_pipeline(spark, p, runs_already=True)
