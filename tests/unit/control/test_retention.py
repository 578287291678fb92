"""What is kept of jobs, and what is forgotten."""

import dataclasses
import json
import os
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from pitstop.control.retention import (
    FRESH_SECONDS,
    LEFT_SECONDS,
    drop_checkpoint,
    kept_until,
    remove_replaced,
    remove_unnamed_snapshots,
    sweep,
)
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Asked, Job, JobSource, JobState, Starting, Update, Version, Watched
from pitstop.model.operation import UpdateJob, rescaling_snapshot
from pitstop.model.retention import USUAL, Retention
from pitstop.model.snapshot import SnapshotRecord
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.doubles.files import MemoryFiles
from tests.doubles.registry import MemoryRegistry

NOW = 1_000_000_000.0


def artifact(folder, name):
    path = DataFolder(folder).artifact(name, "job.py")
    path.parent.mkdir(parents=True)
    path.write_text("")
    os.utime(path.parent, (NOW - FRESH_SECONDS - 1, NOW - FRESH_SECONDS - 1))
    return JobSource(str(path))


def test_artifacts_stay_as_long_as_a_job_may_run_them(tmp_path):
    registry = SqlRegistry(open_database(sqlite_url(tmp_path / "s.db")))
    names = ("runs", "before", "next", "nobody")
    sources = {name: artifact(tmp_path, name) for name in names}
    versions = {name: Version(1, sources[name], {}, JobConfig()) for name in names}
    back = Update(1, 0.0, Starting(versions["before"], NOW))
    forward = Update(2, 0.0, Asked(versions["next"]))
    for number, update in enumerate((back, forward)):
        job = Job(f"id{number}", f"job{number}", NOW, versions["runs"], JobState.SUSPENDED, update=update)
        registry.add_job(job)
    sweep(registry, DataFolder(tmp_path), NOW)
    assert {folder.name for folder in (tmp_path / "artifacts").iterdir()} == {"runs", "before", "next"}


def test_a_job_that_is_brought_back_while_old_results_are_looked_for_stays(tmp_path, monkeypatch):
    """Who forgets them may have to wait for another writer, which decides just that."""
    registry = SqlRegistry(open_database(sqlite_url(tmp_path / "s.db")))
    ended = Job("id", "job", NOW, Version(1, JobSource("a.py"), {}, JobConfig()), JobState.FAILED, completion_time=50.0)
    registry.add_job(ended)

    def jobs_of_before():
        registry.save_job(dataclasses.replace(ended, state=JobState.NOT_RUNNING, completion_time=None))
        return [ended]

    with monkeypatch.context() as waiting:
        waiting.setattr(registry, "jobs", jobs_of_before)
        assert registry.delete_ended(keep=0, older_than=NOW) == []
    assert [found.state for found in registry.jobs()] == [JobState.NOT_RUNNING]


def test_with_a_checkpoint_goes_what_was_made_beside_it(tmp_path):
    data = DataFolder(tmp_path)
    job = Job("id", "job", NOW, Version(1, JobSource("a.py"), {}, JobConfig(), None, "L2"), JobState.RUNNING)
    for name in ("checkpoint-L1", "checkpoint-L1.early.0", "checkpoint-L1.building", "checkpoint-L2", "checkpoint-L2.early.0"):
        (data.job("id").root / name / "offsets").mkdir(parents=True)
    drop_checkpoint(data, job, "L1")
    assert sorted(path.name for path in data.job("id").root.iterdir()) == ["checkpoint-L2", "checkpoint-L2.early.0"]


def test_packages_stay_as_long_as_a_job_or_an_update_names_them(tmp_path):
    registry = SqlRegistry(open_database(sqlite_url(tmp_path / "s.db")))
    data = DataFolder(tmp_path)
    for name in ("runs", "before", "asked", "nobody", ".half-made"):
        data.dependencies_of(name).mkdir(parents=True)
        os.utime(data.dependencies_of(name), (NOW - FRESH_SECONDS - 1, NOW - FRESH_SECONDS - 1))
    data.dependencies_of("young").mkdir()
    os.utime(data.dependencies_of("young"), (NOW, NOW))
    versions = {name: Version(1, needing(data, name), {}, JobConfig()) for name in ("runs", "before")}
    job = Job("id0", "job", NOW, versions["runs"], JobState.RUNNING, update=Update(1, 0.0, Watched(versions["before"], NOW)))
    registry.add_job(job)
    registry.add_operation(job.id, UpdateJob(needing(data, "asked"), {}, "s"))
    sweep(registry, data, NOW)
    assert {folder.name for folder in data.dependencies.iterdir()} == {"runs", "before", "asked", "young"}


def needing(data, name):
    return JobSource("a.py", dependencies=str(data.dependencies_of(name)))


def test_no_artifact_goes_while_the_record_of_a_job_cannot_be_read(tmp_path):
    database = open_database(sqlite_url(tmp_path / "s.db"))
    registry = SqlRegistry(database)
    source = artifact(tmp_path, "of_a_later_release")
    values = {"id": "id1", "body": json.dumps({"id": "id1", "state": "ASCENDING", "artifact": source.artifact})}
    with database.write() as connection:
        connection.execute(
            text("INSERT INTO jobs (id, active, token, submission_time, body) VALUES (:id, 1, 0, 0, :body)"), values
        )
    sweep(registry, DataFolder(tmp_path), NOW)
    assert Path(source.artifact).parent.exists()
    with database.write() as connection:
        connection.execute(text("DELETE FROM jobs"))
    sweep(registry, DataFolder(tmp_path), NOW)
    assert not Path(source.artifact).parent.exists()


OTHERWISE = Retention(results=3, result_time=20 * 86_400.0, cancelled_time=7200.0)


@pytest.mark.parametrize(
    ("retention", "cancelled", "seconds"),
    [(USUAL, True, 86_400), (USUAL, False, 604_800), (OTHERWISE, True, 7200), (OTHERWISE, False, 20 * 86_400)],
)
def test_an_ended_job_keeps_its_state_for_its_time_and_then_it_is_to_go(tmp_path, retention, cancelled, seconds):
    registry = SqlRegistry(open_database(sqlite_url(tmp_path / "s.db")))
    version = Version(1, artifact(tmp_path, "code"), {}, JobConfig())
    ended = Job("id", "job", 0.0, version, JobState.FAILED, failure="x", completion_time=NOW, user_cancelled=cancelled)
    registry.add_job(ended)
    assert kept_until(ended, retention) == NOW + seconds
    assert sweep(registry, DataFolder(tmp_path), NOW + seconds - 1, retention=retention) == []
    assert sweep(registry, DataFolder(tmp_path), NOW + seconds, retention=retention) == [ended]
    registry.save_job(dataclasses.replace(ended, state_dropped=True))
    assert sweep(registry, DataFolder(tmp_path), NOW + seconds, retention=retention) == []


def ended(registry, data, number, at):
    """A job that was submitted long ago, with a folder, and ended at that time."""
    version = Version(1, JobSource("/a/a.py"), {}, JobConfig())
    job = Job(f"id-{number}", "job", 0.0, version, JobState.COMPLETED, completion_time=at, state_dropped=True)
    registry.add_job(job)
    data.job(job.id).root.mkdir(parents=True)
    return job.id


def test_a_result_is_kept_for_seven_days(tmp_path):
    registry, data = MemoryRegistry(), DataFolder(tmp_path)
    week = 7 * 24 * 3600
    young, old = ended(registry, data, 1, NOW - week + 1), ended(registry, data, 2, NOW - week - 1)
    sweep(registry, data, NOW)
    assert [job.id for job in registry.jobs()] == [young]
    assert (data.job(young).root.exists(), data.job(old).root.exists()) == (True, False)


def test_as_many_results_are_kept_and_for_as_long_as_the_settings_say(tmp_path):
    registry, data = MemoryRegistry(), DataFolder(tmp_path)
    days = (0, 8, 19, 21)
    ids = [ended(registry, data, day, NOW - day * 86_400) for day in days]
    sweep(registry, data, NOW, retention=OTHERWISE)
    assert {job.id for job in registry.jobs()} == set(ids[:3])
    ended(registry, data, 1, NOW - 86_400)
    sweep(registry, data, NOW, retention=OTHERWISE)
    assert {job.id for job in registry.jobs()} == {"id-0", "id-1", "id-8"}


def test_at_most_a_thousand_results_are_kept_and_jobs_that_go_on_do_not_count(tmp_path):
    registry, data = MemoryRegistry(), DataFolder(tmp_path)
    goes_on = Job("id", "job", 0.0, Version(1, JobSource("/a/a.py"), {}, JobConfig()), JobState.RUNNING)
    registry.add_job(goes_on)
    ids = [ended(registry, data, number, NOW - number) for number in range(1003)]
    sweep(registry, data, NOW)
    kept = {job.id for job in registry.jobs()}
    assert kept == {goes_on.id, *ids[:1000]}
    assert {folder.name for folder in (tmp_path / "jobs").iterdir()} == set(ids[:1000])


def folder_of(data, files, record):
    files.write(Path(record.path) / "manifest.json", b"{}")
    return Path(record.path).name


def record_of(data, name):
    return SnapshotRecord(name, "id", "job", NOW, 1, str(data.new_snapshot(name)), 0)


def test_of_the_snapshots_of_a_name_only_the_last_one_stays_and_others_are_left_alone():
    files, data = MemoryFiles(lambda: NOW), DataFolder(Path("/d"))
    replaced, other, longer, new = (record_of(data, name) for name in ("s", "t", "s-2", "s"))
    for record in (replaced, other, longer, new):
        folder_of(data, files, record)
    old_form = data.snapshot("s")
    files.write(old_form / "manifest.json", b"{}")
    remove_replaced(new, data, files)
    assert set(files.names(data.snapshots)) == {Path(record.path).name for record in (other, longer, new)}


def test_what_an_export_or_a_deletion_left_is_swept_up_after_a_day_and_what_has_a_name_never(tmp_path):
    """All files here are of 2001: those of an export are links to files of a checkpoint, however old."""
    files, data, registry = MemoryFiles(lambda: NOW), DataFolder(tmp_path), MemoryRegistry()
    kept, deleted, untold = (record_of(data, name) for name in ("kept", "deleted", "untold"))
    registry.add_snapshot(kept)
    for record in (kept, deleted, untold):
        folder_of(data, files, record)
    being_made = f".{data.new_snapshot('half').name}.12.34.tmp"
    files.write(data.snapshots / being_made / "files" / "state", b"x")
    files.write(data.snapshots / ".s.1.2.tmp" / "files" / "state", b"of a release before")
    began = time.time()
    remove_unnamed_snapshots(registry, data, began + LEFT_SECONDS - 60, files)
    assert set(files.names(data.snapshots)) == {Path(record.path).name for record in (kept, deleted, untold)} | {being_made}
    remove_unnamed_snapshots(registry, data, began + LEFT_SECONDS + 60, files)
    assert files.names(data.snapshots) == [Path(kept.path).name]


def test_a_snapshot_by_which_a_job_was_only_to_be_rescaled_goes_once_nothing_needs_it(tmp_path):
    registry, data = SqlRegistry(open_database(sqlite_url(tmp_path / "s.db"))), DataFolder(tmp_path)
    new, old = (Version(number, JobSource("job.py"), {}, JobConfig()) for number in (2, 1))
    job = Job("id", "job", NOW, new, JobState.RUNNING, update=Update(1, 0.0, Starting(old, NOW)))
    registry.add_job(job)
    for name in (rescaling_snapshot("id"), "rescaling-mine"):
        data.snapshot(name).mkdir(parents=True)
        registry.add_snapshot(SnapshotRecord(name, "id", "job", NOW, 1, str(data.snapshot(name))))
    sweep(registry, data, NOW)
    assert len(registry.snapshots()) == 2, "the update under way starts from it"
    registry.save_job(dataclasses.replace(job, update=None))
    other = Version(1, JobSource("job.py"), {}, JobConfig(initial_snapshot=rescaling_snapshot("id")))
    registry.add_job(Job("id2", "other", NOW, other, JobState.SUSPENDED))
    sweep(registry, data, NOW)
    assert len(registry.snapshots()) == 2, "another job starts from it"
    registry.save_job(Job("id2", "other", NOW, new, JobState.SUSPENDED))
    sweep(registry, data, NOW)
    assert [record.name for record in registry.snapshots()] == ["rescaling-mine"]
    assert [path.name for path in data.snapshots.iterdir()] == ["rescaling-mine"]
