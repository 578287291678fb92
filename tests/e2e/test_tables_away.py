"""A table of a hash join goes away, or is half-written, under a job of a real server: told, and no update starts without it."""

import json
import re

import pytest

from pitstop.errors import ConflictError, PitstopError
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps

@ps.job(partitions=1, snapshot_interval="500 ms")
def joining(folder):
    p = ps.Pipeline()
    side = p.read_from(ps.sources.files(folder, format="csv", schema="one bigint, name string"), name="side")
    ticks = p.read_from(ps.sources.rate(20), name="ticks").with_columns(one="cast(1 as bigint)")
    joined = ticks.hash_join(side, on="one", name="join", refresh="4 seconds")
    counted = joined.group_by("name").rolling_aggregate("seen", n=ps.count())
    counted.select("name as key", "n").write_to(ps.sinks.map("seen", key="key"), name="map")
    return p
"""
UNREAD = r"The table of stage 'join' \(joining.py:\d+\) cannot be read: "
REMEDY = r"cannot start without it: restore the complete table, or change its path\."


def test_a_table_that_is_away_is_told_and_an_update_without_it_is_refused_while_the_job_goes_on(tmp_path):
    from stack import Stack, wait_until

    code, folder, elsewhere = tmp_path / "joining.py", tmp_path / "dim", tmp_path / "elsewhere"
    code.write_text(JOB)
    folder.mkdir()
    (folder / "a.csv").write_text("1,first\n")

    def seen():
        return client.map("seen").get("first")["n"]

    def goes_on_as_version_1():
        wait_until(lambda: job.status is JobState.RUNNING and not job.details.updating, 200, "the old version")
        assert (job.details.version, job.details.termination) == (1, None)
        before = seen()
        wait_until(lambda: seen() > before, 100, "rows are joined with what was read last")

    def updated():
        try:
            return job.update(code, args=(str(folder),))
        except ConflictError:  # a busy machine may have ended its run
            return None

    with Stack(tmp_path / "stack", spares=1) as stack:
        client = stack.start_server()
        job = client.submit(code, args=(str(folder),))
        wait_until(lambda: client.map("seen").size() == 1, 300, "the first rows")
        assert job.details.progress.tables_away == ()
        folder.rename(elsewhere)
        (away,) = wait_until(lambda: job.details.progress.tables_away, 100, "the table is told")
        assert (away.stage, away.read_at < away.since) == ("join", True)
        with pytest.raises(PitstopError, match=rf"^{UNREAD}Stage 'side' .*Path does not exist: .*/dim\. .*{REMEDY}"):
            job.update(code, args=(str(folder),))
        goes_on_as_version_1()
        elsewhere.rename(folder)
        wait_until(lambda: job.details.progress.tables_away == (), 100, "the table is read again")

        (folder / "_temporary").mkdir()
        wait_until(lambda: "are being written" in str(job.details.progress.tables_away), 100, "the table is told")
        with pytest.raises(PitstopError, match=rf"{UNREAD}its files are being written\. .*{REMEDY}"):
            job.update(code, args=(str(folder),))
        goes_on_as_version_1()
        (folder / "_temporary").rmdir()
        wait_until(lambda: job.details.progress.tables_away == (), 100, "the table is read again")
        assert wait_until(updated, 300, "a run of it is not about to begin").version == 2


def test_a_job_from_a_snapshot_waits_for_a_table_that_is_away_and_goes_on_from_its_state(tmp_path):
    from stack import Stack, wait_until

    code, folder, elsewhere = tmp_path / "joining.py", tmp_path / "dim", tmp_path / "elsewhere"
    code.write_text(JOB)
    folder.mkdir()
    (folder / "a.csv").write_text("1,first\n")

    with Stack(tmp_path / "stack", spares=1) as stack:
        client = stack.start_server()
        job = client.submit(code, args=(str(folder),))
        wait_until(lambda: client.map("seen").size() == 1, 300, "the first rows")
        wait_until(lambda: job.status is JobState.RUNNING, 60, "its first epoch is told")
        job.cancel_and_export_snapshot("half-way")
        count = client.map("seen").get("first")["n"]

        folder.rename(elsewhere)
        again = client.submit(code, args=(str(folder),), name="again", initial_snapshot="half-way")
        wait_until(lambda: again.details.attempts >= 2, 200, "two attempts")
        assert re.search(UNREAD, str(again.details.interruption))
        assert client.map("seen").get("first")["n"] == count
        elsewhere.rename(folder)
        wait_until(lambda: client.map("seen").get("first")["n"] > count, 200, "rows after the table is back")
        wait_until(lambda: again.status is JobState.RUNNING, 60, "its first epoch is told")
        counts = [json.loads(event.new_value)["n"] for event in client.map("seen").journal().events]
        assert counts == sorted(counts)
