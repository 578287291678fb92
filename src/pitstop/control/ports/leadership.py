"""The port by which one control plane of a store leads."""

from __future__ import annotations

from typing import Protocol


class Leadership(Protocol):
    """The lead of the control planes of one store: the one whose lease has not ended has it. Raises StoreError as every read."""

    def take(self, seconds: float) -> int | None:
        """Take the lead for ``seconds`` if nobody has it. Return the number of this lead, higher than all before, or None."""
        ...

    def renew(self, epoch: int, seconds: float) -> bool:
        """Keep the lead for ``seconds`` from now on; return False if that lead is over."""
        ...

    def release(self, epoch: int) -> None:
        """Give up the lead, so that another control plane can take it at once."""
        ...

    def leader(self) -> str | None:
        """Return the address of the control plane that leads; None if none does at this moment."""
        ...

    def end_all(self) -> None:
        """Ask every control plane that exists now to end."""
        ...

    def ends(self) -> int:
        """Return the number of times that ``end_all`` has been called."""
        ...
