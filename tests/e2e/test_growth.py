"""What runs leave when they are killed does not pile up."""

import pytest

from tests.e2e.test_kept_state import artifact

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.deep, pytest.mark.timeout(400)]


def test_runs_that_are_killed_leave_one_scratch_folder_to_the_next(tmp_path):
    from stack import Stack, wait_until

    with Stack(tmp_path / "stack", spares=0) as stack:
        client = stack.start_server()
        job = client.submit(artifact(tmp_path, "counting"))
        work = stack.data / "jobs" / job.id / "work"
        for token in (1, 2, 3):
            wait_until(lambda token=token: job.details.token == token and job.status == "RUNNING", 120, f"run {token}")
            assert len(list(work.glob("spark-*"))) == 1
            assert stack.kill_run(job) == token
