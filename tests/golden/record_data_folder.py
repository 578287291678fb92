"""Make a data folder as a user has it, once for each release: later releases must go on from it for ever.

Run it from the root of the release that is to be recorded, with that release's own Python::

    python tests/golden/record_data_folder.py tests/golden/data-folder-$(git rev-parse --short HEAD).tar.xz

The archive holds ``data`` (of the server), ``input`` (of the jobs, as far as there was any), ``rest`` (further input),
``out`` (of the file sinks), ``code`` (the jobs), and ``recorded.json``: the folder's path when it was made, all jobs, and what
plain Python says must come out once the jobs have read the rest.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from pitstop.client import connect

HERE = Path(__file__).parent
JOBS, JOBS_2 = "recorded_jobs.py", "recorded_jobs_2.py"
PARTS, REST, STEP_MS, START_MS, PAUSE_MS, LAG_MS = (200, 400, 600, 800), 1600, 50, 3_600_000, 60_000, 2_000
SINCE = PARTS[-2]
"""Version 2 of the job ``updated`` began with this event."""
WASTE = ("jobs/*/work", "spares", "once", "java", "*.sock", "jobs/*/*.sock", "*.lock")
"""What a server makes anew, below its data folder."""


def event(seq):
    """(seq, key, v, ms). The last one comes so late that all windows of the others are closed."""
    late = PAUSE_MS if seq == REST else 0
    return seq, f"k{seq * 7919 % 5}", seq % 10, START_MS + seq * STEP_MS + late


EVENTS = [event(seq) for seq in range(REST + 1)]


def expected_windows(size, slide):
    """[key, start, end, count, total] of every window that the watermark has passed in the end."""
    found = defaultdict(lambda: [0, 0])
    for _, key, v, ms in EVENTS:
        for start in range(ms - ms % slide, ms - size, -slide):
            window = found[(key, start, start + size)]
            window[0] += 1
            window[1] += v
    until = EVENTS[-1][3] - LAG_MS
    return sorted([*window, *values] for window, values in found.items() if window[2] <= until)


def expected():
    counted, counts = Counter(), []
    for seq, key, _, _ in EVENTS:
        counted[key] += 1
        counts.append([seq, key, counted[key]])
    tumbling = expected_windows(5_000, 5_000)
    return {
        "windows/tumbling": tumbling,
        "windows/sliding": [window[:4] for window in expected_windows(10_000, 2_500)],
        "updated/tumbling": [window[:4] for window in tumbling],
        "counts": counts,
        "totals": dict(counted),
        "since": dict(Counter(key for seq, key, _, _ in EVENTS if seq >= SINCE)),
    }


def write_events(path, first, end):
    """A file that appears whole."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".part")
    with temporary.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(EVENTS[first:end])
    temporary.rename(path)


def wait_until(condition, what, seconds=600):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds} seconds")
        time.sleep(0.1)


class Server:
    """``pitstop serve`` on the folder's data; its jobs end with it."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "pitstop.main", "serve", "--data", str(folder / "data"), "--port", "0"]
        command += ["--master", "local[2]", "--stop-jobs-on-exit"]
        with (folder / "server.log").open("w") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
        self.url = self._process.stdout.readline().split(" serves at ")[1].split()[0]

    def cli(self, *arguments):
        command = [sys.executable, "-m", "pitstop.main", *arguments]
        subprocess.run(command, check=True, env=os.environ | {"PITSTOP_URL": self.url})

    def end(self):
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(120)


def live(folder, server):
    """What the user did."""
    client, inputs, out = connect(server.url), folder / "input", folder / "out"
    code, code_2 = folder / "code" / JOBS, folder / "code" / JOBS_2

    def submit(name, *args, entry=None):
        print("submit", name, flush=True)
        return client.submit(code, entry=entry or name, args=[str(arg) for arg in args], name=name)

    def feed(number):
        first = PARTS[number - 1] if number else 0
        write_events(inputs / f"events-{number + 1}.csv", first, PARTS[number])

    def read(job, path):
        files = json.loads(job.metrics().stages.get("events", {}).get("offset") or '{"files": {}}')["files"]
        return files.get(path.name, [0])[0] == path.stat().st_size

    def wait_read(jobs, number):
        path = inputs / f"events-{number + 1}.csv"
        for job in jobs:
            print("wait until", job.name, "has read", path.name, flush=True)
            wait_until(lambda job=job: read(job, path), f"job {job.name} reads {path.name}")

    feed(0)
    windows = submit("windows", inputs, out / "windows", "totals")
    ended = submit("ended", inputs, out / "ended", "ended-totals", entry="windows")
    counting, updated = submit("counting", inputs, out / "counting"), submit("updated", inputs, out / "updated")
    jobs = [windows, ended, counting, updated]
    wait_read(jobs, 0)
    for number in (1, 2):
        feed(number)
        wait_read(jobs, number)
    windows.export_snapshot("while-running")
    server.cli("save-snapshot", "-C", "ended", "at-the-end")
    counting.suspend()
    server.cli("update", "updated", str(code_2))
    completed, failing, cancelled = (submit(name) for name in ("completed", "failing", "cancelled"))
    cancelled.wait_started(600)
    cancelled.cancel()
    completed.join(600)
    wait_until(lambda: failing.status.value == "FAILED", "the failure")
    feed(3)
    wait_read([windows, updated], 3)
    server.cli("map", "put", "notes", "driver", '{"name": "Ada", "stars": 5}')
    server.cli("map", "put", "notes", "driver", '{"name": "Ada", "stars": 4}')
    server.cli("map", "put", "notes", "car", '"red"')
    return client


def facts(client):
    """What the server of that release says of its jobs, snapshots and maps."""
    return {
        "jobs": {
            job.name: {"id": job.id, "state": job.status.value, "version": job.details.version, "failure": job.details.failure}
            for job in client.jobs(include_ended=True)
        },
        "snapshots": {record.name: {"job": record.job_name, "epoch": record.epoch} for record in client.snapshots()},
        "maps": {name: {"entries": client.map(name).entries(), "journal": client.map(name).journal().newest}
                 for name in ("totals", "ended-totals", "notes", "three", "since")},
    }  # fmt: skip


def strip(data):
    for pattern in WASTE:
        for path in data.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with sqlite3.connect(data / "pitstop.db") as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def main():
    target = Path(sys.argv[1]).resolve()
    folder = Path(tempfile.mkdtemp(prefix="recorded-"))
    (folder / "code").mkdir()
    for name in (JOBS, JOBS_2):
        shutil.copy(HERE / name, folder / "code" / name)
    server = Server(folder)
    try:
        recorded = facts(live(folder, server))
    finally:
        server.end()
    strip(folder / "data")
    write_events(folder / "rest" / "events-5.csv", PARTS[-1], REST + 1)
    recorded |= {"path": str(folder), "expected": expected()}
    (folder / "recorded.json").write_text(json.dumps(recorded))
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name in ("data", "input", "rest", "out", "code", "recorded.json"):
            archive.add(folder / name, name)
    print(f"{target}: {target.stat().st_size:,} bytes, of {folder}")


if __name__ == "__main__":
    main()
