"""The template of processes: it has imported all that runs need, and is forked for each of them, so that they start at once."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import structlog

from pitstop.launchers.processes import handle_of, is_alive

log = structlog.get_logger("pitstop.launcher")
READY_SECONDS = 30.0
"""The longest that a process waits for a template that is starting, in seconds. It would import the same by itself."""
FORK_SECONDS = 10.0
"""The longest that a template takes to fork itself, in seconds. A slower one is replaced."""
LOOK_SECONDS = 0.05
UNKNOWN_CODE = -1
"""The exit code of a process whose template has ended before it."""
LONGEST_MESSAGE = 1 << 16


class ForkedProcess:
    """A process that a template has forked (launchers.processes.Child). The template collects its exit code."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._handle = handle_of(pid)
        self._ended, self._alone = threading.Event(), threading.Event()

    def end(self, code: int) -> None:
        """Note that the process has ended."""
        self.returncode = code
        self._ended.set()

    def leave_alone(self) -> None:
        """Note that its template is gone."""
        self._alone.set()
        self._ended.set()

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        if self.returncode is None and self._alone.is_set() and (self._handle is None or not is_alive(self._handle)):
            self.returncode = UNKNOWN_CODE
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. subprocess.TimeoutExpired if the process runs longer."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self._ended.wait(timeout)
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(LOOK_SECONDS)  # nobody tells of the end of another's child
        return code


class Template:
    """The template of one launcher. It ends with its launcher; what it has forked goes on."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._current = _Started(self._environment)

    def fork(self, arguments: Sequence[str], output: int) -> ForkedProcess | None:
        """Start ``python -m pitstop.runner ARGUMENTS``, which prints into the descriptor ``output``.

        A template that is starting is waited for. Return None if it does not get ready, or is gone: another one is started then,
        for the next process.
        """
        with self._lock:
            if self._current.has_ended():
                log.warning("the template of processes has ended; another one starts")
                self._current = _Started(self._environment)
            return self._current.fork(arguments, output)

    def close(self) -> None:
        """End the template."""
        with self._lock:
            self._current.end()


class _Started:
    """A template's process, and the connection to it: one message of JSON for each packet (runner.template)."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pitstop.runner", "template", "--socket", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
            )
        self._is_ready = False
        self._children: dict[int, ForkedProcess] = {}
        self._answered = threading.Condition()
        self._forked: ForkedProcess | None = None
        threading.Thread(target=self._read, daemon=True, name="template").start()

    def fork(self, arguments: Sequence[str], output: int) -> ForkedProcess | None:
        with self._answered:
            if not self._answered.wait_for(lambda: self._is_ready or self.has_ended(), READY_SECONDS) or not self._is_ready:
                return None
            self._forked = None
            try:
                socket.send_fds(self._socket, [json.dumps(list(arguments)).encode()], [output])
            except OSError:
                return None
            self._answered.wait_for(lambda: self._forked is not None or self.has_ended(), FORK_SECONDS)
            if self._forked is None:
                self._kill()  # before the caller starts the process in another way: it must not be there twice
                self._answered.wait_for(lambda: not self._is_ready, FORK_SECONDS)
            return self._forked

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._kill()
        self._process.wait()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def _read(self) -> None:
        """Read what the template tells until it is gone."""
        with self._socket:
            while True:
                try:
                    message = self._socket.recv(LONGEST_MESSAGE)
                except OSError:
                    message = b""
                with self._answered:
                    if not message:
                        self._is_ready = False
                        for child in self._children.values():
                            child.leave_alone()
                    else:
                        self._note(json.loads(message))
                    self._answered.notify_all()
                if not message:
                    self._process.wait()
                    return

    def _note(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._is_ready = True
        elif "forked" in message:
            self._forked = self._children[message["forked"]] = ForkedProcess(message["forked"])
        elif (child := self._children.pop(message["ended"], None)) is not None:
            child.end(message["code"])
