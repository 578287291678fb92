"""One thread that notices when processes end, also those that this process did not start."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

import structlog

from pitstop.control.ports.launcher import RunHandle
from pitstop.launchers.processes import find

log = structlog.get_logger("pitstop.launcher")


class Watcher:
    """Calls ``ended`` each time a watched process has ended."""

    def __init__(self, ended: Callable[[], object]) -> None:
        self._ended = ended
        self._epoll = select.epoll()
        self._stop = os.eventfd(0, os.EFD_CLOEXEC)
        self._epoll.register(self._stop, select.EPOLLIN)
        self._thread = threading.Thread(target=self._run, daemon=True, name="watch-processes")
        self._thread.start()

    def watch(self, run: RunHandle) -> None:
        """Watch a process from now on; if it is gone already, ``ended`` is called at once."""
        process = find(run)
        if process is None:
            self._ended()
            return
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            self._ended()
            return
        except OSError as error:
            log.warning("process cannot be watched, it is only looked at now and then", pid=process.pid, error=str(error))
            return
        if find(run) is None:  # it has ended meanwhile, and the descriptor may be of another one
            os.close(descriptor)
            self._ended()
            return
        self._epoll.register(descriptor, select.EPOLLIN)

    def close(self) -> None:
        """Stop watching."""
        os.eventfd_write(self._stop, 1)
        self._thread.join()

    def _run(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                if descriptor == self._stop:
                    return
                self._epoll.unregister(descriptor)
                os.close(descriptor)
                self._ended()
