"""What is attacked: the server's HTTP and the door for PostgreSQL's clients, whose jobs are scripts, in this process, so that
whatever they open, start or compile is seen here."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psutil

from pitstop.client.http import HttpService
from pitstop.model.job import JobState
from pitstop.pgwire import server
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from pitstop.service.api import SubmitRequest
from pitstop.sql.parsing import parse
from tests.doubles.http import listening
from tests.doubles.service import ScriptedService

OPERATOR, VIEWER = "the-operators-own-token-6f1e", "the-viewers-own-token-90ab"
MARKER = "pitstop_was_here"
"""Stands in every text of an attack that is code: nothing that compiles or starts may see it."""
SETUP = """
CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed INT) TYPE IMap;
CREATE MAPPING numbers TYPE Rate;
CREATE MAPPING log TYPE Log;
CREATE VIEW owners AS SELECT owner FROM cars;
CREATE JOB copied AS INSERT INTO log SELECT * FROM numbers
"""
_STARTS = frozenset({"os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "pty.spawn", "ctypes.dlopen"})


@dataclass
class Watch:
    """What this process did while it was attacked that no attack may bring about."""

    secret: Path
    trap: tuple[str, int]
    """A place of the machine that listens, as a service that only the server reaches."""
    seen: list[str] = field(default_factory=list)

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _STARTS and arguments[:1] != (None,):  # the libraries that are loaded already
            self.seen.append(f"{event} {arguments!r:.300}")
        elif event == "open" and str(arguments[0]) == str(self.secret):
            self.seen.append(f"{self.secret} was opened")
        elif event == "socket.connect" and arguments[1:] == (self.trap,):
            self.seen.append(f"a connection was made to {self.trap}")
        elif event == "compile" and MARKER in str(arguments[0]):
            self.seen.append(f"compiled: {arguments[0]!r:.300}")


_watching: list[Watch] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    for watch in _watching:
        watch.hear(event, arguments)


sys.addaudithook(_hear)  # there is no way to take one back


@contextlib.contextmanager
def watching(secret: Path, trap: tuple[str, int]) -> Iterator[Watch]:
    watch = Watch(secret, trap)
    _watching.append(watch)
    try:
        yield watch
    finally:
        _watching.remove(watch)


@dataclass
class Place:
    """Both doors, and what there is behind them."""

    url: str
    postgres: tuple[str, int]
    service: ScriptedService
    access: Access

    @property
    def http(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), parts.port or 0

    def kept(self) -> dict[str, object]:
        """Return what nobody but an operator may change."""
        with httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=60) as http:
            names = ("jobs", "snapshots", "maps", "maps/cars/entries", "kept-states", "log-levels", "settings")
            found: dict[str, object] = {name: http.get(f"/api/v1/{name}").raise_for_status().json() for name in names}
            for job in found["jobs"]:  # type: ignore[attr-defined]
                job.pop("progress")
        found["names"] = sorted(str(each) for each in self.service.carry_out(parse("SHOW MAPPINGS")[0]).batches)
        return found


@contextlib.contextmanager
def place(folder: Path) -> Iterator[Place]:
    """Both doors in front of a service in this folder."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    service = ScriptedService(data)
    access = Access(OPERATOR, frozenset({"testserver"}), VIEWER)
    try:
        for statement in parse(SETUP):
            service.carry_out(statement)
        service.map_put("cars", {"v1": '{"owner": "Ada", "speed": 1}'})
        for job in (service.submit(SubmitRequest("job.py", b"", name="plain")).id, "copied"):
            service.wait_for(job, (JobState.RUNNING,), 20)
        with listening(create_app(service, access)) as url, _postgres(url) as where:
            yield Place(url, where, service, access)
    finally:
        service.close()


@contextlib.contextmanager
def _postgres(url: str) -> Iterator[tuple[str, int]]:
    ready, at = threading.Event(), []
    loop = asyncio.new_event_loop()

    def told(host: str, port: int) -> None:
        at.append((host, port))
        ready.set()

    work = server.listen("127.0.0.1", 0, lambda: VIEWER, lambda: HttpService(url, VIEWER, "postgres"), told)
    task = loop.create_task(work)

    async def end_others() -> None:
        left = asyncio.all_tasks(loop) - {asyncio.current_task()}
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(end_others())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield at[0]
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)


def memory() -> int:
    """Return the bytes of this process."""
    return int(psutil.Process().memory_info().rss)
