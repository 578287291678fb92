"""How soon the screens of the page are there, and how smooth its map is; prints one JSON line. ``python benchmarks/page.py``

Needs what ``make test-web`` installs. The server has 1,000 jobs, 500 snapshots and a map with a million entries; the browser is
Debian's Chromium without a graphics card.
"""

import dataclasses
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
from playwright.sync_api import sync_playwright

from pitstop.client import HttpService, connect
from pitstop.kit.ids import new_job_id
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Version
from pitstop.model.snapshot import SnapshotRecord
from pitstop.service.api import SubmitRequest
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from update_gap import EPOCHS, wait_epochs, write_version

JOBS, SNAPSHOTS, ENTRIES, VEHICLES = 1000, 500, 1_000_000, 10_000
CHUNK = 20_000
LOADS = 5
FRAME_SECONDS = 10.0
WATCHED_SECONDS = 60.0
MOVED_A_SECOND = 2000
SCREENS = {
    "overview": ("/", "h2"),
    "jobs": ("/jobs", "[role=row][data-place]"),
    "job": ("/jobs/job-7", ".react-flow__node"),
    "snapshots": ("/snapshots", "[role=row][data-place]"),
    "maps": ("/maps", "[role=row][data-place]"),
    "map": ("/maps/million", "[role=row][data-place]"),
    "picture": ("/maps/fleet?tab=picture&longitude=lon&latitude=lat", "canvas"),
    "sql": ("/sql", ".cm-content"),
    "cluster": ("/cluster", "table"),
}
"""Address, and what stands there when the screen shows what it is for."""
CHROMIUM = ["--no-sandbox", "--disable-background-networking", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PAINTED = """() => new Promise(done => {
  const painted = entry => entry.name === "first-contentful-paint" && done(entry.startTime);
  new PerformanceObserver(list => list.getEntries().forEach(painted)).observe({ type: "paint", buffered: true });
})"""
WATCH = """() => {
  const rows = [...document.querySelectorAll("dt")].find(term => term.textContent === "Rows out").nextElementSibling;
  window.seen = [];
  const look = () => window.seen.push([rows.textContent, Date.now()]);
  new MutationObserver(look).observe(rows, { childList: true, characterData: true, subtree: true });
}"""
FRAMES = """seconds => new Promise(done => {
  const times = [];
  const began = performance.now();
  const look = now => { times.push(now); now - began < seconds * 1000 ? requestAnimationFrame(look) : done(times); };
  requestAnimationFrame(look);
})"""


def main():
    with tempfile.TemporaryDirectory() as temporary, served(folder := Path(temporary)) as url:
        fill(folder, url)
        with sync_playwright() as playwright:
            found = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            page.goto(HttpService(url).sign_in_link())
            figures = {f"{name}_{what}": value for name, of in paints(page, url).items() for what, value in of.items()}
            figures |= delays(page, url, folder)
            figures |= frames(page, url)
            browser.close()
    print(json.dumps(figures))


@contextmanager
def served(folder):
    command = [sys.executable, "-m", "pitstop.main", "serve", "--data", str(folder / "data"), "--port", "0", "--spares", "1"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        yield server.stdout.readline().split(" serves at ")[1].split()[0]
    finally:
        server.terminate()
        server.wait(60)


def fill(folder, url):
    """All that a long-lived server has. Its jobs are suspended, so that nothing else runs here."""
    service = HttpService(url)
    job = write_version(folder, "first")
    plan = service.check(SubmitRequest("counts.py", job.read_bytes())).plan
    registry = SqlRegistry(open_database(sqlite_url(folder / "data" / "pitstop.db")))
    source = JobSource("/srv/artifacts/" + "0" * 64 + "/job.py", "job:counts")
    first = Version(1, source, {}, JobConfig(), plan, "0123456789abcdef")
    for number in range(JOBS):
        record = Job(
            new_job_id(), f"job-{number}", float(number), first, JobState.SUSPENDED, suspension_cause="Requested by user"
        )
        registry.add_job(record)
        if number % 10 == 0:
            failed = dataclasses.replace(record, state=JobState.FAILED, completion_time=time.time(), failure="The folder is gone")
            registry.save_job(failed)
        if number < SNAPSHOTS:
            taken = SnapshotRecord(f"snapshot-{number}", record.id, record.name, time.time(), 60_179, "/srv/snapshots/x", 812)
            registry.add_snapshot(taken)
    client = connect(url)
    for begin in range(0, ENTRIES, CHUNK):
        client.map("million").put_all({f"key-{number:07}": {"value": number} for number in range(begin, begin + CHUNK)})
    client.map("fleet").configure(journal_capacity=100_000)
    client.map("fleet").put_all({f"V{number:05}": vehicle(number, 0.0) for number in range(VEHICLES)})


def vehicle(number, moved):
    angle, wide = number * 2.399963 + moved, number % 100
    return {"lon": -96.0 + wide / 5 * math.cos(angle), "lat": 39.0 + wide / 10 * math.sin(angle), "speed": 40 + number % 50}


def paints(page, url):
    """Seconds from the address to the first paint, and to what the screen is for; the worst of some loads."""
    found = {}
    for name, (path, shown) in SCREENS.items():
        first, whole = [], []
        for _ in range(LOADS):
            page.goto(url + path, wait_until="commit")
            page.locator(shown).first.wait_for()
            now = page.evaluate("performance.now()")
            paint = page.evaluate(PAINTED)
            first.append(paint / 1000)
            whole.append(now / 1000)
        found[name] = {"paint": max(first), "content": statistics.median(whole)}
    return found


def delays(page, url, folder):
    """Seconds from the commit of an epoch to when its rows stand on the page: 95 of 100 epochs are there by then."""
    job = connect(url).submit(write_version(folder, "first"), name="counts")
    job.wait_started()
    wait_epochs(job, EPOCHS)
    data = DataFolder(folder / "data")
    checkpoint = Checkpoint(data.job(job.id).checkpoint(job.details.lineage))
    page.goto(f"{url}/jobs/{job.id}?stage=numbers")
    page.get_by_text("Rows out", exact=True).wait_for()
    page.evaluate(WATCH)
    epochs, until = {}, time.monotonic() + WATCHED_SECONDS
    path, headers = f"{url}/api/v1/events?kind=progress", {"Authorization": f"Bearer {data.token.read_text().strip()}"}
    with httpx2.stream("GET", path, headers=headers, timeout=None) as response:
        for line in response.iter_lines():
            value = json.loads(line.removeprefix("data: ")).get("value") if line.startswith("data: ") else None
            if value and value["stages"]:
                epochs[f"{value['stages']['numbers']['rows_out']:,}"] = value["epoch"]
            if time.monotonic() > until:
                break
    took = []
    for rows, shown in page.evaluate("window.seen"):
        committed = checkpoint.committed_at(epochs[rows]) if rows in epochs else None
        if committed is not None:
            took.append(shown / 1000 - committed)
    job.cancel()
    return {"event_on_page_p95": statistics.quantiles(took, n=20)[-1], "event_on_page_epochs": len(took)}


def frames(page, url):
    """Frames a second while vehicles move on the map."""
    over = threading.Event()

    def drive():
        fleet, moved, place = connect(url).map("fleet"), 0.0, 0
        while not over.wait(0.5):
            moved += 0.01
            some = [(place + step) % VEHICLES for step in range(MOVED_A_SECOND // 2)]
            place += len(some)
            fleet.put_all({f"V{number:05}": vehicle(number, moved) for number in some})

    path, shown = SCREENS["picture"]
    page.goto(url + path)
    page.locator(shown).first.wait_for()
    driver = threading.Thread(target=drive)
    driver.start()
    try:
        page.wait_for_timeout(5000)
        times = page.evaluate(FRAMES, FRAME_SECONDS)
    finally:
        over.set()
        driver.join()
    gaps = sorted(after - before for before, after in itertools.pairwise(times))
    return {"frames_per_second": (len(times) - 1) / ((times[-1] - times[0]) / 1000), "longest_frame_ms": gaps[-1]}


if __name__ == "__main__":
    main()
