"""A control plane, runs and everything around them, in one thread: each step is one thing that one process does."""

import traceback
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path

import structlog

from pitstop.control.controller import Controller
from pitstop.control.invariants import violations
from pitstop.control.life import due_at
from pitstop.control.means import Means
from pitstop.control.ports.launcher import RunHandle
from pitstop.control.scaling import Scaler
from pitstop.control.snapshot_use import job_that_needs
from pitstop.errors import FencedError, IncompatibleError, PipelineError, StoreError
from pitstop.model.cluster import Member, MemberState
from pitstop.model.config import JobConfig, ProcessingGuarantee
from pitstop.model.data_folder import DataFolder
from pitstop.model.job import Job, JobSource, JobState, Starting, Version, Watched
from pitstop.model.job_event import StateChange
from pitstop.model.job_folder import CHECKPOINT_PREFIX
from pitstop.model.operation import OperationState, Submit
from pitstop.model.retention import USUAL
from pitstop.model.task import Compilation
from pitstop.runner.run import LEASE_SECONDS, Runner
from pitstop.snapshots import manifest as manifests
from tests.doubles.clock import ManualClock
from tests.doubles.files import MemoryFiles
from tests.doubles.registry import MemoryRegistry, MemoryRunnerLink
from tests.doubles.wake import MemoryWake
from tests.simulation.fragile import Faults, Fragile, Moments, fragile_files
from tests.simulation.runtime import PLAN, SOURCE, SimulatedRuntime, Sink

DATA = DataFolder(Path("/data"))
MEMBERS = ("a", "b", "c", "d")
SCALE_UP_SECONDS = 5.0
RUN_STATES = (JobState.STARTING, JobState.RUNNING)


class Process:
    """One runner process: the real runner on a simulated runtime."""

    def __init__(self, world, handle, spec):
        self.handle, self.spec, self._world = handle, spec, world
        self.moments = Moments()
        self.link = Fragile(MemoryRunnerLink(world.registry, world.wake), self.moments, world.store_faults)
        runtime = SimulatedRuntime(world, self.moments)
        at_once = {"spawn": lambda work: work(), "pause": lambda seconds: None}
        self.runner = Runner(spec.job_id, spec.token, handle, self.link, world.wake, runtime, **at_once)
        self.alive, self.begun, self.hangs = True, False, False

    @property
    def query(self):
        """What it runs, once it does."""
        return self.runner._started

    def step(self, dies_at=None):
        """Begin, or look once; the process is gone if it has come to its end, or dies at that moment."""
        if self.hangs:
            return
        with self.moments.dying_at(dies_at) as died:
            try:
                code = self.runner.step() if self.begun else self.runner.begin()
                self.begun = True
                self.alive = code is None
            except FencedError:
                self.alive = False
        self.alive = self.alive and not died

    def epoch(self, dies_at=None):
        """A part of an epoch."""
        if not self.begun or self.query is None or self.hangs:
            return
        with self.moments.dying_at(dies_at) as died:
            try:
                self.query.epoch()
            except FencedError:
                self.alive = False
        self.alive = self.alive and not died

    def renew(self):
        if self.begun and not self.hangs:
            self.alive = self.runner.renew()


class Processes:
    """The launcher and the workers (control.ports.launcher.Launcher and Workers)."""

    def __init__(self, world):
        self._world = world
        self.all = []
        self.spares = 0
        self._last_of = {}

    def start(self, spec):
        process = Process(self._world, RunHandle(f"process-{len(self.all)}"), spec)
        self.all.append(process)
        self._last_of[spec.job_id] = process

    @property
    def living(self):
        return [process for process in self.all if process.alive]

    def start_failed(self, job_id, token):
        last = self._last_of.get(job_id)
        return last is not None and last.spec.token == token and not last.alive

    def prepare(self):
        self.spares = 1

    def _of(self, handle):
        return next(process for process in self.all if process.handle == handle)

    def alive(self, handle):
        return self._of(handle).alive

    def kill(self, handle):
        self._of(handle).alive = False

    def watch(self, handle):
        pass

    def forget(self):
        """As a new control plane's: it knows of runs what the store says of their handles."""
        self._last_of.clear()

    # workers

    def compile(self, task):
        name = task.source.artifact
        if "broken" in name:
            raise PipelineError(f"{name} cannot be compiled.")
        if "unfit" in name:
            raise IncompatibleError(f"{name} does not fit.")
        return Compilation(PLAN)

    def hold(self, seconds):
        if not self.spares:
            return None
        self.spares = 0
        return Held(self)

    def release(self, standby):
        pass


class Held:
    """A warm runner (control.ports.workers.Standby)."""

    id = "warm"

    def __init__(self, processes):
        self._processes = processes

    def compile(self, task):
        return self._processes.compile(task)

    def rehearse(self, task):
        pass


class World:
    """One job's whole surroundings. ``dies_at`` is the moment at which the process that does a step dies."""

    there = ("a", "b")
    """Names of the members."""
    leaving = ()
    """Those that are to leave."""

    def __init__(self):
        self.errors = []
        self.launcher_faults, self.store_faults = Faults(OSError), Faults(StoreError)
        structlog.configure(processors=[self._note])
        self.clock, self.wake, self.data = ManualClock(), MemoryWake(), DATA
        self.files = MemoryFiles(self.clock.now)
        self.registry = MemoryRegistry(self.clock)
        self.processes, self.sink = Processes(self), Sink()
        self.moments = Moments()
        self.committed = set()
        """Lineages that have committed an epoch."""
        self.work = []
        """What the control plane has put off its loop's thread."""
        self.asked = []
        self.control_planes = 0
        self._lineages = 0
        self._start_control_plane()

    def _note(self, _logger, level, event):
        """Nothing that the control plane does may fail, but for what does not work around it."""
        if level in ("error", "exception") and "does not work now" not in traceback.format_exc():
            self.errors.append(f"{event['event']}: {traceback.format_exc()}")
        raise structlog.DropEvent

    def new_lineage(self):
        self._lineages += 1
        return f"lineage{self._lineages}"

    def _start_control_plane(self):
        self.control_planes += 1
        self.work.clear()
        self.processes.forget()
        registry = Fragile(self.registry, self.moments, self.store_faults)
        launcher = Fragile(self.processes, self.moments, self.launcher_faults)
        outputs = Fragile(self.sink, self.moments, self.launcher_faults)
        files = fragile_files(self.files, self.moments)
        means = Means(
            registry=registry,
            launcher=launcher,
            workers=launcher,
            clock=self.clock,
            wake=self.wake,
            data=DATA,
            outputs=outputs,
            files=files,
        )
        self.controller = Controller(means, lambda: None, self.work.append, Scaler(self, self.clock, SCALE_UP_SECONDS))

    def list(self):
        """The members (control.ports.members.Members)."""
        states = {name: MemberState.LEAVING if name in self.leaving else MemberState.ACTIVE for name in self.there}
        return [Member(name, name, "127.0.0.1", "1.0", 1, state) for name, state in states.items()]

    # steps

    def submit(self, artifact="v1.py", guarantee="exactly_once", **more):
        options = {"processing_guarantee": guarantee, **more}
        version = Version(1, JobSource(artifact), options, JobConfig.from_options(options))
        job = Job("id", "job", self.clock.now(), version, JobState.NOT_RUNNING)
        with self.registry.transaction():
            self.registry.add_job(job)
            self.registry.add_operation(job.id, Submit())

    def ask(self, request):
        self.asked.append(self.registry.add_operation("id", request).id)

    def round(self, dies_at=None):
        """One round of the control loop."""
        self._as_control_plane(self.controller.round, dies_at)

    def act(self, number=0, dies_at=None):
        """One thing that the control plane does off its loop's thread."""
        if self.work:
            self._as_control_plane(self.work.pop(number % len(self.work)), dies_at)

    def _as_control_plane(self, do, dies_at):
        with self.moments.dying_at(dies_at) as died, suppress(StoreError):  # the loop tries again
            do()
        if died:
            self._start_control_plane()

    def run(self, number=0, dies_at=None):
        """One look of one runner."""
        living = self.processes.living
        if living:
            with redirect_stderr(StringIO()):
                living[number % len(living)].step(dies_at)

    def epoch(self, number=0, dies_at=None):
        """A part of an epoch of one run: another process may do something before the next."""
        living = self.processes.living
        if living:
            living[number % len(living)].epoch(dies_at)

    def kill(self, number=0):
        living = self.processes.living
        if living:
            living[number % len(living)].alive = False

    def hang(self, number=0):
        """A runner does nothing more, nor renews its lease, until it is killed, or goes on."""
        living = self.processes.living
        if living:
            living[number % len(living)].hangs = not living[number % len(living)].hangs

    def sleep(self, seconds):
        """Time passes; every runner that does not hang renews its lease on the way."""
        while seconds > 0:
            part = min(seconds, LEASE_SECONDS / 2)
            self.clock.advance(part)
            for process in self.processes.living:
                process.renew()
            seconds -= part

    def let_days_pass(self, days):
        """So long that what is left over is swept up. Every runner that does not hang has renewed its lease all the time."""
        self.clock.advance(days * 86_400)
        for process in self.processes.living:
            process.renew()

    def delete_snapshot(self, number=0, dies_at=None):
        """A user deletes one, as the service does it (service.local); the server may die on the way."""
        named = self.registry.snapshots()
        if not named:
            return
        record = named[number % len(named)]
        registry = Fragile(self.registry, self.moments, self.store_faults)
        files = fragile_files(self.files, self.moments)

        def delete():
            with registry.transaction():
                if job_that_needs(record.name, registry, DATA, files) is None:
                    registry.delete_snapshot(record.name)
            if registry.get_snapshot(record.name) is None:
                files.remove(Path(record.path))

        self._as_control_plane(delete, dies_at)

    # what holds

    @property
    def job(self):
        return self.registry.get_job("id")

    def check(self):
        """Raise AssertionError about what does not hold now."""
        job = self.job
        assert not self.errors, self.errors[0]
        assert not violations(job)
        assert "does not work now" not in (job.failure or ""), "what was away for a while has ended the job"
        self._check_runs(job)
        self._check_state(job)
        self._check_events(job)
        for record in self.registry.snapshots():
            manifest = manifests.read(record.path, self.files)
            assert SOURCE in manifest.offsets, f"snapshot {record.name} holds no offset"

    def _check_runs(self, job):
        holding = [process for process in self.processes.living if process.begun and process.spec.token == job.token]
        assert len(holding) <= 1, "two processes hold one run"

    def _check_state(self, job):
        if job.state_dropped or job.state is JobState.COMPLETING:
            return
        needed = [job.version, job.saved]
        if job.update is not None and isinstance(job.update.phase, Starting | Watched):
            needed.append(job.update.phase.previous)
        for version in needed:
            keeps = version.config.processing_guarantee is not ProcessingGuarantee.NONE
            if keeps and version.lineage in self.committed:
                assert self.exists(version.lineage), f"the state of version {version.number} is gone"

    def _check_events(self, job):
        events = self.registry.events("id", 0, USUAL.events)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1)), "the events have a gap"
        changes = [event for event in events if isinstance(event, StateChange)]
        states = [JobState.NOT_RUNNING, *(change.new for change in changes)]
        assert [change.previous for change in changes] == states[:-1], "a change of state is in no event"
        assert states[-1] is job.state, "the last change is in no event"

    def exists(self, lineage):
        return bool(self.files.names(DATA.job("id").checkpoint(lineage)))

    def check_no_event_twice(self):
        events = self.sink.events
        assert len(set(events)) == len(events), f"written twice: {sorted({e for e in events if events.count(e) > 1})}"

    def all_go_on(self):
        """As time goes by when nothing fails."""
        self.round()
        while self.work:
            self.act()
        for number in range(len(self.processes.living)):
            self.run(number)
            for _ in range(3):
                self.epoch(number)

    def settle(self):
        """Let everything go on without failures until nothing more happens; then raise AssertionError about what is left."""
        self.launcher_faults.left = self.store_faults.left = 0
        self.there = MEMBERS
        for process in self.processes.living:
            process.hangs = False
        for _ in range(200):
            self.all_go_on()
            self.sleep(1.0)
            if self._settled():
                break
        self.check()
        kept = [found for number in self.asked if (found := self.registry.get_operation(number)) is not None]
        unanswered = [operation for operation in kept if operation.finished is None]
        assert not unanswered, f"never answered: {unanswered}"
        assert self._settled(), f"the job stays {self.job.state}"
        self._check_nothing_left()

    def _settled(self):
        job = self.job
        open_operations = self.registry.open_operations("id")
        waiting = due_at(job) is not None or open_operations or self.work or self.registry.take_observations()
        if job.state is JobState.RUNNING:
            runs = [process for process in self.processes.living if process.begun and process.spec.token == job.token]
            return bool(runs) and not waiting and job.attempts == 0
        return not waiting and (job.state is JobState.SUSPENDED or job.state.terminal)

    def _check_nothing_left(self):
        job = self.job
        runs = [process for process in self.processes.living if process.begun]
        if job.state is JobState.RUNNING:
            assert [process.spec.token for process in runs] == [job.token]
        else:
            assert not self.processes.living, f"{job.state} and processes are left"
        if job.state_dropped:
            left = [name for name in self.files.names(DATA.job("id").root) if name.startswith(CHECKPOINT_PREFIX)]
            assert not left, f"{job.state} and checkpoints are left: {left}"

    def check_no_event_missing(self):
        events = self.sink.events
        assert sorted(events) == list(range(len(events)))

    def states_of(self, numbers):
        return [self.registry.get_operation(number).state for number in numbers]


DONE, FAILED = OperationState.DONE, OperationState.FAILED
