"""Times as Kubernetes writes them."""

from datetime import UTC, datetime


def timestamp() -> str:
    """Now, in full seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def precise_timestamp() -> str:
    """Now, as leases have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
