"""Updating a job with real processes: refused, rolled back, done, or while suspended; each ping arrives once through it all."""

import pytest

from pitstop.errors import EngineError, IncompatibleError
from pitstop.model.job import JobState
from tests.e2e.test_fleet import log_texts, verdict_at_end

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(600)]

BROKEN = """

class Broken:
    def write(self, rows, info):
        raise RuntimeError("no such table")


@ps.job(processing_guarantee="exactly_once")
def broken(alpha_dir, beta_url, archive):
    p = ingest(alpha_dir, beta_url, archive)
    p.read_from(ps.sources.rate(5), name="more").write_to(ps.sinks.custom(Broken()), name="broken")
    return p
"""


def test_an_update_is_refused_or_rolled_back_or_done_and_no_ping_is_lost(stack, tmp_path):
    from stack import HERE, wait_until

    client = stack.start_server()
    stack.start_simulators()
    job = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="ingest")
    job.wait_started()
    wait_until(lambda: client.map("vehicles").size() == 60, 120, "60 vehicles")
    code = (HERE / "ingest.py").read_text()
    refused = tmp_path / "refused.py"
    refused.write_text(code.replace('ps.sinks.map("vehicles", key="vin")', "ps.sinks.noop()"))
    token = job.details.token
    with pytest.raises(IncompatibleError, match=r"stage 'vehicles' was a sink map and is now a sink noop.*C24"):
        job.update(refused)
    assert (job.status, job.details.token, job.details.version) == (JobState.RUNNING, token, 1)
    broken = tmp_path / "broken.py"
    broken.write_text(code + BROKEN)
    with pytest.raises(EngineError, match=r"Version 2 of job 'ingest' failed, so version 1 goes on .*no such table"):
        job.update(broken, entry="broken")
    wait_until(lambda: job.status is JobState.RUNNING, 120, "the old version")
    assert (job.details.version, "no such table" in job.details.update_failure) == (1, True)
    done = job.update(HERE / "ingest_v2.py")
    assert (done.version, done.report.refused) == (2, False)
    print(f"gap of the update: {done.gap_seconds} s")
    verdict, _ = verdict_at_end(stack, job)
    assert (verdict.missed, verdict.doubled) == (0, 0)
    assert log_texts(job, "saving")


@pytest.mark.deep
def test_a_suspended_job_is_updated_and_its_new_version_is_proved_by_the_next_resume(stack, tmp_path):
    from stack import HERE, wait_until

    client = stack.start_server()
    stack.start_simulators()
    job = client.submit(HERE / "ingest.py", args=stack.job_arguments, name="ingest")
    job.wait_started()
    wait_until(lambda: client.map("vehicles").size() == 60, 120, "60 vehicles")
    job.suspend()
    broken = tmp_path / "broken.py"
    broken.write_text((HERE / "ingest.py").read_text() + BROKEN)
    done = job.update(broken, entry="broken")
    assert (done.version, done.gap_seconds, job.status) == (2, None, JobState.SUSPENDED)
    job.resume()
    wait_until(lambda: job.status is JobState.RUNNING and job.details.version == 1, 180, "the old version")
    assert "no such table" in job.details.update_failure
    job.suspend()
    done = job.update(HERE / "ingest_v2.py", entry="ingest")
    assert (done.version, job.status) == (2, JobState.SUSPENDED)
    job.resume()
    wait_until(lambda: job.status is JobState.RUNNING, 120, "the new version")
    assert (job.details.version, job.details.updating) == (2, False)
    verdict, _ = verdict_at_end(stack, job)
    assert (verdict.missed, verdict.doubled) == (0, 0)
    assert log_texts(job, "saving")
