"""The releases of Spark that can have written a checkpoint, by the settings that only some of them note in it."""

from __future__ import annotations

RELEASES = ("3.5", "4.0", "4.1", "4.2", "4.3")
_SINCE = {
    "spark.sql.streaming.stateStore.encodingFormat": "4.0",
    "spark.sql.streaming.stateStore.rowChecksum.enabled": "4.2",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled": "4.3",
}
"""Setting -> the first release that notes it in its offset log."""


def release_of(settings: dict[str, str]) -> str:
    """Return the releases in words, such as ``4.0 to 4.1``; a later one than the last that is known may have written it, too."""
    if not settings:
        return "of unknown release"
    present = [RELEASES.index(release) for setting, release in _SINCE.items() if setting in settings]
    absent = [RELEASES.index(release) for setting, release in _SINCE.items() if setting not in settings]
    first = max(present, default=0)
    last = min((number - 1 for number in absent if number > first), default=len(RELEASES) - 1)
    if last == len(RELEASES) - 1:
        return f"{RELEASES[first]} or later"
    return RELEASES[first] if first == last else f"{RELEASES[first]} to {RELEASES[last]}"
