"""Seeded random queries: the stages that a job in SQL becomes give the rows that Spark SQL gives on the same data at once."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

import pitstop as ps
from pitstop.pipeline.specs import SinkSpec
from pitstop.spark.lowering.lowering import Lowering
from pitstop.sql.compiling import compile_job
from pitstop.sql.mappings import Mapping
from pitstop.sql.parsing import parse
from pitstop.sql.programs import read_program
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from tests.spark.harness import Harness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SEED, ROWS = 2026, 400
COLUMNS = "k VARCHAR, a INT, b DOUBLE, s VARCHAR, ts TIMESTAMP"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def seeded_rows(chosen):
    for _ in range(ROWS):
        yield (
            f"k{chosen.randrange(5)}",
            None if chosen.random() < 0.1 else chosen.randrange(-20, 50),
            None if chosen.random() < 0.1 else chosen.randrange(-80, 80) / 4,
            chosen.choice(("red", "Green", "blue", "", None)),
            BEGIN + timedelta(seconds=chosen.randrange(4 * 3600)),
        )


class Queries:
    """Random queries, each as a job writes it and as Spark SQL does."""

    def __init__(self, seed):
        self._chosen = random.Random(seed)

    def pick(self, *options):
        made = self._chosen.choice(options)
        return made() if callable(made) else made

    def number(self, depth=2):
        plain = ("a", "b", "3", "0.5", "length(s)", "a % 7", "-b")
        if not depth:
            return self.pick(*plain)
        deeper = (
            lambda: f"({self.number(depth - 1)} + {self.number(depth - 1)})",
            lambda: f"({self.number(depth - 1)} * 2)",
            lambda: f"abs({self.number(depth - 1)})",
            lambda: f"coalesce({self.number(depth - 1)}, 0)",
            lambda: f"CASE WHEN {self.condition(depth - 1)} THEN {self.number(depth - 1)} ELSE {self.number(depth - 1)} END",
        )
        return self.pick(*plain, *deeper)

    def text(self, depth=1):
        plain = ("k", "s", "'it''s'", "upper(s)", "substring(k, 2, 1)")
        return self.pick(*plain, lambda: f"concat({self.text(0)}, {self.text(0)})") if depth else self.pick(*plain)

    def condition(self, depth=1):
        plain = (
            "a > 3",
            "b IS NULL",
            "k IN ('k1', 'k3')",
            "s LIKE '%e%'",
            "a BETWEEN 0 AND 20",
            "s = 'red'",
            "b <= a",
            "a IS NOT NULL",
        )
        if not depth:
            return self.pick(*plain)
        deeper = (
            lambda: f"({self.condition(0)} AND {self.condition(0)})",
            lambda: f"({self.condition(0)} OR NOT {self.condition(0)})",
            lambda: f"{self.number(1)} < {self.number(1)}",
        )
        return self.pick(*plain, *deeper)

    def aggregate(self, distinct=True):
        made = self.pick(
            "COUNT(*)",
            lambda: f"COUNT({self.pick('a', 's')})",
            lambda: f"SUM({self.number(1)})",
            lambda: f"AVG({self.number(1)})",
            lambda: f"{self.pick('MIN', 'MAX')}({self.pick(self.number, self.text)})",
            lambda: f"COUNT({'DISTINCT ' if distinct else ''}{self.pick('a', 'k', 's')})",
            lambda: f"COUNT_IF({self.condition(0)})",
            "VARIANCE(b)",
        )
        filtered = not made.startswith("COUNT_IF") and self._chosen.random() < 0.25
        return f"{made} FILTER (WHERE {self.condition(0)})" if filtered else made

    def where(self):
        return f" WHERE {self.condition()}" if self._chosen.random() < 0.6 else ""

    def projection(self, source="events"):
        parts = [f"{self.pick(self.number, self.text)} AS c{number}" for number in range(self._chosen.randrange(1, 5))]
        text = f"SELECT {', '.join(parts)} FROM {source}{self.where()}"
        return text, text

    def joined(self):
        how = self.pick("JOIN", "LEFT JOIN")
        return self.projection(f"events {how} colours ON s = colours.name")

    def nested(self):
        inner, _ = self.projection()
        if self._chosen.random() < 0.5:
            text = f"WITH some AS ({inner}) SELECT some.*, c0 AS again FROM some WHERE c0 IS NOT NULL"
        else:
            text = f"SELECT c0, c0 AS again FROM ({inner}) AS some"
        return text, text

    def united(self):
        wheres = self.where(), self.where()
        text = f"SELECT k, a FROM events{wheres[0]} UNION ALL SELECT s, a + 1 FROM events{wheres[1]}"
        return text, text

    def distinct(self):
        text = f"SELECT DISTINCT {self.text()} AS c0, a % 3 AS c1 FROM events{self.where()}"
        return text, text

    def windowed(self):
        size, slide = self.pick((10, 10), (30, 30), (30, 10), (60, 20))
        spans = f"INTERVAL '{size}' MINUTES" if size == slide else f"INTERVAL '{slide}' MINUTES, INTERVAL '{size}' MINUTES"
        call = f"{'TUMBLE' if size == slide else 'HOP'}(TABLE events, DESCRIPTOR(ts), {spans})"
        return self._of_windows(call, f"window(ts, '{size} minutes', '{slide} minutes')", least_keys=0)

    def session(self):
        # No two events are exactly so long apart: to Spark they would be of one session, and of two to us.
        timeout = self.pick(120.5, 300.5, 900.5)
        call = f"SESSION(TABLE events, DESCRIPTOR(ts), INTERVAL '{timeout}' SECONDS)"
        # Spark's batch counts a value twice that comes again after its session has grown: 27 in a session of -3, 18, 27, 30, 27.
        return self._of_windows(call, f"session_window(ts, '{int(timeout * 1000)} milliseconds')", least_keys=1, distinct=False)

    def _of_windows(self, call, window, least_keys, distinct=True):
        keys = [self.pick("k", "s", "a % 3") for _ in range(self._chosen.randrange(least_keys, 3))]
        keys = list(dict.fromkeys(keys))
        parts = [f"{each} AS g{number}" for number, each in enumerate(keys)]
        parts += [f"{self.aggregate(distinct)} AS c{number}" for number in range(self._chosen.randrange(1, 4))]
        parts += ["COUNT(*) * 2 + 1 AS odd"] if self._chosen.random() < 0.3 else []
        having = f" HAVING COUNT(*) > {self._chosen.randrange(1, 4)}" if self._chosen.random() < 0.4 else ""
        where = self.where()
        groups = ", ".join(["window_start", "window_end", *keys])
        in_job = f"SELECT window_start, window_end, {', '.join(parts)} FROM TABLE({call}){where} GROUP BY {groups}"
        at_once = (
            f"SELECT {window}.start, {window}.end, {', '.join(parts)} FROM events{where} GROUP BY {', '.join([window, *keys])}"
        )
        return in_job + having, at_once + having

    def totals(self):
        """Without a window: what is in a map in the end."""
        key = self.pick("k", "coalesce(s, 'none')", "concat(k, '/', CAST(a % 3 AS STRING))")
        parts = [f"{self.aggregate()} AS c{number}" for number in range(self._chosen.randrange(1, 4))]
        where = " WHERE a IS NOT NULL" if "a %" in key else self.where()
        text = f"SELECT {key} AS key, {', '.join(parts)} FROM events{where} GROUP BY {key}"
        return text, text

    def paired(self):
        bound = "a.ts BETWEEN b.ts - INTERVAL '1' MINUTE AND b.ts + INTERVAL '1' MINUTE"
        text = f"SELECT a.k, a.a, b.s, b.b FROM events AS a JOIN others AS b ON a.k = b.k AND {bound}"
        return text, text

    def next(self):
        some = (self.projection, self.joined, self.nested, self.united, self.distinct, self.windowed, self.windowed, self.session)
        return self.pick(*some)


@pytest.fixture(scope="module")
def known(spark, tmp_path_factory):
    """Mappings of the data, which are views of the session, too."""
    folder = tmp_path_factory.mktemp("data")
    schema = "k string, a int, b double, s string, ts timestamp"
    frames = {
        "events": spark.createDataFrame(list(seeded_rows(random.Random(SEED))), schema),
        "colours": spark.createDataFrame([("red", 1), ("blue", 2), ("blue", 3), ("", None)], "name string, code int"),
    }
    texts = {"events": COLUMNS, "colours": "name VARCHAR, code INT"}
    found = {"out": Mapping("out", "Log")}
    for name, frame in frames.items():
        path = folder / name
        frame.coalesce(1).write.parquet(str(path))
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
        (statement,) = parse(f"CREATE MAPPING {name} ({texts[name]}) TYPE File OPTIONS ('path' = '{path}', 'format' = 'parquet')")
        found[name] = statement.mapping
    return found


def rows_of_job(spark, known, text):
    return frame_of(spark, job_of(known, text)).collect()


def job_of(known, text):
    (statement,) = parse(f"CREATE JOB j AS INSERT INTO out {text}")
    return compile_job("j", statement.body, known)


def frame_of(spark, pipeline):
    (sink,) = [node for node in pipeline.nodes if isinstance(node.spec, SinkSpec)]
    return Lowering(spark, streaming=False).frame(sink)


def counted(rows):
    """Sums may come in another order: doubles are equal to eleven digits (not fewer: halves of the last one would be ties)."""
    return Counter(tuple(float(f"{value:.11g}") if isinstance(value, float) else value for value in row) for row in rows)


def compared(spark, known, queries, count):
    for number in range(count):
        in_job, at_once = queries.next()
        expected, found = counted(spark.sql(at_once).collect()), counted(rows_of_job(spark, known, in_job))
        assert found == expected, f"query {number}: {in_job}"


@pytest.mark.long
def test_sixty_queries_give_the_rows_of_spark_sql(spark, known):
    compared(spark, known, Queries(SEED), 60)


@pytest.mark.long
@pytest.mark.deep
def test_three_hundred_queries_give_the_rows_of_spark_sql(spark, known):
    compared(spark, known, Queries(SEED + 1), 300)


def test_a_job_in_sql_gets_the_plan_of_the_same_job_in_python(spark, known):
    in_sql = job_of(
        known,
        "SELECT /*+ STAGE(sums) */ k, window_start, window_end, COUNT(*) AS n, SUM(a) AS total "
        "FROM TABLE(TUMBLE(TABLE(IMPOSE_ORDER(TABLE events, DESCRIPTOR(ts), INTERVAL '2' SECONDS)), "
        "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE b > 1 GROUP BY k, window_start, window_end",
    )
    source = next(node.spec.source for node in in_sql.nodes if node.name == "events")
    in_python = ps.Pipeline()
    events = in_python.read_from(source, name="events").with_timestamps("ts", allowed_lag="2 seconds").filter("b > 1")
    sums = events.group_by("k").window(ps.tumbling("1 minute")).aggregate("sums", n=ps.count(), total=ps.sum("a"))
    sums.write_to(ps.sinks.logger(), name="out")
    plans = [optimized(frame_of(spark, pipeline)) for pipeline in (in_sql, in_python)]
    assert plans[0].sameResult(plans[1]), "\n".join(plan.toString() for plan in plans)


def optimized(frame):
    return frame._jdf.queryExecution().optimizedPlan()


STREAMED = f"""
CREATE MAPPING raw ({COLUMNS}) TYPE File OPTIONS ('path' = '{{stream}}', 'format' = 'parquet', 'streaming' = 'true');
CREATE MAPPING raw2 ({COLUMNS}) TYPE File OPTIONS ('path' = '{{stream}}', 'format' = 'parquet', 'streaming' = 'true');
CREATE VIEW events AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE raw, DESCRIPTOR(ts), INTERVAL '5' HOURS));
CREATE VIEW others AS SELECT * FROM TABLE(IMPOSE_ORDER(TABLE raw2, DESCRIPTOR(ts), INTERVAL '5' HOURS));
CREATE MAPPING colours (name VARCHAR, code INT) TYPE File OPTIONS ('path' = '{{colours}}', 'format' = 'parquet');
"""
SCHEMA = "k string, a int, b double, s string, ts timestamp"
LAST = ("last", 1, 1.0, "last", BEGIN + timedelta(days=30))
"""A row so late that all windows before it have ended."""


@pytest.mark.long
def test_queries_on_a_stream_give_the_rows_of_spark_sql(spark, known, tmp_path):
    queries = Queries(SEED + 2)
    asked = [(True, queries.windowed()) for _ in range(4)]
    asked += [(True, queries.session()) for _ in range(2)]
    asked += [(False, make()) for make in (queries.projection, queries.joined, queries.nested, queries.united, queries.paired)]
    stream = str(tmp_path / "stream")
    events = spark.createDataFrame(list(seeded_rows(random.Random(SEED))), SCHEMA)
    events.coalesce(1).write.parquet(stream)
    text = STREAMED.format(stream=stream, colours=known["colours"].options["path"])
    events.createOrReplaceTempView("others")
    bodies = []
    for number, (_, (in_job, at_once)) in enumerate(asked):
        kinds = [field.dataType.simpleString() for field in spark.sql(at_once).schema.fields]
        columns = ", ".join(f"d{place} {'VARCHAR' if kind == 'string' else kind}" for place, kind in enumerate(kinds))
        options = f"('path' = '{tmp_path / f'out{number}'}', 'format' = 'parquet')"
        text += f"CREATE MAPPING out{number} ({columns}) TYPE File OPTIONS {options};\n"
        hinted = in_job.replace("SELECT", f"SELECT /*+ STAGE(stage{number}) */", 1) if "window_start" in in_job else in_job
        bodies.append(f"INSERT INTO out{number} {hinted};")
    pipeline = read_program(f"{text}CREATE JOB j AS BEGIN {' '.join(bodies)} END").definition().build(())
    run_with_a_last_row(Harness(spark, tmp_path), pipeline, stream)
    everything = events.union(spark.createDataFrame([LAST], SCHEMA))
    everything.createOrReplaceTempView("others")
    for number, (windowed, (in_job, at_once)) in enumerate(asked):
        (events if windowed else everything).createOrReplaceTempView("read")
        expected = counted(spark.sql(at_once.replace("events", "read")).collect())
        found = counted(spark.read.parquet(str(tmp_path / f"out{number}")).collect())
        assert found == expected, f"query {number}: {in_job}"


FULL = """SELECT a.k, upper(a.k) AS big, a.a, b.k AS other, b.b FROM (SELECT * FROM events WHERE a > 20 AND k <> 'last') AS a
FULL JOIN (SELECT * FROM others WHERE b > 0 AND k <> 'last') AS b
ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' MINUTE AND b.ts + INTERVAL '1' MINUTE"""


@pytest.mark.long
def test_a_full_join_of_streams_gives_the_rows_of_spark_sql(spark, known, tmp_path):
    """Also those without a match on either side, whose columns of the other one are null, keys included."""
    stream = str(tmp_path / "stream")
    events = spark.createDataFrame(list(seeded_rows(random.Random(SEED))), SCHEMA)
    events.coalesce(1).write.parquet(stream)
    columns = "k VARCHAR, big VARCHAR, a INT, other VARCHAR, b DOUBLE"
    options = f"('path' = '{tmp_path / 'out'}', 'format' = 'parquet')"
    text = STREAMED.format(stream=stream, colours=known["colours"].options["path"])
    text += f"CREATE MAPPING out ({columns}) TYPE File OPTIONS {options};\n"
    pipeline = read_program(f"{text}CREATE JOB j AS INSERT INTO out {FULL}").definition().build(())
    run_with_a_last_row(Harness(spark, tmp_path), pipeline, stream)
    events.createOrReplaceTempView("others")
    events.createOrReplaceTempView("read")
    expected = counted(spark.sql(FULL.replace("events", "read")).collect())
    assert {(row[0] is None, row[3] is None) for row in expected} == {(False, False), (False, True), (True, False)}
    assert counted(spark.read.parquet(str(tmp_path / "out")).collect()) == expected


def run_with_a_last_row(harness, pipeline, stream):
    running = harness.start(pipeline, harness.folder / "checkpoint", 2)
    running.query.processAllAvailable()
    harness.spark.createDataFrame([LAST], SCHEMA).coalesce(1).write.mode("append").parquet(stream)
    running.query.processAllAvailable()
    harness.settle(running)
    running.stop(60)


@pytest.mark.long
def test_totals_of_a_stream_are_those_of_spark_sql(spark, known, tmp_path):
    queries = Queries(SEED + 3)
    asked = [queries.totals() for _ in range(8)]
    stream = str(tmp_path / "stream")
    events = spark.createDataFrame(list(seeded_rows(random.Random(SEED))), SCHEMA)
    events.repartition(3).write.parquet(stream)
    everything = events.union(spark.createDataFrame([LAST], SCHEMA))
    text, bodies = STREAMED.format(stream=stream, colours=known["colours"].options["path"]), []
    for number, (in_job, at_once) in enumerate(asked):
        kinds = [field.dataType.simpleString() for field in spark.sql(at_once).schema.fields[1:]]
        columns = ", ".join(f"c{place} {'VARCHAR' if kind == 'string' else kind}" for place, kind in enumerate(kinds))
        text += f"CREATE MAPPING totals{number} (__key VARCHAR, {columns}) TYPE IMap;\n"
        hinted = in_job.replace("SELECT", f"SELECT /*+ STAGE(stage{number}) */", 1)
        bodies.append(f"SINK INTO totals{number} {hinted};")
    pipeline = read_program(f"{text}CREATE JOB j AS BEGIN {' '.join(bodies)} END").definition().build(())
    maps = SqlMapStore(open_database(sqlite_url(tmp_path / "store.db")))
    run_with_a_last_row(Harness(spark, tmp_path, maps), pipeline, stream)
    everything.createOrReplaceTempView("everything")
    for number, (in_job, at_once) in enumerate(asked):
        rows = spark.sql(at_once.replace("events", "everything")).collect()
        expected = {row[0]: [plain(value) for value in row[1:]] for row in rows}
        entries = {entry.key: json.loads(entry.value) for entry in maps.entries(f"totals{number}", after=None, limit=100)}
        found = {key: [plain(entry.get(f"c{place}")) for place in range(len(rows[0]) - 1)] for key, entry in entries.items()}
        assert found == expected, f"query {number}: {in_job}"


def plain(value):
    """Numbers to eleven digits, whatever they are kept as."""
    return float(f"{value:.11g}") if isinstance(value, (int, float, Decimal)) else value
