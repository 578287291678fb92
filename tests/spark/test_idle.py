"""A source that falls silent holds the watermark back, unless its idle timeout lets it go."""

import time
from collections import defaultdict

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.plan.diff import Way
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.harness import Collected, Harness, check
from tests.spark.sequence import millis
from tests.spark.tail import LAG, Tail

pytestmark = [pytest.mark.spark, pytest.mark.rules, pytest.mark.timeout(600)]

SIZE, SLIDE, WITHIN = 20, 10, 5
IDLE = 3.0


def windows(left, right):
    both = ps.co_group(a=left.group_by("key"), b=right.group_by("key")).window(ps.sliding(SIZE, SLIDE))
    return both.aggregate("together", a={"lefts": ps.sum("n")}, b={"rights": ps.sum("n")})


def pairs(left, right):
    return left.join("pairs", right.select("key", "n as m", "ts as seen"), on="key", within=WITHIN, how="left")


class Job:
    """Two sources, and a stage over both."""

    def __init__(self, harness, stage, before=None, **options):
        self.harness, self.sink = harness, Collected()
        self.left, self.right = (before.left, before.right) if before else (Tail(harness.folder, n) for n in ("left", "right"))
        self.pipeline = p = ps.Pipeline()
        stage(self.left.stage(p), self.right.stage(p, **options)).write_to(ps.sinks.custom(self.sink), name="out")
        self.running = None

    def feed(self, side, last, n=1, keys="ab", step=2):
        """Rows up to event time ``last``. None at 0: Spark takes what is not above its first watermark, 0, for late."""
        first = side.last + step if side.fed else step
        side.feed(*[(key, n, at) for at in range(first, last + 1, step) for key in keys])

    def start(self, checkpoint="checkpoint"):
        self.running = self.harness.start(self.pipeline, self.harness.folder / checkpoint, 2)

    def kill(self):
        """End wherever it is, as a killed process does: what was not committed is done again."""
        self.running.query.stop()

    def last_end(self):
        return max((millis(row.window_end) // 1000 for row in self.sink.rows), default=0)

    def got_windows(self):
        return windows_of(self.sink.rows)

    def watermark(self):
        """That of the last committed epoch, in seconds."""
        checkpoint = self.running.checkpoint
        return checkpoint.offsets(checkpoint.committed()).metadata["batchWatermarkMs"] // 1000

    def feed_left_until(self, reached):
        """Let the left source go on, ten seconds at a time, until something is reached."""

        def look():
            check(self.running)
            if reached():
                return True
            self.feed(self.left, self.left.last + 10)
            self.left.wait_until_read(self.running)
            return False

        assert wait_until(look, 150)


def windows_of(rows):
    got = {(row.key, millis(row.window_end) // 1000): (row.lefts, row.rights) for row in rows}
    assert len(got) == len(rows), "a window came twice"
    return got


def expected_windows(left, right, until):
    """{(key, end): (lefts, rights)} of the windows that end by ``until``, in seconds."""
    found = defaultdict(lambda: [None, None])
    for side, rows in enumerate((left, right)):
        for key, n, at in rows:
            end = at - at % SLIDE + SLIDE
            while end - SIZE <= at:
                if end <= until:
                    found[(key, end)][side] = (found[(key, end)][side] or 0) + n
                end += SLIDE
    return {window: tuple(sums) for window, sums in found.items()}


def expected_pairs(left, right, until):
    """(key, left time, right time or None) of the left rows up to ``until``."""
    pairs = []
    for key, _, at in left:
        matches = [seen for other, _, seen in right if other == key and abs(seen - at) <= WITHIN]
        pairs += [(key, at, seen) for seen in matches or [None] if at <= until]
    return sorted(pairs, key=str)


@pytest.fixture
def harness(spark, tmp_path):
    return Harness(spark, tmp_path)


def chained(left, right):
    """Windows, what each key has had so far, and windows of that."""
    both = ps.co_group(a=left.group_by("key"), b=right.group_by("key")).window(ps.tumbling(SLIDE))
    counts = both.aggregate("counts", a={"lefts": ps.sum("n")}, b={"rights": ps.count()}).filter("lefts is not null")
    so_far = counts.with_timestamps("window_end", name="ends").group_by("key").rolling_aggregate("so-far", total=ps.sum("lefts"))
    named = so_far.select("key", "total", "window_end as ends_at")
    return named.group_by("key").window(ps.tumbling(SIZE)).aggregate("sums", total=ps.sum("total"), counted=ps.count())


def expected_chain(left, until):
    """{(key, end): (total, counted)} of the last stage's windows that end by ``until``, in seconds."""
    counts = defaultdict(int)
    for key, n, at in left:
        counts[(key, at - at % SLIDE + SLIDE)] += n
    so_far, found = defaultdict(int), defaultdict(lambda: [0, 0])
    for (key, at), n in sorted(counts.items(), key=lambda entry: entry[0][1]):
        so_far[key] += n
        window = found[(key, at - at % SIZE + SIZE)]
        window[0], window[1] = window[0] + so_far[key], window[1] + 1
    return {window: tuple(sums) for window, sums in found.items() if window[1] <= until}


def test_the_watermark_passes_through_a_chain_of_stages_when_a_source_is_idle_and_late_rows_count_nowhere(harness):
    job = Job(harness, chained, idle_timeout=IDLE)
    job.feed(job.left, 30)
    job.feed(job.right, 12, keys="z")
    job.start()
    for side in (job.left, job.right):
        side.wait_until_read(job.running)
    time.sleep(IDLE)
    job.feed_left_until(lambda: job.last_end() >= 60)
    in_time = list(job.left.fed)
    job.left.feed(("a", 1000, 3))
    job.left.wait_until_read(job.running)
    last = job.last_end()
    job.feed_left_until(lambda: job.last_end() > last + SIZE)
    job.running.stop(60)
    got = {(row.key, millis(row.window_end) // 1000): (row.total, row.counted) for row in job.sink.rows}
    assert len(got) == len(job.sink.rows)
    assert got == expected_chain(in_time + [row for row in job.left.fed[len(in_time) :] if row[1] < 1000], job.last_end())
    late = [
        seen for seen in job.running.query.recentProgress if any(op["numRowsDroppedByWatermark"] for op in seen["stateOperators"])
    ]
    assert late, "the late row is counted"


@pytest.mark.deep
def test_an_idle_source_lets_the_windows_of_others_come_and_counts_again_when_it_is_back(harness):
    job = Job(harness, windows, idle_timeout=IDLE)
    job.feed(job.left, 20)
    job.feed(job.right, 20, n=100, keys="a")
    job.start()
    job.feed_left_until(lambda: job.last_end() >= 40)
    assert "stage 'timestamps-2' is idle: it no longer holds the watermark back" in harness.messages
    job.kill()
    job.start()
    reached = job.last_end()
    # Windows may also come because the epoch that was cut off is done again: the source is to be idle once more.
    idle = "stage 'timestamps-2' is idle: it no longer holds the watermark back"
    job.feed_left_until(lambda: job.last_end() > reached and harness.messages.count(idle) == 2)
    late, back = ("a", 10_000, 5), job.left.last
    job.right.feed(late, ("a", 100, back + 4), ("c", 100, back + 10))
    job.right.wait_until_read(job.running)
    assert "stage 'timestamps-2' has rows again" in harness.messages
    job.feed_left_until(lambda: job.last_end() >= back + SIZE + SLIDE)
    job.running.stop(60)
    on_time = [row for row in job.right.fed if row != late]
    assert job.got_windows() == expected_windows(job.left.fed, on_time, job.last_end())
    assert {key for (key, end), (_, rights) in job.got_windows().items() if rights and end > back} == {"a", "c"}


@pytest.mark.deep
def test_without_an_idle_timeout_the_silent_source_holds_all_windows_back(harness):
    job = Job(harness, windows)
    job.feed(job.left, 20)
    job.feed(job.right, 20, n=100, keys="a")
    job.start()
    end = time.monotonic() + 3 * IDLE
    job.feed_left_until(lambda: time.monotonic() > end and job.left.last >= 60)
    assert job.last_end() == 10
    job.right.feed(("a", 100, 60))
    job.feed_left_until(lambda: job.last_end() >= 50)
    job.running.stop(60)
    assert job.got_windows() == expected_windows(job.left.fed, job.right.fed, job.last_end())


@pytest.mark.deep
def test_a_version_may_bring_an_idle_timeout_and_goes_on_from_the_snapshot_of_one_without(harness):
    job = Job(harness, windows)
    job.feed(job.left, 60)
    job.feed(job.right, 20)
    job.start()
    for side in (job.left, job.right):
        side.wait_until_read(job.running)
    harness.settle(job.running)
    job.running.stop(60)
    assert job.last_end() == 10
    export_checkpoint(job.running.checkpoint, DataFolder(harness.folder).snapshot("saved"), "saved")
    new = Job(harness, windows, before=job, idle_timeout=IDLE)
    harness.restore(new.pipeline, harness.folder / "second", None, None, True)
    assert harness.report.way is Way.RESUME
    assert plan_of(harness, new).operators == plan_of(harness, job).operators
    assert plan_of(harness, new).source_slots == plan_of(harness, job).source_slots
    new.start("second")
    new.feed_left_until(lambda: new.last_end() >= 60)
    new.running.stop(60)
    assert windows_of(job.sink.rows + new.sink.rows) == expected_windows(new.left.fed, new.right.fed, new.last_end())


def plan_of(harness, job):
    return compile_pipeline(harness.spark, job.pipeline)


@pytest.mark.deep
@pytest.mark.parametrize("stage", [windows, pairs], ids=["windows", "join"])
def test_when_all_fall_silent_the_results_up_to_the_latest_come_and_then_no_more(harness, stage):
    job = Job(harness, stage, idle_timeout=IDLE)
    job.feed(job.left, 60)
    job.feed(job.right, 6)
    job.start()
    for side in (job.left, job.right):
        side.wait_until_read(job.running)
    watermark = 60 - LAG
    assert wait_until(lambda: check(job.running) or job.watermark() == watermark, 60)
    harness.settle(job.running)
    job.running.stop(60)
    if stage is windows:
        assert job.got_windows() == expected_windows(job.left.fed, job.right.fed, watermark)
    else:
        got = [(r.key, millis(r.ts) // 1000, r.seen and millis(r.seen) // 1000) for r in job.sink.rows]
        assert sorted(got, key=str) == expected_pairs(job.left.fed, job.right.fed, watermark - WITHIN)
