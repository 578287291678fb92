"""The loop: observe, decide, write, act. One thread that never waits for anything slow; woken by runs and by the service."""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

import structlog

from pitstop.control.acting import Acting
from pitstop.control.actions import Ask, DropSnapshot, FailExports, Finish, RegisterSnapshot, SendCommand, StoreAction
from pitstop.control.housekeeping import Housekeeper
from pitstop.control.job_events import events_of
from pitstop.control.lanes import Lanes, Spawn, in_thread
from pitstop.control.life import Due, Event, decide, due_at, is_due
from pitstop.control.liveness import Gone, Liveness
from pitstop.control.means import Means
from pitstop.control.owed import owed
from pitstop.control.performing import Performer
from pitstop.control.places import unless_shared
from pitstop.control.ports.wake import CONTROL
from pitstop.control.preparing import Preparer
from pitstop.control.retention import has_state
from pitstop.control.scaling import Scaler
from pitstop.control.tallies import counted
from pitstop.control.trying import undecidable
from pitstop.control.written_again import concerned
from pitstop.errors import ConflictError, FencedError, StoreError
from pitstop.model.job import Job
from pitstop.model.operation import Export, Operation, OperationState
from pitstop.model.run import Died, Observation

ROUND_SECONDS = 1.0
SETTLE_SECONDS = 5.0
"""The longest that slow work may go on when the loop ends, in seconds. The next control plane repeats what is cut off."""

log = structlog.get_logger("pitstop.control")


class Controller:
    """Carries out operations, and records the facts that runs report.

    ``changed`` is called after each round in which something was decided. ``spawn`` runs slow work. ``scaler`` follows the
    members of a cluster, if there is one.
    """

    def __init__(self, means: Means, changed: Callable[[], None], spawn: Spawn = in_thread, scaler: Scaler | None = None) -> None:
        self._means, self._changed, self._scaler = means, changed, scaler
        self._registry, self._clock = means.registry, means.clock
        self._lanes = Lanes(spawn)
        preparer = Preparer(means.registry, means.workers, means.data, means.files)
        self._performer = Performer(means, Acting(means, preparer, self._hear), preparer, self._lanes)
        self._housekeeper = Housekeeper(means, self._performer, self._lanes, self._hear)
        self._liveness = Liveness(means.registry, means.launcher, means.clock)
        self._own_facts: deque[Observation] = deque()
        """The facts that the control plane has seen itself."""
        self._stopping = threading.Event()
        self._recovered = False
        self._next_due = float("-inf")
        self._stuck: set[str] = set()
        self._undecidable: set[tuple[str, str]] = set()
        """(job, sentence about a defect) for each defect that the log tells already."""

    def run(self) -> None:
        """Loop until :meth:`stop`, or until another control plane leads."""
        waiter = self._means.wake.waiter(CONTROL)
        try:
            while not self._stopping.is_set():
                try:
                    self.round()
                except FencedError as error:
                    log.warning("another control plane decides from now on", reason=error.message)
                    return
                except StoreError as error:
                    self._liveness.start_anew()
                    log.warning("the store is away; trying again", reason=error.message)
                except Exception:  # without its loop a control plane would do nothing for any job
                    log.exception("a round of the control loop failed; trying again")
                waiter.wait(self._until_next())
        finally:
            waiter.close()
            self._lanes.settle(SETTLE_SECONDS)

    def stop(self) -> None:
        """Let :meth:`run` return after its present round. The next control plane repeats slow work that is under way."""
        self._stopping.set()
        self._means.wake.wake(CONTROL)

    def round(self) -> None:
        """Do one round: decide everything that is known now, and begin the actions of these decisions."""
        self._stuck.clear()
        if not self._recovered:
            for job in self._registry.jobs():
                if not job.state.terminal or job.busy or has_state(self._means.data, job, self._means.files):
                    self._do_owed(job)
            self._recovered = True
        jobs = self._registry.jobs(include_ended=False)
        deaths = self._liveness.gone(jobs, self._lanes.busy)
        # Facts are decided before requests, and the last words of a run before its death.
        self._follow_members(jobs)
        changed = self._facts() | self._requests() | self._deaths(deaths)
        begun = self._due()
        if changed or begun:
            self._changed()
        self._performer.retry()
        # A run that is begun in this round is not to be slowed down: what is made ready for the next one takes all cores.
        self._housekeeper.keep_house(self._registry.jobs(include_ended=False) if begun else jobs)

    # observe

    def _hear(self, fact: Observation) -> None:
        self._own_facts.append(fact)
        self._means.wake.wake(CONTROL)

    def _follow_members(self, jobs: list[Job]) -> None:
        """Apply to the jobs that members have come or gone."""
        if self._scaler is None:
            return
        self._scaler.look()
        for job in jobs:
            change = self._scaler.concerns(job)
            if change is not None:
                self._handle(job.id, change)
                continue
            request = self._scaler.suspend(job) or self._scaler.rescale(job)
            if request is not None:
                log.info("members change", job=job.display_name, id=job.id, asked=request.verb.value)
                self._registry.add_operation(job.id, request)

    def _facts(self) -> bool:
        observations = self._registry.take_observations()
        for fact in observations:
            self._handle(fact.job_id, fact, partial(self._registry.consume, fact.id))
        own_facts = list(self._own_facts)
        for fact in own_facts:
            if self._handle(fact.job_id, fact):
                self._own_facts.remove(fact)
        return bool(observations or own_facts)

    def _requests(self) -> bool:
        pending = self._registry.pending_operations()
        for operation in pending:
            self._handle(operation.job_id, operation, partial(self._registry.start_operation, operation.id))
        return bool(pending)

    def _deaths(self, deaths: list[Gone]) -> bool:
        for run in deaths:
            self._handle(run.job_id, Observation(run.job_id, run.token, Died(run.reason)))
        return bool(deaths)

    def _due(self) -> bool:
        now = self._clock.now()
        jobs = self._registry.jobs(include_ended=False)
        ready = [job for job in jobs if is_due(job, now)]
        later = [due_at(job) for job in jobs if job not in ready]
        self._next_due = min((at for at in later if at is not None), default=float("inf"))
        for job in ready:
            self._handle(job.id, Due(self._scaler.size if self._scaler is not None else None))
        return bool(ready)

    def _until_next(self) -> float:
        return max(0.0, min(ROUND_SECONDS, self._next_due - self._clock.now()))

    # decide, write, act

    def _handle(self, job_id: str, event: Event, note: Callable[[], None] | None = None) -> bool:
        """Take an event; return False if that failed. The event, and all later ones of the job, then wait for the next round.

        What is wrong with one job must not keep the others waiting.
        """
        if job_id in self._stuck:
            return False
        try:
            self._take(job_id, event, note)
        except AssertionError as error:  # a LifeError, or what a handler took for granted
            self._stuck.add(job_id)
            if (job_id, str(error)) not in self._undecidable:
                self._undecidable.add((job_id, str(error)))
                log.exception("a defect of Pitstop: an event cannot be decided", job=job_id, kind=type(event).__name__)
            return self._answer_undecidable(event, error)
        except FencedError:
            raise
        except ConflictError as error:
            if isinstance(event, Operation):  # another job has the name of one that was to be brought back
                self._registry.finish_operation(event.id, error.problem)
                return True
            self._stuck.add(job_id)
            log.warning("an event could not be handled; trying again", job=job_id, reason=error.message)
            return False
        except Exception:  # the events of other jobs go on; those of this one wait for the next round
            self._stuck.add(job_id)
            log.exception("an event could not be handled; trying again", job=job_id, kind=type(event).__name__)
            return False
        return True

    def _answer_undecidable(self, event: Event, defect: AssertionError) -> bool:
        """Answer an operation that cannot be decided with the error. A fact stays, for a release that can decide it."""
        if not isinstance(event, Operation):
            return False
        self._registry.finish_operation(event.id, undecidable(event, defect).problem)
        return True

    def _take(self, job_id: str, event: Event, note: Callable[[], None] | None) -> None:
        """Decide one event. All writes about it are one transaction; the world is changed after it.

        A crash in between loses only acts, which follow from what is recorded (:func:`owed`).
        """
        with self._registry.transaction():
            job, now = self._registry.get_job(job_id), self._clock.now()
            event = self._among_jobs(job, event) if job is not None else event
            decision = decide(job, event, now) if job is not None else None
            if job is not None and decision is not None:
                events = events_of(job, event, decision, now)
                decision = dataclasses.replace(decision, job=counted(job, event, decision.job, events))
                if decision.job != job:
                    self._registry.save_job(decision.job)
                if decision.job.version != job.version:
                    self._keep_versions(job, decision.job, now)
                for happened in events:
                    self._registry.add_event(job.id, happened)
                for action in decision.actions:
                    if isinstance(action, StoreAction):
                        self._write(decision.job, action)
            if note is not None:
                note()
        if job is None or decision is None:
            return
        if decision.job.state is not job.state:
            log.info("job state", job=job.display_name, id=job.id, was=job.state.value, now=decision.job.state.value)
        self._performer.act(decision.job, decision.actions)

    def _among_jobs(self, job: Job, event: Event) -> Event:
        """Return the event, changed by what other jobs write where the job does."""
        return concerned(job, unless_shared(job, event, self._registry), self._registry)

    def _keep_versions(self, before: Job, after: Job, now: float) -> None:
        if after.version.number != before.version.number:
            # It may have been begun by a release that kept no versions.
            self._registry.put_version(before.id, before.version, before.start_time or before.submission_time)
        self._registry.put_version(after.id, after.version, now)

    def _write(self, job: Job, action: StoreAction) -> None:
        if isinstance(action, SendCommand):
            self._registry.add_command(job.id, job.token, action.order)
        elif isinstance(action, Finish):
            self._registry.finish_operation(action.operation, action.error, action.result)
        elif isinstance(action, Ask):
            self._registry.add_operation(job.id, action.request)
        elif isinstance(action, RegisterSnapshot):
            self._registry.add_snapshot(action.record)
        elif isinstance(action, DropSnapshot):
            self._registry.delete_snapshot(action.snapshot)
        elif isinstance(action, FailExports):
            self._fail_exports(job)

    def _fail_exports(self, job: Job) -> None:
        error = ConflictError("Execution completed before snapshot executed").problem
        for operation in self._registry.open_operations(job.id):
            # Later requests are decided on the job as it is by then.
            if isinstance(operation.request, Export) and operation.state is OperationState.RUNNING:
                self._registry.finish_operation(operation.id, error)

    def _do_owed(self, job: Job) -> None:
        """Make up for what an earlier control plane had recorded and not yet done."""
        self._performer.act(job, owed(job, self._registry.open_operations(job.id)))
