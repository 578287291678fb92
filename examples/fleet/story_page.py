"""``make story-page``: the lab's story once more, by hand on the page, from the first sign-in to the shut-down.

Leaves pictures of the screens in a folder. Needs Chromium and Playwright, which ``make`` installs.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Locator, Page, ViewportSize, expect, sync_playwright
from stack import HERE, Stack, wait_until
from story import FAST
from story_checks import check, step
from verify import compare, emitted_alpha, emitted_beta, ingested

from pitstop.client import HttpService

SECONDS = 400
"""How long a step may take on a machine that has other work."""
CHROMIUM = ("--no-sandbox", "--disable-background-networking", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
RUNNING = re.compile("^RUNNING$")
"""The state alone: NOT_RUNNING has the word in it, too."""
WIDE: ViewportSize = {"width": 1280, "height": 860}


class Reader:
    """Somebody who has the page before them and nothing else."""

    def __init__(self, page: Page, url: str, pictures: Path | None) -> None:
        self.page, self._url, self._pictures = page, url, pictures
        self.faults: list[str] = []
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)

    def place(self, name: str) -> None:
        """Go to a place by the menu."""
        self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        self.heading(name)

    def heading(self, name: str | re.Pattern[str]) -> None:
        """Wait until the screen of this name is there."""
        self.page.get_by_role("heading", level=1, name=name).wait_for()

    def button(self, name: str | re.Pattern[str]) -> Locator:
        """The button of this name."""
        return self.page.get_by_role("button", name=name, exact=isinstance(name, str))

    def sees(self, text: str | re.Pattern[str], seconds: float = SECONDS) -> None:
        """Wait until this stands on the screen."""
        expect(self.page.get_by_role("main").get_by_text(text).first).to_be_visible(timeout=seconds * 1000)

    def picture(self, name: str) -> None:
        """Keep what the screen shows."""
        if self._pictures is not None:
            self.page.wait_for_timeout(800)  # what moves comes to rest
            self.page.screenshot(path=self._pictures / f"{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the screens")
    parser.add_argument("--members", type=int, default=2, help="members of the cluster; 0: jobs run on the server's machine")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pitstop-story-"))
    try:
        with Stack(folder, speedup=20.0, spares=1) as stack, sync_playwright() as playwright:
            found = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=found, args=list(CHROMIUM))
            tell(stack, browser.new_context(viewport=WIDE).new_page(), options.members, options.pictures)
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def tell(stack: Stack, page: Page, members: int, pictures: Path | None = None) -> None:
    """The story, with its checks."""
    step("Start the control plane and both simulators, and open the page by its link")
    client = stack.start_server(members=members, options=FAST)
    stack.start_simulators()
    reader = Reader(page, stack.url, pictures)
    page.goto(HttpService(stack.url).sign_in_link())
    reader.sees("No job yet")
    check(True, "the page is there, and says how to begin")

    step("Submit the ingest job")
    submit(reader, stack, "ingest.py", "fleet-ingest")
    reader.sees(RUNNING)
    nodes = str(members) if members else "the server's machine"
    expect_nodes(reader, nodes)
    check(True, f"it runs; nodes in use: {nodes}")

    step("Watch the vehicles move on the map, and look one of them up")
    reader.place("Maps")
    page.get_by_role("link", name="vehicles").click(timeout=SECONDS * 1000)  # it is there from the first epoch on
    wait_until(lambda: client.map("vehicles").size() == 60, SECONDS, "all vehicles in the map")
    page.get_by_role("tab", name="Picture").click()
    page.locator('[data-picture][data-objects="60"]').wait_for(timeout=SECONDS * 1000)
    page.wait_for_timeout(3000)  # the outlines of the states come after the vehicles
    reader.picture("map-with-pings")
    vin = next(iter(client.map("vehicles").entries()))
    page.get_by_role("tab", name="Entries").click()
    page.get_by_label("Exact key").fill(vin)
    reader.button("Open").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("latitude").first).to_be_visible()
    reader.picture("map-browser")
    page.keyboard.press("Escape")
    check(True, f"the entry of {vin} says where it is")

    if members:
        to_job(reader, "fleet-ingest")
        page.locator(".react-flow__node").first.wait_for()
        reader.picture(f"job-on-{members}-nodes")
        step("Add a third member: the job uses it")
        reader.place("Cluster")
        reader.button("Add a member").click()
        to_job(reader, "fleet-ingest")
        expect_nodes(reader, str(members + 1))
        check(True, f"nodes in use: {members + 1}")
    to_job(reader, "fleet-ingest")
    page.locator(".react-flow__node").first.wait_for()
    reader.picture(f"job-on-{members + 1}-nodes" if members else "job")

    step("Update it to version 2, which logs each ping")
    reader.button("Update").click()
    reader.heading(re.compile("Update"))
    page.locator("input[type=file]").set_input_files(HERE / "ingest_v2.py")
    reader.button("Check").click()
    reader.sees("saving")
    reader.picture("update-report")
    reader.button("Update to version 2").click()
    reader.sees(re.compile("Version 2 runs, after a gap of"))
    reader.picture("update")
    check(True, page.get_by_text(re.compile("Version 2 runs, after a gap of")).first.inner_text())

    step("Export a snapshot and cancel the job")
    to_job(reader, "fleet-ingest")
    reader.button("Export snapshot").click()
    page.get_by_label("Name of the snapshot").fill("my-snapshot")
    page.get_by_label("Cancel job and export").check()
    reader.picture("export-dialog")
    page.get_by_role("dialog").get_by_role("button", name="Cancel job and export").click()
    reader.sees("CANCELLED")
    at_snapshot = ingested(stack.archive)
    check(at_snapshot.total() > 0, "the job has ended, cancelled by a user, and its state is kept under a name")

    step("Start version 2 from the snapshot")
    reader.place("Snapshots")
    page.get_by_role("link", name="my-snapshot", exact=True).click()
    page.get_by_role("link", name="Start a job from it").click()
    submit(reader, stack, "ingest_v2.py", "fleet-ingest-2", open_form=False)
    reader.sees(RUNNING)
    wait_until(lambda: ingested(stack.archive).total() > at_snapshot.total() + 100, SECONDS, "more pings")
    check(True, "it goes on where the snapshot was taken")

    step("Stop the simulators, let the job read the rest, suspend it, and count")
    stack.pause_alpha()
    stack.freeze_beta()
    emitted = emitted_alpha(stack.alpha_dir) + emitted_beta(stack.beta_url)
    wait_until(lambda: ingested(stack.archive).total() >= emitted.total(), SECONDS, "reading the last pings")
    reader.button("Suspend").click()
    reader.sees("SUSPENDED")
    verdict = compare(emitted, ingested(stack.archive))
    counted = f"{verdict.emitted:,} emitted, {verdict.ingested:,} ingested, {verdict.missed} missed, {verdict.doubled} doubled"
    check(verdict.clean, counted)
    reader.button("Resume").click()
    reader.sees(RUNNING)

    step("Shut the cluster down")
    check(reader.faults == [], f"the browser has found nothing wrong {reader.faults or ''}")
    reader.place("Cluster")
    reader.button("Shut down…").click()
    page.get_by_label('Type "shut down" to go on').fill("shut down")
    reader.button("Shut down the cluster").click()
    expect(page.get_by_text("Clean ✔")).to_be_visible(timeout=SECONDS * 1000)
    reader.picture("shut-down")
    check(stack.ended_by_itself("server", 120) == 0, "jobs, members and server have ended")
    print("\nAll of it was done in a browser, and nothing was missed or doubled.")


def submit(reader: Reader, stack: Stack, file: str, name: str, open_form: bool = True) -> None:
    """Fill the form, and send it; returns when the job's screen is there."""
    page = reader.page
    if open_form:
        reader.place("Jobs")
        page.get_by_role("link", name="Submit a job").click()
    reader.heading("Submit a job")
    page.locator("input[type=file]").set_input_files(HERE / file)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Arguments of the job").fill("\n".join(stack.job_arguments))
    reader.button("Submit").click()
    reader.heading(name)


def to_job(reader: Reader, name: str) -> None:
    """Go to a job by the palette."""
    reader.page.keyboard.press("Control+k")
    reader.page.get_by_placeholder(re.compile("A job, a snapshot")).fill(name)
    reader.page.get_by_role("button", name=re.compile(f"^{name}")).first.click()
    reader.heading(name)


def expect_nodes(reader: Reader, nodes: str) -> None:
    """Wait until the job's screen says so many nodes."""
    facts = reader.page.locator("dl")
    expect(facts).to_contain_text(re.compile(rf"Nodes in use:\s*{re.escape(nodes)}"), timeout=SECONDS * 1000)


if __name__ == "__main__":
    main()
