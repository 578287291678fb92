"""A script in every name and value that the page shows, where the server takes one: it stands there as text, and nothing runs.

Names of jobs, stages, snapshots, maps, members and loggers are none of these: the server takes letters, digits and a few signs
in them (tests/unit/kit/test_ids.py).
"""

import httpx2
import pytest

from pitstop.client import HttpService
from pitstop.errors import UsageError
from pitstop.service.api import SubmitRequest
from tests.page.conftest import EVIL, Seat

IN_A_FILE_NAME = "<img src=x onerror=document.title='owned'>"
"""A file's name has no slash."""
SHOWN = {
    "argument of a job": ("/jobs/evil?tab=versions", EVIL),
    "artifact of a job": ("/jobs/evil?tab=versions", IN_A_FILE_NAME),
    "user in the audit": ("/cluster?tab=audit", EVIL),
    "path in the audit": ("/cluster?tab=audit", "/api/v1/maps/<img"),
    "user on the overview": ("/", EVIL),
    "key of a map": ("/maps/evil", EVIL),
    "value of an entry": ("/maps/evil?key=value", EVIL),
    "key in the journal": ("/maps/evil?tab=journal", EVIL),
}


@pytest.fixture(scope="module")
def evil(browser, tmp_path_factory):
    """Somebody signed in at a server of which every free text is a script."""
    from stack import Stack

    with Stack(tmp_path_factory.mktemp("evil")) as stack:
        client = stack.start_server()
        service = HttpService(stack.url)
        code = b"import time\ntime.sleep(60)\n"
        service.submit(SubmitRequest(f"{IN_A_FILE_NAME}.py", code, args=(EVIL,), name="evil"))
        client.map("evil").put_all({EVIL: {"note": EVIL}, "value": {EVIL: [EVIL]}})
        token = (stack.data / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Pitstop-User": EVIL}
        httpx2.delete(f"{stack.url}/api/v1/maps/{IN_A_FILE_NAME}/entry", params={"key": "x"}, headers=headers)
        for refused in (
            lambda: service.submit(SubmitRequest("x.py", code, name=EVIL)),
            lambda: service.set_log_level(EVIL, "DEBUG"),
            lambda: client.map(EVIL).put("a", 1),
        ):
            with pytest.raises(UsageError):
                refused()
        made = Seat(browser, stack.url, service.sign_in_link())
        made.page.get_by_role("heading", level=1).wait_for()
        yield made
        made.context.close()


@pytest.mark.parametrize(("path", "text"), SHOWN.values(), ids=SHOWN)
def test_it_stands_there_as_text(evil, path, text):
    page = evil.go(path)
    page.get_by_text(text, exact=False).first.wait_for(timeout=60_000)
    assert page.title().endswith("Pitstop")
    assert page.locator("img[src=x]").count() == 0
    assert evil.faults == []
