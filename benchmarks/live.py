"""How long after its commit an epoch reaches who follows what changes; prints one JSON line. ``python benchmarks/live.py``"""

import json
import statistics
import tempfile
import time
from pathlib import Path

import httpx2

from pitstop.model.data_folder import DataFolder
from pitstop.snapshots.checkpoint import Checkpoint
from served import serving
from update_gap import EPOCHS, wait_epochs, write_version

SECONDS = 60.0


def main():
    with tempfile.TemporaryDirectory() as temporary, serving(folder := Path(temporary)) as client:
        job = client.submit(write_version(folder, "first"), name="counts")
        job.wait_started()
        wait_epochs(job, EPOCHS)
        data = DataFolder(folder / "data")
        checkpoint = Checkpoint(data.job(job.id).checkpoint(job.details.lineage))
        took = delays(client.service.url, data.token.read_text().strip(), checkpoint)
    print(json.dumps({"p50": statistics.median(took), "p95": statistics.quantiles(took, n=20)[-1], "epochs": len(took)}))


def delays(url, token, checkpoint):
    """Seconds from the commit of each epoch that was told to when it was."""
    found: dict[int, float] = {}
    until = time.monotonic() + SECONDS
    path, headers = f"{url}/api/v1/events?kind=progress&seconds={SECONDS}", {"Authorization": f"Bearer {token}"}
    with httpx2.stream("GET", path, headers=headers, timeout=None) as response:
        for line in response.iter_lines():
            now, text = time.time(), line.removeprefix("data: ")
            value = json.loads(text).get("value") if text != line else None
            committed = checkpoint.committed_at(value["epoch"]) if value else None
            if committed is not None:
                found.setdefault(value["epoch"], now - committed)
            if time.monotonic() > until:
                break
    return list(found.values())


if __name__ == "__main__":
    main()
