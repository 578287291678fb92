"""The trail of the audit: the record of who changed what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pitstop.model.audit import AuditEntry


class AuditTrail(Protocol):
    """A trail of entries, numbered in the order in which they are recorded."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Record entries, all or none. StoreError if the store is away."""
        ...

    def entries(self, before: int | None, limit: int) -> list[AuditEntry]:
        """Return at most ``limit`` entries, the newest first. With ``before``, only entries of a lower sequence."""
        ...
