"""The folder that a source waits for, as its readers tell it to the run."""

from types import SimpleNamespace

import pytest

from pitstop.model.job import Progress
from pitstop.model.layout import StageKind
from pitstop.plan.model import Plan, PlanStage
from pitstop.spark.running.progress import ProgressTracker
from pitstop.spark.sources.csv_tail import CsvTailReader
from pitstop.spark.sources.shared import SourceOptions, Waiting, waits_of

BEGIN = {"files": {}}


@pytest.fixture
def reader(tmp_path):
    """A reader of a folder that is not there yet."""
    return CsvTailReader(SourceOptions("csv_tail", options(tmp_path)))


def options(tmp_path, stage="in"):
    return {"path": str(tmp_path / "later"), "stage": stage, "agreements": str(tmp_path / "agreements")}


class Idle:
    """A query that has not read anything yet."""

    def __init__(self):
        self._jsq = SimpleNamespace(lastProgress=lambda: None)
        self.status = {"isDataAvailable": False, "isTriggerActive": False, "message": "Waiting for data to arrive"}


def test_a_folder_that_is_not_there_is_told_until_it_is(tmp_path, reader):
    reader.latestOffset(BEGIN, None)
    assert waits_of(tmp_path / "agreements") == {"in": str(tmp_path / "later")}
    (tmp_path / "later").mkdir()
    reader.latestOffset(BEGIN, None)
    assert waits_of(tmp_path / "agreements") == {}


def test_a_folder_that_goes_away_again_is_told_again(tmp_path, reader):
    for _ in range(2):
        (tmp_path / "later").mkdir()
        reader.latestOffset(BEGIN, None)
        (tmp_path / "later").rmdir()
        reader.latestOffset(BEGIN, None)
        assert waits_of(tmp_path / "agreements") == {"in": str(tmp_path / "later")}


def test_what_a_run_before_has_told_goes_with_the_first_look(tmp_path):
    (tmp_path / "later").mkdir()
    (tmp_path / "agreements").mkdir()
    Waiting(tmp_path / "agreements", "in").tell("/old")
    CsvTailReader(SourceOptions("csv_tail", options(tmp_path))).latestOffset(BEGIN, None)
    assert waits_of(tmp_path / "agreements") == {}


def test_a_reader_without_a_run_and_one_that_cannot_write_tell_nothing(tmp_path):
    Waiting(None, "in").tell("/later")
    Waiting(tmp_path / "none", "in").tell("/later")
    assert waits_of(tmp_path / "none") == {}


def test_the_progress_of_a_job_tells_it_before_there_is_an_epoch_and_no_longer_than_it_is_so(tmp_path, reader):
    other = CsvTailReader(SourceOptions("csv_tail", options(tmp_path, "gone")))
    plan = Plan((PlanStage("in", StageKind.SOURCE, "source", (), "csv_tail"),))
    before = Progress(waits_for={"in": "/old"})
    tracker = ProgressTracker(plan, before, lambda *_: None, agreements=str(tmp_path / "agreements"))
    assert tracker.progress.waits_for == {}
    reader.latestOffset(BEGIN, None)
    other.latestOffset(BEGIN, None)
    tracker.look(Idle())
    assert tracker.progress.waits_for == {"in": str(tmp_path / "later")}, "the plan has no other source"
    (tmp_path / "later").mkdir()
    reader.latestOffset(BEGIN, None)
    tracker.look(Idle())
    assert tracker.progress.waits_for == {}
