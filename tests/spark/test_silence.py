"""What ends by the clock ends when all sources are silent."""

import pytest

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.spark.harness import Collected

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def count(state, row):
    state.n = (state.n or 0) + 1


def tell(state, key, time):
    return (state.n,)


@pytest.mark.long
def test_windows_sessions_and_state_of_ingestion_time_end_by_the_clock_when_no_rows_come(spark, tmp_path):
    folder, p = tmp_path / "rows", ps.Pipeline()
    folder.mkdir()
    windows, sessions, silent = Collected(), Collected(), Collected()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="k string, n bigint"), name="rows").with_ingestion_timestamps()
    keyed = rows.group_by("k")
    counts = keyed.window(ps.sliding("2 seconds", "1 second")).aggregate("counts", n=ps.count())
    counts.write_to(ps.sinks.custom(windows), name="windows")
    keyed.window(ps.session("2 seconds")).aggregate("visits", n=ps.count()).write_to(ps.sinks.custom(sessions), name="sessions")
    states = keyed.map_stateful("alarms", count, "n bigint", "n bigint", ttl="2 seconds", on_evict=tell)
    states.write_to(ps.sinks.custom(silent), name="silent")
    job = ps.run(p, spark, data_dir=tmp_path / "data")
    (folder / "rows.csv").write_text("a,1\na,2\nb,1\n")

    ended = lambda: len(windows.rows) >= 4 and len(sessions.rows) >= 2 and len(silent.rows) >= 2  # noqa: E731
    assert wait_until(ended, 60)
    assert job.progress.input_rows == 3
    assert wait_until(lambda: all(not facts.get("state_rows") for facts in job.progress.stages.values()), 60)
    epoch = job.progress.epoch
    job.stop()
    assert sorted((row["k"], row["n"]) for row in windows.rows) == [("a", 2), ("a", 2), ("b", 1), ("b", 1)]
    assert sorted((row["k"], row["n"]) for row in sessions.rows) == [("a", 2), ("b", 1)]
    assert sorted((row["k"], row["n"]) for row in silent.rows) == [("a", 2), ("b", 1)]
    assert job.progress.epoch == epoch  # without state there is nothing to end
    assert job.progress.late_rows == 0
