"""Snapshots and what is in them, over every service."""

import re

import pytest

from pitstop.errors import (
    ConflictError,
    NotFoundError,
    UsageError,
)
from pitstop.model.job import JobState, Progress
from pitstop.model.operation import CancelAndExport, Export
from pitstop.model.task import StateRows
from pitstop.service.snapshot_results import Difference
from tests.doors.doors import MOMENT, running

S = JobState


def test_snapshots_are_exported_listed_read_and_deleted(pair):
    service, state = pair
    job = running(state, "hello-world")
    state.advance(job, Progress(epoch=41))
    record = service.do(job, Export("snapshot-v1"))
    assert (record.name, record.job_name, record.bytes, record.epoch) == ("snapshot-v1", "hello-world", 1196, 41)
    assert record.created == pytest.approx(MOMENT, abs=1e-6)
    assert service.snapshots() == [record]
    assert service.snapshot("snapshot-v1") == state.snapshot("snapshot-v1")
    assert service.job(job).status is S.RUNNING
    service.delete_snapshot("snapshot-v1")
    assert service.snapshots() == []


def test_state_is_queried_taken_out_and_put_back(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.do(job, Export("s"))
    content = "Köln\nBonn\n".encode()
    made = service.import_state("s", "speed", content, "edited")
    assert (made.name, [record.name for record in service.snapshots()]) == ("edited", ["edited", "s"])
    assert service.export_state("edited", "speed") == content
    found = service.query_state("edited", "speed", "SELECT * FROM state", 1)
    assert found == StateRows([("line", "string")], [["Köln"]], True)
    with pytest.raises(UsageError, match="The query on stage 'speed' failed"):
        service.query_state("edited", "speed", "SELECT x", 1)
    for stage in ("sped", "a/b", ".."):
        with pytest.raises(NotFoundError, match=f"Snapshot 's' has no stage '{re.escape(stage)}' with state"):
            service.export_state("s", stage)
    with pytest.raises(NotFoundError, match="Didn't find a snapshot named 'x'"):
        service.import_state("x", "speed", b"")


def test_an_export_that_cancels_ends_the_job(pair):
    service, state = pair
    job = running(state)
    service.do(job, CancelAndExport("s"))
    found = service.job(job)
    assert (found.status, found.user_cancelled) == (S.FAILED, True)
    sentence = f"Cannot EXPORT job {job} because it already has a result: Cancelled by user; its state was removed"
    with pytest.raises(ConflictError, match=f"^{sentence}$"):
        service.do(job, Export("s"))
    assert not found.has_state
    assert service.kept_states() == []


def test_two_snapshots_are_compared(pair):
    service, state = pair
    service.do(running(state, "one", "# stage: speed bigint"), Export("a"))
    service.do(running(state, "two", "# stage: trend bigint"), Export("b"))
    found = service.snapshot_diff("a", "b")
    assert Difference("stage trend: kind", None, "window") in found.differences
    assert [line.stage for line in found.report.refusals] == ["speed"]
    assert service.snapshot_diff("a", "a").differences == []
    with pytest.raises(NotFoundError, match="Didn't find a snapshot named 'c'"):
        service.snapshot_diff("a", "c")
