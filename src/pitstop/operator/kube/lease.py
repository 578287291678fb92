"""The lead among several operators. It belongs to the holder of a Lease, as long as the holder renews it in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import structlog

from pitstop.operator.kube.api import Api, ApiFault, Kind, Object

log = structlog.get_logger("pitstop.operator")

LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 15, 10.0, 2.0
"""The time after which an unchanged lease has expired; the time within which its holder must renew it; the time between tries.

One try takes two requests of LEASE_REQUEST_SECONDS at most, so a holder that cannot renew knows it before another takes over."""
LEASE_REQUEST_SECONDS = 2.0


@dataclass
class Lead:
    """The lead, as one operator wins, keeps and returns it.

    ``holder`` identifies this operator, for example by the name of its pod. ``clock`` returns seconds that never go back. No
    clock of another machine is trusted: a lease has expired once it was seen unchanged for its time.
    """

    api: Api
    namespace: str
    name: str
    holder: str
    clock: Callable[[], float] = time.monotonic
    _renewal: tuple[str, float] = field(default=("", 0.0))
    _has_other_holder: bool = field(default=False)
    """True if another operator holds the lease."""
    _held_since: float | None = field(default=None)
    """The time of the last renewal by this operator."""

    @property
    def is_current(self) -> bool:
        """True if this operator has renewed the lease a short while ago. One that wakes from a pause must not act before that."""
        return self._held_since is not None and self.clock() - self._held_since <= RENEW_SECONDS

    def win(self, stopped: threading.Event) -> bool:
        """Wait until this operator leads. False if it is stopped before."""
        while not stopped.is_set():
            if self._try():
                log.info("this operator leads", holder=self.holder)
                return True
            stopped.wait(RETRY_SECONDS)
        return False

    def keep(self, stopped: threading.Event) -> bool:
        """Renew the lease. True once stopped; False once the lead is lost: this operator must then do nothing more."""
        while not stopped.wait(RETRY_SECONDS):
            if not self._try() and (self._has_other_holder or not self.is_current):
                log.error("the lead is lost: this operator ends", holder=self.holder)
                return False
        return True

    def _try(self) -> bool:
        asked_at = self.clock()  # the lease lasts from before the answer
        try:
            holds = self._take_or_renew()
            if holds:
                self._held_since = asked_at
            return holds
        except ApiFault as error:
            log.warning("the lease could not be renewed; trying again", reason=str(error))
            return False

    def _take_or_renew(self) -> bool:
        lease = self.api.get(LEASE, self.namespace, self.name)
        if lease is None:
            return self.api.create(LEASE, self._new_lease()) is not None
        spec = lease["spec"]
        self._has_other_holder = spec.get("holderIdentity") not in (self.holder, "", None)
        if self._has_other_holder and not self._expired(lease):
            return False
        taken_over = spec.get("holderIdentity") != self.holder
        spec["leaseTransitions"] = spec.get("leaseTransitions", 0) + taken_over
        if taken_over:
            spec["acquireTime"] = _now()
        spec |= {"holderIdentity": self.holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": _now()}
        return self.api.replace(LEASE, lease) is not None

    def _expired(self, lease: Object) -> bool:
        version = lease["metadata"]["resourceVersion"]
        if self._renewal[0] != version:
            self._renewal = version, self.clock()
        seconds: int = lease["spec"].get("leaseDurationSeconds", LEASE_SECONDS)
        return self.clock() - self._renewal[1] > seconds

    def give_back(self) -> None:
        """Let another operator lead at once. This one must have stopped its work before."""
        try:
            lease = self.api.get(LEASE, self.namespace, self.name)
            if lease is not None and lease["spec"].get("holderIdentity") == self.holder:
                lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _now()}
                self.api.replace(LEASE, lease)
        except ApiFault as error:
            log.warning("the lease was not given back; it expires", reason=str(error))

    def _new_lease(self) -> Object:
        now = _now()
        spec = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        return {"metadata": {"name": self.name, "namespace": self.namespace}, "spec": spec}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
