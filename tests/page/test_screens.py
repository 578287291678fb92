"""Every screen: readable for everybody, in every size, without an error."""

import re

import pytest

from pitstop.model.job import JobState
from tests.page.conftest import at_rest

SCREENS = {
    "overview": "/",
    "jobs": "/jobs",
    "some jobs": "/jobs?name=fleet&status=RUNNING,FAILED&sort=-submitted",
    "submit": "/submit",
    "submit from a snapshot": "/submit?snapshot=monday",
    "job": "/jobs/fleet-ingest",
    "job's snapshots": "/jobs/fleet-ingest?tab=snapshots",
    "job's versions": "/jobs/fleet-ingest?tab=versions",
    "job's configuration": "/jobs/fleet-ingest?tab=configuration",
    "job's log": "/jobs/fleet-ingest?tab=log",
    "job's tasks": "/jobs/fleet-ingest?tab=tasks",
    "job's events": "/jobs/fleet-ingest?tab=events",
    "failed job": "/jobs/broken",
    "update": "/jobs/fleet-ingest/update",
    "snapshots": "/snapshots",
    "snapshot": "/snapshots/monday",
    "maps": "/maps",
    "map": "/maps/vehicles",
    "map's journal": "/maps/vehicles?tab=journal",
    "moving picture": "/maps/vehicles?tab=picture",
    "sql": "/sql",
    "sql with statements": "/sql?q=SELECT+__key%2C+42+FROM+cars+--+%27all%27%0AWHERE+owner+%3D+%27ann%27",
    "cluster": "/cluster",
    "audit": "/cluster?tab=audit",
    "logging": "/cluster?tab=logging",
    "settings": "/cluster?tab=settings",
    "kept states": "/cluster?tab=kept",
    "health": "/cluster?tab=health",
}
every_screen = pytest.mark.parametrize("path", SCREENS.values(), ids=SCREENS)


@pytest.mark.deep
@every_screen
def test_a_screen_is_accessible_in_light_and_dark(seat, path):
    here = seat()
    page = here.go(path)
    page.locator("[role=status][aria-label=Loading]").first.wait_for(state="detached")
    assert page.locator("h1").count() == 1
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"[data-mantine-color-scheme={scheme}]").wait_for()
        at_rest(page)
        assert here.violations() == [], scheme


SHIFTS = """() => {
  window.shifted = [];
  const note = shift => shift.hadRecentInput || window.shifted.push(
    [shift.value, shift.sources.map(each => each.node?.outerHTML?.slice(0, 120) ?? "")]);
  new PerformanceObserver(list => list.getEntries().forEach(note)).observe({ type: "layout-shift", buffered: true });
}"""
MOST_SHIFTED = 0.1
"""Of the window, all moves together: what is good by Web Vitals (CLS)."""


@pytest.mark.deep
@every_screen
def test_a_screen_does_not_jump_while_what_it_shows_comes_in(seat, path):
    here = seat()
    here.context.add_init_script(f"({SHIFTS})()")
    page = here.go(path)
    page.get_by_text("Connected").first.wait_for()
    page.locator("[role=status][aria-label=Loading]").first.wait_for(state="detached")
    at_rest(page)
    shifted = page.evaluate("window.shifted")
    assert sum(value for value, _ in shifted) < MOST_SHIFTED, shifted


@every_screen
def test_a_screen_fits_small_and_large_windows(seat, path):
    page = seat(viewport={"width": 390, "height": 844}).go(path)
    page.locator("[role=status][aria-label=Loading]").first.wait_for(state="detached")
    for width in (390, 2560):
        page.set_viewport_size({"width": width, "height": 844})
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, f"the page scrolls sideways, {width} pixels wide"


def test_every_place_is_a_link_of_the_menu_and_of_the_palette(seat):
    page = seat().go("/")
    for place in ("Jobs", "Snapshots", "Maps", "SQL", "Cluster", "Overview"):
        page.get_by_role("navigation").get_by_role("link", name=place).click()
        page.get_by_role("heading", level=1, name=place).wait_for()
    page.keyboard.press("Control+k")
    page.get_by_placeholder("A job, a snapshot, a map, a place…").fill("fleet-ingest")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="fleet-ingest").wait_for()


def test_the_palette_does_what_a_job_allows_and_says_why_not_otherwise(seat):
    page = seat().go("/maps")
    page.get_by_role("navigation").get_by_role("link", name="Jobs").wait_for()
    page.keyboard.press("Control+k")
    field = page.get_by_placeholder("A job, a snapshot, a map, a place…")
    field.fill("resume fleet-ingest")
    refused = page.get_by_role("button", name="Resume fleet-ingest", disabled=True)
    refused.wait_for()  # until the server has said what the job allows
    assert "There is nothing to resume" in refused.inner_text()
    page.keyboard.press("Enter")
    assert field.is_visible(), "what is refused leads nowhere"
    field.fill("cancel fleet-ingest")
    page.get_by_role("button", name="Cancel job fleet-ingest").wait_for()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Cancel job")
    dialog.get_by_role("button", name="Keep running").click()
    page.wait_for_url("**/jobs/*")
    page.get_by_role("heading", level=1, name="fleet-ingest").wait_for()


def test_an_address_asks_before_anything_is_done(seat, filled):
    page = seat().go("/jobs/fleet-ingest?do=cancel")
    page.get_by_role("dialog", name="Cancel job").wait_for()
    page.wait_for_url("**/jobs/fleet-ingest")
    assert filled.job("fleet-ingest").status is JobState.RUNNING


def test_the_settings_of_the_server_are_shown(seat):
    page = seat().go("/cluster?tab=settings")
    row = page.get_by_role("row", name=re.compile("^audit "))
    row.wait_for()
    assert re.search(r"10,?000", row.inner_text())


def test_an_address_that_is_none_says_so(seat):
    here = seat()
    page = here.go("/jobs/no-such-job", heading=False)
    page.get_by_text("No job with name or id 'no-such-job' was found").wait_for()
    assert all("404" in fault for fault in here.faults), "the browser itself tells of answers that refuse"
    here.faults.clear()


def test_the_title_says_where_one_is(seat):
    page = seat().go("/maps/vehicles")
    assert page.title() == "vehicles · Pitstop"


def test_words_narrow_the_events_of_a_job(seat):
    page = seat().go("/jobs/fleet-ingest?tab=events")
    events = page.get_by_label("Events", exact=True)
    events.get_by_text("asked for by a user").or_(events.get_by_text("by itself")).first.wait_for()
    search = page.get_by_label("Only with these words")
    search.fill("SNAPSHOT monday")
    events.get_by_text("by itself").first.wait_for(state="detached")
    assert events.get_by_role("link", name="monday").count() == 1
    search.fill("monday of another job")
    page.get_by_text("No event has these words.").wait_for()


def test_words_narrow_the_audit_trail(seat):
    page = seat().go("/cluster?tab=audit")
    rows = page.get_by_label("Audit").get_by_role("row")
    rows.filter(has_text="Export a snapshot of fleet-ingest").wait_for()
    page.get_by_label("Only with these words").fill("snapshot FLEET")
    rows.filter(has_text="Submit a job").first.wait_for(state="detached")
    assert rows.count() == 2, "the head, and that one"
    rows.filter(has_text="Export a snapshot of fleet-ingest").wait_for()


def test_what_fails_is_told_first_and_in_words(seat):
    page = seat().go("/")
    first = page.get_by_role("alert").first
    assert "broken" in first.inner_text()
    assert "ValueError" in first.inner_text()
