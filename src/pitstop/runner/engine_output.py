"""The output of an engine's JVM, line by line: to the process whose job it is about, or else to the engine's own log."""

from __future__ import annotations

import contextlib
import os
import re
import select
import threading
from pathlib import Path

from pitstop.spark.base.engines import LINE_FACT, TASK_FACT

_FACTS = re.compile(rb',"(%s|%s)":"([^"]*)"' % (LINE_FACT.encode(), TASK_FACT.encode()))
_OF_A_JOB = re.compile(rb'"thread":"(?:stream execution thread|Executor task launch worker|Thread-)')
"""The threads that work for one session at a time. Threads of pools keep the name of the session that they were made for."""
_LONGEST_LINE = 1 << 20
SLOW_SECONDS = 0.2
"""The longest wait for a log that takes no more, in seconds: the lines of all jobs wait meanwhile."""


class EngineOutput:
    """Takes over the standard error of this process, and of all that it starts from now on."""

    def __init__(self) -> None:
        self._own = os.dup(2)
        self._routes: dict[bytes, int] = {}
        self._lock = threading.Lock()
        source, target = os.pipe()
        os.dup2(target, 2)
        os.close(target)
        threading.Thread(target=self._pump, args=(source,), daemon=True, name="engine-output").start()

    def route(self, client: str, output: Path) -> None:
        """Print the lines about a process into ``output`` from now on. Without that file they stay in the engine's log."""
        with contextlib.suppress(OSError), self._lock:
            # A process whose log is slow keeps nobody's lines up.
            self._routes[client.encode()] = os.open(output, os.O_WRONLY | os.O_NONBLOCK)

    def forget(self, client: str) -> None:
        """Print no more lines for a process."""
        with self._lock:
            file = self._routes.pop(client.encode(), None)
            if file is not None:
                os.close(file)

    def _pump(self, source: int) -> None:
        rest = b""
        while chunk := os.read(source, 1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._print(line)

    def _print(self, line: bytes) -> None:
        clients = dict(_FACTS.findall(line))
        if clients:
            line = _FACTS.sub(b"", line)
            # The thread of a task inherits LINE_FACT from the thread that started it, perhaps for another process.
            client = clients.get(TASK_FACT.encode()) or clients[LINE_FACT.encode()]
            with self._lock:
                file = self._routes.get(client) if _OF_A_JOB.search(line) else None
                if file is not None and _written(file, line + b"\n"):
                    return
        with contextlib.suppress(OSError):
            os.write(self._own, line + b"\n")


def _written(file: int, line: bytes) -> bool:
    """Write a line into a pipe; return False if nothing of it could be written. A line whose reader is too slow is cut."""
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
            if rest and not select.select([], [file], [], SLOW_SECONDS)[1]:
                break
    except OSError:
        return len(rest) < len(line)
    return True
