"""What stands in the lines of a run; it ends by itself, for it knows no such store."""

import json

from pitstop.control.ports.launcher import RunSpec
from pitstop.kit.waiting import wait_until
from pitstop.launchers.runner_processes import RunnerProcesses
from pitstop.model.data_folder import DataFolder


def test_each_line_of_a_run_says_which_member_has_started_it(tmp_path):
    data = DataFolder(tmp_path)
    process = RunnerProcesses(data, "nosuch:///store", facts={"member": "member-2"}).start(RunSpec("id-1", 3))
    process.wait(60)
    log = data.job("id-1").log
    assert wait_until(lambda: log.exists() and "nosuch" in log.read_text(), 60)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {(line["job"], line["run"], line["member"]) for line in lines} == {("id-1", 3, "member-2")}
