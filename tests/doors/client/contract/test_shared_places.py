"""Two active jobs that would write into one place, over every service."""

import re

import pytest

from pitstop.errors import ConflictError, IncompatibleError
from pitstop.model.job import JobState, Progress
from pitstop.model.operation import Cancel, Discard, Resume, StateAtStart, Suspend
from tests.doors.doors import request, running

INTO_MAP = "# sink: out\n# into: the map 'm'"
OTHER = "# sink: out\n# into: the map 'n'"
OLDER = "# sink: out"
REFUSED = (
    "Sink 'out' () of job 'second' writes into the map 'm', as job 'first' (0401-9f77-b9c0-0001) does, which is {state}: give it "
    "a place of its own, or let both write there by --allow-shared (option allow_shared, in SQL allowShared)."
)


def test_the_second_of_two_jobs_with_one_place_fails_with_the_name_of_the_first(pair):
    service, state = pair
    running(state, "first", INTO_MAP)
    second = service.job(running(state, "second", INTO_MAP))
    assert (second.status, second.failure) == (JobState.FAILED, REFUSED.format(state="RUNNING"))
    assert service.job(running(state, "third", OTHER)).status is JobState.RUNNING
    with pytest.raises(ConflictError, match=r"^Sink 'out' .* of job 'third' writes into the map 'm', as job 'first'"):
        service.check(request(text=INTO_MAP), "third")


def test_a_suspended_job_keeps_its_place_and_an_ended_one_does_not(pair):
    service, state = pair
    first = running(state, "first", INTO_MAP)
    service.do(first, Suspend())
    assert service.wait_for(first, (JobState.SUSPENDED,), 20)
    refused = service.job(running(state, "second", INTO_MAP))
    assert refused.failure == REFUSED.format(state="SUSPENDED")
    service.do(first, Cancel())
    service.do(refused.id, Resume())
    assert service.wait_for(refused.id, (JobState.RUNNING, JobState.FAILED), 20).status is JobState.RUNNING


def test_a_job_that_says_so_shares_a_place_and_its_later_versions_do(pair):
    service, state = pair
    running(state, "first", INTO_MAP)
    second = running(state, "second", INTO_MAP, options={"allow_shared": "true"})
    assert service.job(second).status is JobState.RUNNING
    service.update(second, request(text=f"{INTO_MAP}\n# stage: speed bigint"))
    assert service.job(second).config.allow_shared


def test_an_update_that_would_share_a_place_is_refused_and_the_old_version_goes_on(pair):
    service, state = pair
    running(state, "first", INTO_MAP)
    second = running(state, "second", OTHER)
    with pytest.raises(ConflictError, match=f"^{re.escape(REFUSED.format(state='RUNNING'))}$"):
        service.update(second, request(text=INTO_MAP))
    assert (service.job(second).version, service.job(second).status) == (1, JobState.RUNNING)
    service.update(second, request(text=INTO_MAP, options={"allow_shared": True}))
    assert service.job(second).version == 2


def test_an_ended_job_whose_place_another_one_has_by_now_is_not_brought_back_unasked(pair):
    service, state = pair
    first = running(state, "first", INTO_MAP)
    service.do(first, Cancel())
    assert service.wait_for(first, (JobState.FAILED,), 20)
    running(state, "second", INTO_MAP)
    with pytest.raises(ConflictError, match=r"^Sink 'out' .* of job 'first' writes into the map 'm', as job 'second'"):
        service.do(first, Resume())
    with pytest.raises(ConflictError, match=r"^Sink 'out' .* of job 'first' writes into the map 'm', as job 'second'"):
        service.update(first, request(text=INTO_MAP))
    assert service.job(first).status is JobState.FAILED
    service.update(first, request(text=INTO_MAP, options={"allow_shared": True}))
    assert service.wait_for(first, (JobState.SUSPENDED,), 20).version == 2


def test_jobs_of_an_older_release_that_share_a_place_go_on_as_they_are_and_may_be_updated(pair):
    service, state = pair
    running(state, "first", INTO_MAP)
    second = running(state, "second", OLDER)
    assert service.job(second).status is JobState.RUNNING
    service.update(second, request(text=INTO_MAP))
    assert (service.job(second).version, service.job(second).status) == (2, JobState.RUNNING)


ROWS = "# stage: speed bigint\n"


def test_rows_that_come_twice_into_one_place_under_another_name_of_the_sink_are_asked_for(pair):
    service, state = pair
    job = running(state, text=f"{ROWS}# sink: out\n# into: the folder /rows")
    service.update(job, request(text=f"{ROWS}# sink: rows\n# into: the folder /rows"))
    with pytest.raises(IncompatibleError, match=r"and write its rows into 'out' once more: give --write-again"):
        service.go_back(job, 1, start=StateAtStart.SNAPSHOT)
    assert service.go_back(job, 1, start=StateAtStart.SNAPSHOT, write_again=True).version == 3


def test_a_place_that_no_later_version_has_written_into_gets_its_rows_once(pair):
    service, state = pair
    job = running(state, text=f"{ROWS}# sink: out\n# into: the folder /rows")
    service.update(job, request(text=f"{ROWS}# sink: out\n# into: the folder /other"))
    assert service.go_back(job, 1, start=StateAtStart.SNAPSHOT).version == 3


def test_where_a_later_version_does_not_tell_its_place_names_are_compared(pair):
    service, state = pair
    job = running(state, text=f"{ROWS}# sink: out\n# into: the folder /rows")
    service.update(job, request(text=f"{ROWS}# sink: out"))
    with pytest.raises(IncompatibleError, match=r"and write its rows into 'out' once more"):
        service.go_back(job, 1, start=StateAtStart.SNAPSHOT)


INTO_FOLDER = "# sink: out\n# into: the folder /rows"
AGAIN = (
    "Sink 'out' () writes into the folder /rows, as job 'first' (0401-9f77-b9c0-0001) did, which is CANCELLED and keeps its "
    "state: a new job begins without state, so rows of the same input are written again beside those that are there. {advice}; "
    "or give the sink a place of its own."
)
BEFORE = "'pitstop update first FILE' or 'pitstop resume first' goes on where that job stopped"
AFTER = (
    "To go on where that job stopped, cancel this one, then 'pitstop update 0401-9f77-b9c0-0001 FILE' or 'pitstop resume "
    "0401-9f77-b9c0-0001'"
)


def cancelled(state, text):
    """A job that has written an epoch, and was cancelled."""
    first = running(state, "first", text)
    state.advance(first, Progress(epoch=1))
    state.do(first, Cancel())
    assert state.wait_for(first, (JobState.FAILED,), 20)
    return first


def test_a_new_job_where_a_cancelled_one_has_written_is_warned_of_and_runs(pair):
    service, state = pair
    first = cancelled(state, INTO_FOLDER)
    checked = service.check(request(text=INTO_FOLDER))
    assert checked.warnings == [AGAIN.format(advice=BEFORE)]
    assert checked.text.endswith(f"\nWarning: {checked.warnings[0]}")
    again = service.job(running(state, "first", INTO_FOLDER))
    assert (again.status, again.concerns) == (JobState.RUNNING, (AGAIN.format(advice=AFTER),))
    service.do(again.id, Cancel())
    service.do(first, Discard())
    service.do(again.id, Discard())
    assert service.check(request(text=INTO_FOLDER)).warnings == []


@pytest.mark.parametrize("options", [{}, {"allow_shared": True}], ids=str)
def test_rows_that_take_the_place_of_those_of_a_cancelled_job_and_places_that_may_be_shared_are_no_warning(pair, options):
    service, state = pair
    text = INTO_FOLDER if options else INTO_MAP
    cancelled(state, text)
    assert service.check(request(text=text, options=options)).warnings == []
    assert service.job(running(state, "second", text, options=options)).concerns == ()


def test_a_job_that_is_resumed_or_updated_is_not_warned_of(pair):
    service, state = pair
    first = cancelled(state, INTO_FOLDER)
    assert service.check(request(text=INTO_FOLDER), "first").warnings == []
    service.do(first, Resume())
    assert service.wait_for(first, (JobState.RUNNING,), 20).concerns == ()
    (finding,) = service.check(request(text=INTO_FOLDER)).findings
    assert finding.startswith("As a job of its own it would fail. ")
    assert service.check(request(text=INTO_FOLDER)).warnings == []
