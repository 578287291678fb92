"""A run keeps its job's history for as long as the server that leads says."""

import pytest

from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.model.retention import USUAL, Retention
from pitstop.runner import __main__ as process
from pitstop.runner.keeping import LOOK_SECONDS, FollowedRetention
from pitstop.runner.prepared import RunnerSettings
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.doubles.clock import ManualClock


@pytest.fixture
def followed(tmp_path):
    """(what is followed, its file, its clock, what it says in the log)."""
    clock, said = ManualClock(), []
    path = tmp_path / "keep.json"
    return FollowedRetention(path, lambda *line: said.append(line[2]), clock.monotonic), path, clock, said


def test_a_run_follows_what_the_server_says_while_it_goes_on(followed):
    asked, path, clock, said = followed
    assert asked() == USUAL, "there is no file yet"
    for retention in (Retention(minutes_history=7200), Retention(seconds_history=60)):
        path.write_text(retention.to_json())
        clock.advance(LOOK_SECONDS)
        assert asked() == retention
    path.unlink()
    clock.advance(LOOK_SECONDS)
    assert asked() == Retention(seconds_history=60), "who removes it by hand has changed nothing"
    assert said == []


def test_the_file_is_looked_at_now_and_then_only(followed):
    asked, path, clock, _ = followed
    asked()
    path.write_text(Retention(minutes_history=7200).to_json())
    clock.advance(LOOK_SECONDS - 1)
    assert asked() == USUAL
    clock.advance(1)
    assert asked() == Retention(minutes_history=7200)


@pytest.mark.parametrize("text", [b"{", b'{"minutes-history": "soon"}', b"\xff\xfe"])
def test_a_file_that_cannot_be_read_changes_nothing_and_is_told_of_once(followed, text):
    asked, path, clock, said = followed
    path.write_text(Retention(minutes_history=7200).to_json())
    asked()
    for _ in range(3):
        path.write_bytes(text)
        clock.advance(LOOK_SECONDS)
        assert asked() == Retention(minutes_history=7200)
    (line,) = said
    assert line.startswith(f"The file {path} does not tell how much history to keep: ")


def test_the_process_of_a_run_hands_it_to_what_writes_the_history(tmp_path, monkeypatch):
    data, links = DataFolder(tmp_path), []

    class NoRun:
        def __init__(self, job_id, token, handle, link, *_, questions=None):
            links.append(link)

        def run(self):
            return 0

    monkeypatch.setattr(process, "Runner", NoRun)
    monkeypatch.setattr(process, "_leave", lambda code: code)
    data.retention.write_text(Retention(seconds_history=600, minutes_history=3600).to_json())
    database = open_database(sqlite_url(data.store))
    clock = ManualClock(1_000_000_020.0)
    registry = SqlRegistry(database, clock)
    registry.add_job(Job("id", "job", 0.0, Version(1, JobSource("a.py"), {}, JobConfig()), JobState.STARTING, token=1))
    process._run("id", 1, RunnerSettings(data, database.url, ""), database, lambda: None, None)
    (link,) = links
    link._now = lambda _: clock.now()
    link.claim("id", 1, "a handle", 1_000_000.0)
    for minute in (0, 30, 45, 70):
        clock.set_by(1_000_000_020.0 + 60 * minute - clock.now())
        link.report(Progress(epoch=minute))
    assert [sample.epoch for sample in registry.samples("id", 60, 0)] == [30, 45, 70]
    assert [sample.epoch for sample in registry.samples("id", 1, 0)] == [70]
