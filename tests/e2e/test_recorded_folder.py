"""Data folders of former releases go on under today's server (tests/golden/record_data_folder.py)."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from pathlib import Path

import pytest

from pitstop.client import connect
from pitstop.model.job import JobState

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.always, pytest.mark.timeout(900)]

ARCHIVES = sorted((Path(__file__).parents[1] / "golden").glob("data-folder-*.tar.xz"))
assert ARCHIVES, "no recorded data folder is left: git has them"
ENDED = ("completed", "failing", "cancelled", "ended")


class Recorded:
    """A recorded folder, unpacked where it has never been."""

    def __init__(self, archive, folder):
        self.folder = folder
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        self.facts = json.loads((folder / "recorded.json").read_text())
        self._move_store()

    def arrive(self):
        """The rest of the input appears."""
        for path in (self.folder / "rest").iterdir():
            path.rename(self.folder / "input" / path.name)

    def written(self, name):
        """All rows that a file sink has written into a folder."""
        files = (self.folder / "out" / name).glob("*.json")
        return [json.loads(line) for path in files for line in path.read_text().splitlines()]

    def windows(self, name):
        return sorted(
            [row[column] for column in ("key", "start", "end", "n", "total") if column in row] for row in self.written(name)
        )

    def counts(self):
        """([seq, key] of each row, key -> its counts)."""
        found = [(row["seq"], row["n"]) for row in self.written("counting/counts")]
        keys = {seq: key for seq, key, _ in self.facts["expected"]["counts"]}
        return _counts([seq, keys.get(seq), n] for seq, n in found)

    def _move_store(self):
        """The store notes absolute paths: of artifacts, arguments and snapshots. No other file that is read again has one."""
        store = sqlite3.connect(self.folder / "data" / "pitstop.db")
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for _, column, kind, *_ in store.execute(f"PRAGMA table_info({table})").fetchall():
                if kind.startswith(("JSON", "TEXT", "VARCHAR")):
                    store.execute(
                        f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (self.facts["path"], str(self.folder))
                    )
        store.commit()
        store.close()


def _counts(rows):
    """([seq, key] of all, key -> all its counts), each in order: of the rows of one epoch only their order may differ."""
    pairs, by_key = [], defaultdict(list)
    for seq, key, n in rows:
        pairs.append([seq, key])
        by_key[key].append(n)
    return sorted(pairs), {key: sorted(counts) for key, counts in by_key.items()}


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def recorded(request, tmp_path):
    return Recorded(request.param, tmp_path)


@pytest.fixture
def client(recorded):
    """Of today's server on the folder's data."""
    command = [sys.executable, "-m", "pitstop.main", "serve", "--data", str(recorded.folder / "data"), "--port", "0"]
    command += ["--spares", "0", "--master", "local[2]", "--stop-jobs-on-exit"]
    with (recorded.folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ)
    try:
        with connect(process.stdout.readline().split(" serves at ")[1].split()[0]) as made:
            yield made
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def wait_until(condition, what, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} seconds"
        time.sleep(0.1)


def test_everything_is_there_and_all_jobs_go_on_where_they_were(recorded, client):
    facts, expected = recorded.facts, recorded.facts["expected"]
    jobs = {job.name: job for job in client.jobs(include_ended=True)}
    assert {name: (job.id, job.details.version) for name, job in jobs.items()} == {
        name: (job["id"], job["version"]) for name, job in facts["jobs"].items()
    }
    for name in ENDED:
        assert (jobs[name].status.value, jobs[name].details.failure) == (
            facts["jobs"][name]["state"],
            facts["jobs"][name]["failure"],
        )
    assert jobs["counting"].status is JobState.SUSPENDED
    snapshots = {record.name: {"job": record.job_name, "epoch": record.epoch} for record in client.snapshots()}
    assert snapshots == facts["snapshots"]
    assert {"while-running", "at-the-end", "updated-before-2"} <= set(snapshots)
    for name, known in facts["maps"].items():
        assert (client.map(name).entries(), client.map(name).journal().newest) == (known["entries"], known["journal"]), name
    assert client.service.snapshot("while-running").job_id == jobs["windows"].id
    assert any("from snapshot 'updated-before-2'" in line for line in jobs["updated"].logs())

    arguments = [str(recorded.folder / "input"), str(recorded.folder / "out" / "ended"), "ended-totals"]
    again = client.submit(
        recorded.folder / "code" / "recorded_jobs.py", "windows", arguments, name="again", initial_snapshot="at-the-end"
    )
    jobs["counting"].resume()
    recorded.arrive()
    live = [again, *(jobs[name] for name in ("windows", "counting", "updated"))]
    for job in live:
        job.wait_started(300)
    results = {
        "windows/tumbling": expected["windows/tumbling"],
        "windows/sliding": expected["windows/sliding"],
        "ended/tumbling": expected["windows/tumbling"],
        "ended/sliding": expected["windows/sliding"],
        "updated/tumbling": expected["updated/tumbling"],
    }
    for name, wanted in results.items():
        wait_until(lambda name=name, wanted=wanted: len(recorded.windows(name)) >= len(wanted), f"all windows of {name}")
    wait_until(lambda: len(recorded.written("counting/counts")) >= len(expected["counts"]), "all counts")
    for job in live:
        job.suspend()
    for name, wanted in results.items():
        assert recorded.windows(name) == wanted, name
    assert recorded.counts() == _counts(expected["counts"])
    for name, wanted in (("totals", "totals"), ("ended-totals", "totals"), ("since", "since")):
        assert client.map(name).entries() == expected[wanted], name
