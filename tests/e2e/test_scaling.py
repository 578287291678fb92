"""Jobs follow the members of a cluster, or do not, as their options say: the three rows of S004's table."""

import pytest

from pitstop.launchers.processes import handle_in, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from tests.e2e.counting import COUNTING, assert_exact, lines_of

SECONDS = 400
pytestmark = [pytest.mark.e2e, pytest.mark.members, pytest.mark.timeout(900)]


def partitions_of(job, data):
    checkpoint = data.job(job.id).checkpoint(job.details.lineage)
    return sorted(int(path.name) for path in (checkpoint / "state" / "0").iterdir() if path.name.isdigit())


def members_of(job):
    placement = job.details.placement
    return len(placement.members) if placement is not None else 0


def test_jobs_follow_the_members_or_end_with_them(stack, tmp_path):
    from stack import wait_until

    client, data = stack.start_server(members=2, options=("--scale-up-delay", "3")), DataFolder(stack.data)
    (tmp_path / "counting.py").write_text(COUNTING)

    def submit(name, **options):
        return client.submit(tmp_path / "counting.py", args=[str(tmp_path / name)], name=name, config=options)

    following = submit("following", processing_guarantee="exactly_once")
    staying = submit("staying", processing_guarantee="exactly_once", auto_scaling="false")
    for job in (following, staying):
        job.wait_started(SECONDS)
    assert [members_of(job) for job in (following, staying)] == [2, 2]
    assert partitions_of(following, data) == [0, 1]

    assert client.service.add_member() == "member-3"
    wait_until(lambda: members_of(following) == 3, SECONDS, "the job is rescaled for three members")
    assert (following.status, following.details.version) == (JobState.RUNNING, 1)
    assert partitions_of(following, data) == [0, 1, 2]
    assert client.snapshots() == []
    assert members_of(staying) == 2
    wait_until(lambda: len(lines_of(tmp_path / "following")) > 500, SECONDS, "it goes on there")

    folder = data.member("member-1")
    for handle in (handle_in(folder.process), handle_in(folder.daemon)):
        kill_all(handle)
    wait_until(lambda: staying.status is JobState.SUSPENDED, SECONDS, "a job that stays on its members is suspended without one")
    assert "auto_scaling is off" in staying.details.suspension_cause
    before = len(lines_of(tmp_path / "following"))
    wait_until(lambda: len(lines_of(tmp_path / "following")) > before + 200, SECONDS, "the job that follows goes on")

    client.service.remove_member("member-3")
    wait_until(lambda: members_of(following) == 2, SECONDS, "the job is rescaled for those that stay")
    assert partitions_of(following, data) == [0, 1]
    staying.resume()
    staying.wait_started(SECONDS)
    for job, folder in ((following, "following"), (staying, "staying")):
        seen = len(lines_of(tmp_path / folder))
        wait_until(lambda at=folder, seen=seen: len(lines_of(tmp_path / at)) > seen + 200, SECONDS, "it goes on")
        job.suspend()
        assert_exact(tmp_path / folder)
