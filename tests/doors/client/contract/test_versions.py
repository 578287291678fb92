"""Versions of a job, and going back to one, over every service."""

import pytest
from sqlalchemy import delete

from pitstop.errors import ConflictError, DropError, IncompatibleError, NotFoundError
from pitstop.model.job import JobState
from pitstop.model.operation import Cancel, StateAtStart
from pitstop.model.report import Verdict
from pitstop.service.api import SubmitRequest
from pitstop.store import schema
from tests.doors.doors import MOMENT, request, running


def test_an_earlier_version_is_gone_back_to_with_its_code_arguments_and_options(pair):
    service, state = pair
    job = running(state, options={"snapshot_interval": "3 seconds"}, args=("one",))
    newer = SubmitRequest(
        "newer.py", b"# another", args=("two",), options={"snapshot_interval": "9 seconds", "timeout": "2 hours"}
    )
    service.update(job, newer)
    found = service.versions("hello-world")
    assert [(kept.number, kept.current, kept.artifact, kept.args) for kept in found] == [
        (2, True, "newer.py", ["two"]),
        (1, False, "job.py", ["one"]),
    ]
    assert [kept.since for kept in found] == [pytest.approx(MOMENT, abs=1e-6)] * 2
    assert found[1].options == {"snapshot_interval": "3 seconds"}

    done = service.go_back(job, 1)
    assert done.version == 3
    now = service.job(job)
    assert (now.version, now.status, now.source.args) == (3, JobState.RUNNING, ("one",))
    assert (now.config.snapshot_interval_ms, now.config.timeout_ms) == (3_000, None)
    assert now.config.initial_snapshot == done.snapshot
    assert [(kept.number, kept.current) for kept in service.versions(job)] == [(3, True), (2, False), (1, False)]
    assert service.graph(job, 2).version == 2

    service.go_back(job, 2, {"timeout": "3 hours"})
    assert service.job(job).config.timeout_ms == 3 * 3_600_000


FIVE, WRONG = "# stage: speed bigint\n# sink: out", "# source: drops\n# stage: rain string\n# sink: wet"
GONE = (
    r"^Version 1 of job 'hello-world' would start without its state: the present state lacks 'source', 'speed', and "
    r"'source' would be read from the beginning\. The job goes on as it was\. Its own state is in snapshot "
    r"'hello-world-before-2' of 2020-03-15 14:37:01\+00:00: --state snapshot goes back to that, reads newer input again; "
    r"--state empty starts without it anyway, with --write-again\. For a stage that only has another"
)


def test_after_an_update_to_the_wrong_file_a_job_goes_back_to_its_version_with_its_state(pair):
    service, state = pair
    job = running(state, text=FIVE)
    service.update(job, request(text=WRONG, options={"allow_drop": True}))
    with pytest.raises(IncompatibleError, match=GONE) as refused:
        service.go_back(job, 1)
    assert (refused.value.code, refused.value.details["snapshot"]) == ("INCOMPATIBLE", "hello-world-before-2")
    assert (service.job(job).version, service.job(job).status) == (2, JobState.RUNNING)
    with pytest.raises(IncompatibleError, match="from the beginning, and write all resulting rows into 'out' once more"):
        service.go_back(job, 1, {"allow_drop": True}, start=StateAtStart.EMPTY)
    with pytest.raises(DropError, match="of stage 'rain' and source 'drops'"):
        service.go_back(job, 1, start=StateAtStart.SNAPSHOT)
    done = service.go_back(job, 1, {"allow_drop": ["rain", "drops"]}, start=StateAtStart.SNAPSHOT)
    assert (done.version, done.snapshot) == (3, "hello-world-before-3")
    assert done.report.of(Verdict.RESTORED) == ("source", "speed")
    assert "as of snapshot 'hello-world-before-2' (2020-03-15 14:37:01+00:00): what came since is read again" in done.text
    now = service.job(job)
    assert (now.version, now.config.initial_snapshot, now.config.allow_drop) == (3, "hello-world-before-2", ())
    assert service.snapshot("hello-world-before-3").stages.keys() <= {"rain"}


def test_rows_are_written_once_more_only_if_that_is_asked_for(pair):
    service, state = pair
    job = running(state, text=FIVE)
    service.update(job, request(text="# stage: rain string\n# sink: out", options={"allow_drop": "speed"}))
    with pytest.raises(IncompatibleError, match=r"reads newer input again, and writes its rows into 'out' once more"):
        service.go_back(job, 1, {"allow_drop": True})
    with pytest.raises(IncompatibleError, match=r"and write its rows into 'out' once more: give --write-again to allow that"):
        service.go_back(job, 1, {"allow_drop": True}, start=StateAtStart.SNAPSHOT)
    assert service.job(job).version == 2
    service.go_back(job, 1, {"allow_drop": True}, start=StateAtStart.SNAPSHOT, write_again=True)
    assert service.job(job).config.initial_snapshot == "hello-world-before-2"


def test_what_the_present_state_lacks_starts_empty_only_if_that_is_asked_for(pair):
    service, state = pair
    job = running(state, text=f"{FIVE}\n# stage: old double")
    service.update(job, request(text=FIVE, options={"allow_drop": "old"}))
    state.delete_snapshot("hello-world-before-2")
    with pytest.raises(IncompatibleError, match=r"lacks 'old'\. .* The snapshot of that version no longer exists; --state empty"):
        service.go_back(job, 1)
    with pytest.raises(NotFoundError, match="There is no snapshot of version 1 of job 'hello-world' any more"):
        service.go_back(job, 1, start=StateAtStart.SNAPSHOT)
    assert service.go_back(job, 1, start=StateAtStart.EMPTY).report.of(Verdict.NEW) == ("old",)


def test_going_back_drops_what_the_earlier_version_has_not_only_if_it_may(pair):
    service, state = pair
    job = running(state, text=FIVE)
    service.update(job, request(text=f"{FIVE}\n# stage: more double"))
    with pytest.raises(DropError, match="of stage 'more'"):
        service.go_back(job, 1)
    assert service.go_back(job, 1, {"allow_drop": "more"}).report.of(Verdict.DROPPED) == ("more",)


def test_what_cannot_be_gone_back_to_is_told(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(NotFoundError, match="Job 'hello-world' has no version 7: see 'pitstop versions hello-world'"):
        service.go_back(job, 7)
    with pytest.raises(ConflictError, match="Version 1 is what job 'hello-world' has now"):
        service.go_back(job, 1)
    state.update(job, request(text="# again"))
    state.do(job, Cancel())
    with pytest.raises(NotFoundError):
        service.graph(job, 3)


def test_a_version_that_failed_gives_its_number_to_the_next_one(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(Exception, match="No such table"):
        state.update(job, request(text="# fails: No such table."))
    state.wait_for(job, (JobState.RUNNING,), 20)
    state.update(job, SubmitRequest("good.py", b"# good"))
    assert [(kept.number, kept.artifact) for kept in service.versions(job)] == [(2, "good.py"), (1, "job.py")]


def test_a_version_that_an_older_release_has_begun_is_kept_when_the_next_one_comes(pair):
    service, state = pair
    job = running(state)
    with state._database.write() as connection:
        connection.execute(delete(schema.job_versions))
    assert [kept.number for kept in service.versions(job)] == [1]
    state.update(job, SubmitRequest("newer.py", b"# newer"))
    assert [(kept.number, kept.artifact) for kept in service.versions(job)] == [(2, "newer.py"), (1, "job.py")]
    assert service.go_back(job, 1).version == 3
