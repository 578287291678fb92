"""Much of everything, fifteen hundred maps and ten thousand jobs, and how one finds something in it. Needs no Spark."""

import json
import re
import threading

import pytest
from sqlalchemy import insert

from pitstop.client import HttpService
from pitstop.kit.jsonable import to_json
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, JobSource, JobState, Progress, Version
from pitstop.store import schema
from pitstop.store.database import open_database, sqlite_url
from tests.page.conftest import Seat, until

MAPS, JOBS, MOVING = 1_500, 10_000, 200
ROWS = "[role=row][data-place]"
DRAWN_AT_MOST = 60
"""Rows in the document: those that a window of 900 pixels shows, and some beyond them."""
TELL = """async () => {
  window.told = 0;
  const headers = { "Pitstop-Session-Key": localStorage.getItem("pitstop-session-key") };
  const answer = await fetch("/api/v1/events?kind=progress", { headers });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const read = ({ value, done }) => {
    if (done) return;
    window.told += value.split("event: progress").length - 1;
    reader.read().then(read);
  };
  reader.read().then(read);
}"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    """A server with so many jobs, which are suspended, and so many maps."""
    from stack import Stack

    with Stack(tmp_path_factory.mktemp("large")) as made:
        made.start_server()
        database = open_database(sqlite_url(made.data / "pitstop.db"))
        version = Version(1, JobSource("/srv/artifacts/" + "0" * 64 + "/job.py", "job:counts"), {}, JobConfig())
        with database.write() as connection:
            connection.execute(insert(schema.jobs), [_row(number, version) for number in range(JOBS)])
            connection.execute(insert(schema.maps), [_map(number) for number in range(MAPS)])
        database.close()
        yield made


def _id(number):
    return f"0401-9f77-b9c0-{number:04x}"


def _row(number, version):
    job = Job(_id(number), f"job-{number:05}", float(number), version, JobState.SUSPENDED, suspension_cause="Requested by user")
    facts = {"id": job.id, "name": job.name, "active": job.active, "token": job.token, "body": to_json(job)}
    return facts | {"submission_time": job.submission_time, "withdrawable": job.withdrawable}


def _map(number):
    settings = {"journal_capacity": 10_000, "ttl_seconds": None, "newest": 0, "stored": 0}
    return {"name": f"map-{number:04}", "incarnation": f"{number:032x}"} | settings


@pytest.fixture(scope="module")
def signed_in(browser, stack):
    seat = Seat(browser, stack.url, HttpService(stack.url).sign_in_link())
    seat.page.get_by_role("heading", level=1).wait_for()
    yield seat.context.storage_state()
    seat.context.close()


@pytest.fixture
def client(stack):
    from pitstop.client import connect

    with connect(stack.url) as made:
        yield made


@pytest.fixture
def progress(stack):
    """Jobs get on as long as the test runs: their progress is written as runs write it."""
    over, database = threading.Event(), open_database(sqlite_url(stack.data / "pitstop.db"))

    def write():
        epoch = 0
        while not over.wait(0.5):
            epoch += 1
            with database.write() as connection:
                for number in range(JOBS - MOVING, JOBS):
                    body = to_json(Progress(epoch=epoch, input_rows=epoch * 10, rows_per_second=20.0))
                    values = {"job_id": _id(number), "body": body}
                    connection.execute(database.dialect.upsert(schema.job_progress, ("job_id",), values))

    writer = threading.Thread(target=write)
    writer.start()
    yield
    over.set()
    writer.join()
    database.close()


def test_of_ten_thousand_jobs_few_are_drawn_and_any_is_found_while_they_get_on(seat, progress):
    page = seat().go("/jobs")
    page.get_by_role("link", name="job-09999").wait_for(timeout=60_000)
    assert page.get_by_text("10000 jobs", exact=True).count() == 1
    page.evaluate(TELL)
    page.wait_for_function(f"() => window.told >= {MOVING}", timeout=60_000)
    assert page.locator(ROWS).count() <= DRAWN_AT_MOST
    page.locator(ROWS).first.focus()
    page.keyboard.press("End")
    page.get_by_role("link", name="job-00000").wait_for()
    assert page.locator(ROWS).count() <= DRAWN_AT_MOST
    told = page.evaluate("window.told")
    page.wait_for_function(f"() => window.told >= {told + MOVING}", timeout=60_000)
    assert page.get_by_role("link", name="job-00000").is_visible(), "what comes in moves nobody from where they read"
    page.get_by_label("Name or id").fill("job-04321")
    page.get_by_role("link", name="job-04321").wait_for()
    until(lambda: page.locator(ROWS).count() == 1)
    page.get_by_text("1 of 10000 jobs", exact=True).wait_for()


def test_a_filter_of_jobs_is_saved_chosen_again_in_another_window_and_forgotten(seat):
    here = seat()
    page = here.go("/jobs?name=job-0432&status=SUSPENDED&sort=name")
    page.get_by_role("button", name="Saved filters").click()
    page.get_by_role("menuitem", name=re.compile("^Save what is shown")).click()
    page.get_by_label("Title").fill("the lab's")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for(state="detached")
    other = here.context.new_page()
    other.goto(here.url + "/jobs")
    other.get_by_role("button", name="Saved filters").click()
    other.get_by_role("menuitem", name="the lab's", exact=True).click()
    other.wait_for_url("**/jobs?name=job-0432&status=SUSPENDED&sort=name")
    other.get_by_role("link", name="job-04329").wait_for()
    assert other.locator(ROWS).count() == 10
    other.get_by_role("button", name="Saved filters").click()
    other.get_by_role("menuitem", name="Forget “the lab's”").click()
    page.reload()
    page.get_by_role("button", name="Saved filters").click()
    page.get_by_role("menuitem", name=re.compile("^Save what is shown")).wait_for()
    assert page.get_by_role("menuitem", name="the lab's", exact=True).count() == 0


def test_fifteen_hundred_maps_are_listed_at_once_and_the_last_one_is_found(seat):
    page = seat().go("/maps")
    page.get_by_role("link", name="map-0000").wait_for()
    assert page.locator(ROWS).count() <= DRAWN_AT_MOST, "only what is seen is drawn"
    page.locator(ROWS).first.focus()
    page.keyboard.press("End")
    page.get_by_role("link", name="map-1499").wait_for()
    page.get_by_label("Name").first.fill("map-0777")
    page.get_by_role("link", name="map-0777").wait_for()
    page.get_by_text("1 of 1,500 maps").wait_for()


def test_entries_are_searched_by_a_field_on_the_server_which_says_when_it_has_stopped(seat, client):
    client.map("cars").put_all({f"car-{number:05}": {"speed": number, "owner": "ann"} for number in range(10_500)})
    page = seat().go("/maps/cars")
    page.get_by_label("Value").fill("speed >= 10499")
    page.keyboard.press("Enter")
    page.get_by_text(re.compile("^0 found among .* entries: stopped at car-.*, there may be more$")).wait_for()
    # A server that is busy looks at fewer entries at once.
    further = page.get_by_role("button", name="Look further")
    for _ in range(100):
        if page.get_by_role("link", name="car-10499").count():
            break
        stopped = page.get_by_role("status").filter(has_text="stopped at").inner_text()
        further.click()
        page.get_by_text(stopped, exact=True).wait_for(state="detached")
    page.get_by_role("link", name="car-10499").wait_for()
    page.get_by_text(re.compile("^1 found among .* more entries, to the end$")).wait_for()
    assert "where=speed" in page.url


def test_of_an_entry_that_was_removed_the_event_can_be_copied_as_it_was(seat, client):
    client.map("gone").put("a", {"id": 9007199254740993})
    client.map("gone").delete("a")
    page = seat(permissions=["clipboard-read", "clipboard-write"]).go("/maps/gone?tab=journal")
    row = page.get_by_role("row").filter(has_text="REMOVED")
    row.get_by_role("button", name="2", exact=True).click()
    dialog = page.get_by_role("dialog", name="Event 2")
    clipboard = "navigator.clipboard.readText()"
    dialog.get_by_role("button", name="Copy event").click()
    until(lambda: page.evaluate(clipboard).startswith("{"))
    event = json.loads(page.evaluate(clipboard))
    assert (event["sequence"], event["kind"], event["key"]) == (2, "REMOVED", "a")
    assert (event["old_value"], event["new_value"]) == ({"id": 9007199254740993}, None)
    dialog.get_by_role("button", name="Copy key").click()
    until(lambda: page.evaluate(clipboard) == "a")
    dialog.get_by_role("button", name="Copy reading this event as a command").click()
    page.get_by_role("menuitem", name="Copy as CLI").click()
    until(lambda: page.evaluate(clipboard) == "pitstop map journal --after 1 --limit 1 gone")
