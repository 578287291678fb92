"""What can be done on the page, by keyboard and by pointer, really happens; what cannot says why."""

import json
import re

import httpx2
import pytest

from pitstop.model.job import JobState
from tests.page.conftest import start, until


@pytest.fixture
def ask(stack):
    """Ask the server directly."""
    token = (stack.data / "token").read_text().strip()
    with httpx2.Client(base_url=f"{stack.url}/api/v1", headers={"Authorization": f"Bearer {token}"}) as client:
        yield lambda path: client.get(path).json()


def test_a_job_is_suspended_and_resumed_by_keyboard(seat, filled):
    job = filled.job("fleet-ingest")
    page = seat().go("/jobs/fleet-ingest")
    page.get_by_role("button", name="Suspend", exact=True, disabled=False).focus()
    page.keyboard.press("Enter")
    until(lambda: job.status is JobState.SUSPENDED)
    page.get_by_text("SUSPENDED").first.wait_for()
    page.get_by_role("button", name="Resume", exact=True, disabled=False).focus()
    page.keyboard.press("Enter")
    until(lambda: job.status is JobState.RUNNING, 120)
    page.get_by_text("RUNNING").first.wait_for()


def test_what_is_not_allowed_now_is_there_and_says_why(seat):
    page = seat().go("/jobs/broken")
    button = page.get_by_role("button", name="Suspend", exact=True)
    button.wait_for()
    assert button.get_attribute("aria-disabled") == "true"
    button.focus()
    page.get_by_role("tooltip").get_by_text(re.compile("Cannot SUSPEND|Cannot suspend")).wait_for()


WATCHING = """
import pitstop as ps


@ps.job
def watching(folder: str):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.files(f"{folder}/*.json", "json", "a int", streaming=True), name="rows")
    rows.write_to(ps.sinks.logger(), name="log")
    return p
"""


def test_a_check_tells_what_is_amiss_with_the_place_that_a_job_reads(seat, tmp_path):
    artifact = tmp_path / "watching.py"
    artifact.write_text(WATCHING)
    page = seat().go("/submit")
    page.locator("input[type=file]").set_input_files(artifact)
    page.get_by_label("Arguments of the job").fill(str(tmp_path / "absent"))
    page.get_by_role("button", name="Check", exact=True).click()
    notice = page.get_by_role("alert").filter(has_text="Look at this first")
    notice.get_by_text(f"{tmp_path}/absent/*.json, and there is no file or folder of that pattern now").wait_for(timeout=60_000)


def test_a_snapshot_is_exported_looked_into_and_deleted(seat, filled):
    page = seat().go("/jobs/fleet-ingest")
    page.get_by_role("button", name="Export snapshot").click()
    page.get_by_label("Name of the snapshot").fill("from-the-page")
    page.keyboard.press("Enter")
    until(lambda: any(snapshot.name == "from-the-page" for snapshot in filled.snapshots()))
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("navigation").get_by_role("link", name="Snapshots").click()
    page.get_by_role("link", name="from-the-page", exact=True).click()
    page.get_by_role("heading", level=1, name=re.compile("from-the-page")).wait_for()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete")).click()
    until(lambda: all(snapshot.name != "from-the-page" for snapshot in filled.snapshots()))


def test_who_edits_an_entry_that_somebody_else_has_written_meanwhile_overwrites_nothing(seat, filled):
    notes = filled.map("notes")
    notes.put("greeting", {"text": "hello"})
    here = seat()
    page = here.go("/maps/notes?key=greeting")
    page.get_by_role("button", name="Edit").click()
    notes.put("greeting", {"text": "somebody else"})
    editor = page.get_by_role("dialog").get_by_role("textbox")
    editor.fill(json.dumps({"text": "mine"}))
    page.get_by_role("button", name=re.compile("Save")).click()
    page.get_by_text(re.compile("meanwhile")).first.wait_for()
    assert notes.get("greeting") == {"text": "somebody else"}
    here.faults[:] = [fault for fault in here.faults if "409" not in fault]


def test_what_one_reader_does_others_see_at_once(seat, filled):
    first, second = seat().go("/maps"), seat().go("/jobs")
    filled.map("just-made").put("a", 1)
    first.get_by_role("link", name="just-made").wait_for(timeout=3000)
    assert second.get_by_role("link", name="fleet-ingest").count() == 1


def test_what_a_picture_shows_is_chosen_once(seat):
    here = seat()
    page = here.go("/maps/vehicles?tab=picture")
    field = page.get_by_role("combobox", name="Colour by").or_(page.get_by_role("textbox", name="Colour by")).first
    field.click()
    page.get_by_role("option").first.click()
    chosen = field.input_value()
    assert chosen
    page.wait_for_url("**colour=*")
    here.go("/maps/vehicles?tab=picture")
    until(lambda: field.input_value() == chosen)
    assert "colour" not in page.url


def test_each_action_can_be_had_as_a_command(browser, seat):
    here = seat(permissions=["clipboard-read", "clipboard-write"])
    page = here.go("/jobs/fleet-ingest")
    page.get_by_role("button", name="Copy Suspend as a command").click()
    page.get_by_role("menuitem", name="Copy as CLI").click()
    assert page.evaluate("navigator.clipboard.readText()") == "pitstop suspend fleet-ingest"


def test_a_viewer_sees_everything_and_may_change_nothing(seat, ask):
    here = seat()
    here.context.route("**/api/v1/me", lambda route: route.fulfill(json={"role": "viewer", "signed_in": True}))
    page = here.go("/jobs/fleet-ingest")
    for name in ("Suspend", "Restart", "Export snapshot", "Update", "Cancel job"):
        assert page.get_by_role("button", name=name, exact=True).get_attribute("aria-disabled") == "true", name
    assert ask("/jobs/fleet-ingest")["status"] == "RUNNING"


def test_a_connection_that_is_lost_is_told_and_heals_itself(seat, stack):
    here = seat()
    page = here.go("/jobs")
    page.get_by_text("Connected").wait_for()
    page.get_by_role("link", name="fleet-ingest").wait_for()
    stack.kill_server()
    page.get_by_text("Connection lost").wait_for()
    assert page.get_by_role("link", name="fleet-ingest").count() == 1, "what was known stays on the screen"
    client = start(stack)
    page.get_by_text("Connected").wait_for(timeout=30_000)
    client.map("after-the-restart").put("a", 1)
    page.get_by_role("navigation").get_by_role("link", name="Maps").click()
    page.get_by_role("link", name="after-the-restart").wait_for()
    client.close()
    here.faults.clear()  # the browser tells of each request that nobody answered
