"""Jobs that have failed, were cancelled or hang go on where they stopped, with real processes: nothing missed or doubled."""

import pytest

from pitstop.errors import EngineError
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

COUNTING = """
import time

import pitstop as ps

def seen(state, row):
    {body}
    state.n = (state.n or 0) + 1
    return (row.sequence, state.n)

@ps.job(processing_guarantee="exactly_once", partitions=1, snapshot_interval="500 ms")
def counting():
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(20), name="numbers").with_columns(key="'all'")
    counted = numbers.group_by("key").map_stateful("seen", seen, "n bigint", "sequence bigint, n bigint")
    counted.select("cast(n as string) key", "sequence").write_to(ps.sinks.map("seen", key="key"), name="map")
    return p
"""
FAILS_AT_60 = "assert row.sequence != 60, 'a row that nobody had thought of'"
HANGS = "time.sleep(10_000)"


def nothing_missed_or_doubled(client):
    """The n-th number seen is the n-th one that there was."""
    entries = client.map("seen").entries()
    return sorted(entry["sequence"] for entry in entries.values()) == list(range(len(entries)))


def artifact(folder, name, body="pass"):
    path = folder / f"{name}.py"
    path.write_text(COUNTING.format(body=body))
    return path


def test_a_job_goes_on_after_what_ended_it(stack, tmp_path):
    from stack import wait_until

    client = stack.start_server()
    job = client.submit(artifact(tmp_path, "fails", FAILS_AT_60), name="counting")
    failed = client.service.wait_for(job.id, (JobState.FAILED,), 120)
    assert "a row that nobody had thought of" in failed.failure
    assert failed.has_state
    assert 0 < client.map("seen").size() <= 60

    assert job.update(artifact(tmp_path, "mended")).version == 2
    assert job.status is JobState.SUSPENDED
    job.resume()
    job.wait_started()
    wait_until(lambda: client.map("seen").size() > 100, 90, "the mended version goes on")
    assert nothing_missed_or_doubled(client)

    job.cancel()
    assert [kept.id for kept in client.service.kept_states()] == [job.id]
    before = client.map("seen").size()
    job.resume()
    job.wait_started()
    wait_until(lambda: client.map("seen").size() > before + 40, 90, "the cancelled job goes on")
    assert nothing_missed_or_doubled(client)

    hanging = artifact(tmp_path, "hangs", HANGS)
    with pytest.raises(EngineError, match="The run hangs: restoring state and the first epoch did not end within 15 seconds"):
        job.update(hanging, config={"first_epoch_timeout": "15 seconds"})
    job.wait_started()
    before = client.map("seen").size()
    wait_until(lambda: client.map("seen").size() > before + 40, 90, "the old version goes on by itself")
    assert nothing_missed_or_doubled(client)
    job.cancel()
    job.discard()
    assert client.service.kept_states() == []


WRITING = """
import pitstop as ps

@ps.job()
def payments(folder: str, out: str):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.csv_tail(folder, schema="id bigint"), name="in")
    rows.write_to(ps.sinks.files(out, format="json"), name="files")
    rows.write_to(ps.sinks.map("payments", key="id"), name="map")
    return p
"""


def test_a_new_job_over_the_files_of_a_cancelled_one_says_so_once_it_runs(stack, tmp_path):
    from stack import wait_until

    client = stack.start_server()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n2\n3\n")
    (tmp_path / "payments.py").write_text(WRITING)
    folders = (str(tmp_path / "in"), str(tmp_path / "out"))
    first = client.submit(tmp_path / "payments.py", args=folders, name="first")
    first.wait_started()
    wait_until(lambda: client.service.job(first.id).progress.epoch >= 0, 90, "the first job has written its rows")
    first.cancel()
    second = client.submit(tmp_path / "payments.py", args=folders, name="second")
    second.wait_started()
    (concern,) = client.service.job(second.id).concerns
    assert concern.startswith(f"Sink 'files' (payments.py:8) writes into the folder {tmp_path.resolve()}/out, as job 'first'")
    wait_until(lambda: any(concern in line for line in second.logs()), 30, "it is in its log")
