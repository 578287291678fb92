"""A real server with its data folder, whose wall clock (and that of the Python of its runs) can be stepped."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from pitstop.launchers.processes import handle_in, is_alive, pid_of
from pitstop.model.data_folder import DataFolder

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "examples" / "fleet"))


class Server:
    """``pitstop serve`` on a free port, with a warm runner."""

    def __init__(self, folder: Path) -> None:
        from stack import Stack

        folder.mkdir(parents=True, exist_ok=True)
        self._clock, self._stack = folder / "clock", Stack(folder / "served", spares=1)
        self.client: Any = None

    def __enter__(self) -> Server:
        self._stack.__enter__()
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.end()

    @property
    def store(self) -> Path:
        return DataFolder(self._stack.data).store

    def start(self) -> None:
        with stepped_clock(self._clock):
            self.client = self._stack.start_server()

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        self._stack.kill_server()

    def java_of(self, pid: int) -> int:
        """The Java in which a run's process works: below it, or below the one engine that runs."""
        engines = (handle_in(path) for path in DataFolder(self._stack.data).engines.glob("*/process.json"))
        owners = [pid, *(pid_of(handle) for handle in engines if handle is not None and is_alive(handle))]
        below = (child for owner in owners for child in psutil.Process(owner).children(recursive=True))
        return next(child.pid for child in below if child.name() == "java")

    def step_clock(self, seconds: int) -> None:
        """Set the clock on or back."""
        before = int(self._clock.read_text()) if self._clock.exists() else 0
        self._clock.write_text(str(before + seconds))


@contextlib.contextmanager
def stepped_clock(clock: Path) -> Iterator[None]:
    """What a server, and all processes below it, get beside what this one has, so that the file can step their clock."""
    before = os.environ.get("PYTHONPATH")
    path = [str(HERE / "clock"), str(ROOT), str(ROOT / "src"), *filter(None, [before])]
    os.environ |= {"PYTHONPATH": os.pathsep.join(path), "PYTHON_STEPPED_CLOCK": str(clock)}
    try:
        yield
    finally:
        del os.environ["PYTHON_STEPPED_CLOCK"], os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
