"""The lead of one operator, by a lease in memory and a clock that the tests move."""

import copy
import threading

from pitstop.operator.kube.lease import LEASE_SECONDS, RENEW_SECONDS, Lead


class Leases:
    """An API server with leases alone."""

    def __init__(self):
        self.lease, self.version = None, 0

    def get(self, kind, namespace, name):
        return copy.deepcopy(self.lease)

    def create(self, kind, body):
        return self.replace(kind, body)

    def replace(self, kind, body):
        self.version += 1
        self.lease = copy.deepcopy(body)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return self.lease


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_lead_is_current_for_as_long_as_it_was_renewed():
    api, clock, stopped = Leases(), Clock(), threading.Event()
    lead = Lead(api, "default", "lease", "first", clock)
    assert not lead.is_current
    assert lead.win(stopped)
    assert lead.is_current
    clock.now += RENEW_SECONDS
    assert lead.is_current
    clock.now += 0.1
    assert not lead.is_current


def test_a_paused_leader_is_not_current_from_the_moment_in_which_another_one_may_lead():
    api, clock, stopped = Leases(), Clock(), threading.Event()
    first, second = (Lead(api, "default", "lease", name, clock) for name in ("first", "second"))
    assert first.win(stopped)
    assert not second._try()  # it sees the lease
    clock.now += LEASE_SECONDS + 0.1
    assert second._try()
    assert not first.is_current
    assert not first.keep(stopped)
    assert api.lease["spec"]["holderIdentity"] == "second"
