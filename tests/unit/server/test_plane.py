"""A data folder that the release before has written is served on: its store, its paths, and runs that still live."""

import dataclasses
import json
import subprocess
import time

import psutil
import pytest
from sqlalchemy import text

from pitstop.kit.jsonable import to_json
from pitstop.model.cluster import MemberState
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.operation import Export
from pitstop.model.snapshot import SnapshotManifest, SnapshotRecord
from pitstop.server.plane import ControlPlane
from pitstop.server.settings import Settings
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.store.database import migrate, open_database, sqlite_url
from pitstop.store.registry import SqlRegistry

JOB = "INSERT INTO jobs (id, name, active, token, submission_time, body) VALUES (:id, :name, 1, :token, :at, :body)"
LEASE = "INSERT INTO leases (job_id, token, pid, process_created, expires) VALUES ('run', 4, :pid, :created, :expires)"


def sleeping():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


runner, stray = pytest.fixture(sleeping, name="runner"), pytest.fixture(sleeping, name="stray")


def written_before(folder, runner, stray):
    """As release 0.1.0 wrote it before runs had handles: by hand, and every path spelled out."""
    for path in ("artifacts/ab12", "snapshots/s", "jobs/run", "jobs/saved/checkpoint-c0ffee", "spares/5ba4e"):
        (folder / path).mkdir(parents=True)
    (folder / "artifacts/ab12/job.py").write_text("")
    (folder / "jobs/run/runner.log").write_text("a line\n")
    manifest = SnapshotManifest("s", "saved", "saved", "c0ffee", 3, 1.0, None, {}, 2, "", {}, {}, {})
    (folder / "snapshots/s/manifest.json").write_text(json.dumps(manifest.to_dict()))
    checkpoint = Checkpoint(folder / "jobs/saved/checkpoint-c0ffee")
    checkpoint.write_offsets(3, OffsetLog({"conf": {}}, ()))
    checkpoint.write_commit(3, 0)
    checkpoint.write_facts({"job_id": "saved", "lineage": "c0ffee", "plan": {}})
    created = psutil.Process(stray.pid).create_time()
    (folder / "spares/5ba4e/process.json").write_text(json.dumps({"pid": stray.pid, "created": created}))
    database = open_database(sqlite_url(folder / "pitstop.db"))
    migrate(database, "base")
    migrate(database, "0002")
    version = Version(1, JobSource(str(folder / "artifacts/ab12/job.py")), {}, JobConfig())
    begun = dataclasses.replace(version, lineage="c0ffee")
    with database.write() as connection:
        for job in (
            Job("run", "run", 1.0, version, JobState.RUNNING, token=4),
            Job("saved", "saved", 2.0, begun, JobState.SUSPENDED, token=1),
        ):
            columns = {"id": job.id, "name": job.name, "token": job.token, "at": job.submission_time}
            connection.execute(text(JOB), columns | {"body": json.dumps(to_json(job))})
    SqlRegistry(database).add_snapshot(SnapshotRecord("s", "saved", "saved", 1.0, 10, str(folder / "snapshots/s"), 3))
    lease = {"pid": runner.pid, "created": psutil.Process(runner.pid).create_time(), "expires": time.time() + 600}
    with database.write() as connection:
        connection.execute(text(LEASE), lease)
    database.close()


def test_runs_jobs_and_snapshots_of_the_release_before_are_there(tmp_path, runner, stray):
    written_before(tmp_path, runner, stray)
    plane = ControlPlane(Settings(spares=0), DataFolder(tmp_path), tmp_path, "127.0.0.1:8701")
    plane.start(lambda: pytest.fail("the control loop ended"))
    try:
        service = plane.service
        assert service.do("saved", Export("again")).epoch == 3, "the loop has come round"
        assert {job.name: job.status for job in service.jobs()} == {
            "run": JobState.RUNNING,
            "saved": JobState.SUSPENDED,
        }
        assert service.job("run").token == 4, "the run that was there goes on"
        assert service.logs("run").lines == ["a line"]
        assert service.snapshot("s").epoch == 3
        again, before = service.snapshots()
        assert again.path.startswith(str(tmp_path / "snapshots/again@"))
        assert (before.name, before.path) == ("s", str(tmp_path / "snapshots/s"))
        assert (tmp_path / "artifacts/ab12/job.py").exists()
        assert runner.poll() is None
        assert stray.wait(10), "the spare of the server before is ended"
        (member,) = service.server_info().members
        assert (member.address, member.state) == ("127.0.0.1:8701", MemberState.ACTIVE)
    finally:
        plane.end()
    assert runner.poll() is None
