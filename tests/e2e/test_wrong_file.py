"""An update to another job's file drops nothing unasked; a job that it was done to goes back with its state, each row once."""

import json

import pytest

from pitstop.errors import DropError, IncompatibleError
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

COUNTING = """
import pitstop as ps

def seen(state, row):
    state.n = (state.n or 0) + 1
    return (row.{column}, state.n)

@ps.job(processing_guarantee="exactly_once", partitions=1, snapshot_interval="500 ms")
def {name}(folder):
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate({rate}), name="{name}-numbers").with_columns(key="'{name}'", other="sequence * 2")
    rows = numbers.group_by("key").map_stateful("{name}-seen", seen, "{field}", "sequence bigint, n bigint")
    rows.write_to(ps.sinks.files(folder + "/{name}", format="json"), name="{name}-rows")
    return p
"""


def artifact(folder, name, **parts):
    path = folder / f"{name}.py"
    path.write_text(COUNTING.format(name=name, **parts))
    return path


def sequences(folder):
    return sorted(json.loads(line)["sequence"] for file in folder.glob("*.json") for line in file.open())


def test_after_the_wrong_file_a_job_goes_back_with_its_state_and_each_row_is_there_once(stack, tmp_path):
    from stack import wait_until

    client, folder = stack.start_server(), tmp_path / "out"
    job = client.submit(
        artifact(tmp_path, "right", column="sequence", rate=20, field="n bigint"), args=[str(folder)], name="right"
    )
    job.wait_started()
    wait_until(lambda: len(sequences(folder / "right")) > 40, 120, "the job has written")
    wrong = artifact(tmp_path, "wrong", column="other", rate=5, field="n bigint, more string")
    with pytest.raises(DropError, match="this looks like another job"):
        job.update(wrong)
    assert (job.status, job.details.version, job.details.token) == (JobState.RUNNING, 1, 1)

    job.update(wrong, config={"allow_drop": True})
    wait_until(lambda: len(sequences(folder / "wrong")) > 5, 120, "the other job has written")
    written = sequences(folder / "right")
    with pytest.raises(IncompatibleError, match="Its own state is in snapshot 'right-before-2'"):
        job.go_back(1)
    assert job.details.version == 2
    done = job.go_back(1, state="snapshot", allow_drop=True)
    assert (done.version, done.report.refused) == (3, False)
    wait_until(lambda: len(sequences(folder / "right")) > len(written) + 40, 120, "the first version goes on")
    job.suspend()
    found = [json.loads(line) for file in (folder / "right").glob("*.json") for line in file.open()]
    assert sorted(row["sequence"] for row in found) == list(range(len(found)))
    assert all(row["n"] == row["sequence"] + 1 for row in found)
