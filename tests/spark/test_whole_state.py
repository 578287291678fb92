"""A checkpoint of a release that committed an epoch without its state goes back by that epoch, or says what is missing."""

import json
from collections import Counter

import pytest

import pitstop as ps
from pitstop.errors import SnapshotError
from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.restoring.whole_state import go_back_to_whole_state
from tests.spark.harness import Harness, numbers
from tests.spark.test_unread_epochs import KEYS, ROWS, STEP, expected_counts

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def pipeline(out):
    p = ps.Pipeline()
    counted = numbers(p, rows=ROWS, step=STEP, keys=KEYS).group_by("key").rolling_aggregate("counted", n=ps.count())
    counted.select("key", "n").write_to(ps.sinks.files(out, format="json"), name="out")
    return p


def lose_state(checkpoint, epoch):
    """Remove what the stores have written of an epoch, as if no sink had read it."""
    for path in (checkpoint.path / "state").rglob(f"{epoch + 1}.*"):
        if "_metadata" not in path.parts:
            path.unlink()


@pytest.fixture
def stopped(spark, tmp_path):
    """A job that was stopped amid its rows: (harness, its query)."""
    harness = Harness(spark, tmp_path)
    running = harness.start(pipeline(tmp_path / "out"), tmp_path / "checkpoint-0", 2)
    assert wait_until(lambda: running.checkpoint.committed() >= 2, 120)
    running.stop(60)
    return harness, running


def test_the_epoch_is_done_again_and_each_row_is_there_once(stopped, tmp_path):
    harness, running = stopped
    epoch = running.checkpoint.committed()
    lose_state(running.checkpoint, epoch)
    sentence = go_back_to_whole_state(running.checkpoint)
    assert f"The state of stage 'counted' as of epoch {epoch} is missing in {running.checkpoint.path}/state/0/0" in sentence
    assert running.checkpoint.committed() == epoch - 1
    assert go_back_to_whole_state(running.checkpoint) is None
    again = harness.start(pipeline(tmp_path / "out"), running.checkpoint.path, 2)
    harness.wait_for(again, None)
    again.stop(60)
    rows = [json.loads(line) for file in (tmp_path / "out").glob("*.json") for line in file.open()]
    assert Counter((row["key"], row["n"]) for row in rows) == expected_counts()


@pytest.mark.long
def test_a_checkpoint_without_the_state_of_two_epochs_stays_as_it_is(stopped):
    _, running = stopped
    epoch = running.checkpoint.committed()
    lose_state(running.checkpoint, epoch)
    lose_state(running.checkpoint, epoch - 1)
    with pytest.raises(SnapshotError, match=f"as of epoch {epoch} is missing in .*nor is that of the epoch before"):
        go_back_to_whole_state(running.checkpoint)
    assert running.checkpoint.committed() == epoch


@pytest.mark.long
def test_a_snapshot_that_was_exported_without_a_part_of_its_state_says_which(stopped, tmp_path):
    harness, running = stopped
    lose_state(running.checkpoint, running.checkpoint.committed())
    export_checkpoint(running.checkpoint, DataFolder(tmp_path).snapshot("saved"), "saved")
    harness.runs += 1
    with pytest.raises(SnapshotError, match=r"Snapshot 'saved' cannot be restored. The state of stage 'counted' .*state/0/0"):
        harness.run(pipeline(tmp_path / "out"))
