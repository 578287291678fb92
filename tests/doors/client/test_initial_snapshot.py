"""A snapshot to start from is never forgotten, wherever it was named."""

import pytest

from pitstop.errors import NotFoundError, UsageError
from pitstop.model.operation import Export
from pitstop.service.api import SubmitRequest
from tests.doors.doors import running


def asked(snapshot=None, **options):
    return SubmitRequest("job.py", b"", name="next", initial_snapshot=snapshot, options=options)


def test_a_job_starts_from_the_snapshot_that_its_options_name(state):
    state.do(running(state, "before"), Export("saved"))
    assert state.submit(asked(initial_snapshot="saved")).config.initial_snapshot == "saved"


def test_a_snapshot_that_is_not_there_is_told_at_submission(state):
    with pytest.raises(NotFoundError):
        state.submit(asked(initial_snapshot="nothing"))


def test_two_snapshots_are_one_too_many(state):
    state.do(running(state, "before"), Export("saved"))
    with pytest.raises(UsageError, match="name one of them"):
        state.submit(asked("saved", initial_snapshot="other"))
    assert state.submit(asked("saved", initial_snapshot="saved")).config.initial_snapshot == "saved"
