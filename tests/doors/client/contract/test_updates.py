"""Comparing versions and changing them, over every service."""

import pytest

from pitstop.errors import (
    ConflictError,
    DropError,
    EngineError,
    IncompatibleError,
    UsageError,
)
from pitstop.model.job import JobState
from pitstop.model.operation import Export, Resume, Suspend
from pitstop.model.report import Verdict
from tests.doors.doors import brought_to, request, running
from tests.doubles.workers import ScriptedWorkers

S = JobState


def test_a_new_version_is_compared_with_a_job_or_a_snapshot(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.do(job, Export("s"))
    fits = service.check(request(text="# stage: speed bigint\n# stage: more double"), job=job)
    assert [(line.stage, line.verdict) for line in fits.report.lines] == [
        ("source", "restored"),
        ("speed", "restored"),
        ("more", "new"),
    ]
    refused = service.check(request(text="# stage: speed double"), snapshot="s")
    assert refused.report.refused is True
    assert refused.text == refused.report.text()
    assert service.check(request()).report is None


def test_a_check_knows_the_stages_that_are_renamed(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    renamed = request(text="# stage: pace bigint", options={"renamed": {"pace": "speed"}})
    assert service.check(renamed, job=job).report.of(Verdict.RESTORED) == ("source", "pace")


def test_a_check_of_a_new_version_takes_the_arguments_and_the_entry_of_the_job(pair, monkeypatch):
    service, state = pair
    job = running(state, text="# stage: speed bigint", args=("a", "b"), entry="m:f")
    compiled, compile_task = [], ScriptedWorkers.compile
    monkeypatch.setattr(ScriptedWorkers, "compile", lambda self, task: compiled.append(task.source) or compile_task(self, task))
    service.check(request(text="# stage: speed bigint"), job=job)
    service.check(request(text="# stage: speed bigint", args=("c",)), job=job)
    service.check(request(text="# stage: speed bigint"))
    assert [(source.args, source.entry) for source in compiled] == [(("a", "b"), "m:f"), (("c",), "m:f"), ((), None)]


TWO, ONE = "# stage: speed bigint\n# stage: old double", "# stage: speed bigint"


def test_an_update_that_drops_state_is_refused_with_the_list_and_the_job_goes_on(pair):
    service, state = pair
    job = running(state, text=TWO)
    checked = service.check(request(text=ONE), job=job).report
    assert (checked.refused, checked.needs_allow_drop, checked.of(Verdict.DROPPED)) == (False, ("old",), ("old",))
    with pytest.raises(DropError, match=r"would drop what job 'hello-world' has saved of stage 'old'\. The job goes on as"):
        service.update(job, request(text=ONE))
    found = service.job(job)
    assert (found.status, found.version, found.token, found.updating) == (S.RUNNING, 1, 1, False)
    assert service.snapshots() == []
    with pytest.raises(DropError, match="this looks like another job"):
        service.update(job, request(text="# source: drops\n# stage: slow string"))


@pytest.mark.parametrize("allowed", [True, ["old"], "old", "true"])
def test_a_drop_is_allowed_for_one_update_and_not_for_the_next_one(pair, allowed):
    service, state = pair
    job = running(state, text=f"{TWO}\n# stage: more double")
    with pytest.raises(DropError, match="of stage 'more'"):
        service.update(job, request(text=TWO, options={"allow_drop": ["old"]}))
    service.update(job, request(text=TWO, options={"allow_drop": ["more"]}))
    assert service.update(job, request(text=ONE, options={"allow_drop": allowed})).report.of(Verdict.DROPPED) == ("old",)
    with pytest.raises(DropError, match="of stage 'speed'"):
        service.update(job, request(text=""))
    with pytest.raises(DropError, match="of stage 'speed'"):
        service.update(job, request(text="", options={"allow_drop": False}))


def test_what_is_not_there_cannot_be_allowed_to_be_dropped(pair):
    service, state = pair
    job = running(state, text=TWO)
    with pytest.raises(UsageError, match="has no stage or source 'odl' that could be dropped"):
        service.update(job, request(text=ONE, options={"allow_drop": "odl"}))


def test_a_suspended_job_is_updated_and_stays_suspended(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    service.do(job, Suspend())
    done = service.update(job, request(text="# stage: speed bigint\n# stage: more double"))
    assert (done.version, done.snapshot, done.gap_seconds) == (2, "hello-world-before-2", None)
    assert (service.job(job).status, service.job(job).version) == (S.SUSPENDED, 2)
    with pytest.raises(IncompatibleError, match="which stays as it is: stage 'speed'"):
        service.update(job, request(text="# stage: speed double"))
    assert service.job(job).updating
    service.do(job, Resume())
    found = service.wait_for(job, (S.RUNNING,), 20)
    assert (found.version, found.updating) == (2, False)


def test_a_running_job_is_updated_and_goes_on_with_the_new_version(pair):
    service, state = pair
    job = running(state, text="# stage: speed bigint")
    done = service.update(job, request(text="# stage: speed bigint\n# stage: more double", initial_snapshot="before"))
    assert (done.version, done.snapshot, done.report.of(Verdict.NEW)) == (2, "before", ("more",))
    assert done.gap_seconds >= 0
    found = service.job(job)
    assert (found.status, found.version, found.updating, found.token) == (S.RUNNING, 2, False, 2)
    assert service.snapshot("before").job_id == job


def test_the_old_version_goes_on_if_the_new_one_does_not_come_up(pair):
    service, state = pair
    job = running(state)
    with pytest.raises(EngineError, match=r"Version 2 of job 'hello-world' failed, so version 1 goes on .*: No such table"):
        service.update(job, request(text="# fails: No such table"))
    found = service.wait_for(job, (S.RUNNING,), 20)
    assert (found.version, "No such table" in found.update_failure) == (1, True)


def test_a_job_that_is_not_there_yet_is_not_updated(pair):
    service, state = pair
    job = brought_to(state, S.STARTING)
    with pytest.raises(ConflictError, match=r"^Cannot UPDATE, job status is STARTING, should be RUNNING or SUSPENDED$"):
        service.update(job, request())
