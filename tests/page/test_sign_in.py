"""Who may see the page, and what a stranger's page may do."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest

from pitstop.client import HttpService
from tests.page.conftest import EVIL, Seat, until


def test_who_has_not_signed_in_sees_a_form_and_nothing_else(seat, stack):
    here = seat(known=False)
    page = here.go("/jobs")
    page.get_by_role("heading", name="Sign in to Pitstop").wait_for()
    assert "fleet-ingest" not in page.content()
    assert here.violations() == []
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("This is not the server's token").wait_for()
    page.get_by_label("Token").fill((stack.data / "token").read_text())
    page.keyboard.press("Enter")
    page.get_by_role("link", name="fleet-ingest").first.wait_for()
    refused = [fault for fault in here.faults if "401" in fault]
    here.faults[:] = [fault for fault in here.faults if fault not in refused]
    assert refused, "the browser itself tells of answers that refuse"


def test_a_link_works_once(browser, filled, stack):
    link = HttpService(stack.url).sign_in_link()
    first, second = Seat(browser, stack.url, link), Seat(browser, stack.url, None)
    answer = second.page.goto(link)
    assert answer.status == 401
    first.context.close()
    second.context.close()


def test_the_session_is_out_of_reach_of_scripts(seat):
    here = seat()
    page = here.go("/")
    assert page.evaluate("document.cookie") == ""
    cookie = here.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")


def test_a_cookie_that_another_port_was_sent_is_worth_nothing(seat, stack):
    """The server of another user of the machine, to which a page of its own leads, gets the cookie and nothing else."""
    here = seat()
    here.go("/")
    heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        here.context.new_page().goto(f"http://127.0.0.1:{other.server_port}/")
        other.shutdown()
    cookies = [headers["Cookie"] for headers in heard if "Cookie" in headers]
    assert "pitstop-session-" in cookies[0], "browsers send cookies to all ports"
    assert all("Pitstop-Session-Key" not in headers for headers in heard)
    replayed = {"Cookie": cookies[0], "Origin": stack.url}
    assert httpx2.get(f"{stack.url}/api/v1/me", headers=replayed).status_code == 401
    assert httpx2.post(f"{stack.url}/api/v1/sign-in-links", headers=replayed).status_code == 401


def test_a_reload_other_tabs_and_a_browser_that_begins_anew_stay_signed_in(seat, browser, stack):
    here = seat()
    page = here.go("/jobs")
    for open_anew in (page.reload, lambda: None):
        open_anew()
        page.get_by_role("link", name="fleet-ingest").first.wait_for()
    tab = here.context.new_page()
    tab.goto(stack.url + "/jobs")
    tab.get_by_role("link", name="fleet-ingest").first.wait_for()
    # The page's stream of events carries the key, too.
    tab.locator("[data-connection]", has_text="Connected").wait_for()
    begun_anew = browser.new_context(storage_state=here.context.storage_state())
    other = begun_anew.new_page()
    other.goto(stack.url + "/jobs")
    other.get_by_role("link", name="fleet-ingest").first.wait_for()
    begun_anew.close()


def test_a_link_leaves_no_key_in_the_address_and_a_strangers_ends_no_session(browser, filled, stack):
    here = Seat(browser, stack.url, HttpService(stack.url).sign_in_link())
    page = here.page
    page.get_by_role("heading", level=1).wait_for()
    assert page.url == f"{stack.url}/"
    page.goto("about:blank")
    page.goto(f"{stack.url}/jobs#session-key=strangers")
    page.get_by_role("link", name="fleet-ingest").first.wait_for()
    assert page.url == f"{stack.url}/jobs"
    here.context.close()


def test_who_signs_out_in_one_tab_signs_out_in_all(browser, filled, stack):
    here = Seat(browser, stack.url, HttpService(stack.url).sign_in_link())
    tab = here.context.new_page()
    tab.goto(stack.url + "/jobs")
    tab.get_by_role("link", name="fleet-ingest").first.wait_for()
    here.page.get_by_role("button", name="Signed in as operator").click()
    here.page.get_by_role("menuitem", name="Sign out").click()
    for page in (here.page, tab):
        page.get_by_role("heading", name="Sign in to Pitstop").wait_for()
    here.context.close()


def test_who_signs_out_is_a_stranger_again(browser, filled, stack):
    here = Seat(browser, stack.url, HttpService(stack.url).sign_in_link())  # of its own: others go on with theirs
    page = here.page
    page.get_by_role("button", name="Signed in as operator").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("heading", name="Sign in to Pitstop").wait_for()
    here.context.close()


def test_a_page_of_another_site_gets_nothing(seat, stack, tmp_path):
    """The other site is the same machine by another name: to a browser that is another origin."""
    here = seat()
    here.go("/")
    elsewhere = stack.url.replace("127.0.0.1", "localhost")
    page = here.context.new_page()
    page.goto(f"{elsewhere}/assets/icon.svg")
    asked = "url => fetch(url, {credentials: 'include'}).then(answer => answer.status, error => 'refused')"
    assert page.evaluate(asked, f"{stack.url}/api/v1/jobs") == "refused"
    posted = "url => fetch(url, {method: 'POST', credentials: 'include', mode: 'no-cors'}).then(a => a.type, e => 'refused')"
    page.evaluate(posted, f"{stack.url}/api/v1/jobs/fleet-ingest/cancel")
    token = (stack.data / "token").read_text().strip()
    job = httpx2.get(f"{stack.url}/api/v1/jobs/fleet-ingest", headers={"Authorization": f"Bearer {token}"}).json()
    assert job["status"] == "RUNNING"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/jobs",
        "/jobs/broken",
        "/jobs/broken?tab=events",
        "/jobs/broken?tab=log",
        "/maps/evil",
        "/maps/evil?tab=journal",
        "/cluster?tab=audit",
    ],
)
def test_a_script_in_what_is_shown_is_only_text(seat, path):
    page = seat().go(path)
    page.get_by_role("main").wait_for()
    assert page.title().endswith("Pitstop")
    assert page.locator("img[src=x]").count() == 0


def test_a_key_that_is_a_script_can_be_opened(seat):
    page = seat().go("/maps/evil")
    page.get_by_text(EVIL, exact=False).first.click()
    until(lambda: page.get_by_text("nested").count() > 0)
    assert page.title().endswith("Pitstop")
