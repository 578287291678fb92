"""Statements are written, run, stopped and found again; what they give is text, and what is wrong is shown where it is."""

import re

import pytest

from pitstop.client import HttpService
from tests.page.conftest import EVIL, VIEWER, Seat, at_rest, until
from tests.page.keyboard import Keyboard

pytestmark = pytest.mark.timeout(900)
FIRST_QUERY_MS = 300_000
"""The first query starts a process of Spark."""


@pytest.fixture(scope="module")
def mapped(filled):
    """A map with two cars, and mappings on it, on a stream, and on a map whose values are scripts; a client."""
    filled.map("cars").put_all({"v1": {"owner": "ann", "km": 9007199254740993}, "v2": {"owner": "bob", "km": 7}})
    filled.sql(
        "CREATE OR REPLACE MAPPING cars (__key VARCHAR, owner VARCHAR, km BIGINT) TYPE IMap; "
        "CREATE OR REPLACE MAPPING evil (__key VARCHAR, note VARCHAR) TYPE IMap; "
        "CREATE OR REPLACE MAPPING ticks TYPE Rate OPTIONS ('rowsPerSecond' = '20');"
    )
    return filled


@pytest.fixture(scope="module")
def totals(mapped):
    """A snapshot of that name, with a stage that keeps three rows; a client."""
    mapped.sql(
        "CREATE OR REPLACE MAPPING counted (__key VARCHAR, n BIGINT) TYPE IMap; "
        "CREATE JOB totals AS SINK INTO counted "
        "SELECT CAST(sequence % 3 AS STRING), COUNT(*) FROM ticks GROUP BY CAST(sequence % 3 AS STRING)"
    )
    until(lambda: mapped.map("counted").size() == 3, 300)
    mapped.sql("DROP JOB totals WITH SNAPSHOT totals")
    return mapped


class Desk:
    """The screen, and whoever writes there."""

    def __init__(self, seat, path="/sql"):
        self.seat = seat
        self.asked, self.answered = [], []
        seat.page.on("request", lambda request: self.asked.append(request.post_data) if request.url.endswith("/v1/sql") else None)
        seat.page.on(
            "requestfinished", lambda request: self.answered.append(request) if request.url.endswith("/v1/sql") else None
        )
        self.page = seat.go(path)
        self.editor = self.page.get_by_role("textbox", name="Statements")
        self.editor.wait_for()
        self.results = self.page.get_by_role("region", name="Results")
        self.status = self.results.get_by_role("status")

    @property
    def text(self):
        return "\n".join(self.editor.locator(".cm-line").all_inner_texts())

    def run(self, text):
        """Write these statements instead of what stands there, and run them."""
        self.editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Control+Enter")

    def ended(self, words):
        """Wait until what was run has ended so."""
        self.status.get_by_text(re.compile(words)).wait_for(timeout=FIRST_QUERY_MS)

    def cells(self):
        return [row.get_by_role("cell").all_inner_texts() for row in self.results.locator("[data-place]").all()]


@pytest.fixture
def desk(seat, mapped):
    return lambda path="/sql", **settings: Desk(seat(**settings), path)


def test_a_select_on_a_map_gives_its_rows_to_the_last_digit(desk):
    here = desk()
    here.run("SELECT __key, km, owner FROM cars ORDER BY __key")
    here.ended("Done, 2 rows, in ")
    assert here.cells() == [["v1", "9007199254740993", "ann"], ["v2", "7", "bob"]]
    here.run("SELECT CAST('NaN' AS DOUBLE), CAST(NULL AS INT), 1.50 FROM cars WHERE __key = 'v1'")
    here.ended("Done, 1 row, in ")
    assert here.cells() == [["NaN", "NULL", "1.50"]]


def test_each_of_several_statements_is_answered_and_the_selection_can_be_run_alone(desk):
    here = desk()
    here.run("SHOW MAPPINGS; SELECT owner FROM cars WHERE __key = 'v2'")
    here.ended("Done, 4 rows, in ")
    tables = here.results.get_by_role("table")
    assert [tables.nth(number).get_attribute("aria-label") for number in range(tables.count())] == [
        "Rows of statement 1",
        "Rows of statement 2",
    ]
    here.run("nonsense\nSELECT owner FROM cars WHERE __key = 'v1'")
    here.page.get_by_role("alert").wait_for()
    here.page.keyboard.press("Control+End")
    here.page.keyboard.press("Shift+Home")
    here.page.keyboard.press("Control+Enter")
    here.ended("Done, 1 row, in ")
    assert here.cells() == [["ann"]]
    here.seat.faults.clear()  # the browser itself tells of answers that refuse


def test_the_rows_of_a_stream_come_until_it_is_stopped(desk):
    here = desk()
    here.run("SELECT sequence FROM ticks")
    row = here.results.locator("[data-place='3']")
    row.wait_for(timeout=FIRST_QUERY_MS)
    assert here.status.inner_text() == "Running"
    # The server's answer is read by nobody any more.
    with here.page.expect_event("requestfailed", lambda request: request.url.endswith("/api/v1/sql")):
        here.page.get_by_role("button", name="Stop", exact=True).click()
    here.ended("Stopped, [0-9]+ rows, in ")
    assert row.count() == 1, "what has come stays"
    here.run("SELECT owner FROM cars WHERE __key = 'v1'")
    here.ended("Done, 1 row, in ")


def test_what_is_wrong_is_told_in_words_and_marked_where_it_stands(desk):
    here = desk()
    here.run("SELECT __key,\n  colour\nFROM cars")
    alert = here.results.get_by_role("alert")
    alert.get_by_text("line 2, column 3").first.wait_for(timeout=FIRST_QUERY_MS)
    assert alert.locator("pre").inner_text().split("\n") == ["  colour", "  ^^^^^^"]
    assert here.editor.locator(".cm-fault").inner_text() == "colour"
    alert.get_by_role("button", name="Go to line 2, column 3").click()
    here.page.keyboard.press("Control+Delete")
    here.page.keyboard.insert_text("owner")
    assert here.text == "SELECT __key,\n  owner\nFROM cars"
    assert here.editor.locator(".cm-fault").count() == 0, "a text that is another one is not wrong yet"
    here.seat.faults.clear()  # the browser itself tells of answers that refuse


def test_statements_are_found_again_and_what_they_gave_is_kept_nowhere(desk):
    here = desk()
    here.run("SELECT owner FROM cars WHERE km = 7")
    here.ended("Done, 1 row, in ")
    page = here.seat.go("/sql")
    here.editor.wait_for()
    assert here.text == "SELECT owner FROM cars WHERE km = 7", "what was written stays, too"
    here.editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SHOW JOBS")
    page.get_by_role("button", name="History").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^SELECT owner FROM cars WHERE km = 7")).click()
    assert here.text == "SELECT owner FROM cars WHERE km = 7"
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "km = 7" in kept
    assert "bob" not in kept
    page.get_by_role("button", name="History").click()
    page.get_by_role("button", name="Forget all").click()
    page.get_by_text("Nothing was run yet.").wait_for()
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('sql'))") == []


def test_an_address_fills_the_editor_and_runs_nothing(desk, mapped):
    here = desk("/sql?q=DROP+MAPPING+cars")
    assert here.text == "DROP MAPPING cars"
    here.page.get_by_role("button", name="Run", exact=True).focus()
    here.page.wait_for_load_state("load")
    assert here.asked == []
    assert "cars" in [row["name"] for row in mapped.sql("SHOW MAPPINGS")]
    here.editor.click()
    here.page.keyboard.press("Control+End")
    here.page.keyboard.insert_text("_2")
    here.page.wait_for_url("**/sql")
    here.page.reload()
    here.editor.wait_for()
    assert here.text == "DROP MAPPING cars_2", "what was written since then is not lost"


def test_statements_can_be_had_as_a_command_and_as_a_link(desk):
    here = desk("/sql?q=SHOW+JOBS", permissions=["clipboard-read", "clipboard-write"])
    copied = lambda: here.page.evaluate("navigator.clipboard.readText()")  # noqa: E731
    here.page.get_by_role("button", name="Copy the statements as a command").click()
    here.page.get_by_role("menuitem", name="Copy as CLI").click()
    assert copied() == "pitstop sql -e 'SHOW JOBS'"
    here.page.get_by_role("button", name="Copy link").click()
    assert until(lambda: copied() if copied().startswith("http") else None).endswith("/sql?q=SHOW+JOBS")


def test_a_viewer_reads_maps_and_is_refused_everything_else_in_words(browser, stack, mapped):
    seat = Seat(browser, stack.url, HttpService(stack.url, token=VIEWER).sign_in_link())
    seat.page.get_by_role("heading", level=1).wait_for()
    here = Desk(seat)
    here.run("SELECT owner FROM cars ORDER BY owner")
    here.ended("Done, 2 rows, in ")
    here.run("DROP MAPPING cars")
    here.results.get_by_role("alert").get_by_text("This token is a viewer's").wait_for()
    assert "cars" in [row["name"] for row in mapped.sql("SHOW MAPPINGS")]
    seat.context.close()


@pytest.mark.deep
def test_all_of_it_is_done_by_keyboard(desk):
    here = desk()
    keys = Keyboard(here.page)
    here.page.keyboard.press("Tab")
    keys.reach(here.editor)
    here.page.keyboard.type("SELECT own", delay=20)
    here.page.keyboard.press("Control+Space")
    # Columns are known once the server has told them.
    here.page.keyboard.press("Escape")
    here.page.keyboard.insert_text("er FROM cars WHERE __key = 'v1'")
    here.page.keyboard.press("Escape")
    here.page.keyboard.press("Tab")
    assert not here.editor.evaluate("element => element.contains(document.activeElement)"), "Tab leaves the editor"
    keys.press("Run")
    here.ended("Done, 1 row, in ")
    assert here.cells() == [["ann"]]
    keys.reach(here.results.locator("[data-place='0']"))
    here.page.keyboard.press("Enter")
    here.page.get_by_role("dialog", name="Row 1").get_by_text("ann").wait_for()


def test_names_are_offered_where_they_fit(desk):
    here = desk()
    here.editor.click()
    offered = here.page.get_by_role("listbox")
    while len(here.answered) < 2:
        here.page.wait_for_event("requestfinished", timeout=FIRST_QUERY_MS)
    for before, name in (
        ("SELECT * FROM ca", "cars"),
        ("SELECT cars.ow", "owner"),
        ("DROP JOB fleet", '"fleet-ingest"'),
        ("SELECT * FROM SNAPSHOT mon", "monday"),
        ("sel", "SELECT"),
    ):
        here.page.keyboard.press("Control+a")
        here.page.keyboard.type(before)
        here.page.keyboard.press("Control+Space")
        offered.get_by_role("option", name=name).first.wait_for()
        here.page.keyboard.press("Escape")
        offered.wait_for(state="detached")


def test_a_script_in_a_value_is_only_text(desk):
    here = desk()
    here.run("SELECT note, __key FROM evil WHERE note IS NOT NULL")
    here.ended("Done, 1 row, in ")
    assert here.cells() == [[EVIL, EVIL]]
    here.results.locator("[data-place='0']").dblclick()
    here.page.get_by_role("dialog").get_by_text(EVIL).first.wait_for()
    assert here.page.title() == "SQL · Pitstop"
    assert here.page.locator("img[src=x]").count() == 0


def test_the_state_of_a_stage_is_opened_as_a_statement(desk, totals):
    here = desk()
    page = here.seat.go("/snapshots/totals?tab=state")
    page.get_by_role("link", name="Open in SQL").click()
    here.editor.wait_for()
    assert re.fullmatch(r'SELECT \* FROM SNAPSHOT "totals" STAGE "[^"]+" AS state', here.text)
    page.get_by_role("button", name="Run", exact=True).click()
    here.ended("Done, 3 rows, in ")


def test_the_query_of_a_state_can_be_stopped(desk, totals):
    page = desk().seat.go("/snapshots/totals?tab=state")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/query")):
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("button", name="Stop", exact=True).and_(page.locator(":not([aria-disabled=true])")).click()
    page.get_by_role("button", name="Run", exact=True).wait_for()
    assert page.get_by_role("alert").count() == 0, "who stops something is told of no error"


@pytest.mark.deep
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_errors_and_history_are_accessible(desk, scheme):
    here = desk(color_scheme=scheme)
    here.run("SELECT __key, 'a' AS letter, 1 AS n FROM cars -- all")
    here.ended("Done, 2 rows, in ")
    at_rest(here.page)
    assert here.seat.violations() == []
    here.run("SELECT colour FROM cars")
    here.results.get_by_role("alert").wait_for(timeout=FIRST_QUERY_MS)
    at_rest(here.page)
    assert here.seat.violations() == []
    here.page.get_by_role("button", name="History").click()
    here.page.get_by_role("dialog").get_by_text("SELECT colour FROM cars").wait_for()
    at_rest(here.page)
    assert here.seat.violations() == []
    here.seat.faults.clear()  # the browser itself tells of answers that refuse
