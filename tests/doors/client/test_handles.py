"""What a Python user holds."""

import subprocess
import sys

import pytest

import pitstop
from pitstop.client import connect
from pitstop.client.job_handle import JobHandle
from pitstop.errors import EngineError, UsageError
from pitstop.model.job import JobState
from tests.doors.doors import request, running, serving


@pytest.fixture
def client(state):
    with serving(state, "the-token") as url, connect(url, "the-token") as client:
        yield client


def artifact(folder, text=""):
    path = folder / "hello.py"
    path.write_text(text)
    return path


def test_connect_is_in_the_package_and_loads_no_http_before_it_is_used():
    assert pitstop.connect is connect
    code = "import pitstop, sys; print([m for m in ('httpx2', 'fastapi', 'pyspark', 'typer') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        pitstop.nosuch  # noqa: B018


def test_the_doors_load_no_spark():
    code = (
        "import pitstop.rest.app, pitstop.client, pitstop.main.app, sys; "
        "print([m for m in ('pyspark', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_address_and_token_come_from_the_environment(state, monkeypatch):
    running(state)
    with serving(state, "the-token") as url:
        monkeypatch.setenv("PITSTOP_URL", url)
        monkeypatch.setenv("PITSTOP_TOKEN", "the-token")
        assert [job.name for job in connect().jobs()] == ["hello-world"]


def test_a_job_is_submitted_watched_and_ended(client, state, tmp_path):
    job = client.submit(artifact(tmp_path), args=["a"], name="hello-world", config={"partitions": 2, "suspend_on_failure": None})
    assert job.wait_started(5) is JobState.RUNNING
    assert (job.details.source.args, job.details.options) == (("a",), {"partitions": 2})
    assert client.job("hello-world").id == job.id
    job.suspend()
    assert job.status is JobState.SUSPENDED
    job.resume()
    job.wait_started(5)
    job.restart()
    job.wait_started(5)
    assert job.export_snapshot("s1").name == "s1"
    job.cancel_and_export_snapshot("s2")
    assert job.join(5) is JobState.FAILED
    assert (client.jobs(), [j.id for j in client.jobs(include_ended=True)]) == ([], [job.id])
    again = client.submit(artifact(tmp_path), initial_snapshot="s2")
    assert (again.name, again.details.config.initial_snapshot) == ("hello", "s2")
    client.delete_snapshot("s1")
    assert [record.name for record in client.snapshots()] == ["s2"]
    again.cancel()
    assert again.metrics().epoch == -1


def test_a_failure_is_raised_with_its_sentence_and_trace(client, tmp_path):
    job = client.submit(artifact(tmp_path, "# fails: No such column: vin"))
    for wait in (job.wait_started, job.join):
        with pytest.raises(EngineError, match=r"^No such column: vin$") as failed:
            wait(5)
        assert failed.value.details["trace"].startswith("Traceback")


def test_a_job_suspended_by_its_failure_has_not_started(client, tmp_path):
    job = client.submit(artifact(tmp_path, "# fails: No such column: vin"), config={"suspend_on_failure": True})
    with pytest.raises(EngineError, match=r"^Job 'hello' is suspended: No such column: vin$"):
        job.wait_started(5)


def test_a_job_that_completes_has_a_result(client, tmp_path):
    assert client.submit(artifact(tmp_path, "# completes")).join(5) is JobState.COMPLETED


def test_the_whole_log_is_read_page_by_page(client, state):
    job = state.submit(request("x")).id
    state.write_log(job, "".join(f"line {i}\n" for i in range(25_001)))
    lines = client.job("x").logs()
    assert (len(lines), lines[0], lines[-1]) == (25_001, "line 0", "line 25000")


def test_log_levels_are_set_by_handles(client, state):
    job = JobHandle(client.service, state.submit(request("x")).id)
    client.set_log_level("root", "error")
    job.set_log_level("pitstop.source.http_poll", "debug")
    assert [(at.logger, at.level) for at in client.log_levels()] == [("pitstop", "INFO"), ("root", "ERROR")]
    levels = {at.logger: at.level for at in job.log_levels()}
    assert levels == {"pitstop": "INFO", "pitstop.source.http_poll": "DEBUG", "root": "ERROR"}
    client.set_log_level("root", None)
    assert {at.logger: at.level for at in client.log_levels()} == {"pitstop": "INFO", "root": "WARN"}


def test_a_map_keeps_any_json(client):
    cars = client.map("cars")
    cars.put("a", {"x": [1, None, "ä"]})
    cars.put_all({f"k{i:04}": i for i in range(1500)})
    assert (cars.get("a"), cars.get("nosuch"), cars.size()) == ({"x": [1, None, "ä"]}, None, 1501)
    assert list(cars.entries("k").values()) == list(range(1500))
    assert (cars.delete("a"), cars.delete("a")) == (True, False)
    cars.configure(journal_capacity=1)
    journal = cars.journal(after=0)
    assert [(event.kind, event.key) for event in journal.events] == [("REMOVED", "a")]
    assert journal.lost == journal.newest - 1


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_a_value_that_is_no_json_is_refused_and_nothing_is_written(client, value):
    with pytest.raises(UsageError, match=r"^The value of 'b' for map 'cars' is no JSON: "):
        client.map("cars").put_all({"a": 1, "b": value})
    assert client.map("cars").size() == 0
