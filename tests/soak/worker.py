"""A process that runs versions of chains, and kills itself without a warning when it is told to.

It reads commands as JSON lines: the seed, the length of its chain, the number of a version, a folder, which of its kills is due
(or none). It answers one line: ``DONE`` and a JSON object. A version that was cut off goes on where it was.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pyspark.cloudpickle

from pitstop.errors import IncompatibleError
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import ClusterSettings
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Progress
from pitstop.model.option_values import ALL_STAGES
from pitstop.snapshots import manifest as manifests
from pitstop.snapshots.checkpoint import Checkpoint
from pitstop.snapshots.export import export_checkpoint
from pitstop.spark.base.environment import Environment, SourceSettings
from pitstop.spark.base.session import build_session
from pitstop.spark.lowering.compile import compile_pipeline
from pitstop.spark.lowering.compiled_job import CompiledJob, compile_job
from pitstop.spark.restoring.restore import judge
from pitstop.spark.run import Run
from pitstop.spark.sources import register
from pitstop.spark.starting.start_point import start_point
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.maps import SqlMapStore
from tests.soak import build, generator
from tests.soak.build import Builder
from tests.soak.chain import Chain, Kill, Version
from tests.spark import chains, sequence
from tests.spark.harness import Settled

ANSWER = "DONE "
RUN_SECONDS, END_SECONDS, QUIET_SECONDS = 400.0, 120.0, 2.0


class Recorder:
    """A sink that keeps the rows of each epoch in a file of its own, which a repeated epoch replaces."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, rows: Any, info: Any) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._folder / f"{info.lineage}-{info.epoch}.json"
        temporary = target.with_suffix(".tmp")
        temporary.write_text(json.dumps([row.asDict() for row in rows.collect()]))
        temporary.rename(target)


class Conductor:
    """Sees every epoch begin: ends the run after the last one wanted, and the process when a kill is due."""

    def __init__(self) -> None:
        self.base, self.last = -1, 0
        self.kill: Kill | None = None
        self.reached = threading.Event()
        self.running: Any = None

    def write(self, rows: Any, info: Any) -> None:
        if self.kill is not None and self.kill.epoch is not None and info.epoch == self.base + 1 + self.kill.epoch:
            die_after(self.kill.delay)
        if info.epoch >= self.last:
            self.reached.set()
            # The next epoch may not begin before the one who waits has closed the gate.
            wait_until(lambda: self.running is not None and self.running.writer.closed, END_SECONDS)


_deaths: list[threading.Timer] = []


def die_after(delay: int) -> None:
    """End this process and all that it has started, in that many ms, unless the version has come to its end by then."""
    timer = threading.Timer(delay / 1000, lambda: os.killpg(0, signal.SIGKILL))
    timer.daemon = True
    _deaths.append(timer)
    timer.start()


class VersionRun:
    """One version of a chain, in a folder that outlives the process."""

    def __init__(self, spark: Any, chain: Chain, number: int, folder: Path, kill: Kill | None) -> None:
        self._spark, self._chain, self._number, self._folder, self._kill = spark, chain, number, folder, kill
        self._note = folder / f"run-{number}.json"

    def __call__(self) -> dict[str, Any]:
        """Run it to its end and leave its snapshot; the facts about its epochs."""
        version = self._chain.versions[self._number]
        if self._kill is not None and self._kill.epoch is None:
            die_after(self._kill.delay)
        self._check_refusals(version)
        conductor = Conductor()
        job, environment = self._compiled(version, conductor)
        known = json.loads(self._note.read_text()) if self._note.exists() else {}
        snapshot = DataFolder(self._folder).snapshot(f"v{self._number - 1}") if self._number else None
        point = start_point(job, environment, DataFolder(self._folder), known.get("lineage"), lambda: snapshot)
        checkpoint = Checkpoint(point.checkpoint)
        if known.get("lineage") != point.lineage:
            way = None if point.report is None else point.report.way.value
            known = {"lineage": point.lineage, "base": checkpoint.committed(), "way": way}
            self._write_note(known)
        final = self._number == len(self._chain.versions) - 1
        conductor.base, conductor.kill = known["base"], self._kill
        conductor.last = sys.maxsize if final else known["base"] + version.epochs
        if checkpoint.committed() < conductor.last:
            self._run(Run.start(job, environment, point, Progress(), lambda: None), conductor, final)
        export_checkpoint(checkpoint, DataFolder(self._folder).snapshot(f"v{self._number}"), f"v{self._number}")
        return {
            "epochs": [self._facts(checkpoint, epoch) for epoch in range(known["base"] + 1, checkpoint.committed() + 1)],
            "way": known["way"],
        }

    def _facts(self, checkpoint: Checkpoint, epoch: int) -> tuple[int, int]:
        """Up to which event an epoch has read, and its watermark."""
        planned = checkpoint.offsets(epoch)
        read = {sequence.position(offset) for offset in planned.offsets if offset}
        assert len(read) == 1, f"the sources do not go side by side: epoch {epoch} read up to {sorted(read)}"
        return read.pop(), int(planned.metadata["batchWatermarkMs"])

    def _run(self, run: Run, conductor: Conductor, final: bool) -> None:
        conductor.running = run.running
        quiet = Settled(run.running, QUIET_SECONDS)
        settled = (lambda: self._all_read(run) and quiet()) if final else conductor.reached.is_set
        done = wait_until(lambda: not run.active or settled(), RUN_SECONDS)
        if not run.active:
            raise run.failure() or AssertionError("the query ended by itself")
        assert done, f"version {self._number} did not come to its end within {RUN_SECONDS:.0f} seconds"
        run.stop(END_SECONDS)

    def _all_read(self, run: Run) -> bool:
        running = run.running
        epoch = running.checkpoint.committed()
        if epoch < 0:
            return False
        offsets = [offset for offset in running.checkpoint.offsets(epoch).offsets if offset]
        return bool(offsets) and all(sequence.position(offset) >= self._chain.total for offset in offsets)

    def _compiled(self, version: Version, conductor: Conductor) -> tuple[CompiledJob, Environment]:
        options = {"processing_guarantee": "exactly_once", "partitions": version.partitions, "renamed": dict(version.renamed)}
        options |= {"state_store": version.state_store, "allow_drop": True}
        url = sqlite_url(self._folder / "maps.db")
        environment = Environment(
            job_id=f"v{self._number}",
            job_name="soak",
            lineage="",
            guarantee=JobConfig.from_options(options).processing_guarantee,
            work_dir=self._folder / "work",
            log=lambda *_: None,
            maps=SqlMapStore(open_database(url)),
            sources=SourceSettings(job="soak", store_url=url, store_factory="pitstop.store.maps:open_map_store"),
        )
        pipeline = self._builder(version.stages).pipeline(conductor)
        return compile_job(self._spark, pipeline, JobConfig.from_options(options), environment.sources), environment

    def _builder(self, stages: Any) -> Builder:
        return Builder(self._chain, self._number, stages, self._folder, Recorder)

    def _check_refusals(self, version: Version) -> None:
        """What the rules refuse is refused by its rule, and nothing is made of it."""
        for refusal in version.refusals:
            before = sorted(self._folder.rglob("*"))
            manifest = manifests.read(DataFolder(self._folder).snapshot(f"v{self._number - 1}"))
            plan = compile_pipeline(self._spark, self._builder(refusal.stages).pipeline(Conductor()))
            try:
                said = f"not at all: {judge(manifest, plan, allow_drop=(ALL_STAGES,)).text()}"
            except IncompatibleError as error:
                said = str(error)
            assert f"[{refusal.rule}]" in said, f"{refusal.text}: must be refused by {refusal.rule}, and is {said}"
            assert sorted(self._folder.rglob("*")) == before, f"{refusal.text}: a refusal left files"

    def _write_note(self, facts: dict[str, Any]) -> None:
        temporary = self._note.with_suffix(".tmp")
        temporary.write_text(json.dumps(facts))
        temporary.rename(self._note)


def main() -> None:
    for module in (sequence, chains, build):
        pyspark.cloudpickle.register_pickle_by_value(module)
    spark = build_session(ClusterSettings("local[2]"), Path(sys.argv[1]), {})
    register(spark)
    for line in sys.stdin:
        wanted = json.loads(line)
        chain = generator.chain(wanted["seed"], wanted["length"])
        kills = chain.versions[wanted["version"]].kills
        kill = None if wanted["kill"] is None else kills[wanted["kill"]]
        try:
            answer = VersionRun(spark, chain, wanted["version"], Path(wanted["folder"]), kill)()
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        while _deaths:
            _deaths.pop().cancel()
        print(ANSWER + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
