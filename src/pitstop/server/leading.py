"""Leading: a control plane leads while it has the lease, and waits while another one has it.

The lease runs by the store's clock, and fences all decisions in the store. An action outside of the store, such as ending a
process or removing a checkpoint, begins only while the lease lasts by this machine's own clock. The lease counts here from before
it was requested, so it ends here before it ends in the store. The clock runs on while the process is stopped or the machine
sleeps.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Protocol

import structlog

from pitstop.control.ports.leadership import Leadership
from pitstop.control.ports.wake import CHANGED, Waiter, Wake
from pitstop.errors import FencedError, StoreError

LEASE_SECONDS = 5.0
RENEW_SECONDS = 1.0
LOOK_SECONDS = 1.0
"""The time between two looks of a waiting control plane at the lead."""

log = structlog.get_logger("pitstop.server")


class SoleLeader:
    """The control.ports.leadership.Leadership of a control plane that shares its store with no other."""

    def __init__(self, address: str) -> None:
        self._address = address

    def take(self, seconds: float) -> int | None:
        return 1

    def renew(self, epoch: int, seconds: float) -> bool:
        return True

    def release(self, epoch: int) -> None:
        """Do nothing: there is no other control plane."""

    def leader(self) -> str | None:
        return self._address

    def end_all(self) -> None:
        """Do nothing: there is no other control plane."""

    def ends(self) -> int:
        return 0


class Lead:
    """A lead: its number, and the time until which it lasts at least."""

    def __init__(self, epoch: int, until: float) -> None:
        self.epoch, self.until = epoch, until

    def lasts(self) -> bool:
        """False if the lead is over, or may be."""
        return clock() < self.until

    def check(self) -> None:
        """Raise FencedError if the lead is over, or may be."""
        if not self.lasts():
            raise FencedError("This control plane leads no more, or could not renew its lease.")


class Loop(Protocol):
    """The loop that runs during a lead (control.controller.Controller)."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class Leading:
    """Takes and keeps the lead for a control plane.

    ``loop`` makes the control loop, anew for each lead. ``changed`` is called when another control plane has decided something.
    ``lost`` is called once a lead is over and its loop has ended. ``ended`` is called when all control planes are to end: a
    leader continues until it is stopped, and a waiting one never leads again. ``leads`` is true while a loop runs.
    """

    def __init__(
        self,
        leadership: Leadership,
        wake: Wake,
        loop: Callable[[Lead], Loop],
        changed: Callable[[], None],
        lost: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        self._leadership, self._wake, self._loop, self._changed, self._lost = leadership, wake, loop, changed, lost
        self._ended, self._ends_before = ended, leadership.ends()
        self._ending = threading.Event()
        self.leads = False

    def run(self) -> None:
        """Lead or wait until :meth:`stop`. An error that ends the loop of a lead is raised again."""
        while not self._ending.is_set():
            lead = self._wait_for_lead()
            if lead is not None:
                self._lead(lead)

    def stop(self) -> None:
        """Make :meth:`run` return."""
        self._ending.set()

    def _wait_for_lead(self) -> Lead | None:
        waiter: Waiter | None = None
        try:
            while not self._ending.is_set():
                if self._all_end():
                    self._ending.set()
                    self._ended()
                    break
                lead = self._take()
                if lead is not None:
                    return lead
                waiter = waiter or self._wake.waiter(CHANGED)
                if waiter.wait(LOOK_SECONDS):
                    self._changed()
        finally:
            if waiter is not None:
                waiter.close()
        return None

    def _all_end(self) -> bool:
        try:
            return self._leadership.ends() != self._ends_before
        except StoreError:
            return False

    def _take(self) -> Lead | None:
        began = clock()
        try:
            epoch = self._leadership.take(LEASE_SECONDS)
        except StoreError as error:
            log.warning("the store is away; nobody can take the lead", reason=error.message)
            return None
        return Lead(epoch, began + LEASE_SECONDS) if epoch is not None else None

    def _lead(self, lead: Lead) -> None:
        log.info("this control plane leads", epoch=lead.epoch)
        loop, failures = self._loop(lead), list[BaseException]()

        def lead_on() -> None:
            try:
                loop.run()
            except BaseException as error:  # raised in the thread that leads
                failures.append(error)

        thread = threading.Thread(target=lead_on, name="control", daemon=True)
        self.leads = True
        thread.start()
        has_ended = False
        while thread.is_alive() and not self._ending.is_set() and self._keep(lead):
            if not has_ended and self._all_end():
                has_ended = True
                self._ended()
            self._ending.wait(RENEW_SECONDS)
        loop.stop()
        thread.join()
        self.leads = False
        if failures:
            raise failures[0]
        with contextlib.suppress(StoreError):
            self._leadership.release(lead.epoch)
        self._wake.wake(CHANGED)
        if not self._ending.is_set():
            log.warning("this control plane leads no more", epoch=lead.epoch)
            self._lost()

    def _keep(self, lead: Lead) -> bool:
        """Renew the lease. False once the lead is over. A store that is away for less than the lease does no harm."""
        began = clock()
        try:
            if not self._leadership.renew(lead.epoch, LEASE_SECONDS):
                return False
        except StoreError as error:
            log.warning("the lease could not be renewed", reason=error.message)
        else:
            lead.until = began + LEASE_SECONDS
        return clock() < lead.until


def clock() -> float:
    """Return the seconds since the boot of the machine, including the time that it slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
