"""Lets a story happen to a job of a real server, and compares what its sinks hold with plain Python."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pitstop.errors import ConflictError, PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.model.job import JobState
from tests.soak.generator import STATE_STORES
from tests.soak.served.job import BURST, Version, dropped_stages, released_file
from tests.soak.served.outcome import differences
from tests.soak.served.server import Server
from tests.soak.served.story import Step, Story
from tests.spark.chains import EVERY, PAUSE
from tests.spark.sequence import START_MS

ARTIFACT = Path(__file__).with_name("artifact.py")
RATE, PUMP_SECONDS = 20, 0.2
"""So many events are released each so many seconds."""
LAG_MS, WAIT_SECONDS, WATCH_SECONDS = 2_000, 180.0, 600.0
LOCK = """
import sqlite3, sys, time
store = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
store.execute(sys.argv[2])
print("locked", flush=True)
time.sleep(float(sys.argv[3]))
store.execute("COMMIT")
"""


class StoryFailedError(Exception):
    """What came differs from what must come, or something did not happen."""


class Pump(threading.Thread):
    """Releases events bit by bit until it is stopped."""

    def __init__(self, file: Path) -> None:
        super().__init__(daemon=True)
        self._file, self.released, self._end = file, 0, threading.Event()
        self._release(0)

    def run(self) -> None:
        while not self._end.wait(PUMP_SECONDS):
            self._release(self.released + RATE)

    def stop(self) -> int:
        """Release no more; how many events there are. The last one is one that every stage reads."""
        self._end.set()
        self.join()
        self._release(-(-self.released // EVERY) * EVERY + 1)
        return self.released

    def _release(self, count: int) -> None:
        temporary = self._file.with_suffix(".tmp")
        temporary.write_text(str(count))
        temporary.rename(self._file)
        self.released = count


class Teller:
    """Tells one story."""

    def __init__(self, server: Server, story: Story, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._server, self._story, self._folder = server, story, folder
        self._pump = Pump(released_file(folder))
        self._version = Version(1, story.lines, str(folder), f"{folder.name}-{os.getpid()}")
        self._gone: list[int] = []
        self._jobs = 0
        self._job: Any = None

    def tell(self) -> int:
        """How many rows came of it; StoryFailedError if they are not those that must come."""
        self._pump.start()
        try:
            self._submit(self._version)
            for step, number in zip(self._story.steps, self._story.numbers, strict=False):
                self._happens(step, random.Random(number))
            return self._compare()
        finally:
            self._pump.stop()
            if self._job is not None:
                self._job.cancel()
                self._job.discard()

    def _happens(self, step: Step, drawn: random.Random) -> None:
        try:
            getattr(self, f"_{step.name.lower()}")(drawn)
            self._goes_on()
        except (PitstopError, AssertionError, TimeoutError) as error:
            raise StoryFailedError(f"{step}: {error}") from error

    def _compare(self) -> int:
        released = self._pump.stop()
        last = START_MS + released - 1 + (released - 1) // BURST * PAUSE
        self._wait(lambda: self._watermark() >= last - LAG_MS, "all events are read")
        self._job.suspend()
        story = self._story
        wrong, rows = differences(
            self._server.client, self._folder, self._version.name, story.lines, released, last - LAG_MS, self._gone
        )
        if wrong:
            raise StoryFailedError("\n  ".join([f"{released:,} events", *wrong]))
        return rows

    # what befalls the job

    def _updated(self, drawn: random.Random) -> None:
        version = self._next(turned=not self._version.turned)
        options: dict[str, Any] = drawn.choice(({}, {"partitions": 1}, {"partitions": 2}))
        options = options | drawn.choice(({}, {}, {"state_store": drawn.choice(STATE_STORES)}))
        self._update(version, config=options)
        self._version = version

    def _fails_and_resumed(self, drawn: random.Random) -> None:
        self._fails()
        self._version.fault("raises").unlink()
        self._job.resume()

    def _fails_and_updated(self, drawn: random.Random) -> None:
        self._fails()
        version = self._next(turned=drawn.random() < 0.5)
        self._update(version)
        assert self._job.status is JobState.SUSPENDED
        self._version = version
        self._job.resume()

    def _cancelled(self, drawn: random.Random) -> None:
        self._job.cancel()
        assert self._job.id in [kept.id for kept in self._server.client.service.kept_states()], "its state is not kept"
        self._job.resume()

    def _snapshot_deleted(self, drawn: random.Random) -> None:
        name = self._snapshot_name()
        self._job.export_snapshot(name)
        self._server.client.delete_snapshot(name)
        self._job.restart()

    def _snapshot_needed(self, drawn: random.Random) -> None:
        name = self._snapshot_name()
        self._job.cancel_and_export_snapshot(name)
        self._job.discard()
        self._submit(self._next(turned=self._version.turned), name)
        said = _error_of(lambda: self._server.client.delete_snapshot(name), ConflictError)
        assert self._job.name in said, f"the refusal does not name the job: {said}"
        self._goes_on()
        self._server.client.delete_snapshot(name)
        self._killed(drawn)

    def _locked(self, drawn: random.Random) -> None:
        how, seconds = drawn.choice(("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")), drawn.uniform(2, 12)
        command = [sys.executable, "-c", LOCK, str(self._server.store), how, str(seconds)]
        locker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert locker.stdout is not None
        assert locker.stdout.readline() == "locked\n", "the store could not be locked"
        token = self._job.details.token
        assert locker.wait(60) == 0
        self._goes_on()
        assert self._job.details.token == token, "the run was ended by a lock"

    def _clock(self, drawn: random.Random) -> None:
        token = self._job.details.token
        self._server.step_clock(drawn.choice((-86_000, -3_600, -61, -5, 5, 61, 3_600, 7_000)))
        self._goes_on(3)
        assert self._job.details.token == token, "the run was ended by a step of the clock"

    def _killed(self, drawn: random.Random) -> None:
        time.sleep(drawn.uniform(0, 1.5))  # anywhere in an epoch
        token = self._job.details.token
        os.kill(self._pid_of(token), signal.SIGKILL)
        self._wait(lambda: self._job.details.token > token, "another run")

    def _java_killed(self, drawn: random.Random) -> None:
        time.sleep(drawn.uniform(0, 1.5))
        token = self._job.details.token
        os.kill(self._server.java_of(self._pid_of(token)), signal.SIGKILL)
        self._wait(lambda: self._job.details.token > token, "another run")

    def _server_killed(self, drawn: random.Random) -> None:
        token = self._job.details.token
        self._server.kill()
        self._server.start()
        self._job = self._server.client.job(self._job.id)
        self._goes_on()
        assert self._job.details.token == token, "the run was ended with the server"

    def _loads(self, drawn: random.Random) -> None:
        self._refused("loads", "compile_timeout", {"compile_timeout": "3 seconds"})

    def _hangs(self, drawn: random.Random) -> None:
        self._refused("hangs", "The run hangs", {"first_epoch_timeout": f"{drawn.choice((6, 12))} seconds"})

    def _fails_late(self, drawn: random.Random) -> None:
        self._goes_wrong(lambda version: version.fault("raises").touch(), "a row that nobody had thought of")

    def _rolled_back(self, drawn: random.Random) -> None:
        self._goes_wrong(lambda version: self._job.rollback(), "was rolled back on request")

    # how

    def _submit(self, version: Version, snapshot: str | None = None) -> None:
        self._jobs += 1
        name = f"{version.name}-{self._jobs}"
        client = self._server.client
        config = {"state_store": self._story.state_store}
        self._job = client.submit(ARTIFACT, args=[version.text], name=name, initial_snapshot=snapshot, config=config)
        self._version = version
        if snapshot is None:
            self._goes_on()

    def _next(self, turned: bool) -> Version:
        mark = max([self._version.mark, *self._gone]) + 1
        return dataclasses.replace(self._version, mark=mark, turned=turned)

    def _update(self, version: Version, config: dict[str, Any] | None = None, **options: Any) -> None:
        config = {**(config or {}), "allow_drop": dropped_stages(self._version, version)}
        self._job.update(ARTIFACT, args=[version.text], config=config, snapshot=self._snapshot_name(), **options)

    def _fails(self) -> None:
        self._version.fault("raises").touch()
        job = self._server.client.service.wait_for(self._job.id, (JobState.FAILED,), WAIT_SECONDS)
        assert "a row that nobody had thought of" in (job.failure or ""), job.failure
        assert job.has_state

    def _refused(self, fault: str, said: str, config: dict[str, Any]) -> None:
        """An update to a version that cannot start: the version before goes on."""
        version = self._next(turned=self._version.turned)
        version.fault(fault).touch()
        self._gone.append(version.mark)
        self._ends_with(said, lambda: self._update(version, config=config))

    def _goes_wrong(self, what: Callable[[Version], None], said: str) -> None:
        """A version is gone back from once it has written."""
        version = self._next(turned=not self._version.turned)
        self._gone.append(version.mark)
        number = self._job.details.version
        asking = ThreadPoolExecutor(1)
        try:
            answer = asking.submit(self._ends_with, said, lambda: self._update(version, watch_seconds=WATCH_SECONDS))
            self._wait(lambda: answer.done() or self._job.details.version > number, "the new version is up")
            if not answer.done():
                self._goes_on(3, answer.done)
                what(version)
            answer.result()
        finally:
            asking.shutdown(wait=False)  # a story that is broken off ends its server, which is what answers

    def _ends_with(self, said: str, ask: Callable[[], None]) -> None:
        error = _error_of(ask, PitstopError)
        assert said in error, f"it says: {error}"

    def _goes_on(self, times: int = 1, or_else: Callable[[], bool] = lambda: False) -> None:
        """Wait until the job runs and its watermark has risen so many times."""
        self._wait(lambda: or_else() or self._job.status is JobState.RUNNING, "the job runs")
        for _ in range(times):
            before = self._watermark()
            self._wait(lambda before=before: or_else() or self._watermark() > before, "the job goes on")

    def _watermark(self) -> int:
        return self._job.metrics().watermark_ms or 0

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        if not wait_until(condition, WAIT_SECONDS, step=0.3):
            job = self._job.details
            said = job.failure or job.interruption or job.suspension_cause or job.update_failure
            raise TimeoutError(f"it did not happen within {WAIT_SECONDS:.0f} s that {what}: the job is {job.status}, {said}")

    def _snapshot_name(self) -> str:
        return f"{self._version.name}-{time.monotonic_ns()}"

    def _pid_of(self, token: int) -> int:
        with sqlite3.connect(f"file:{self._server.store}?mode=ro", uri=True) as store:
            found = store.execute("SELECT handle FROM leases WHERE job_id = ? AND token = ?", (self._job.id, token)).fetchone()
        return int(found[0].split("/")[1])


def _error_of(ask: Callable[[], Any], kind: type[PitstopError]) -> str:
    """The sentence with which this is refused, or goes wrong."""
    try:
        ask()
    except kind as error:
        return str(error)
    raise AssertionError("nothing went wrong")
