"""A cluster of two members with a core each beside one machine with two, and a third member that joins; prints one JSON line.

``python benchmarks/cluster.py``: the job of million.py with its state in RocksDB, served with a warm spare.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import million_job
from events import write_file, write_files
from million import KEYS, ROWS, STEP
from pitstop.kit.waiting import wait_until
from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.checkpoint import Checkpoint
from served import serving, spare_ready
from update_gap import START_SECONDS

AHEAD = 5
"""So many files wait for a job that is being rescaled."""
FIRST, LAST = 3, 15
"""Epochs between which the speed is measured: the first ones also start executors."""


def submitted(client, folder, events, entry):
    job = client.submit(million_job.__file__, f"million_job:{entry}", [str(events)], entry)
    job.wait_started(START_SECONDS)
    return job, checkpoint_of(job, folder)


def checkpoint_of(job, folder):
    return Checkpoint(DataFolder(folder / "data").job(job.id).checkpoint(job.details.lineage))


def speed(checkpoint):
    """Rows a second between two commits, by the times of their files."""
    assert wait_until(lambda: checkpoint.committed() >= LAST, START_SECONDS, step=0.05), "no epochs"
    return STEP * (LAST - FIRST) / (checkpoint.committed_at(LAST) - checkpoint.committed_at(FIRST))


def committed_after(checkpoint, moment):
    """When the first epoch after a moment was committed; None if none has been."""
    times = (checkpoint.committed_at(epoch) for epoch in range(checkpoint.committed() + 1))
    return min((at for at in times if at is not None and at > moment), default=None)


def local(folder, events):
    with serving(folder) as client:
        job, checkpoint = submitted(client, folder, events, "sums")
        rate = speed(checkpoint)
        job.cancel()
    return {"local": rate}


def cluster(folder, events):
    """Speed on two members, then the gap when a third one joins."""
    with serving(folder, "--members", "2", "--scale-up-delay", "0") as client:
        job, old = submitted(client, folder, events, "following")
        found = {"members": speed(old)}
        spare_ready(folder)
        client.service.add_member()
        last, files = 0.0, ROWS // STEP
        deadline = time.monotonic() + START_SECONDS
        while (placement := job.details.placement) is None or len(placement.members) < 3:
            assert time.monotonic() < deadline, "the job does not follow the third member"
            # The old checkpoint goes away when the job is rescaled.
            last = old.committed_at(epoch := old.committed()) or last
            if files < epoch + AHEAD:
                write_file(events, files, STEP, KEYS)
                files += 1
            time.sleep(0.01)
        new = checkpoint_of(job, folder)
        assert wait_until(lambda: committed_after(new, last) is not None, START_SECONDS, step=0.05), "no epoch after it"
        found |= {"gap": committed_after(new, last) - last, "state_partitions": new.partitions()}
        client.service.shut_down()
    return found


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder, events = Path(temporary), Path(temporary) / "events"
        write_files(events, ROWS, STEP, KEYS)
        found: dict[str, float] = {}
        for part in (local, cluster):
            folder = Path(temporary) / part.__name__
            folder.mkdir()
            found |= part(folder, events)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    sys.exit(main())
