"""Somebody who has signed in with the viewer's token itself. Needs no Spark."""

import pytest

from pitstop.client import HttpService
from pitstop.service.api import SubmitRequest
from tests.page.conftest import Seat

VIEWERS = "the-viewers-token-of-this-test"


@pytest.fixture(scope="module")
def viewer(browser, tmp_path_factory):
    """A viewer on the page, and the operator's client."""
    from stack import Stack

    folder = tmp_path_factory.mktemp("viewer")
    (folder / "viewers-token").touch(mode=0o600)
    (folder / "viewers-token").write_text(VIEWERS)
    with Stack(folder / "stack") as stack:
        operator = stack.start_server(options=("--viewer-token-file", str(folder / "viewers-token")))
        operator.service.submit(SubmitRequest("sleeps.py", b"import time\ntime.sleep(600)\n", name="sleeps"))
        operator.map("notes").put("greeting", "hello")
        made = Seat(browser, stack.url, HttpService(stack.url, VIEWERS).sign_in_link())
        made.page.get_by_role("button", name="Signed in as viewer").wait_for()
        yield made, operator
        made.context.close()


def test_they_see_a_job_and_can_do_nothing_with_it(viewer):
    seat, operator = viewer
    page = seat.go("/jobs/sleeps")
    for name in ("Suspend", "Restart", "Export snapshot", "Cancel job"):
        button = page.get_by_role("button", name=name, exact=True)
        button.wait_for()
        assert button.get_attribute("aria-disabled") == "true", name
    page.get_by_role("button", name="Cancel job", exact=True).click(force=True)
    assert page.get_by_role("dialog").count() == 0
    assert not operator.job("sleeps").details.user_cancelled


def test_what_they_ask_without_a_button_is_refused_by_the_server(viewer):
    seat, operator = viewer
    page = seat.go("/maps/notes")
    key = "{'Pitstop-Session-Key': localStorage.getItem('pitstop-session-key')}"
    for headers, status in (("{}", 401), (key, 403)):
        request = f"{{method: 'DELETE', headers: {headers}}}"
        asked = f"() => fetch('/api/v1/maps/notes/entry?key=greeting', {request}).then(answer => answer.status)"
        assert page.evaluate(asked) == status
    assert operator.map("notes").get("greeting") == "hello"
    seat.faults[:] = [fault for fault in seat.faults if "401" not in fault and "403" not in fault]
    assert seat.faults == []
