"""The loop under a simulator that crashes between any two of its steps."""

import random
from pathlib import Path

import pytest

from pitstop.control.controller import Controller
from pitstop.control.ports import RunHandle
from pitstop.errors import FencedError
from pitstop.model.config import JobConfig
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState
from pitstop.model.operation import CommandKind, Observation, ObservationKind, OperationState, Verb
from pitstop.snapshots.checkpoint import Checkpoint, OffsetLog
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.registry import SqlRegistry
from pitstop.store.runner_link import SqlRunnerLink
from pitstop.testing.wake import MemoryWake


class HandClock:
    def __init__(self):
        self.time = 1000.0

    def now(self):
        return self.time

    def monotonic(self):
        return self.time


class Crash(Exception):
    """The control plane dies here."""


class World:
    """Runs that live as values: what a launcher starts, and what a runner would do next."""

    def __init__(self, database, rng):
        self.database, self.rng = database, rng
        self.runs = {}  # pid -> (job, token, link)
        self.next_pid = 100
        self.most_alive = 0

    def start(self, spec):
        pid, self.next_pid = self.next_pid, self.next_pid + 1
        self.runs[pid] = (spec.job_id, spec.token, None)

    def prepare(self):
        pass

    def alive(self, run):
        return int(run) in self.runs

    def kill(self, run):
        self.runs.pop(int(run), None)

    def watch(self, *_):
        pass

    def step(self):
        """One run does one thing: claims, reports, obeys, or dies."""
        if not self.runs:
            return
        pid = self.rng.choice(sorted(self.runs))
        job, token, link = self.runs[pid]
        try:
            if link is None:
                link = SqlRunnerLink(self.database, MemoryWake())
                link.claim(job, token, RunHandle(str(pid)), 1e9)
                self.runs[pid] = (job, token, link)
                for kind, payload in (
                    (ObservationKind.COMPILED, {"plan": {}, "lineage": "l", "config": {}}),
                    (ObservationKind.RUNNING, {"epoch": 0}),
                    (ObservationKind.EPOCH, {"epoch": 0}),
                ):
                    link.observe(Observation(job, token, kind, payload))
            elif self.rng.random() < 0.1:
                del self.runs[pid]
            else:
                self._obey(pid, job, token, link)
        except FencedError:
            self.runs.pop(pid, None)

    def _obey(self, pid, job, token, link):
        for command in link.commands(0):
            record = {"name": "s", "job_id": job, "job_name": "j", "created": 1.0, "bytes": 1, "path": "/x", "epoch": 1}
            operation = command.args["operation"]
            if command.kind is CommandKind.EXPORT:
                link.observe(Observation(job, token, ObservationKind.EXPORTED, {"operation": operation, "snapshot": record}))
            else:
                payload = {"epoch": 1, "operation": operation}
                if "snapshot" in command.args:
                    payload["snapshot"] = record
                link.observe(Observation(job, token, ObservationKind.STOPPED, payload))
                del self.runs[pid]
                return


class CrashingRegistry(SqlRegistry):
    """Dies before or after a write, with some chance."""

    def __init__(self, database, rng, chance):
        super().__init__(database)
        self._rng, self.chance = rng, chance

    def _maybe(self):
        if self._rng.random() < self.chance:
            raise Crash


def _crashing(name):
    inner = getattr(SqlRegistry, name)

    def method(self, *args, **kwargs):
        self._maybe()
        result = inner(self, *args, **kwargs)
        self._maybe()
        return result

    return method


for _name in ("save_job", "add_command", "finish_operation", "consume", "start_operation", "add_snapshot"):
    setattr(CrashingRegistry, _name, _crashing(_name))


def saved_state(folder):
    """The checkpoint of every run of the job: what is suspended can be exported, until an update has dropped it."""
    checkpoint = Checkpoint(DataFolder(folder).job("id").checkpoint("l"))
    checkpoint.write_offsets(1, OffsetLog({"batchWatermarkMs": 0, "conf": {}}, ()))
    checkpoint.write_commit(1, 0)
    checkpoint.write_facts({"job_id": "id", "lineage": "l", "plan": {}})


@pytest.mark.parametrize("seed", range(6))
def test_whatever_crashes_every_wish_is_answered_and_only_one_run_holds_a_job(tmp_path: Path, seed):
    rng = random.Random(seed)
    database = open_database(sqlite_url(tmp_path / "s.db"))
    registry, clock = CrashingRegistry(database, rng, 0.05), HandClock()
    world = World(database, rng)

    def control():
        return Controller(registry, world, clock, MemoryWake(), DataFolder(tmp_path), "url", lambda: None)

    plain = SqlRegistry(database)
    saved_state(tmp_path)
    plain.add_job(Job("id", "j", JobState.NOT_RUNNING, JobSource("a.py"), JobConfig(), 1.0))
    plain.add_operation("id", Verb.SUBMIT, {})
    controller, asked = control(), []

    def round_or_crash():
        nonlocal controller
        clock.time += 1.0
        try:
            controller.round()
        except Crash:
            controller = control()

    for _ in range(150):
        if rng.random() < 0.15:
            verb = rng.choice([Verb.SUSPEND, Verb.RESUME, Verb.RESTART, Verb.EXPORT, Verb.UPDATE])
            args = {"snapshot": "s"} if verb in (Verb.EXPORT, Verb.UPDATE) else {}
            args |= {"source": {"artifact": "b.py"}, "options": {}, "watch_seconds": 3} if verb is Verb.UPDATE else {}
            asked.append(plain.add_operation("id", verb, args).id)
        round_or_crash()
        world.step()
        job = plain.get_job("id")
        holding = [pid for pid, (_, token, link) in world.runs.items() if link is not None and token == job.token]
        assert len(holding) <= 1
    registry.chance = 0.0
    for _ in range(10):
        asked.append(plain.add_operation("id", Verb.CANCEL, {}).id)
        for _ in range(30):
            round_or_crash()
            world.step()
        controller._exporter.submit(lambda: None).result()
    assert plain.get_job("id").state is JobState.FAILED
    states = {number: plain.get_operation(number).state for number in asked}
    assert set(states.values()) <= {OperationState.DONE, OperationState.FAILED}, states
