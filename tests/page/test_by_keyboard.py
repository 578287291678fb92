"""Each action of the page is done by somebody who has a keyboard and no pointer."""

import re

import pytest

from pitstop.client import HttpService
from pitstop.model.job import JobState
from tests.page.conftest import Seat, until
from tests.page.keyboard import Keyboard

pytestmark = [pytest.mark.deep, pytest.mark.story]
LATEST = """
import pitstop as ps

@ps.job()
def latest(folder: str) -> ps.Pipeline:
    p = ps.Pipeline()
    p.read_from(ps.sources.csv_tail(folder, schema="vin string, speed double"), name="cars").write_to(
        ps.sinks.map("latest", key="vin"), name="latest"
    )
    return p
"""


@pytest.fixture(scope="module")
def cars(tmp_path_factory):
    """A folder of events, and a job that reads it in two versions."""
    folder = tmp_path_factory.mktemp("cars")
    (folder / "cars").mkdir()
    (folder / "cars" / "1.csv").write_text("alpha,40\nbeta,50\n")
    (folder / "latest.py").write_text(LATEST)
    (folder / "latest_v2.py").write_text(f"{LATEST}\n# Version 2.\n")
    return folder


@pytest.fixture
def at(seat):
    """Goes to an address, and gives its keyboard."""
    return lambda path: Keyboard(seat().go(path))


def test_a_job_is_submitted(at, filled, cars):
    keys = at("/submit")
    keys.pick_file(cars / "latest.py")
    keys.write("Name", "by-keyboard")
    keys.write("Arguments of the job", str(cars / "cars"))
    keys.press("Submit")
    keys.page.get_by_role("heading", level=1, name="by-keyboard").wait_for(timeout=60_000)
    filled.job("by-keyboard").wait_started()
    until(lambda: filled.map("latest").size() == 2)


def test_a_job_is_restarted(at, filled):
    job = filled.job("by-keyboard")
    before = job.details.token
    keys = at("/jobs/by-keyboard")
    keys.press("Restart")
    keys.confirm("Restart job")
    until(lambda: job.details.token > before and job.status is JobState.RUNNING, 120)


def test_a_snapshot_is_exported_and_deleted(at, filled):
    keys = at("/jobs/by-keyboard")
    keys.press("Export snapshot")
    keys.write("Name of the snapshot", "typed")
    keys.page.keyboard.press("Enter")
    until(lambda: any(snapshot.name == "typed" for snapshot in filled.snapshots()))
    keys = at("/snapshots/typed")
    keys.press("Delete")
    keys.confirm("Delete the snapshot")
    until(lambda: all(snapshot.name != "typed" for snapshot in filled.snapshots()))


def test_a_job_is_updated_goes_back_to_a_version_and_is_rolled_back(at, filled, cars):
    job = filled.job("by-keyboard")
    is_up = lambda version: job.details.version == version and job.status is JobState.RUNNING  # noqa: E731
    keys = at("/jobs/by-keyboard/update")
    keys.pick_file(cars / "latest_v2.py")
    keys.press("Check")
    keys.page.get_by_role("region", name="What becomes of the state").wait_for(timeout=60_000)
    keys.press("Update to version 2")
    keys.page.get_by_text(re.compile("Version 2 runs")).first.wait_for(timeout=120_000)
    assert is_up(2)
    keys = at("/jobs/by-keyboard")
    keys.open_tab("Versions")
    keys.press("Go back to this version: 1")
    keys.write("Watch it for so many seconds", "600")
    keys.confirm("Go back to version 1")
    until(lambda: is_up(3), 120)
    keys.page.keyboard.press("Escape")
    keys.page.get_by_role("dialog").wait_for(state="detached")
    keys.press("Roll back")
    keys.confirm("Roll back")
    until(lambda: is_up(2), 120)


def test_a_suspended_job_gets_another_option(at, filled):
    job = filled.job("by-keyboard")
    keys = at("/jobs/by-keyboard")
    keys.press("Suspend")
    until(lambda: job.status is JobState.SUSPENDED)
    keys.open_tab("Configuration")
    keys.press("Configure")
    keys.choose("Option", "snapshot_interval")
    keys.write("Value", "7s")
    keys.confirm("Change options")
    until(lambda: job.details.config.snapshot_interval_ms == 7000)


def test_a_job_is_cancelled_and_its_state_discarded(at, filled, stack):
    job = filled.job("by-keyboard")
    keys = at(f"/jobs/{job.id}")
    keys.press("Cancel job")
    keys.confirm("Cancel job")
    keeps = lambda: any(kept.id == job.id for kept in HttpService(stack.url).kept_states())  # noqa: E731
    until(keeps)
    keys.press("Discard state")
    keys.confirm("Discard state")
    until(lambda: not keeps())


def test_a_map_is_made_and_configured(at, filled, stack):
    keys = at("/maps")
    keys.press("Make a map")
    keys.write("Name", "typed")
    keys.write("Journal capacity", "100")
    keys.confirm("Make map")
    facts = lambda: next((each for each in HttpService(stack.url).maps() if each.name == "typed"), None)  # noqa: E731
    assert until(facts).journal_capacity == 100
    keys = at("/maps/typed")
    keys.press("Configure")
    keys.write("Time to live, in seconds", "3600")
    keys.confirm("Configure map")
    until(lambda: facts().ttl_seconds == 3600)


def test_an_entry_is_added_edited_and_deleted(at, filled):
    notes = filled.map("typed")
    keys = at("/maps/typed")
    keys.press("Add an entry")
    keys.write("Key", "greeting")
    keys.write("Value", '{"text": "hello"}')
    keys.confirm("Add entry")
    until(lambda: notes.get("greeting") == {"text": "hello"})
    keys.press("Edit")
    keys.reach(keys.page.get_by_role("dialog").get_by_role("textbox"))
    keys.page.keyboard.press("Control+a")
    keys.page.keyboard.insert_text('{"text": "hello again"}')
    keys.confirm("Save value")
    until(lambda: notes.get("greeting") == {"text": "hello again"})
    keys.confirm("Delete")
    keys.press("Delete entry")
    until(lambda: notes.size() == 0)


def test_a_logger_tells_more(at, filled):
    keys = at("/cluster")
    keys.open_tab("Logging")
    keys.write("Logger", "pitstop.source.http_poll")
    keys.press("Set level")
    until(lambda: any(each.logger == "pitstop.source.http_poll" for each in filled.log_levels()))
    filled.set_log_level("pitstop.source.http_poll", None)


def test_a_cluster_gets_a_member_loses_one_and_is_shut_down(browser, tmp_path):
    from stack import Stack

    with Stack(tmp_path, spares=0) as stack:
        client = stack.start_server(members=1)
        members = lambda: [each for each in HttpService(stack.url).server_info().members if each.state == "ACTIVE"]  # noqa: E731
        here = Seat(browser, stack.url, HttpService(stack.url).sign_in_link())
        here.page.get_by_role("heading", level=1).wait_for()
        keys = Keyboard(here.go("/cluster"))
        keys.press("Add a member")
        until(lambda: len(members()) == 2, 60)
        keys.press("Remove member member-1")
        keys.confirm("Remove member")
        until(lambda: [each.name for each in members()] == ["member-2"], 60)
        client.close()
        keys.press("Shut down…")
        keys.write('Type "shut down" to go on', "shut down")
        keys.confirm("Shut down the cluster")
        keys.page.get_by_text("Clean ✔").wait_for(timeout=60_000)
        assert stack.ended_by_itself("server", 60) == 0
        here.context.close()
