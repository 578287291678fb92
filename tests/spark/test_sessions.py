"""Events exactly a timeout apart are of two sessions, those a microsecond less of one."""

import random

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected, Harness, check

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

TIMEOUT_US = 5_000_000
GAPS = (1, 1_000_000, TIMEOUT_US - 1, TIMEOUT_US, TIMEOUT_US + 1, 2 * TIMEOUT_US)
BASE_US = 1_767_268_800_000_123


def events(seed, keys=60, most=8):
    """(key, time in microseconds) in random order; the gaps between the events of a key are those around the timeout."""
    drawn, found = random.Random(seed), []
    for key in range(keys):
        at = BASE_US + drawn.randrange(1_000_000)
        for _ in range(drawn.randrange(1, most)):
            found.append((f"k{key}", at))
            at += drawn.choice(GAPS)
    drawn.shuffle(found)
    return found


def sessions_of(rows):
    found = []
    for key, at in sorted(rows):
        if found and found[-1][0] == key and at - (found[-1][2] - TIMEOUT_US) < TIMEOUT_US:
            found[-1] = (key, found[-1][1], at + TIMEOUT_US, found[-1][3] + 1)
        else:
            found.append((key, at, at + TIMEOUT_US, 1))
    return found


def visits(rows):
    stage = rows.with_columns(ts="timestamp_micros(us)").with_timestamps("ts", allowed_lag="1 hour")
    by_key = stage.group_by("key").window(ps.session(TIMEOUT_US / 1_000_000)).aggregate("visits", n=ps.count())
    return by_key.with_columns(start="unix_micros(window_start)", end="unix_micros(window_end)")


def test_sessions_of_a_bounded_job_touch_and_stay_apart(spark, tmp_path):
    sink, p, rows = Collected(), ps.Pipeline(), events(1)
    visits(p.read_from(ps.sources.items(rows, "key string, us bigint"), name="rows")).write_to(ps.sinks.custom(sink), name="out")
    ps.run(p, spark, data_dir=tmp_path)
    assert sorted((row.key, row.start, row.end, row.n) for row in sink.rows) == sorted(sessions_of(rows))


@pytest.mark.long
def test_sessions_that_are_kept_over_epochs_and_a_restore_touch_and_stay_apart(spark, tmp_path):
    folder, harness, rows, sinks = tmp_path / "rows", Harness(spark, tmp_path), events(2), []
    folder.mkdir()
    parts = [rows[part::4] for part in range(4)] + [[("end", BASE_US + 10**11)]]

    def run(part, checkpoint):
        with (folder / "rows.csv").open("a") as file:
            file.write("".join(f"{key},{us}\n" for key, us in parts[part]))
        sinks.append(Collected())
        p = ps.Pipeline()
        stage = p.read_from(ps.sources.csv_tail(folder, schema="key string, us bigint"), name="rows")
        visits(stage).write_to(ps.sinks.custom(sinks[-1]), name="out")
        running = harness.start(p, checkpoint, 2)
        size = (folder / "rows.csv").stat().st_size

        def read():
            check(running)
            epoch = running.checkpoint.committed()
            found = running.checkpoint.offsets_by_source(epoch).get("rows", {}) if epoch >= 0 else {}
            return any(f"[{size}," in offset.replace(" ", "") for offset in found.values())

        assert wait_until(read, 60)
        harness.settle(running)
        running.stop(60)

    for part in range(5):
        run(part, tmp_path / "checkpoint")
    got = [(row.key, row.start, row.end, row.n) for sink in sinks for row in sink.rows]
    assert sorted(got) == sorted(sessions_of(rows))
