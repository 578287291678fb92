"""A job with state_store=auto whose state outgrows the memory goes on with it on disk, by itself, with each number once."""

import pytest

from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.spark.base.state_stores import SHARE_VARIABLE
from tests.e2e.counting import COUNTING, assert_exact, lines_of

SECONDS = 300
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]


def test_state_moves_to_disk_once_it_does_not_fit_in_memory_and_stays_there(stack, tmp_path, monkeypatch):
    from stack import wait_until

    monkeypatch.setenv(SHARE_VARIABLE, "1e-6")
    (tmp_path / "counting.py").write_text(COUNTING)
    out = tmp_path / "out"
    client, data = stack.start_server(), DataFolder(stack.data)
    job = client.submit(tmp_path / "counting.py", args=[str(out)], name="counting", config={"state_store": "auto"})
    job.wait_started()

    def on_disk():
        lineage = job.details.lineage
        kept = Checkpoint(data.job(job.id).checkpoint(lineage))
        return kept.committed() >= 0 and kept.provider().endswith("RocksDBStateStoreProvider")

    before = data.job(job.id).checkpoint(job.details.lineage)
    wait_until(lambda: on_disk() and job.status is JobState.RUNNING, SECONDS, "the state is on disk")
    assert any("it moves to disk (option state_store)" in line for line in job.logs()), "the run has said why"
    wait_until(lambda: not before.exists(), 60, "what was saved in memory is removed")
    assert (job.details.version, client.snapshots()) == (1, []), "the same version; the snapshot it went over by is gone"
    count = len(lines_of(out))
    wait_until(lambda: len(lines_of(out)) > count + 200, SECONDS, "the job goes on")
    lineage = job.details.lineage
    job.suspend()
    job.resume()
    count = len(lines_of(out))
    wait_until(lambda: len(lines_of(out)) > count + 200, SECONDS, "the job goes on from there")
    assert (job.details.lineage, on_disk()) == (lineage, True)
    job.suspend()
    assert_exact(out)
