"""Times in the form of Kubernetes: in whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> datetime:
    """Return the time that is so many seconds after the epoch."""
    return datetime.fromtimestamp(int(seconds), UTC)
