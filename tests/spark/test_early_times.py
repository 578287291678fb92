"""Event times from the year 1 to 9999: no window, session, pair or first row is lost, before 1970 neither."""

from collections import Counter

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected, Harness, check
from tests.spark.tail import LAG, Tail

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SIZE, SLIDE, TIMEOUT, WITHIN = 40, 10, 4, 6
YEAR_1, YEAR_9999 = -62_135_596_800 + 1000, 253_402_300_799 - 1000
SECONDS = "cast(unix_micros({}) / 1000000 as bigint)"


def bursts(base):
    """Parts of 40 seconds; in each second a row of two of the keys; a session of a key ends now and then."""
    rows = [(f"k{(n + other) % 5}", n * 2 + other // 2, base + n) for n in range(120) if n % 10 < 8 for other in (0, 2)]
    return [[row for row in rows if part * 40 <= row[2] - base < part * 40 + 40] for part in range(3)]


class Job:
    """The stages that go by the watermark, over one source, and what their sinks have got."""

    def __init__(self, tail):
        self.pipeline, self.sinks = ps.Pipeline(), {}
        rows = tail.stage(self.pipeline, max_ahead=None)
        # As numbers: Python cannot tell the first day of the year 1.
        span = (SECONDS.format("window_start") + " as start", SECONDS.format("window_end") + " as end")
        for name, window in (
            ("frames", ps.tumbling(SLIDE)),
            ("windows", ps.sliding(SIZE, SLIDE)),
            ("sessions", ps.session(TIMEOUT)),
        ):
            self.to(name, rows.group_by("key").window(window).aggregate(name, n=ps.count()).select("key", *span, "n"))
        self.to("firsts", rows.group_by("key", "n").distinct("firsts", within=WITHIN).select("key", "n"))
        other = rows.filter("n % 3 = 0").select("key", "n as m", "ts as seen")
        pairs = rows.filter("n % 4 = 0").join("pairs", other, on="key", within=WITHIN, how="left")
        self.to("pairs", pairs.select("n", "m"))

    def to(self, name, stage):
        self.sinks[name] = Collected()
        stage.write_to(ps.sinks.custom(self.sinks[name]), name=f"{name}-out")


def read(harness, job, tail, checkpoint, watermark):
    """Run until all that was fed has been read and Spark has come to that watermark."""
    running = harness.start(job.pipeline, checkpoint, 2)
    tail.wait_until_read(running)

    def reached():
        check(running)
        metadata = running.checkpoint.offsets(running.checkpoint.committed()).metadata
        return metadata["batchWatermarkMs"] == watermark * 1000

    assert wait_until(reached, 60)
    harness.settle(running)
    running.stop(60)
    return running


def windows_of(rows, size, slide, until):
    found = Counter()
    for key, _, at in rows:
        end = at - at % slide + slide
        while end - size <= at:
            if end <= until:
                found[(key, end - size, end)] += 1
            end += slide
    return found


def sessions_of(rows, until):
    found = []
    for key, _, at in sorted(rows, key=lambda row: (row[0], row[2])):
        if found and found[-1][0] == key and at < found[-1][2]:
            found[-1] = (key, found[-1][1], at + TIMEOUT, found[-1][3] + 1)
        else:
            found.append((key, at, at + TIMEOUT, 1))
    return {session[:3]: session[3] for session in found if session[2] <= until}


def pairs_of(rows):
    return {
        (n, m)
        for key, n, at in rows
        if n % 4 == 0
        for other, m, to in rows
        if m % 3 == 0 and key == other and abs(at - to) <= WITHIN
    }


@pytest.mark.parametrize(
    "base",
    [-60, YEAR_1, YEAR_9999],
    ids=["1970", "year 1", "year 9999"],
)
@pytest.mark.long
def test_rows_of_any_year_come_through_all_stages_that_go_by_the_watermark(spark, tmp_path, base):
    tail, harness = Tail(tmp_path, "rows"), Harness(spark, tmp_path)
    jobs, checkpoint = [], tmp_path / "checkpoint"
    for number, part in enumerate(bursts(base)):
        tail.feed(*part)
        jobs.append(Job(tail))
        running = read(harness, jobs[-1], tail, checkpoint, tail.last - LAG)
        assert running.checkpoint.committed() > number
    until = tail.last - LAG
    got = {name: [row for job in jobs for row in job.sinks[name].rows] for name in jobs[0].sinks}
    for name, expected in (
        ("frames", windows_of(tail.fed, SLIDE, SLIDE, until)),
        ("windows", windows_of(tail.fed, SIZE, SLIDE, until)),
        ("sessions", sessions_of(tail.fed, until)),
    ):
        found = [((row.key, row.start, row.end), row.n) for row in got[name]]
        assert sorted(found) == sorted(expected.items())
    assert sorted((row.key, row.n) for row in got["firsts"]) == sorted(row[:2] for row in tail.fed)
    assert sorted((row.n, row.m) for row in got["pairs"] if row.m is not None) == sorted(pairs_of(tail.fed))
