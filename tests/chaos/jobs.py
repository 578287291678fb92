"""Three jobs with every kind of stage that keeps state, and three between topics and tables.

Each odd version of a job has a stage more than each even one.
"""

import json
from pathlib import Path

from pyspark.sql import functions as F

import pitstop as ps

EVENT = "seq bigint, key bigint, v bigint, ms bigint"
MOODS = ("fails", "fails behind its commit", "returns early", "reads in part")
"""What a sink may do for a while."""
WRONG = ("cannot be built", "cannot take a row", "has no state")
"""Versions that no job goes on with."""
OPTIONS = {"processing_guarantee": "exactly_once", "snapshot_interval": "1 second"}


@ps.job(**OPTIONS)
def counts(source, mood, out, version):
    """Files that Spark reads; rolling aggregates, state of our own, Spark code of our own; files, a map, a sink of our own."""
    p = ps.Pipeline()
    events = timed(p, "files", ps.sources.files(source, "json", schema=EVENT, streaming=True))
    rolled = events.group_by("key").rolling_aggregate("rolled", n=ps.count(), total=ps.sum("v"))
    write(rolled.select("seq", "n", "total"), out, "rolled")
    mapped = events.group_by("key").map_stateful("mapped", counted, "n bigint, seen bigint", "seq bigint, n bigint, seen bigint")
    write(mapped.select("seq", "n", "seen"), out, "mapped")
    owned = events.stateful("owned", in_spark)
    write(owned.select("key", "unix_millis(span.start) as start", "n", "total"), out, "owned")
    watched = events.group_by("key").rolling_aggregate("watched", n=ps.count(), total=ps.sum("v"))
    sink = MoodySink(f"{out}/watched", mood)
    watched.select("seq", "n", "total").write_to(ps.sinks.custom(sink), name="watched-out")
    count_in_map(events, "files-buckets")
    return changed(p, events, version)


@ps.job(**OPTIONS)
def spans(source, table, out, version):
    """Lines of CSV files; windows, sessions, distinct, a table that is read anew; files."""
    p = ps.Pipeline()
    events = timed(p, "lines", ps.sources.csv_tail(source, schema=EVENT))
    sliding = events.group_by("key").window(ps.sliding("10 seconds", slide="5 seconds"))
    windows = sliding.aggregate("windows", n=ps.count(), total=ps.sum("v"))
    write(windows.select("key", "unix_millis(window_start) as start", "n", "total"), out, "windows")
    sessions = events.group_by("key").window(ps.session("5 seconds")).aggregate("sessions", n=ps.count(), most=ps.max("v"))
    span = ("unix_millis(window_start) as start", "unix_millis(window_end) as until")
    write(sessions.select("key", *span, "n", "most"), out, "sessions")
    groups = events.with_columns(grp="seq div 3").group_by("grp").distinct("distinct", within="20 seconds")
    write(groups.select("grp", "seq div 3 as of", "seq"), out, "distinct")
    names = p.read_from(ps.sources.files(table, "parquet", schema="key bigint, name string"), name="names")
    write(events.hash_join(names, on="key", how="inner", refresh="2 seconds").select("seq", "name"), out, "named")
    return changed(p, events, version)


@ps.job(**OPTIONS)
def pairs(lines, url, out, version):
    """The same lines, and objects of an HTTP server; a stream join; files and a map."""
    p = ps.Pipeline()
    left = timed(p, "lines", ps.sources.csv_tail(lines, schema=EVENT))
    objects = timed(p, "objects", ps.sources.http_poll(url, schema=EVENT, sequence="seq", limit=50, interval="500 ms"), "at")
    right = objects.filter("seq % 5 = 0").select("seq div 10 as pair", "seq as other", "v as w", "at")
    some = left.filter("seq % 5 = 0").select("seq div 10 as pair", "seq", "v", "ts")
    joined = some.join("joined", right, on="pair", within="20 seconds")
    write(joined.select("pair", "seq", "other", "v", "w"), out, "joined")
    count_in_map(objects, "objects-buckets")
    return changed(p, objects, version)


@ps.job(**OPTIONS)
def topics(servers, version):
    """Messages of a topic; rolling aggregates and windows; two topics."""
    p = ps.Pipeline()
    events = timed(p, "messages", ps.sources.kafka(servers, "events", schema=EVENT))
    rolled, windows = rolled_and_windows(events)
    rolled.write_to(ps.sinks.kafka(servers, "rolled", key="key"), name="rolled-out")
    windows.write_to(ps.sinks.kafka(servers, "windows", key="key"), name="windows-out")
    return changed(p, events, version)


@ps.job(**OPTIONS)
def tables(servers, database, version):
    """The same messages; tables of PostgreSQL, of which two have keys."""
    p = ps.Pipeline()
    events = timed(p, "messages", ps.sources.kafka(servers, "events", schema=EVENT))
    rolled, windows = rolled_and_windows(events)
    rolled.write_to(ps.sinks.postgres(database, "rolled"), name="rolled-out")
    rolled.select("key", "n", "total").write_to(ps.sinks.postgres(database, "totals", key="key", order_by="n"), name="totals-out")
    windows.write_to(ps.sinks.postgres(database, "windows", key=("key", "start")), name="windows-out")
    return changed(p, events, version)


@ps.job(**OPTIONS)
def lakes(servers, endpoint, version):
    """The same messages; Delta tables in an object store, one of which the sink compacts."""
    p = ps.Pipeline()
    store = ps.s3_store(endpoint=endpoint, access_key="secret:CHAOS_KEY", secret_key="secret:CHAOS_KEY")
    events = timed(p, "messages", ps.sources.kafka(servers, "events", schema=EVENT))
    rolled, windows = rolled_and_windows(events)
    compacted = ps.sinks.delta("s3a://lake/rolled", store=store, target_file_size="16 MB", compact_every=20)
    rolled.write_to(compacted, name="rolled-out")
    windows.write_to(ps.sinks.delta("s3a://lake/windows", store=store), name="windows-out")
    return changed(p, events, version)


def rolled_and_windows(events):
    rolled = events.group_by("key").rolling_aggregate("rolled", n=ps.count(), total=ps.sum("v"))
    sliding = events.group_by("key").window(ps.sliding("10 seconds", slide="5 seconds"))
    windows = sliding.aggregate("windows", n=ps.count(), total=ps.sum("v"))
    start = "unix_millis(window_start) as start"
    return rolled.select("seq", "key", "n", "total"), windows.select("key", start, "n", "total")


class MoodySink:
    """Writes an epoch's rows into a file of its own. A file that others write says what else it does instead."""

    def __init__(self, folder, mood):
        self.folder, self.mood = folder, mood

    def write(self, rows, info):
        mood = Path(self.mood).read_text()
        if mood != "returns early":
            read = rows.collect() if mood in ("", "fails behind its commit") else rows.limit(1).collect()
            if mood == "fails":
                raise ConnectionError("nobody listens")
            if mood != "reads in part":
                self.commit(read, info)
            if mood == "fails behind its commit":
                raise ConnectionError("nobody answers")

    def commit(self, rows, info):
        path = Path(self.folder, f"{info.lineage}-{info.epoch}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden = path.with_name(f".{path.name}")
        hidden.write_text("".join(json.dumps(row.asDict()) + "\n" for row in rows))
        hidden.rename(path)


def timed(p, name, source, time="ts"):
    rows = p.read_from(source, name=name)
    return rows.with_columns(**{time: "timestamp_millis(ms)"}).with_timestamps(time, allowed_lag="5 seconds")


def counted(state, row):
    """The number of the event among those of its key, and the one before it."""
    seen, state.n, state.seen = state.seen, (state.n or 0) + 1, row.seq
    return row.seq, state.n, seen


def in_spark(rows):
    """Of each event one, of what is left the sums by key and ten seconds: two operators of Spark, each with its state."""
    once = rows.dropDuplicates(["key", "seq", "ts"])
    return once.groupBy("key", F.window("ts", "10 seconds").alias("span")).agg(F.count("*").alias("n"), F.sum("v").alias("total"))


def write(rows, out, name):
    rows.write_to(ps.sinks.files(f"{out}/{name}", format="json"), name=f"{name}-out")


def count_in_map(events, name):
    """How many events of each bucket: one that is written twice is counted twice."""
    buckets = events.select("cast(seq % 50 as string) as bucket")
    buckets.write_to(ps.sinks.map(name, key="bucket", value="1", merge=added), name=name)


def added(old, new):
    return (old or 0) + new


def fail(seq):
    raise ValueError("this version cannot take a row")


def changed(p, events, version):
    if version == WRONG[0]:
        raise ValueError("this version cannot be built")
    if version == WRONG[1]:
        events.select(F.udf(fail, "bigint")("seq").alias("none")).write_to(ps.sinks.noop(), name="beside-out")
    elif version == WRONG[2]:
        p = ps.Pipeline()
        timed(p, "files", ps.sources.http_poll("http://127.0.0.1:1", schema=EVENT, sequence="seq")).write_to(ps.sinks.noop())
    elif int(version) % 2:
        events.group_by("seq").distinct("beside", within="5 seconds").write_to(ps.sinks.noop(), name="beside-out")
    return p
