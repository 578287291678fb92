"""Every kind of operator with state that Spark has for Python, as code that a user brings to ``Stage.stateful``, and what
plain Python makes of the same events."""

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.cloudpickle
from pyspark.sql import Window
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark import own_code
from tests.spark.harness import Collected, Harness, check, idle
from tests.spark.own_code import COLUMNS, OUTPUT, Counting, CountingForAnHour, CountingFrames, counted, expected_counts
from tests.spark.reference import plain_windows, sessions_of
from tests.spark.sequence import events, millis

pyspark.cloudpickle.register_pickle_by_value(own_code)

SCHEMA = "seq bigint, key bigint, v bigint, ms bigint, ts timestamp"

ROWS, CUT, STEP, KEYS, BURST, PAUSE = 15_000, 7_500, 3_750, 7, 5_000, 10_000
"""Events of whole seconds in three bursts, an epoch a file; version 1 ends in the middle of the second one, and of a second."""
FILES = ROWS // STEP
LAG_MS = 2_000
ALL = [(seq, key, v, ms // 1000 * 1000) for seq, key, v, ms in events(ROWS, KEYS, BURST, PAUSE)]
WATERMARK = ALL[-1][3] - LAG_MS
"""In the last epoch of all."""
LIMIT = 9_000
LEFT = [(seq, key, ms) for seq, key, _, ms in ALL if seq % 50 == 0 and key < 5]
RIGHT = [(seq, key, ms) for seq, key, _, ms in ALL if seq % 75 == 0 and key > 1]
PAIRS = {(a, b) for a, key, ms in LEFT for b, other, at in RIGHT if key == other and abs(at - ms) <= 1000}


class FileHarness(Harness):
    """Runs a version until it has read so many files."""

    def wait_for(self, running, until):
        def read():
            epoch = running.checkpoint.committed()
            if not running.active or epoch < 0:
                return not running.active
            return all(
                offset and json.loads(offset)["logOffset"] + 1 >= until for offset in running.checkpoint.offsets(epoch).offsets
            )

        assert wait_until(read, 300)
        check(running)
        if until == FILES:
            # State in processing time keeps a query busy for ever: it is done when an epoch has run with the last watermark.
            assert wait_until(lambda: watermark_of(running) >= WATERMARK or idle(running) or not running.active, 300)
            check(running)


def watermark_of(running):
    return running.checkpoint.offsets(running.checkpoint.committed()).metadata["batchWatermarkMs"]


def write_files(folder, first, last):
    """Epochs first to last - 1, as files in the order of their times."""
    folder.mkdir(exist_ok=True)
    for number in range(first, last):
        rows = [(*event, event[3] * 1000) for event in ALL[number * STEP : (number + 1) * STEP]]
        columns = [pa.array(column) for column in zip(*rows, strict=True)]
        columns[4] = columns[4].cast(pa.timestamp("us", "UTC"))
        path = folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_arrays(columns, names=["seq", "key", "v", "ms", "ts"]), path.with_name(f".{path.name}"))
        os.utime(path.with_name(f".{path.name}"), (1_700_000_000 + number,) * 2)
        path.with_name(f".{path.name}").rename(path)


class Job:
    """A pipeline in the making, and what its sinks have got."""

    def __init__(self, folder):
        self.folder = folder
        self.pipeline, self.sinks, self.opened, self.upstream = ps.Pipeline(), {}, {}, False

    def source(self, name="numbers"):
        if name not in self.opened:
            source = ps.sources.files(self.folder, "parquet", schema=SCHEMA, streaming=True, maxFilesPerTrigger=1)
            stage = self.pipeline.read_from(source, name=name).with_timestamps("ts", allowed_lag=LAG_MS / 1000)
            self.opened[name] = stage.group_by("seq").distinct(f"first of {name}") if self.upstream else stage
        return self.opened[name]

    def to(self, stage, name):
        self.sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(self.sinks[name]), name=f"out {len(self.sinks)}")


@dataclass(frozen=True)
class Kind:
    name: str
    group: str
    """Kinds of one group run in one job."""
    add: Callable[[Job], ps.Stage]
    check: Callable[[list], None]
    """Raises AssertionError unless these are the rows of all events."""


def own(name, function):
    return lambda job: job.source().stateful(name, function)


def aggregation(frame):
    return frame.groupBy("key", "ts").agg(F.count("*").alias("n"), F.sum("v").alias("total"), F.collect_set("v").alias("vs"))


def check_aggregation(rows):
    expected = defaultdict(lambda: [0, 0, set()])
    for _, key, v, ms in ALL:
        if ms <= WATERMARK:
            group = expected[(key, ms)]
            group[0], group[1] = group[0] + 1, group[1] + v
            group[2].add(v)
    same([((r.key, millis(r.ts)), [r.n, r.total, set(r.vs)]) for r in rows], expected.items())


def windowed(frame):
    return frame.groupBy("key", F.window("ts", "3 seconds")).agg(F.count("*").alias("n"), F.sum("v").alias("total"))


def check_windows(rows):
    expected = plain_windows(ALL, 3000, 3000, WATERMARK).items()
    same([((r.key, millis(r.window.start), millis(r.window.end)), (r.n, r.total)) for r in rows], expected)


def sessions(frame):
    return frame.groupBy("key", F.session_window("ts", "3 seconds")).agg(F.count("*").alias("n"), F.sum("v").alias("total"))


def check_sessions(rows):
    got = [(r.key, millis(r.session_window.start), millis(r.session_window.end), r.n, r.total) for r in rows]
    same(got, [session for session in sessions_of(ALL, lambda _: 3000) if session[2] <= WATERMARK])


def check_once_a_second(rows):
    same([(row.key, millis(row.ts)) for row in rows], {(key, ms) for _, key, _, ms in ALL})


def joined(how):
    def add(job):
        left = job.source("left").filter("seq % 50 = 0 and key < 5").select("key", "ts", "seq")
        right = job.source("right").filter("seq % 75 = 0 and key > 1")
        right = right.select(F.col("key").alias("k"), F.col("ts").alias("at"), F.col("seq").alias("other"))
        near = "key = k and at between ts - interval 1 second and ts + interval 1 second"
        return left.stateful(f"{how} join", lambda a, b: a.join(b, F.expr(near), how), right)

    return add


def check_join(left_alone=False, right_alone=False):
    def check(rows):
        same([(r.seq, r.other) for r in rows if r.seq is not None and r.other is not None], PAIRS)
        alone = [(r.seq, r.ts) for r in rows if r.other is None], [(r.other, r.at) for r in rows if r.seq is None]
        for got, side, number, wanted in zip(alone, (LEFT, RIGHT), (0, 1), (left_alone, right_alone), strict=True):
            matched = {pair[number] for pair in PAIRS}
            never = [(seq, ms) for seq, _, ms in side if seq not in matched]
            until = max((millis(at) for _, at in got), default=0)
            # A row is known to be alone when the watermark has passed its bound.
            assert not wanted or WATERMARK - 2000 <= until <= WATERMARK, (until, WATERMARK)
            same([(seq, millis(at)) for seq, at in got], [row for row in never if wanted and row[1] <= until], wanted)

    return check


def check_semi_join(rows):
    same([row.seq for row in rows], {left for left, _ in PAIRS})


def apply_in_pandas(frame):
    return frame.groupBy("key").applyInPandasWithState(counted, OUTPUT, "n bigint, deadline bigint", "append", "EventTimeTimeout")


def check_counts(with_notes, at_end=None):
    def check(rows):
        expected = [row if with_notes or row[1] < 0 else (*row[:3], "") for row in expected_counts(ALL, at_end)]
        same([tuple(row[column] for column in COLUMNS) for row in rows], expected)

    return check


def processed(processor, mode):
    def function(frame):
        return frame.groupBy("key").transformWithState(processor(), OUTPUT, "append", mode)

    return function


def processed_frames(frame):
    return frame.groupBy("key").transformWithStateInPandas(CountingFrames(), OUTPUT, "append", "eventTime")


def timer_told(count):
    return 0, "timer True"


def check_limit(rows):
    assert len(rows) == len({row.seq for row in rows}) == LIMIT
    assert {row.seq for row in rows} <= set(range(ROWS))
    assert any(row.seq >= CUT for row in rows)


def same(got, expected, some=True):
    """Equal as bags, and not empty if there must be some; few of what differs is shown."""
    missing, odd = Counter(map(repr, expected)), Counter(map(repr, got))
    assert bool(missing) == some
    less, more = sorted(missing - odd), sorted(odd - missing)
    assert missing == odd, f"{len(less)} missing: {less[:3]}; {len(more)} odd: {more[:3]}"


KINDS = [
    Kind("groupBy(event time).agg", "native", own("agg", aggregation), check_aggregation),
    Kind("groupBy(window).agg", "native", own("windows", windowed), check_windows),
    Kind("groupBy(session_window).agg", "native", own("sessions", sessions), check_sessions),
    Kind("dropDuplicates", "native", own("dedup", lambda f: f.dropDuplicates(["key", "ts"])), check_once_a_second),
    Kind(
        "dropDuplicatesWithinWatermark",
        "native",
        own("dedup within", lambda f: f.dropDuplicatesWithinWatermark(["key", "ts"])),
        check_once_a_second,
    ),
    Kind("inner join", "joins", joined("inner"), check_join()),
    Kind("left outer join", "joins", joined("left_outer"), check_join(left_alone=True)),
    Kind("full outer join", "joins", joined("full_outer"), check_join(left_alone=True, right_alone=True)),
    Kind("left semi join", "joins", joined("left_semi"), check_semi_join),
    Kind("applyInPandasWithState", "python", own("apply", apply_in_pandas), check_counts(False, lambda n: (n, ""))),
    Kind(
        "transformWithState (value, list, map, timers)",
        "python",
        own("tws", processed(Counting, "eventTime")),
        check_counts(True, timer_told),
    ),
    Kind(
        "transformWithStateInPandas (value, list, map, timers)",
        "python",
        own("tws in pandas", processed_frames),
        check_counts(True, timer_told),
    ),
    Kind(
        "transformWithState (value, list, map with TTL)",
        "python",
        own("tws with ttl", processed(CountingForAnHour, "processingTime")),
        check_counts(True),
    ),
    Kind("limit", "limit", own("limit", lambda f: f.limit(LIMIT)), check_limit),
]

REFUSED = {
    "groupBy(key).agg": lambda f: f.groupBy("key").count(),
    "orderBy": lambda f: f.orderBy("seq"),
    "Window.partitionBy": lambda f: f.withColumn("n", F.row_number().over(Window.partitionBy("key").orderBy("ts"))),
}
"""What Spark does not run in append mode, the one mode there is."""
