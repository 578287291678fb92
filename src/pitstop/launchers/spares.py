"""Warm spares: runner processes whose Spark session is up and that wait for a job.

Each has a folder (model.process_folders.SpareFolder), which stays until the process is gone, also once it has a job: Spark still
works there. A spare that is held makes itself ready for one version of a job (launchers.standby): nothing else is given to it.
"""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog

from pitstop.control.ports.launcher import RunHandle
from pitstop.launchers.processes import Child, handle_in, handle_of, is_alive, kill_all, write_handle, write_json
from pitstop.machine.wake import wake
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import SpareFolder

log = structlog.get_logger("pitstop.launcher")
MOST_BACK_OFF_SECONDS = 60.0
READY_LOOK_SECONDS = 0.1
UNKNOWN_SECONDS = 600.0
"""The age, in seconds, from which a folder without a known process is left over from a crash."""

Spawn = Callable[[list[str], Path], Child]
"""Starts ``pitstop.runner`` with arguments and a log file."""


class Spares:
    """Keeps ``count`` spares ready. Ends the spares of a killed control plane, which may be of another version."""

    def __init__(self, data: DataFolder, count: int, spawn: Spawn) -> None:
        self._data, self._count, self._spawn = data, count, spawn
        self._waiting: dict[str, Child] = {}
        self._held: dict[str, Child] = {}
        self._lock = threading.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._end_strays()

    def replenish(self) -> None:
        """Start spares until ``count`` of them wait for a run. After failures, wait longer each time before the next start.

        None is started while one is held: its warming up would make the change of versions slow.
        """
        with self._lock:
            self._notice_ends()
            self._remove_left_folders()
            while not self._held and len(self._waiting) < self._count and time.monotonic() >= self._not_before:
                self._start_one()

    def are_ready(self) -> bool:
        """Return True if all spares are warm."""
        with self._lock:
            return sum(map(self._is_ready, self._waiting)) >= self._count

    def assign(
        self, job_id: str, token: int, held: str | None = None, log_facts: Mapping[str, object] | None = None
    ) -> Child | None:
        """Give a run to a spare: the one held for it, else a ready one, else one that still warms up, and is ahead of a new one.

        ``log_facts`` stand in each line of its log from then on. OSError if that could not be written: the spare is ended then.
        """
        with self._lock:
            self._notice_ends()
            process = self._held.pop(held, None) if held is not None else None
            if held is not None and process is not None and process.poll() is None:
                return self._give(held, process, job_id, token, log_facts)
            for spare_id in sorted(self._waiting, key=lambda spare_id: not self._is_ready(spare_id)):
                return self._give(spare_id, self._waiting.pop(spare_id), job_id, token, log_facts)
        return None

    def hold(self, seconds: float) -> tuple[str, SpareFolder, Child] | None:
        """Hold back a ready spare: (id, folder, process). None if there is none within ``seconds``, or none is kept."""
        deadline = time.monotonic() + seconds
        while self._count:
            with self._lock:
                self._notice_ends()
                for spare_id in filter(self._is_ready, self._waiting):
                    process = self._held[spare_id] = self._waiting.pop(spare_id)
                    return spare_id, self._data.spare(spare_id), process
            if time.monotonic() >= deadline:
                break
            time.sleep(READY_LOOK_SECONDS)
        return None

    def release(self, spare_id: str) -> None:
        """End a held spare, unless it has been given its run."""
        with self._lock:
            process = self._held.pop(spare_id, None)
        if process is not None:
            self._end_one(spare_id, process)

    def renew(self) -> None:
        """End the spares that nothing is held for yet: their Spark knows the cluster as it was."""
        with self._lock:
            self._end_all(self._waiting)

    def end(self) -> None:
        """End the spares that have no job."""
        with self._lock:
            self._end_all(self._waiting)
            self._end_all(self._held)

    def _give(self, spare_id: str, process: Child, job_id: str, token: int, log_facts: Mapping[str, object] | None) -> Child:
        folder = self._data.spare(spare_id)
        try:
            self._data.job(job_id).root.mkdir(parents=True, exist_ok=True)  # else its first lines found nowhere to be
            # First, so that no line of the run is left in the log of the spare.
            write_json(folder.log_moves, {"log": str(self._data.job(job_id).log), "facts": dict(log_facts or {})})
            write_json(folder.assignment, {"job": job_id, "token": token})
            wake(folder.socket)
        except OSError:
            # It may know of the run already, or write into its log: nothing else can be given to it.
            self._end_one(spare_id, process)
            raise
        self._failures = 0
        return process

    def _end_all(self, spares: dict[str, Child]) -> None:
        for spare_id, process in spares.items():
            self._end_one(spare_id, process)
        spares.clear()

    def _end_one(self, spare_id: str, process: Child) -> None:
        handle = handle_of(process.pid)
        if process.poll() is None and handle is not None:
            kill_all(handle)
            process.wait()
        _remove(self._data.spare(spare_id))

    def _start_one(self) -> None:
        spare_id = secrets.token_hex(4)
        folder = self._data.spare(spare_id)
        folder.root.mkdir(parents=True)
        process = self._spawn(["spare", "--spare", spare_id], folder.log)
        self._waiting[spare_id] = process
        handle = handle_of(process.pid)
        if handle is not None:
            write_handle(folder.process, handle)

    def _is_ready(self, spare_id: str) -> bool:
        return self._data.spare(spare_id).ready.exists()

    def _notice_ends(self) -> None:
        for spare_id, process in list(self._waiting.items()):
            if process.poll() is None:
                continue
            del self._waiting[spare_id]
            self._failures += 1
            self._not_before = time.monotonic() + min(2.0**self._failures, MOST_BACK_OFF_SECONDS)
            last = last_line(self._data.spare(spare_id).log)
            log.warning("a spare ended by itself", exit_code=process.returncode, last_line=last, failures=self._failures)

    def _remove_left_folders(self) -> None:
        for folder in self._folders():
            if folder.root.name not in self._waiting | self._held and _is_left(folder):
                _remove(folder)

    def _end_strays(self) -> None:
        for folder in self._folders():
            handle = _process_of(folder)
            if handle is not None and not folder.assignment.exists():
                kill_all(handle)
            if _is_left(folder):
                _remove(folder)

    def _folders(self) -> list[SpareFolder]:
        return [self._data.spare(path.name) for path in self._data.spares.glob("*")]


def _remove(folder: SpareFolder) -> None:
    """Remove a spare's folder, with the checkpoint that it has begun as a standby, if it never got its run."""
    if folder.begun.exists() and not folder.assignment.exists():
        shutil.rmtree(folder.begun.read_text(), ignore_errors=True)
    shutil.rmtree(folder.root, ignore_errors=True)


def _is_left(folder: SpareFolder) -> bool:
    handle = _process_of(folder)
    if handle is not None:
        return not is_alive(handle)
    return time.time() - folder.root.stat().st_mtime > UNKNOWN_SECONDS


def _process_of(folder: SpareFolder) -> RunHandle | None:
    return handle_in(folder.process) or handle_in(folder.ready)


def last_line(path: Path) -> str:
    """Return the last line of a log, in words; an empty text if there is none."""
    try:
        lines = path.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    last = lines[-1] if lines else ""
    try:
        return str(json.loads(last)["msg"])
    except (ValueError, TypeError, KeyError):
        return last
