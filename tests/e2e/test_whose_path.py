"""A job with relative paths: they are those of whoever submits it, and a missing folder is told until it is there."""

import json

import pytest

from pitstop.client.http import HttpService
from pitstop.model.job import JobState
from pitstop.service.api import SubmitRequest

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

JOB = """
import pitstop as ps

@ps.job
def copied():
    p = ps.Pipeline()
    p.read_from(ps.sources.csv_tail("in", "n int"), name="in").write_to(ps.sinks.files("~/out", format="json"), name="out")
    return p
"""


def written(folder):
    return sorted(json.loads(line)["n"] for file in folder.glob("*.json") for line in file.open())


def test_relative_paths_are_the_submitters_and_from_elsewhere_they_are_refused(stack, tmp_path, monkeypatch):
    from stack import wait_until

    client, work, home = stack.start_server(), tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    (tmp_path / "copied.py").write_text(JOB)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(work)
    checked = client.service.check(SubmitRequest(str(tmp_path / "copied.py")))
    (warning,) = checked.warnings
    assert warning.endswith(f"waits for folder {work / 'in'}, which is not there now.")
    assert checked.text.endswith(f"Warning: {warning}")

    job = client.submit(tmp_path / "copied.py", name="copied")
    job.wait_started()
    monkeypatch.chdir(tmp_path)
    wait_until(lambda: job.details.progress.waits_for == {"in": str(work / "in")}, 200, "the missing folder is told")
    assert job.status is JobState.RUNNING
    (work / "in").mkdir()
    (work / "in" / "a.csv").write_text("1\n")
    wait_until(lambda: written(home / "out") == [1], 100, "the row is in the submitter's home")
    wait_until(lambda: job.details.progress.waits_for == {}, 100, "the folder is there")
    job.restart()
    (work / "in" / "a.csv").open("a").write("2\n")
    wait_until(lambda: written(home / "out") == [1, 2], 200, "its next run reads the same folder")

    report = client.service.check(SubmitRequest(str(tmp_path / "copied.py")), job="copied").report
    (line,) = [line.detail for line in report.lines if line.stage == "in"]
    assert f"in the folder {tmp_path / 'in'} and no longer in the folder {work / 'in'}" in line
    job.cancel()

    elsewhere = HttpService(stack.url, (stack.data / "token").read_text().strip(), "kubernetes")
    refused = elsewhere.submit(SubmitRequest(str(tmp_path / "copied.py"), name="refused")).id
    failed = elsewhere.wait_for(refused, (JobState.FAILED, JobState.RUNNING), 200)
    assert failed.status is JobState.FAILED
    assert "Source 'in' (copied.py:7) has the path 'in', which counts from the folder of whoever submits it" in failed.failure
    elsewhere.close()
