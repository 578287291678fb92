"""A source that falls silent holds the watermark back, unless its idle timeout lets it go (jet.md §3.4)."""

import time
from collections import defaultdict

import pytest

import pitstop as ps
from pitstop.spark.query import wait_until
from tests.spark.harness import Collected, Harness, check
from tests.spark.sequence import millis
from tests.spark.tail import LAG, Tail

pytestmark = [pytest.mark.spark, pytest.mark.rules]

SIZE, SLIDE, WITHIN = 20, 10, 5
IDLE = 3.0


class Job:
    """Two sources; windows over both, and a join of them."""

    def __init__(self, harness, **options):
        self.harness = harness
        self.left, self.right = Tail(harness.folder, "left"), Tail(harness.folder, "right")
        self.windows, self.pairs = Collected(), Collected()
        self.pipeline = p = ps.Pipeline()
        left, right = self.left.stage(p), self.right.stage(p, **options)
        both = ps.co_group(a=left.group_by("key"), b=right.group_by("key")).window(ps.sliding(SIZE, SLIDE))
        together = both.aggregate("together", a={"lefts": ps.sum("n")}, b={"rights": ps.sum("n")})
        together.write_to(ps.sinks.custom(self.windows), name="windows")
        other = right.select("key", "n as m", "ts as seen")
        joined = left.join("pairs", other, on="key", within=WITHIN, how="left")
        joined.write_to(ps.sinks.custom(self.pairs), name="out")
        self.running = None

    def start(self):
        self.running = self.harness.start(self.pipeline, self.harness.folder / "checkpoint", 2)

    def kill(self):
        """End wherever it is, as a killed process does: what was not committed is done again."""
        self.running.query.stop()

    def last_end(self):
        return max((millis(row.window_end) // 1000 for row in self.windows.rows), default=0)

    def feed_left_until(self, reached):
        """Let the left source go on, two seconds at a time, until something is reached."""

        def look():
            check(self.running)
            if reached():
                return True
            self.left.feed(*[(key, 1, self.left.last + 2) for key in "ab"])
            self.left.wait_until_read(self.running)
            return False

        assert wait_until(look, 150)


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


def test_an_idle_source_lets_windows_and_joins_of_others_go_on_and_counts_again_when_it_is_back(harness):
    job = Job(harness, idle_timeout=IDLE)
    job.left.feed(*[(key, 1, at) for at in range(0, 21) for key in "ab"])
    job.right.feed(*[("a", 100, at) for at in range(0, 21, 4)])
    job.start()
    job.feed_left_until(lambda: job.last_end() >= 40)
    assert "stage 'timestamps-2' is idle: it no longer holds the watermark back" in harness.messages
    job.kill()
    job.start()
    job.feed_left_until(lambda: job.last_end() >= 60)
    late = ("a", 10_000, 5)
    job.right.feed(late, ("a", 100, job.left.last + 4), ("c", 100, job.left.last + 10))
    job.right.wait_until_read(job.running)
    assert "stage 'timestamps-2' has rows again" in harness.messages
    back = job.left.last
    job.feed_left_until(lambda: job.last_end() >= back + SIZE + SLIDE)
    job.running.stop(60)
    on_time = [row for row in job.right.fed if row != late]
    got = {(row.key, millis(row.window_end) // 1000): (row.lefts, row.rights) for row in job.windows.rows}
    assert len(got) == len(job.windows.rows), "a window came twice"
    assert got == expected_windows(job.left.fed, on_time, job.last_end())
    assert {key for (key, _), (_, rights) in got.items() if rights} == {"a", "c"}
    until = job.last_end() - WITHIN
    pairs = [(r.key, millis(r.ts) // 1000, r.seen and millis(r.seen) // 1000) for r in job.pairs.rows]
    assert sorted([pair for pair in pairs if pair[1] <= until], key=str) == expected_pairs(job.left.fed, on_time, until)


def test_without_an_idle_timeout_the_silent_source_holds_all_windows_back(harness):
    job = Job(harness)
    job.left.feed(*[(key, 1, at) for at in range(0, 21) for key in "ab"])
    job.right.feed(*[("a", 100, at) for at in range(0, 21, 4)])
    job.start()
    end = time.monotonic() + 3 * IDLE
    job.feed_left_until(lambda: time.monotonic() > end and job.left.last >= 60)
    held = job.last_end()
    job.right.feed(("a", 100, 60))
    job.feed_left_until(lambda: job.last_end() >= 50)
    job.running.stop(60)
    assert held == 10
    got = {(row.key, millis(row.window_end) // 1000): (row.lefts, row.rights) for row in job.windows.rows}
    assert got == expected_windows(job.left.fed, job.right.fed, job.last_end())


def test_when_all_fall_silent_the_windows_of_the_latest_come_and_then_no_more(harness):
    job = Job(harness, idle_timeout=IDLE)
    for tail, last in ((job.left, 60), (job.right, 5)):
        tail.feed(*[("a", 1, at) for at in range(0, last + 1)])
    job.start()
    for tail in (job.left, job.right):
        tail.wait_until_read(job.running)
    assert wait_until(lambda: check(job.running) or job.last_end() >= 50, 60)
    harness.settle(job.running)
    got = {(row.key, millis(row.window_end) // 1000): (row.lefts, row.rights) for row in job.windows.rows}
    assert got == expected_windows(job.left.fed, job.right.fed, 60 - LAG)
    job.running.stop(60)
