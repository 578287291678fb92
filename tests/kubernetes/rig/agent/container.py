"""One container of a pod over all its restarts: its process, its logs, and what is told of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.clock import timestamp
from tests.kubernetes.rig.agent.facts import NotYetError
from tests.kubernetes.rig.agent.sandbox import Sandbox

STEP_SECONDS = 0.01


@dataclass(frozen=True)
class Launch:
    """All that one start of a container needs."""

    sandbox: Sandbox
    command: Sequence[str]
    variables: Mapping[str, str]
    directory: str


class Container:
    """``folder``: for its logs; ``process_file``: tells others of its process; ``changed``: is called when there is news."""

    def __init__(self, spec: Object, folder: Path, process_file: Path, restarts: int, changed: Callable[[], None]) -> None:
        self.spec, self.restarts = spec, restarts
        self.name: str = spec["name"]
        self.ready = self.started = False
        self.state: Object = {"waiting": {"reason": "ContainerCreating"}}
        self.last_state: Object = {}
        self._folder, self._process_file, self._changed = folder, process_file, changed
        self._process: asyncio.subprocess.Process | None = None
        self._launch: Launch | None = None

    @property
    def running(self) -> bool:
        return "running" in self.state

    @property
    def exit_code(self) -> int | None:
        """What its process ended with; None if it has not ended."""
        code = self.state.get("terminated", {}).get("exitCode")
        return None if code is None else int(code)

    def log(self, before: int = 0) -> Path:
        """What it has printed since it was started, or since it was started that many restarts ``before``."""
        return self._folder / f"{self.name}-{self.restarts - before}.log"

    def wait_for(self, reason: str, message: str) -> None:
        """Say that it does not run, and why."""
        waiting: Object = {"waiting": {"reason": reason, "message": message}}
        if self.state != waiting:
            self.state = waiting
            self._changed()

    def set_ready(self, ready: bool) -> None:
        """Whether others may use it."""
        if self.ready != ready:
            self.ready = ready
            self._changed()

    def set_started(self) -> None:
        """It is up, so its other probes begin."""
        self.started = True
        self.ready = "readinessProbe" not in self.spec
        self._changed()

    async def start(self, launch: Launch) -> None:
        """Start its process; returns once that is in its own place. NotYetError if it cannot be started."""
        command = launch.sandbox.start(launch.command, launch.variables, launch.directory)
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.log().open("ab") as log:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
                )
            except OSError as error:
                raise NotYetError(str(error), "RunContainerError") from error
        while not launch.sandbox.entered.exists() and self._process.returncode is None:
            await asyncio.sleep(STEP_SECONDS)
        self._launch = launch
        if inside := self._first():
            self._process_file.parent.mkdir(parents=True, exist_ok=True)
            self._process_file.write_text(f"{inside}\n")
        self.state = {"running": {"startedAt": timestamp()}}
        self.started = "startupProbe" not in self.spec
        self.ready = self.started and "readinessProbe" not in self.spec
        self._changed()

    async def wait(self) -> int:
        """Wait for its end; what it ended with."""
        assert self._process is not None
        code = await self._process.wait()
        self._process_file.unlink(missing_ok=True)
        self.ready = self.started = False
        code = 128 - code if code < 0 else code
        self.state = {
            "terminated": {
                "exitCode": code,
                "reason": "Completed" if code == 0 else "Error",
                "startedAt": self.state["running"]["startedAt"],
                "finishedAt": timestamp(),
            }
        }
        self._changed()
        return code

    @property
    def alive(self) -> bool:
        """Whether it has a process that has not ended."""
        return self._process is not None and self._process.returncode is None

    def signal(self, number: int) -> None:
        """Send a signal to its first process; nothing if it has none."""
        if self.alive and (inside := self._first()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(inside, number)

    def kill(self) -> None:
        """End all its processes at once."""
        self.signal(signal.SIGKILL)
        if self.alive and self._first() is None:
            assert self._process is not None
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def beside(self, command: Sequence[str]) -> list[str]:
        """The command that runs ``command`` in it; NotYetError if it does not run."""
        inside = self._first()
        if not self.alive or inside is None or self._launch is None:
            raise NotYetError(f"the container {self.name} does not run")
        launch = self._launch
        return launch.sandbox.enter(inside, command, launch.variables, launch.directory)

    async def run_beside(self, command: Sequence[str]) -> int:
        """Run a command in it; what it ended with."""
        nothing = asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*self.beside(command), stdin=nothing, stdout=nothing, stderr=nothing)
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                process.kill()

    def _first(self) -> int | None:
        """The number that the machine gives its first process."""
        if self._process is None:
            return None
        try:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        except OSError:
            return None
        return int(children[0]) if children else None
