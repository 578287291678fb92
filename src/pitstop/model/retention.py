"""The bounds of all that grows, in number and in time: settings of the server."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pitstop.errors import UsageError
from pitstop.kit import durations
from pitstop.model.options import whole

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True)
class Kept:
    """One of these settings. Parsing, help, the API and docs/keeping.md are made from these records."""

    name: str
    """As users write it; the field of Retention has ``_`` for ``-``."""
    meaning: str
    """The things that are kept, in words."""
    least: int
    """As ``most`` in the field's own unit."""
    most: int
    is_time: bool = False
    """True for a duration, which the field holds in seconds; else it is a number of things."""

    @property
    def field(self) -> str:
        """The field of Retention that holds it."""
        return self.name.replace("-", "_")

    def read(self, text: str) -> float:
        """The value of a text as users write it; UsageError if it is none. Retention checks how large it is."""
        if self.is_time:
            return durations.milliseconds(text, self.name) / 1000
        number: int = whole(self.least, self.most)(self.name, text)
        return number

    def written(self, value: float) -> str:
        """A value as users write it."""
        if not self.is_time:
            return str(int(value))
        return durations.words(round(value * 1000))


# Sweeps come once an hour, and a run prunes its history once a minute: what is shorter could not be kept to. The longest
# histories are some forty thousand samples, which are answered at once.
KEPT = (
    Kept("results", "The newest results of ended jobs, each with its log, events, versions and history.", 1, 100_000),
    Kept("result-time", "How long a result is kept, together with the state of a failed job.", _HOUR, 36_500 * _DAY, True),
    Kept(
        "cancelled-time",
        "How long the state of a job that a user cancelled without a snapshot is kept; never longer than its result.",
        _HOUR,
        36_500 * _DAY,
        True,
    ),
    Kept("events", "The newest events of each job.", 10, 1_000_000),
    Kept("versions", "The newest versions of each job: you can go back to these.", 1, 1000),
    Kept("audit", "The newest entries of the audit trail. There may be a hundred more before the oldest go.", 100, 10_000_000),
    Kept("seconds-history", "How long the figures of each job for every second are kept.", _MINUTE, 12 * _HOUR, True),
    Kept("minutes-history", "How long the figures of each job for every minute are kept.", _HOUR, 31 * _DAY, True),
)
"""All of them."""
_BY_NAME = {record.name: record for record in KEPT}


@dataclass(frozen=True)
class Retention:
    """The bounds of all that grows. UsageError for bounds that make no sense."""

    results: int = 1000
    """So many results of ended jobs, the newest."""
    result_time: float = 7.0 * _DAY
    """Seconds for which a result is kept, and with it the state of a job that has failed."""
    cancelled_time: float = 1.0 * _DAY
    """Seconds for which the state of a job is kept that a user has cancelled without a snapshot."""
    events: int = 1000
    """So many events of each job, the newest."""
    versions: int = 50
    """So many versions of each job, the newest."""
    audit: int = 10_000
    """So many entries of the audit trail, the newest."""
    seconds_history: float = 15.0 * _MINUTE
    """Seconds for which samples of every second are kept."""
    minutes_history: float = 1.0 * _DAY
    """Seconds for which samples of every minute are kept."""

    def __post_init__(self) -> None:
        for record in KEPT:
            value = getattr(self, record.field)
            least, most = record.written(record.least), record.written(record.most)
            if not record.least <= value <= record.most:  # NaN is neither
                text = record.written(value) if math.isfinite(value) else value
                raise UsageError(f"{record.name} is from {least} to {most}, not {text}.")
        if self.cancelled_time > self.result_time:
            raise UsageError(
                f"The state of a cancelled job goes with its result at the latest: cancelled-time "
                f"({_BY_NAME['cancelled-time'].written(self.cancelled_time)}) can't be longer than result-time "
                f"({_BY_NAME['result-time'].written(self.result_time)})."
            )

    @classmethod
    def of(cls, settings: Iterable[str]) -> Retention:
        """Return the bounds of ``NAME=VALUE`` settings, the later ones over the earlier; all others have their defaults."""
        values: dict[str, float] = {}
        for text in settings:
            name, equals, value = (part.strip() for part in text.partition("="))
            if not equals:
                raise UsageError(
                    f"'{text}' does not say how much to keep: write NAME=VALUE, such as events=500 or result-time=30d."
                )
            if name not in _BY_NAME:
                raise UsageError(f"Nothing that is kept is named '{name}'; there are: {', '.join(_BY_NAME)}.")
            values[_BY_NAME[name].field] = _BY_NAME[name].read(value)
        return dataclasses.replace(cls(), **values)  # type: ignore[arg-type]  # each record reads what its field holds

    @classmethod
    def from_json(cls, text: str) -> Retention:
        """Return the bounds that :meth:`to_json` wrote, of another release, too: settings unknown to this one are skipped.

        ValueError if the text holds something else.
        """
        settings = json.loads(text)
        if not isinstance(settings, dict):
            raise ValueError("no object of names and values")
        try:
            return cls.of(f"{name}={value}" for name, value in settings.items() if name in _BY_NAME)
        except UsageError as error:
            raise ValueError(error.message) from None

    def to_json(self) -> str:
        """As users write it, for files."""
        return json.dumps(self.written(), indent=1) + "\n"

    def written(self) -> dict[str, str]:
        """Name -> value, as users write them."""
        return {record.name: record.written(getattr(self, record.field)) for record in KEPT}

    @property
    def history(self) -> Mapping[int, float]:
        """Seconds between samples -> seconds for which they are kept."""
        return {1: self.seconds_history, 60: self.minutes_history}


USUAL = Retention()
"""The defaults."""
