"""Members run the drivers of jobs: what a lost machine takes with it starts again on another one."""

import json

import pytest

from pitstop.control.ports.assignments import AssignmentState
from pitstop.launchers.processes import find, handle_in, kill_all
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import JobState
from pitstop.store.assignments import SqlAssignments
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from tests.e2e.counting import COUNTING, assert_exact, lines_of

SECONDS = 400
pytestmark = [pytest.mark.e2e, pytest.mark.members, pytest.mark.timeout(900)]


def test_a_machine_that_is_lost_with_driver_and_executors_costs_no_row(stack, tmp_path):
    from stack import wait_until

    client, data = stack.start_server(members=2, options=("--runners-on-members", "--spares", "0")), DataFolder(stack.data)
    database = open_database(sqlite_url(data.store))
    registry, assignments = SqlRegistry(database), SqlAssignments(database)
    (tmp_path / "counting.py").write_text(COUNTING)
    job = client.submit(tmp_path / "counting.py", args=[str(tmp_path / "out")], name="counting")
    job.wait_started(SECONDS)
    wait_until(lambda: len(lines_of(tmp_path / "out")) > 200, SECONDS, "the job writes")
    token = registry.get_job(job.id).token
    lost, state = assignments.of_run(job.id, token)
    assert state is AssignmentState.BEGUN
    name = next(member.name for member in client.service.server_info().members if member.uuid == lost)
    told = [json.loads(line) for line in data.member(name).member_log.open()]
    assert all({"time", "level", "logger", "msg", "member"} <= line.keys() for line in told)
    assert [line["command"] for line in told if line["msg"] == "started"] == ["run"], "the member started it, not the server"

    driver, folder = registry.handle_of(job.id, token), data.member(name)
    for handle in (handle_in(folder.process), handle_in(folder.daemon), driver):
        kill_all(handle)
    seen = len(lines_of(tmp_path / "out"))
    wait_until(lambda: len(lines_of(tmp_path / "out")) > seen + 200, SECONDS, "it goes on")
    job.wait_started(SECONDS)
    again = registry.get_job(job.id).token
    assert again > token
    assert assignments.of_run(job.id, again)[1] is AssignmentState.BEGUN
    driver = registry.handle_of(job.id, again)
    job.suspend()
    assert job.status is JobState.SUSPENDED
    wait_until(lambda: find(driver) is None, SECONDS, "the driver has ended")
    assert_exact(tmp_path / "out")
    database.close()
