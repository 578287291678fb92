"""Runner processes on this machine. They outlive the control plane that started them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import structlog

from pitstop.control.ports import RunSpec
from pitstop.kit.wake import wake

log = structlog.get_logger("pitstop.launcher")
_SAME = 0.5
"""Creation times of one process may differ by rounding, in seconds."""


class LocalProcessLauncher:
    """Starts runs, in a warm spare process where one is ready."""

    def __init__(
        self,
        data_dir: Path,
        store_url: str,
        control_wake: Callable[[], object],
        spares: int = 1,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._data_dir, self._store_url, self._wake = data_dir, store_url, control_wake
        self._spares = spares
        self._environment = (
            os.environ
            | (environment or {})
            | {
                "PYSPARK_PYTHON": sys.executable,
                "PYSPARK_DRIVER_PYTHON": sys.executable,
            }
        )
        self._children: list[subprocess.Popen[bytes]] = []
        self._waiting: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start spares until there are as many as wished. Not beside a run that starts: they would take its cores."""
        with self._lock:
            for spare_id, process in list(self._waiting.items()):
                if process.poll() is not None:
                    self._forget_spare(spare_id)
            while len(self._waiting) < self._spares:
                spare_id = secrets.token_hex(4)
                folder = self._data_dir / "spares" / spare_id
                folder.mkdir(parents=True)
                self._waiting[spare_id] = self._spawn(["spare", "--spare", spare_id], folder / "spare.log")

    def start(self, spec: RunSpec) -> None:
        log_file = self._data_dir / "jobs" / spec.job_id / "runner.log"
        log_file.parent.mkdir(parents=True, exist_ok=True)
        if not self._assign_spare(spec):
            self._spawn(["run", "--job", spec.job_id, "--token", str(spec.token)], log_file, spec.environment)

    def alive(self, pid: int, created: float) -> bool:
        self._reap()
        process = _process(pid, created)
        return process is not None and process.status() != psutil.STATUS_ZOMBIE

    def kill(self, pid: int, created: float) -> None:
        process = _process(pid, created)
        if process is None:
            return
        family = [process]
        with contextlib.suppress(psutil.NoSuchProcess):
            family += process.children(recursive=True)
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=5)
        self._reap()

    def watch(self, job_id: str, token: int, pid: int, created: float) -> None:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            self._wake()
            return

        def wait() -> None:
            # Readable once the process has ended; works for processes that are not our children, too.
            select.select([descriptor], [], [])
            os.close(descriptor)
            self._wake()

        threading.Thread(target=wait, daemon=True, name=f"watch-{pid}").start()

    def end_spares(self) -> None:
        """End the spares that have no job yet."""
        with self._lock:
            for spare_id, process in list(self._waiting.items()):
                with contextlib.suppress(psutil.NoSuchProcess):
                    self.kill(process.pid, psutil.Process(process.pid).create_time())
                self._forget_spare(spare_id)

    def compile(self, artifact: Path, entry: str | None, args: tuple[str, ...], folder: Path) -> dict[str, object]:
        """Compile an artifact in a process of its own: ``{"plan", "options"}`` or ``{"error"}``."""
        folder.mkdir(parents=True, exist_ok=True)
        out = folder / "plan.json"
        command = ["compile", "--artifact", str(artifact), "--out", str(out), *(["--entry", entry] if entry else [])]
        try:
            with (folder / "compile.log").open("ab") as log_file:
                arguments = [sys.executable, "-m", "pitstop.runner", *command, "--", *args]
                subprocess.run(arguments, env=self._environment, stdout=log_file, stderr=log_file, check=False, timeout=180)
            return dict(json.loads(out.read_text()))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _assign_spare(self, spec: RunSpec) -> bool:
        """Give the run to a spare: a ready one if there is one, else one that is still warming up and so is ahead."""
        with self._lock:
            alive = [spare_id for spare_id, process in self._waiting.items() if process.poll() is None]
            alive.sort(key=lambda spare_id: not (self._spare_folder(spare_id) / "ready").exists())
            for spare_id in alive:
                folder = self._spare_folder(spare_id)
                temporary = folder / "assignment.tmp"
                temporary.write_text(json.dumps({"job": spec.job_id, "token": spec.token}))
                temporary.rename(folder / "assignment.json")
                del self._waiting[spare_id]
                wake(folder / "wake.sock")
                return True
        return False

    def _spare_folder(self, spare_id: str) -> Path:
        return self._data_dir / "spares" / spare_id

    def _spawn(self, command: list[str], log_file: Path, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-m", "pitstop.runner", *command, "--store", self._store_url, "--data", str(self._data_dir)]
        with log_file.open("ab") as out:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=self._environment | (environment or {}),
            )
        self._children.append(process)
        log.info("started", command=command[0], pid=process.pid)
        return process

    def _forget_spare(self, spare_id: str) -> None:
        self._waiting.pop(spare_id, None)
        shutil.rmtree(self._data_dir / "spares" / spare_id, ignore_errors=True)

    def _reap(self) -> None:
        self._children = [child for child in self._children if child.poll() is None]


def _process(pid: int, created: float) -> psutil.Process | None:
    try:
        process = psutil.Process(pid)
        return process if abs(process.create_time() - created) < _SAME else None
    except psutil.NoSuchProcess:
        return None
