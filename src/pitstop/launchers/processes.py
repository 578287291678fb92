"""Processes of this machine, or container, by their identity: the boot, the pid, and the time of their start in that boot.

A pid alone is used again. The identity is the kernel's own account in ``/proc``: to set the clock of the machine changes no part
of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pitstop.control.ports.launcher import RunHandle
from pitstop.errors import EngineError
from pitstop.kit.asker import ended_when_nobody_waits

PROC = Path("/proc")
KILL_SECONDS = 5.0
_MACHINES_OWN = 0xEFFFFFFC
"""The number that Linux gives to the process namespace outside containers (PROC_PID_INIT_INO)."""
_LOOKS = 10
_LOOK_SECONDS = 0.01
_OLD_SECONDS = 0.5
"""The tolerance, in seconds, for start times that older releases took from the clock: for rounding and the clock's drift."""


class Child(Protocol):
    """A process that was started here: the part of subprocess.Popen that launchers use."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


@dataclass(frozen=True)
class Process:
    """A process as the kernel shows it."""

    pid: int
    state: str
    parent: int
    session: int
    threads: int
    started: int
    """The number of clock ticks from the boot to its start."""

    @property
    def runs(self) -> bool:
        """False for a zombie, which may take seconds to be collected. A process with threads left is not a zombie yet."""
        return self.state not in "ZX" or self.threads > 1


@dataclass(frozen=True)
class _Identity:
    """The content of a handle: a pid, and the first and last tick of this boot at which its process can have started."""

    pid: int
    first: float
    last: float

    def is_of(self, process: Process) -> bool:
        return process.pid == self.pid and self.first <= process.started <= self.last


def own_handle() -> RunHandle:
    """Return the handle of this process."""
    return _handle(_must_read(os.getpid()))


def handle_of(pid: int) -> RunHandle | None:
    """Return the handle of the process that has this pid now; None if there is none."""
    process = _read(pid)
    return _handle(process) if process is not None else None


def write_handle(path: Path, handle: RunHandle) -> None:
    """Write the handle of a folder's owner into a file, which appears whole or not at all."""
    write_json(path, {"handle": handle})


def handle_in(path: Path) -> RunHandle | None:
    """Return the handle in a file of :func:`write_handle` or of an older release; None if the file is missing or damaged."""
    try:
        content = json.loads(path.read_text())
        return (
            RunHandle(content["handle"])
            if "handle" in content
            else RunHandle(f"{int(content['pid'])}@{float(content['created'])}")
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_json(path: Path, content: dict[str, object]) -> None:
    """Write a file that appears whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content))
    temporary.rename(path)


def find(handle: RunHandle) -> Process | None:
    """Return the process of a handle, perhaps a zombie; None if it is gone. EngineError for a handle of another launcher."""
    identity = _identity(handle)
    process = _read(identity.pid) if identity is not None else None
    return process if identity is not None and process is not None and identity.is_of(process) else None


def is_alive(handle: RunHandle) -> bool:
    """Return True while the process runs; a zombie does not."""
    process = find(handle)
    return process is not None and process.runs


def kill_with(variable: str, value: str) -> int:
    """SIGKILL the processes that have this variable in their environment, or in their title; return their number."""
    mark, killed = f"{variable}={value}".encode(), 0
    for process in _all():
        folder = PROC / str(process.pid)
        try:
            # The environment that the kernel shows of a process that was forked is that of the other one (runner.python_forks).
            words = (folder / "environ").read_bytes().split(b"\0") + (folder / "cmdline").read_bytes().rstrip(b"\0").split(b" ")
        except OSError:  # of another user, or gone
            continue
        if mark in words and process.runs and process.pid != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
    return killed


def pid_of(handle: RunHandle) -> int | None:
    """Return the pid of a handle's process, which may be gone; None if it is of another boot."""
    identity = _identity(handle)
    return identity.pid if identity is not None else None


def is_of_this_boot(handle: RunHandle) -> bool:
    """Return False for a process of another machine, or of this one before its last boot."""
    return _identity(handle) is not None


def kill_all(handle: RunHandle) -> None:
    """SIGKILL a process, its descendants and the rest of its session.

    A runner's JVM and Python workers stay in the session of the runner when it dies before them. Nothing happens to
    a process that only has the same pid.
    """
    identity = _identity(handle)
    if identity is None:
        return
    for _ in range(_LOOKS):  # what is being killed may still have started something
        family = [process for process in _family(identity) if process.runs and process.pid != os.getpid()]
        if not family:
            return
        for process in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + KILL_SECONDS
        while any(map(_still_runs, family)) and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)  # nobody tells of the end of another's child


def has_children(handle: RunHandle) -> bool:
    """Return True while anything runs that the process has started."""
    process = find(handle)
    return process is not None and any(child.runs for child in _descendants(process, _all()).values())


def run_to_end(
    command: Sequence[str | Path], log_file: Path, environment: Mapping[str, str], seconds: float, folder: Path | None = None
) -> int:
    """Run a process that prints into a file, and return its exit code (:func:`wait_to_end`)."""
    with log_file.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment, cwd=folder, start_new_session=True
        )
    return wait_to_end(process, seconds)


def wait_to_end(process: Child, seconds: float) -> int:
    """Wait for the end of a process that has a session of its own, and return its exit code.

    subprocess.TimeoutExpired if it takes longer. It is killed once nobody waits for it any more (kit.asker), and its children end
    with it.
    """
    handle = handle_of(process.pid)

    def kill() -> None:
        if handle is not None:
            kill_all(handle)

    try:
        with ended_when_nobody_waits(kill):
            return process.wait(seconds)
    finally:
        kill()
        process.wait()


def _handle(process: Process) -> RunHandle:
    return RunHandle(f"{_boot()}/{process.pid}/{process.started}")


def _identity(handle: RunHandle) -> _Identity | None:
    """Return the content of a handle; None if it is of another boot of the machine, of which nothing is left."""
    try:
        if "@" in handle:
            pid, start = handle.split("@")
            ticks = (float(start) - _boot_time()) * _hertz()
            return _Identity(int(pid), ticks - _OLD_SECONDS * _hertz(), ticks + _OLD_SECONDS * _hertz())
        boot, pid, ticks_of_start = handle.split("/")
        return _Identity(int(pid), int(ticks_of_start), int(ticks_of_start)) if boot == _boot() else None
    except ValueError:
        raise EngineError(f"The handle '{handle}' of a run names no process of this machine: another launcher made it.") from None


def _family(identity: _Identity) -> list[Process]:
    processes = {process.pid: process for process in _all()}
    leader = processes.get(identity.pid)
    if leader is not None and not identity.is_of(leader):
        return []  # the pid is in use again, which the kernel allows only once the session is empty
    session = [process for process in processes.values() if process.session == identity.pid]
    family = {process.pid: process for process in session if process.started >= identity.first}
    if leader is not None:
        family |= {leader.pid: leader} | _descendants(leader, processes.values())
    return list(family.values())


def _descendants(of: Process, processes: Iterable[Process]) -> dict[int, Process]:
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    descendants: dict[int, Process] = {}
    pending = [of.pid]
    while pending:
        for child in children.get(pending.pop(), ()):
            if child.pid not in descendants:
                descendants[child.pid] = child
                pending.append(child.pid)
    return descendants


def _all() -> list[Process]:
    readings = (_read(int(path.name)) for path in PROC.iterdir() if path.name.isdigit())
    return [process for process in readings if process is not None]


def _still_runs(process: Process) -> bool:
    now = _read(process.pid)
    return now is not None and now.started == process.started and now.runs


def _read(pid: int) -> Process | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Fields are counted after the name in brackets, which may itself hold blanks and brackets: man 5 proc_pid_stat.
    fields = text[text.rindex(")") + 2 :].split()
    return Process(pid, fields[0], int(fields[1]), int(fields[3]), int(fields[17]), int(fields[19]))


def _must_read(pid: int) -> Process:
    process = _read(pid)
    assert process is not None, "a process that asks for itself lives"
    return process


def _boot() -> str:
    """Return the mark of all pids that are visible here: the machine's boot and, in a container, its namespace."""
    boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    try:
        namespace = (PROC / "self/ns/pid").stat().st_ino
    except FileNotFoundError:  # a kernel without them
        return boot
    return boot if namespace == _MACHINES_OWN else f"{boot}.{namespace:x}"


def _boot_time() -> float:
    """Return the time of the boot in seconds since the epoch, by the clock as it is set now."""
    lines = (line.split() for line in (PROC / "stat").read_text().splitlines())
    return next(float(fields[1]) for fields in lines if fields and fields[0] == "btime")


def _hertz() -> int:
    return os.sysconf("SC_CLK_TCK")
