"""Forks of a process that has one thread, and nothing but what it has imported (runner.template, runner.python_forks)."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

from setproctitle import getproctitle, setproctitle

PIPE_BYTES = 1 << 16


class Forks:
    """The processes that this one has forked. ``descriptor`` can be read from once one of them has ended."""

    def __init__(self) -> None:
        getproctitle()  # finds the place of titles, which is lost once the environment is another
        gc.collect()
        gc.freeze()  # the collector of a forked process would write into the pages that it shares with this one
        self.descriptor, self._signals = os.pipe()
        os.set_blocking(self._signals, False)
        signal.set_wakeup_fd(self._signals, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def fork(self, tell: Callable[[int], object]) -> int:
        """Fork this process; return the number of the new one here, and 0 there.

        ``tell`` tells that number to the one who has asked. If it raises OSError, which comes out of here, the new process ends
        before it does anything: the one who has asked starts another, and both would do the same work.
        """
        go_ahead, may_go = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(may_go)
            if not os.read(go_ahead, 1):
                os._exit(1)
            os.close(go_ahead)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self.descriptor)
            os.close(self._signals)
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed()  # else all processes would draw the same numbers
            return 0
        os.close(go_ahead)
        try:
            tell(pid)
            with contextlib.suppress(BrokenPipeError):  # it was killed
                os.write(may_go, b"+")
        finally:
            os.close(may_go)
        return pid

    def ends(self) -> Iterator[tuple[int, int]]:
        """Yield (number, exit code) of processes that have ended since the last call."""
        os.read(self.descriptor, PIPE_BYTES)
        with contextlib.suppress(ChildProcessError):
            while (status := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                yield status[0], os.waitstatus_to_exitcode(status[1])


class ForkedChild:
    """A process that does the same work as another would, started with ``python ARGUMENTS``, but is forked from this one.

    Its standard input ends with this process, which may have one thread only. An exception of ``work`` ends it through the frames
    that it was made in.
    """

    def __init__(self, arguments: Sequence[str], work: Callable[[], object]) -> None:
        ending, self._alive = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._alive)
            os.dup2(ending, 0)
            os.close(ending)
            name_process(*arguments)
            work()
            sys.exit(0)
        os.close(ending)

    def wait(self) -> int:
        """Wait for its end and return its exit code."""
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def name_process(*words: str) -> None:
    """Show this process as Python with these arguments in lists of processes, where it would look like the one it comes from."""
    setproctitle(" ".join([sys.executable, *words]))
