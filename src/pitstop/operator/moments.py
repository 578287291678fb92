"""Times as Kubernetes writes them: in whole seconds."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> datetime:
    """That many seconds since the epoch."""
    return datetime.fromtimestamp(int(seconds), UTC)
