"""The service of these tests ends all that it has begun, so that nothing writes into its folder afterwards."""

import threading

from pitstop.model.job import JobState
from pitstop.service.api import SubmitRequest
from tests.doubles.service import ScriptedService

JOBS = 8
ROUNDS = 5
SECONDS = 30


def runs():
    return {each for each in threading.enumerate() if each.name.startswith("run-")}


def test_runs_that_begin_at_the_same_time_all_end_with_the_service(tmp_path):
    before = runs()
    for number in range(ROUNDS):
        (tmp_path / str(number)).mkdir()
        service = ScriptedService(tmp_path / str(number))
        jobs = [service.submit(SubmitRequest("job.py", b"", name=f"job-{each}")).id for each in range(JOBS)]
        for job in jobs:
            service.wait_for(job, (JobState.RUNNING,), SECONDS)
        assert len(runs() - before) == JOBS
        service.close()
        assert runs() - before == set()
