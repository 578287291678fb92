"""The option ``restart``: the next starts of a job after an error that may pass, in the names that Flink has for them."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar

from pitstop.errors import UsageError
from pitstop.kit import durations

OPTION = "restart"
MOST_ATTEMPTS = 1_000_000
MOST_FAILURES = 1000
"""The time of each is kept with the job."""
MOST_MULTIPLIER = 1000.0
_PARAMETER = re.compile(r"(?:^|[\s,;])\s*([A-Za-z][A-Za-z_-]*)\s*=")
_Reader = Callable[[str, Any], Any]


class StrategyKind(StrEnum):
    """The strategies there are, as Flink calls them."""

    NONE = "none"
    FIXED_DELAY = "fixed-delay"
    EXPONENTIAL_DELAY = "exponential-delay"
    FAILURE_RATE = "failure-rate"


@dataclass(frozen=True)
class RestartStrategy:
    """The times at which a job starts again after an error that may pass, and the point at which it is given up."""

    kind: StrategyKind
    attempts: int | None = None
    """The most starts in a row without progress; None: no end."""
    delay_ms: int = 0
    """The time before the first of them."""
    longest_delay_ms: int = 0
    multiplier: float = 1.0
    """The factor by which each later one waits longer."""
    jitter: float = 0.0
    """The part of itself by which a delay is shorter or longer, so that many jobs do not come back at one moment."""
    reset_ms: int = 0
    """The time that a run must go well before attempts are counted from the beginning; 0: until its first epoch is committed."""
    most_failures: int | None = None
    """The most failures within ``interval_ms``; None: any number."""
    interval_ms: int = 0

    DEFAULT: ClassVar[str] = StrategyKind.EXPONENTIAL_DELAY.value

    @classmethod
    def parse(cls, written: Any) -> RestartStrategy:
        """Read text such as ``fixed-delay attempts=10 delay=5s``, a mapping with a ``type``, or the JSON text of one."""
        word, parameters = _parts(written)
        kind = _kind(word)
        readers = _PARAMETERS[kind]
        fields = {}
        for name, value in parameters.items():
            plain = name.strip().lower().replace("_", "-")
            if plain not in readers:
                there = ", ".join(readers) or "none"
                raise UsageError(f"The option {OPTION} has no parameter '{name}' for {kind}. There are: {there}.")
            field, read = readers[plain]
            fields[field] = read(f"{OPTION}, {plain},", value)
        strategy = dataclasses.replace(_USUAL[kind], **fields)
        if kind is not StrategyKind.EXPONENTIAL_DELAY:
            return dataclasses.replace(strategy, longest_delay_ms=strategy.delay_ms)
        if strategy.longest_delay_ms < strategy.delay_ms:
            raise UsageError(f"The option {OPTION} has a max-backoff that is shorter than its initial-backoff.")
        return strategy

    @property
    def text(self) -> str:
        """The shortest text that says it."""
        usual = _USUAL[self.kind]
        parts = [
            f"{name}={_written(field, getattr(self, field))}"
            for name, (field, _) in _PARAMETERS[self.kind].items()
            if getattr(self, field) != getattr(usual, field)
        ]
        return " ".join([self.kind.value, *parts])

    def delay_seconds(self, attempt: int, chance: float) -> float:
        """Return the seconds before an attempt, the first in a row is 1. ``chance``, from -1 to 1, moves it within its jitter."""
        # A power of so many attempts would be no number any more.
        grown = self.delay_ms * self.multiplier ** min(attempt - 1, 200) if self.multiplier > 1 else self.delay_ms
        return min(grown, self.longest_delay_ms) * (1 + self.jitter * chance) / 1000

    @property
    def longest_seconds(self) -> float:
        """No attempt waits longer."""
        return self.longest_delay_ms * (1 + self.jitter) / 1000

    def recent(self, failures: tuple[float, ...], now: float) -> tuple[float, ...]:
        """The times of failures that still count; none where they do not."""
        if self.most_failures is None:
            return ()
        begin = now - self.interval_ms / 1000
        return tuple(at for at in failures if begin < at <= now)[-self.most_failures - 1 :]


def restart_text(name: str, value: Any) -> str:
    """The option as it is kept: the shortest text that says it. UsageError if it is no strategy."""
    return RestartStrategy.parse(value).text


@cache
def strategy_of(text: str) -> RestartStrategy:
    """The strategy that a job has by its option."""
    return RestartStrategy.parse(text)


def _parts(written: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(written, str) and written.lstrip().startswith("{"):
        try:
            written = json.loads(written)
        except ValueError:
            raise UsageError(f"The option {OPTION} is {written!r}, which is not JSON.") from None
    if isinstance(written, Mapping):
        parameters = {str(name): value for name, value in written.items()}
        return str(parameters.pop("type", "")), parameters
    text = str(written)
    marks = list(_PARAMETER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)] * bool(marks)
    parts = {mark[1]: text[mark.end() : end].strip(" ,;\t\n") for mark, end in zip(marks, ends, strict=True)}
    return text[: marks[0].start()] if marks else text, parts


def _kind(word: str) -> StrategyKind:
    plain = word.strip(" ,;\t\n").lower().replace("_", "-")
    if plain not in set(StrategyKind):
        *first, last = StrategyKind
        example = "fixed-delay attempts=10 delay=5s"
        raise UsageError(
            f"The option {OPTION} is not a strategy: '{word}'. Use {', '.join(first)} or {last}, such as '{example}'."
        )
    return StrategyKind(plain)


def _duration(least_ms: int) -> _Reader:
    def read(name: str, value: Any) -> int:
        duration_ms = durations.milliseconds(value, name.rstrip(","))
        if duration_ms < least_ms:
            raise UsageError(f"{name} can't be less than {durations.words(least_ms)}: {value}")
        return duration_ms

    return read


def _count(most: int, or_infinite: bool = False) -> _Reader:
    def read(name: str, value: Any) -> int | None:
        if or_infinite and str(value).strip().lower() in ("infinite", "none", "-1"):
            return None
        try:
            number = int(str(value))
        except ValueError:
            raise UsageError(f"{name} is a whole number, not {value!r}.") from None
        if not 1 <= number <= most:
            raise UsageError(f"{name} is from 1 to {most:,}, not {value}.")
        return number

    return read


def _number(least: float, most: float) -> _Reader:
    def read(name: str, value: Any) -> float:
        try:
            number = float(str(value))
        except ValueError:
            raise UsageError(f"{name} is a number, not {value!r}.") from None
        if not least <= number <= most or math.isnan(number):
            raise UsageError(f"{name} is from {least:g} to {most:g}, not {value}.")
        return number

    return read


def _written(field: str, value: Any) -> str:
    if value is None:
        return "infinite"
    return durations.short(value) if field.endswith("_ms") else f"{value:g}" if isinstance(value, float) else str(value)


_PARAMETERS: dict[StrategyKind, dict[str, tuple[str, _Reader]]] = {
    StrategyKind.NONE: {},
    StrategyKind.FIXED_DELAY: {
        "attempts": ("attempts", _count(MOST_ATTEMPTS, or_infinite=True)),
        "delay": ("delay_ms", _duration(0)),
    },
    StrategyKind.EXPONENTIAL_DELAY: {
        "initial-backoff": ("delay_ms", _duration(1)),
        "max-backoff": ("longest_delay_ms", _duration(1)),
        "backoff-multiplier": ("multiplier", _number(1.0, MOST_MULTIPLIER)),
        "jitter-factor": ("jitter", _number(0.0, 1.0)),
        "reset-backoff-threshold": ("reset_ms", _duration(0)),
        "attempts-before-reset-backoff": ("attempts", _count(MOST_ATTEMPTS, or_infinite=True)),
    },
    StrategyKind.FAILURE_RATE: {
        "max-failures-per-interval": ("most_failures", _count(MOST_FAILURES)),
        "failure-rate-interval": ("interval_ms", _duration(1)),
        "delay": ("delay_ms", _duration(0)),
    },
}
"""Strategy -> parameter -> the field that holds it, and its reader."""

_USUAL = {
    StrategyKind.NONE: RestartStrategy(StrategyKind.NONE, attempts=0),
    StrategyKind.FIXED_DELAY: RestartStrategy(StrategyKind.FIXED_DELAY, attempts=1, delay_ms=1000, longest_delay_ms=1000),
    StrategyKind.EXPONENTIAL_DELAY: RestartStrategy(
        StrategyKind.EXPONENTIAL_DELAY, delay_ms=1000, longest_delay_ms=60_000, multiplier=1.5, jitter=0.1
    ),
    StrategyKind.FAILURE_RATE: RestartStrategy(
        StrategyKind.FAILURE_RATE, delay_ms=1000, longest_delay_ms=1000, most_failures=1, interval_ms=60_000
    ),
}
"""The strategies without parameters: Flink's values."""
