"""Where it is kept who changed what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pitstop.model.audit import AuditEntry


class AuditTrail(Protocol):
    """Entries, numbered in the order in which they are recorded."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Record some, all or none. StoreError if the store is away."""
        ...

    def entries(self, before: int | None, limit: int) -> list[AuditEntry]:
        """The newest first, at most so many; with ``before`` only those with a lower sequence."""
        ...
