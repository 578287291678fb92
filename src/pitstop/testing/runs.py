"""Runs without Spark: they claim their job, tell facts and obey commands as a runner does, on real files and a real store."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.control.ports import RunSpec
from pitstop.errors import EngineError, FencedError, PitstopError
from pitstop.kit.ids import new_lineage
from pitstop.kit.version import __version__
from pitstop.kit.wake import WakeSocket, wake
from pitstop.model.config import JobConfig
from pitstop.model.job import Job, Progress
from pitstop.model.operation import Command, CommandKind, Observation, ObservationKind
from pitstop.model.snapshot import SnapshotRecord
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import checkpoint_folder, export_checkpoint, record_of, snapshot_folder
from pitstop.store.database import Database
from pitstop.store.runner_link import SqlRunnerLink
from pitstop.testing.scripts import Script

SNAPSHOT_BYTES = 1196
"""Size of a snapshot of a job with one source (the manual's example, S002)."""
WAIT_SECONDS = 30.0

K = ObservationKind


class ScriptedRun:
    """One run of a job, in a thread; its artifact is a script. ``now`` stamps its snapshots."""

    def __init__(self, spec: RunSpec, pid: int, database: Database, told: Callable[[], object], now: Callable[[], float]) -> None:
        self._spec, self._pid, self._now = spec, pid, now
        self._link = SqlRunnerLink(database, told)
        self._folder = spec.data_dir / "jobs" / spec.job_id
        self._folder.mkdir(parents=True, exist_ok=True)
        self._socket = WakeSocket(self._folder / "runner.sock")
        self._ended = threading.Event()
        self._checkpoint: Checkpoint | None = None
        self._last_command = 0
        self._thread = threading.Thread(target=self._run, name=f"run-{pid}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True until its thread has ended."""
        return self._thread.is_alive()

    def kill(self) -> None:
        """End it without a word."""
        self._ended.set()
        wake(self._socket.path)
        self._thread.join(WAIT_SECONDS)

    def advance(self, progress: Progress) -> None:
        """Commit the epoch of this progress, and tell it."""
        assert self._checkpoint is not None
        if progress.epoch >= 0:
            _commit(self._checkpoint, progress)
        self._link.report(progress)

    def _run(self) -> None:
        try:
            job = self._link.claim(self._spec.job_id, self._spec.token, self._pid, 1.0, 1e9)
            if self._start(job):
                self._obey()
        except FencedError:
            return
        finally:
            self._socket.close()

    def _start(self, job: Job) -> bool:
        """Tell what becomes of it; False if it does not stay."""
        script = Script.read(job.source.artifact)
        lineage = job.lineage or new_lineage()
        self._checkpoint = _checkpoint_of(job, self._spec.data_dir, lineage, script)
        config = JobConfig.from_options(job.options).to_dict()
        self._tell(K.COMPILED, plan=script.plan.to_dict(), lineage=lineage, config=config)
        if "fails" in script.does or "breaks" in script.does:
            sentence = script.does.get("fails") or "It broke off."
            details = f"Traceback (most recent call last):\n{sentence}"
            self._tell(K.FAILED, error=EngineError(sentence).to_dict(), details=details, restartable="breaks" in script.does)
            return False
        if "completes" in script.does:
            self._tell(K.COMPLETED)
            return False
        if "hangs" not in script.does:
            self._tell(K.RUNNING, epoch=0)
        return True

    def _obey(self) -> None:
        while not self._ended.is_set():
            for command in self._link.commands(self._last_command):
                self._last_command = command.id
                if command.kind is CommandKind.STOP:
                    self._tell(K.STOPPED, epoch=0, operation=command.args.get("operation"), **self._asked_snapshot(command))
                    return
                self._export(command)
            self._socket.wait(WAIT_SECONDS)

    def _export(self, command: Command) -> None:
        operation = command.args["operation"]
        found = self._asked_snapshot(command)
        self._tell(K.EXPORTED if "snapshot" in found else K.EXPORT_FAILED, operation=operation, **found)

    def _asked_snapshot(self, command: Command) -> dict[str, Any]:
        """The record of the snapshot that a command asks for, or the error; nothing if it asks for none."""
        name = command.args.get("snapshot")
        try:
            return {"snapshot": dataclasses.asdict(self._take_snapshot(name))} if name else {}
        except PitstopError as error:
            return {"error": error.to_dict()}

    def _take_snapshot(self, name: str) -> SnapshotRecord:
        assert self._checkpoint is not None
        export_checkpoint(self._checkpoint, self._spec.data_dir, name)
        folder = snapshot_folder(self._spec.data_dir, name)
        stamped = dataclasses.replace(manifests.read(folder), created=self._now())
        manifests.write(folder, stamped)
        return record_of(stamped, folder)

    def _tell(self, kind: ObservationKind, **payload: Any) -> None:
        self._link.observe(Observation(self._spec.job_id, self._spec.token, kind, payload))


class ScriptedLauncher:
    """Starts scripted runs (control.ports.Launcher)."""

    def __init__(self, database: Database, told: Callable[[], object], now: Callable[[], float]) -> None:
        self._database, self._told, self._now = database, told, now
        self._runs: dict[int, ScriptedRun] = {}
        self._run_of: dict[str, ScriptedRun] = {}

    def start(self, spec: RunSpec) -> None:
        pid = len(self._runs) + 1
        self._runs[pid] = self._run_of[spec.job_id] = ScriptedRun(spec, pid, self._database, self._told, self._now)

    def run_of(self, job_id: str) -> ScriptedRun:
        """The job's newest run."""
        return self._run_of[job_id]

    def start_failed(self, job_id: str, token: int) -> bool:
        return False

    def prepare(self) -> None:
        """There is nothing to make ready."""

    def alive(self, pid: int, created: float) -> bool:
        return self._runs[pid].alive

    def kill(self, pid: int, created: float) -> None:
        self._runs[pid].kill()

    def watch(self, job_id: str, token: int, pid: int, created: float) -> None:
        """A scripted run tells how it ends; nobody has to watch it."""

    def close(self) -> None:
        """End all runs."""
        for run in self._runs.values():
            run.kill()


def _checkpoint_of(job: Job, data_dir: Path, lineage: str, script: Script) -> Checkpoint:
    checkpoint = Checkpoint(checkpoint_folder(data_dir, job.id, lineage))
    if checkpoint.committed() >= 0:
        return checkpoint
    checkpoint.write_facts(
        {
            "job_id": job.id,
            "job_name": job.name,
            "lineage": lineage,
            "plan": script.plan.to_dict(),
            "sources": [["source", ""]],
            "versions": {"pitstop": __version__},
        }
    )
    _commit(checkpoint, Progress(epoch=0))
    used = sum((checkpoint.path / path).stat().st_size for path in checkpoint.files_of(0))
    (checkpoint.path / "metadata").write_bytes(b" " * max(0, SNAPSHOT_BYTES - used))
    return checkpoint


def _commit(checkpoint: Checkpoint, progress: Progress) -> None:
    conf = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.stateStore.providerClass": "memory"}
    checkpoint.write_offsets(progress.epoch, OffsetLog({"batchWatermarkMs": 0, "conf": conf}, ('{"rows":1}',)))
    checkpoint.write_commit(progress.epoch, progress.watermark_ms or 0)
    checkpoint.drop_before(progress.epoch)
