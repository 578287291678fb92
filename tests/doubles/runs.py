"""Runs without Spark: the real runner, in threads of this process, with a runtime that follows scripts."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pitstop.control.ports.launcher import RunHandle, RunSpec
from pitstop.control.ports.wake import CONTROL
from pitstop.errors import EngineError, FencedError, PitstopError, WaitTimeoutError
from pitstop.kit.ids import new_lineage
from pitstop.kit.version import __version__
from pitstop.machine.questions import QuestionBox
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, Progress
from pitstop.model.retention import Retention
from pitstop.model.snapshot import SnapshotRecord
from pitstop.runner.run import RENEW_SECONDS, Runner
from pitstop.runner.runtime import Opened, Ties
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.snapshots.export import export_checkpoint, record_of
from pitstop.store.database import Database
from pitstop.store.runner_link import SqlRunnerLink
from tests.doubles.scripts import Script
from tests.doubles.wake import MemoryWake

SNAPSHOT_BYTES = 1196
"""The size of a snapshot of a job with one source (the example of Jet's manual)."""
WAIT_SECONDS = 30.0


class ScriptedRuntime:
    """The runner.runtime.Runtime for one run of a job whose artifact is a script, on real files. ``now`` stamps its snapshots."""

    def __init__(self, data: DataFolder, now: Callable[[], float]) -> None:
        self._data, self._now = data, now
        self.query: ScriptedQuery | None = None
        """Once it is started."""

    def open(self, job: Job, ties: Ties) -> Opened:
        script = Script.read(job.version.source.artifact)
        lineage = job.version.lineage or new_lineage()
        checkpoint = _checkpoint_of(job, self._data.job(job.id).checkpoint(lineage), lineage, script)

        def start(before: Progress) -> ScriptedQuery:
            failure = _failure(script)
            if failure is not None:
                raise failure
            self.query = ScriptedQuery(script, checkpoint, self._data, before, ties.poke, self._now)
            ties.poke()
            return self.query

        config = JobConfig.from_options(job.version.options)
        ties.when_compiled(config)
        return Opened(script.plan.to_dict(), config, lineage, start, _NothingToRead() if "completes" in script.does else None)

    def has_ended(self) -> bool:
        return False

    def explain(self, error: Exception) -> Exception:
        return error


class _NothingToRead:
    """The runner.runtime.Whole of a script that ends at once."""

    def run(self) -> None:
        """Do nothing: there is nothing to read."""

    progress = Progress(input_rows=7)

    def done(self) -> int:
        return 0

    def end(self) -> None:
        """Do nothing: it has ended."""


class ScriptedQuery:
    """A runner.runtime.Started that is idle until a test commits an epoch. Its checkpoint holds one epoch to export."""

    def __init__(
        self,
        script: Script,
        checkpoint: Checkpoint,
        data: DataFolder,
        before: Progress,
        poke: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        self._checkpoint, self._data, self._progress, self._poke, self._now = checkpoint, data, before, poke, now
        self.active, self.up, self.first_epoch = True, "hangs" not in script.does, False
        self.holds_still = False

    def commit(self, progress: Progress) -> None:
        """Commit the epoch of this progress."""
        if progress.epoch >= 0:
            _commit(self._checkpoint, progress)
            self.first_epoch = True
        self._progress = progress
        self._poke()

    def look(self) -> Progress:
        return self._progress

    @property
    def outgrown(self) -> int | None:
        return None

    def working_on(self) -> int | None:
        return None

    def failure(self) -> PitstopError | None:
        return None

    def committed_at(self, epoch: int) -> float | None:
        return self._checkpoint.committed_at(epoch)

    def execution(self, epochs: int) -> dict[str, Any]:
        """Return what Spark would remember of one epoch: a stage whose second partition is slow."""
        times = [[0, 10, 5, True], [1, 400, 95, True], [2, 20, 7, True]]
        steps = ["Exchange", "WholeStageCodegen (2)", "StateStoreSave"]
        stage = {"epoch": 3, "stage": 7, "steps": steps, "tasks": 3, "times": times}
        return {"stages": [stage], "plan": "== Physical Plan ==\nStateStoreSave [k], opId = 0", "peekable": ["speed", "silent"]}

    def peek(self, stage: str, limit: int, seconds: float) -> dict[str, Any]:
        """Return numbers from 0 on as the rows of a stage; the stage ``silent`` gives none in time."""
        if stage == "silent":
            raise WaitTimeoutError(f"Stage 'silent' has given no row in {seconds:.0f} seconds.")
        return {"columns": [["n", "bigint"]], "rows": [[n] for n in range(limit)], "more": True}

    def stop(self, seconds: float) -> int:
        return self._checkpoint.committed()

    def export(self, name: str, at_rest: bool = False) -> SnapshotRecord:
        folder = Path(export_checkpoint(self._checkpoint, self._data.new_snapshot(name), name, at_rest=at_rest).path)
        stamped = dataclasses.replace(manifests.read(folder), created=self._now())
        manifests.write(folder, stamped)
        return record_of(stamped, folder)


def _at_once(work: Callable[[], None]) -> None:
    work()


class ThreadRun:
    """A run of a job in a thread of this process."""

    def __init__(
        self,
        spec: RunSpec,
        handle: RunHandle,
        data: DataFolder,
        database: Database,
        wake: MemoryWake,
        now: Callable[[], float],
        retention: Retention,
    ) -> None:
        self.token = spec.token
        self._database, self._wake, self._runtime = database, wake, ScriptedRuntime(data, now)
        questions = QuestionBox(data.job(spec.job_id).questions)
        link = SqlRunnerLink(database, wake, retention=lambda: retention)
        self._runner = Runner(
            spec.job_id, spec.token, handle, link, wake, self._runtime, _at_once, log=lambda *_: None, questions=questions
        )
        self._waiter, self._killed = wake.waiter(spec.job_id), threading.Event()
        self._thread = threading.Thread(target=self._run, name=handle, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True until its thread has ended."""
        return self._thread.is_alive()

    def kill(self) -> None:
        """End the run without a report."""
        self._killed.set()
        self._waiter.woken.set()
        self._thread.join(WAIT_SECONDS)

    def commit(self, progress: Progress) -> None:
        """Make the run's query commit the epoch of this progress. The run reports it at its next look, which is soon."""
        assert self._runtime.query is not None, "the run has not begun"
        self._runtime.query.commit(progress)

    def _run(self) -> None:
        # Not Runner.run: a run that has lost its job while its query is up ends its whole process.
        try:
            # All its reports until it is up are seen at once: a test never observes a completing job while it runs.
            with self._database.write():
                code = self._runner.begin()
            self._wake.wake(CONTROL)
            while code is None and not self._killed.is_set():
                self._waiter.wait(RENEW_SECONDS)
                if not self._killed.is_set():
                    self._runner.renew()
                    code = self._runner.step()
        except FencedError:
            return
        finally:
            self._waiter.close()


class ThreadLauncher:
    """A control.ports.launcher.Launcher whose runs are threads of this process."""

    def __init__(
        self, data: DataFolder, database: Database, wake: MemoryWake, now: Callable[[], float], retention: Retention
    ) -> None:
        self._data, self._database, self._wake, self._now, self._retention = data, database, wake, now, retention
        self._runs: dict[RunHandle, ThreadRun] = {}
        self._last_of: dict[str, ThreadRun] = {}
        self._starting = threading.Lock()
        """The lanes of two jobs start runs at the same time, and each run needs a handle of its own."""

    def start(self, spec: RunSpec) -> None:
        with self._starting:
            handle = RunHandle(f"run-{len(self._runs) + 1}")
            self._runs[handle] = self._last_of[spec.job_id] = ThreadRun(
                spec, handle, self._data, self._database, self._wake, self._now, self._retention
            )

    def run_of(self, job_id: str) -> ThreadRun:
        """Return the job's newest run."""
        return self._last_of[job_id]

    def start_failed(self, job_id: str, token: int) -> bool:
        last = self._last_of.get(job_id)
        return last is not None and last.token == token and not last.alive

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def alive(self, run: RunHandle) -> bool:
        return self._runs[run].alive

    def kill(self, run: RunHandle) -> None:
        self._runs[run].kill()

    def watch(self, run: RunHandle) -> None:
        """Do nothing: a run reports its end by itself, unless it is killed."""

    def close(self) -> None:
        """End all runs. One that went on would write into a folder that its test has removed."""
        with self._starting:
            runs = list(self._runs.values())
        for run in runs:
            run.kill()
        assert not any(run.alive for run in runs), "a run goes on"


def _failure(script: Script) -> EngineError | None:
    if "fails" not in script.does and "breaks" not in script.does:
        return None
    sentence, breaks = script.does.get("fails") or "It broke off.", "breaks" in script.does
    return EngineError(sentence, trace=f"Traceback (most recent call last):\n{sentence}", restartable=breaks)


def _checkpoint_of(job: Job, folder: Path, lineage: str, script: Script) -> Checkpoint:
    checkpoint = Checkpoint(folder)
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
