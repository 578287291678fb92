"""``pitstop operator``: bring about what the resources of group hazelcast.com ask for, until told to end."""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator

import structlog
from lightkube import KubeConfig
from prometheus_client import REGISTRY, Counter, Gauge, Histogram

from pitstop.errors import PitstopError
from pitstop.operator import kinds
from pitstop.operator.errands import Errands, Room
from pitstop.operator.following import Servers
from pitstop.operator.health import Health
from pitstop.operator.kube.api import Api, ApiFault, Object, kube_config
from pitstop.operator.kube.lease import LEASE_REQUEST_SECONDS, Lead
from pitstop.operator.kube.queue import Places, WorkQueue
from pitstop.operator.kube.workers import Handle, Workers
from pitstop.operator.reconciling.cluster import reconcile_cluster
from pitstop.operator.reconciling.job import reconcile_job
from pitstop.operator.reconciling.map import reconcile_map
from pitstop.operator.reconciling.snapshot import reconcile_snapshot
from pitstop.operator.reconciling.surroundings import Absences, Retries, Slow, Surroundings
from pitstop.operator.settings import OperatorSettings
from pitstop.operator.world import Key, World
from pitstop.operator.writing import Writer

log = structlog.get_logger("pitstop.operator")

WORKERS, MOST_WORKERS = 8, 128
"""The number of resources that are reconciled at once, and with those that wait for a server. Files and exports are errands."""
MOST_OF_NAMESPACE, MOST_OF_CLUSTER = 48, 12
"""The numbers of workers that may be at the resources of one namespace, and at those that ask the server of one cluster."""
FETCHES, EXPORTS = Room(16, 8, 3), Room(32, 16, 16)
"""The numbers of files that are fetched, and of states that are exported, at once."""
_STEP_SECONDS = 0.05
_END_SECONDS = 20.0

RECONCILED = Counter("pitstop_operator_reconciled", "Resources looked after", ["kind", "outcome"])
SECONDS = Histogram("pitstop_operator_reconcile_seconds", "How long that took", ["kind"])
WAITING = Gauge("pitstop_operator_waiting", "Resources that wait to be looked after")
LEADS = Gauge("pitstop_operator_leads", "1 if this operator is the one that acts")

RECONCILERS: dict[str, tuple[object, Callable[[Surroundings, Object], float | None]]] = {
    kinds.HAZELCAST.name: (kinds.HAZELCAST, reconcile_cluster),
    kinds.MAP.name: (kinds.MAP, reconcile_map),
    kinds.JET_JOB.name: (kinds.JET_JOB, reconcile_job),
    kinds.JET_JOB_SNAPSHOT.name: (kinds.JET_JOB_SNAPSHOT, reconcile_snapshot),
}


class Operator:
    """Reconciles resources until ``stop`` is called, or the lead is lost."""

    def __init__(self, settings: OperatorSettings, config: KubeConfig | None = None) -> None:
        self._settings = settings
        self._config = config or kube_config()
        self._stopped = threading.Event()
        self._queue: WorkQueue[Key] = WorkQueue(places_of=self._places_of)
        self._world = World(self._connect, self._queue.add, settings.namespace)
        self._servers, self._retries, self._absences = Servers(), Retries(), Absences()
        self._slow = Slow(Errands(FETCHES, self._queue.add), Errands(EXPORTS, self._queue.add))
        self._lead: Lead | None = None
        self.leads = threading.Event()

    def _connect(self) -> Api:
        return Api(self._config)

    @property
    def ready(self) -> bool:
        """True once the operator has seen every object, and could take the lead."""
        return self._world.synced

    def stop(self) -> None:
        """Ask the operator to end soon."""
        self._stopped.set()
        self._queue.close()

    def run(self) -> None:
        """Wait for the lead, then reconcile every resource. Return when stopped, or when the lead is lost."""
        self._world.follow(self._stopped)
        while not self._world.synced and not self._stopped.wait(_STEP_SECONDS):
            pass
        api = Api(self._config, LEASE_REQUEST_SECONDS)
        lead = Lead(api, self._settings.lease_namespace, self._settings.lease_name, self._settings.identity)
        self._lead = lead
        try:
            if not lead.win(self._stopped):
                return
            self.leads.set()
            LEADS.set(1)
            workers = Workers(self._queue, self._equipped, WORKERS, MOST_WORKERS)
            workers.start()
            for key in self._world.everything():
                self._queue.add(key)
            still_leads = lead.keep(self._stopped)
            self.leads.clear()
            LEADS.set(0)
            self.stop()
            # Another operator may lead once all work here has ended. What hangs ends with this process, and the lease expires.
            if still_leads and self._wait_for(workers):
                lead.give_back()
        finally:
            self._servers.close()
            api.close()

    def _wait_for(self, workers: Workers[Key]) -> bool:
        """Wait until all work has ended. False if a worker is still held up after a while."""
        deadline = time.monotonic() + _END_SECONDS
        all_ended = workers.join(_END_SECONDS)
        for errands in (self._slow.codes, self._slow.exports):
            errands.wait(max(0.0, deadline - time.monotonic()))
        return all_ended

    def _places_of(self, key: Key) -> Places:
        cluster = self._world.cluster_of(key)
        of_cluster = [(("cluster", key.namespace, cluster), MOST_OF_CLUSTER)] if cluster is not None else []
        return [(("namespace", key.namespace), MOST_OF_NAMESPACE), *of_cluster]

    @contextlib.contextmanager
    def _equipped(self) -> Iterator[Handle[Key]]:
        api = self._connect()
        around = Surroundings(
            api,
            self._world,
            Writer(api),
            self._servers,
            self._settings.image,
            self._slow,
            self._settings.files_from,
            self._retries,
            self._absences,
        )
        try:
            yield functools.partial(self._look, around)
        finally:
            api.close()

    def _look(self, around: Surroundings, key: Key) -> bool:
        """Reconcile one resource. False if that failed, or another operator may lead meanwhile."""
        if self._lead is None or not self._lead.is_current:
            return False
        WAITING.set(len(self._queue))
        kind, reconcile = RECONCILERS[key.kind]
        began = time.perf_counter()
        try:
            body = self._world.find(kind, key.namespace, key.name)  # type: ignore[arg-type]
            if body is None:
                self._slow.forget(key)
                if key.kind == kinds.HAZELCAST.name:
                    self._servers.drop(key.namespace, key.name)
                return True
            again = reconcile(around, body)
            if again is not None:
                self._queue.add_after(key, again)
        except (ApiFault, PitstopError) as error:
            log.warning("to be tried again", kind=key.kind, namespace=key.namespace, name=key.name, reason=str(error))
            RECONCILED.labels(key.kind, "failed").inc()
            return False
        except Exception:  # other resources must not wait for one that cannot be reconciled
            log.exception("to be tried again", kind=key.kind, namespace=key.namespace, name=key.name)
            RECONCILED.labels(key.kind, "failed").inc()
            return False
        SECONDS.labels(key.kind).observe(time.perf_counter() - began)
        RECONCILED.labels(key.kind, "done").inc()
        return True


def run_operator(settings: OperatorSettings) -> bool:
    """Run the operator until SIGINT or SIGTERM. False if it ended because the lead was lost."""
    operator = Operator(settings)
    end_signal = threading.Event()

    def end(*_: object) -> None:
        end_signal.set()
        operator.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    health = None
    if settings.health_port is not None:
        health = Health(settings.health_host, settings.health_port, lambda: operator.ready, REGISTRY)
        health.start()
    try:
        operator.run()
    finally:
        if health is not None:
            health.stop()
    return end_signal.is_set()
