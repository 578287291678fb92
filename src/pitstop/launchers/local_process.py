"""Runners as processes of this machine. They outlive the control plane that started them."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import structlog

from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.control.ports.wake import CONTROL, Wake
from pitstop.errors import EngineError, NotFoundError
from pitstop.kit.jsonable import from_json
from pitstop.launchers.archiving import Archiving
from pitstop.launchers.engines import Engines
from pitstop.launchers.processes import Child, is_alive, is_of_this_boot, kill_all
from pitstop.launchers.runner_processes import RunnerProcesses, facts_of
from pitstop.launchers.spares import Spares
from pitstop.launchers.standby import HeldSpare
from pitstop.launchers.watcher import Watcher
from pitstop.launchers.worker import do_task
from pitstop.machine.rotating import Rotation
from pitstop.model.adoption import Adoption
from pitstop.model.cluster import EngineInfo
from pitstop.model.config import OWN_ENGINE
from pitstop.model.data_folder import DataFolder
from pitstop.model.process_folders import SpareFolder, WorkerFolder
from pitstop.model.snapshot import SnapshotRecord
from pitstop.model.task import Adopt, Compilation, Compile, ExportState, ImportState, QueryState, StateRows, Task

log = structlog.get_logger("pitstop.launcher")


class LocalProcessLauncher:
    """Starts runs, in a warm spare process where there is one.

    The control plane is woken when a watched process ends; ``environment`` is that of all processes that are started.
    ``one_of_several``: there may be runs on other machines, too. ``engine``: that of jobs whose option says nothing; None if
    every run has a JVM of its own, whatever its job says.
    """

    def __init__(
        self,
        data: DataFolder,
        store_url: str,
        wake: Wake,
        spares: int = 1,
        environment: dict[str, str] | None = None,
        rotation: Rotation | None = None,
        one_of_several: bool = False,
        engine: str | None = None,
    ) -> None:
        self._data, self._one_of_several = data, one_of_several
        self._processes = RunnerProcesses(data, store_url, environment, rotation, has_template=engine is not None)
        self._runs: dict[str, tuple[int, Child]] = {}
        """Job id -> the last run that was started for it here."""
        self._watcher = Watcher(lambda: wake.wake(CONTROL))
        self._engine = engine or OWN_ENGINE
        self._engines = Engines(data, self._processes.environment, self._spawn_engine) if engine is not None else None
        self._spares = Spares(data, spares, self._spawn_spare)
        self._archiving = Archiving(self._processes.environment, data.class_archive_log)

    def start(self, spec: RunSpec) -> None:
        engine = (spec.engine or self._engine) if self._engines is not None else self._engine
        process = None
        if engine == self._engine:
            process = self._spares.assign(spec.job_id, spec.token, spec.standby, facts_of(spec))
        elif spec.standby is not None:
            self._spares.release(spec.standby)  # it waits in another engine
        if process is None:
            process = self._processes.start(spec, self._folder_of(engine))
        self._runs[spec.job_id] = (spec.token, process)

    def start_failed(self, job_id: str, token: int) -> bool:
        run = self._runs.get(job_id)
        return run is not None and run[0] == token and run[1].poll() is not None

    def prepare(self) -> None:
        self._processes.reap()
        self._spares.replenish()
        if self._spares.are_ready():  # what people wait for comes first
            self._archiving.begin()

    def alive(self, run: RunHandle) -> bool | None:
        return None if self._one_of_several and not is_of_this_boot(run) else is_alive(run)

    def kill(self, run: RunHandle) -> None:
        kill_all(run)
        self._processes.reap()
        if self._engines is not None:
            self._engines.wait_for_release(run)

    def watch(self, run: RunHandle) -> None:
        self._watcher.watch(run)

    def engines(self) -> list[EngineInfo]:
        """Return the engines that are up, with the ids of their jobs."""
        return self._engines.infos() if self._engines is not None else []

    def replace_engine(self, name: str) -> list[str]:
        """Let another engine take the place of the one of that name (Engines.replace); return the ids of the jobs to move."""
        if self._engines is None:
            raise NotFoundError(f"No engine '{name}' is up: each job of this server has its own.")
        self._engines.replace(name)
        if name == self._engine:
            self._spares.renew()  # before the look at jobs: none is given to a spare of the old engine after it
        return self._engines.jobs_in_replaced(name)

    def hold(self, seconds: float) -> HeldSpare | None:
        spare = self._spares.hold(seconds)
        return HeldSpare(*spare) if spare is not None else None

    def release(self, standby: str) -> None:
        self._spares.release(standby)

    def end_spares(self) -> None:
        """End the spares that have no job yet."""
        self._spares.end()

    def renew_spares(self) -> None:
        """Replace the spares that were started for a cluster that has changed."""
        self._spares.renew()

    def close(self) -> None:
        """Stop watching processes; those that run jobs go on."""
        if self._engines is not None:
            self._engines.end_unused()
        self._processes.close()
        self._watcher.close()
        self._archiving.end()

    def compile(self, task: Compile) -> Compilation:
        return from_json(Compilation, self._do(task))

    def query_state(self, task: QueryState) -> StateRows:
        return from_json(StateRows, self._do(task))

    def export_state(self, task: ExportState) -> None:
        self._do(task)

    def import_state(self, task: ImportState) -> SnapshotRecord:
        return from_json(SnapshotRecord, self._do(task))

    def adopt(self, task: Adopt) -> Adoption:
        return from_json(Adoption, self._do(task))

    def _do(self, task: Task) -> Any:
        """Do a task of runner.worker_tasks in its own process and return the JSON value of its result."""
        folder, engine = self._data.worker(secrets.token_hex(6)), None
        if not isinstance(task, Adopt):  # it takes long, and much memory
            engine = self._folder_of(self._engine)
        try:
            return self._done(task, folder, engine)
        except EngineError as error:
            if engine is None or not error.details.get("away"):
                raise
            log.warning("a task is done without its engine", task=task.kind, reason=error.message)
            return self._done(task, folder, None)

    def _done(self, task: Task, folder: WorkerFolder, engine: Path | None) -> Any:
        return do_task(task, folder, lambda command: self._processes.start_task(command, folder.log, engine))

    def _spawn_spare(self, command: list[str], log_file: Path) -> Child:
        log_moves = SpareFolder(log_file.parent).log_moves
        return self._processes.spawn(command, log_file, {}, log_moves, self._folder_of(self._engine))

    def _spawn_engine(self, command: list[str], log_file: Path) -> Child:
        return self._processes.spawn(command, log_file, {"engine": log_file.parent.name})

    def _folder_of(self, engine: str) -> Path | None:
        """Return the folder of an engine that runs, or is starting; None for a run with a JVM of its own."""
        return self._engines.folder(engine).root if self._engines is not None and engine != OWN_ENGINE else None
