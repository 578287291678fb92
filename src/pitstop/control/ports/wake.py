"""The port by which processes wake one another."""

from __future__ import annotations

from typing import Protocol

CONTROL = "control"
"""The control plane's name in :class:`Wake`. A run's name is the id of its job."""
PROGRESS = "progress"
"""The name of the waiter that shows the progress of jobs. A run wakes it when it has reported its progress."""
CHANGED = "changed"
"""The name of the control planes that do not lead. The leader wakes them when it has decided something."""


class Waiter(Protocol):
    """A sleeper that can be woken."""

    def wait(self, seconds: float) -> bool:
        """Sleep until woken, at most ``seconds``; return True if woken. Several wakes count as one."""
        ...

    def close(self) -> None:
        """Stop waiting."""
        ...


class Wake(Protocol):
    """Tells processes that there is something new in the store. A wake carries no data and may get lost: a waiting process
    looks now and then anyway."""

    def wake(self, name: str) -> None:
        """Wake the waiter of that name; do nothing if there is none. Never blocks, never fails."""
        ...

    def waiter(self, name: str) -> Waiter:
        """Return the waiter of that name, which replaces any earlier one."""
        ...
