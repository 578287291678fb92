"""The page in a real browser, on a real server with real jobs: one of each for all tests."""

import contextlib
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from pitstop.client import HttpService
from pitstop.errors import EngineError

FLEET = Path(__file__).parents[2] / "examples" / "fleet"
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
"""Would run if the page took it for anything but text."""
CHROMIUM = (
    "--no-sandbox",  # tests run as root on some machines
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
sys.path.insert(0, str(FLEET))


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.page)


@pytest.fixture(scope="session")
def stack(tmp_path_factory):
    from stack import Stack

    with Stack(tmp_path_factory.mktemp("page"), speedup=20.0, spares=1) as made:
        yield made


VIEWER = "the-token-of-viewers"


def start(stack):
    """Start the server, which knows viewers, too; its client."""
    token = stack.folder / "viewer-token"
    token.write_text(VIEWER)
    token.chmod(0o600)  # others may not read it: the server insists
    return stack.start_server(options=("--viewer-token-file", str(token)))


@pytest.fixture(scope="session")
def client(stack):
    return start(stack)


@pytest.fixture(scope="session")
def filled(stack, client):
    """A server with a job that runs, one that could not begin, a snapshot, and maps; its client."""
    stack.start_simulators()
    job = client.submit(FLEET / "ingest.py", args=stack.job_arguments, name="fleet-ingest")
    broken = stack.folder / "broken.py"
    broken.write_text(f"raise ValueError({EVIL!r})\n")
    failed = client.submit(broken, name="broken")
    evil = client.map("evil")
    evil.put_all({EVIL: {"note": EVIL, "nested": [EVIL]}, "\u202ereversed": "x" * 10_000, "plain": 1})
    with pytest.raises(EngineError):
        failed.join(timeout=180)
    job.wait_started()
    job.export_snapshot("monday")
    return client


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert found, "make test-web installs Chromium"
    with (
        sync_playwright() as playwright,
        contextlib.closing(playwright.chromium.launch(executable_path=found, args=list(CHROMIUM))) as chromium,
    ):
        yield chromium


class Seat:
    """Somebody before a screen."""

    def __init__(self, browser, url, link, **settings):
        usual = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
        self.context = browser.new_context(**usual | settings)
        self.context.set_default_timeout(15_000)
        self.page = self.context.new_page()
        self.url = url
        self.faults = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        if link is not None:
            self.page.goto(link)

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.faults.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def go(self, path, heading=True):
        """Open an address of the page; returns once its heading is there."""
        self.page.goto(self.url + path)
        if heading:
            self.page.locator("h1").first.wait_for()
        return self.page

    def violations(self):
        """What axe-core finds wrong with what is shown."""
        self.page.evaluate(f"{AXE.read_text()}\n;void 0")
        found = self.page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
        return [
            f"{fault['id']}: {node['html'][:200]} {[each['message'] for each in node['any'][:1]]}"
            for fault in found["violations"]
            for node in fault["nodes"]
        ]


@pytest.fixture(scope="session")
def signed_in(browser, filled, stack):
    """What a browser keeps that has signed in."""
    seat = Seat(browser, stack.url, HttpService(stack.url).sign_in_link())
    yield seat.context.storage_state()
    seat.context.close()


@pytest.fixture
def seat(browser, stack, signed_in):
    """Makes a signed-in seat; at the end nothing may have gone wrong on any of them that was not expected."""
    seats = []

    def make(known=True, **settings):
        kept = {"storage_state": signed_in} if known else {}
        seats.append(Seat(browser, stack.url, None, **kept, **settings))
        return seats[-1]

    yield make
    faults = [fault for each in seats for fault in each.faults]
    for each in seats:
        each.context.close()
    assert faults == []


def until(condition, seconds=30.0):
    """Wait for a condition, with a bound."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it has not come about in time"
        time.sleep(0.1)
    return found


def at_rest(page):
    """Wait until no colour is on its way to another one any more."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_function("() => document.getAnimations().every(each => each.effect.getTiming().iterations === Infinity)")
