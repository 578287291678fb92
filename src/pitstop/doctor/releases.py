"""The releases of Spark that can have written a checkpoint, by what only some of them write."""

from __future__ import annotations

from pitstop.doctor.facts import Operator

RELEASES = ("3.5", "4.0", "4.1", "4.2", "4.3")
_SINCE = {
    "spark.sql.streaming.stateStore.encodingFormat": "4.0",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "4.2",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "4.2",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion": "4.2",
}
"""Setting -> the first release that pins it in its offset log."""


def release_of(settings: dict[str, str], operators: tuple[Operator, ...], rocksdb: str | None) -> str:
    """Return the releases in words, such as ``4.0 or 4.1``."""
    return "?"
