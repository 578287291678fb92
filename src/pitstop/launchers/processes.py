"""Processes by their identity: a pid and when it was created, since pids are used again."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil

SAME_SECONDS = 0.5
"""Creation times of one process may differ by rounding."""
KILL_SECONDS = 5.0
_LOOKS = 10
_LOOK_SECONDS = 0.01


def identity_of(pid: int) -> tuple[int, float] | None:
    """(pid, creation time in seconds since the epoch) of a process, None if it is gone."""
    try:
        return pid, psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None


def find(pid: int, created: float) -> psutil.Process | None:
    """The process of that identity; it may be a zombie."""
    try:
        process = psutil.Process(pid)
        return process if abs(process.create_time() - created) < SAME_SECONDS else None
    except psutil.NoSuchProcess:
        return None


def is_alive(pid: int, created: float) -> bool:
    """True while the process does something; a zombie does not."""
    process = find(pid, created)
    return process is not None and _runs(process)


def kill_all(pid: int, created: float) -> None:
    """SIGKILL a process, its descendants and what else is left of the session it led.

    A runner's JVM and Python workers stay in the session of the runner when it dies before them. Nothing happens to
    a process that only has the same pid.
    """
    for _ in range(_LOOKS):  # what is being killed may still have started something
        family = [process for process in _family(pid, created) if process.pid != os.getpid()]
        if not family:
            return
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + KILL_SECONDS
        while any(map(_runs, family)) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)  # nobody tells of the end of another's child


def _family(pid: int, created: float) -> list[psutil.Process]:
    leader = find(pid, created)
    if leader is None and psutil.pid_exists(pid):
        return []  # the pid is in use again, which the kernel allows only once the session is empty
    family = {process.pid: process for process in _session(pid, created)}
    if leader is not None:
        family[pid] = leader
        with contextlib.suppress(psutil.NoSuchProcess):
            family |= {child.pid: child for child in leader.children(recursive=True)}
    return [process for process in family.values() if _runs(process)]


def _session(leader: int, created: float) -> list[psutil.Process]:
    members = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) == leader and process.create_time() > created - SAME_SECONDS:
                members.append(process)
    return members


def _runs(process: psutil.Process) -> bool:
    """False for a zombie: whoever has to collect an orphan may take seconds for it. With threads left it is none yet."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.NoSuchProcess:
        return False
