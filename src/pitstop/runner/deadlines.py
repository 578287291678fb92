"""The time that each step of a run may take before the run counts as hanging: compiling, starting, an epoch, asking its query."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from pitstop.errors import EngineError
from pitstop.kit import durations
from pitstop.model.config import JobConfig


class Deadlines:
    """Keeps track of the present step of a run, and tells when it has taken too long. ``monotonic`` gives seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic, self._lock = monotonic, threading.Lock()
        self._doing: str | None = None
        self._progress: Hashable = None
        self._option, self._limit_ms, self._since = "", 0, 0.0
        self._restartable = False

    def compiling(self, config: JobConfig) -> None:
        """Note that the job's code is being loaded and compiled."""
        self._at("compiling the job", "compile_timeout", config.compile_timeout_ms)

    def starting(self, config: JobConfig) -> None:
        """Note that the state is being restored, and the first epoch processed."""
        self._at("restoring state and the first epoch", "first_epoch_timeout", config.first_epoch_timeout_ms)

    def epoch(self, number: int, config: JobConfig) -> None:
        """Note that a later epoch is under way. Another run may do better: what this one waits for may be back by then."""
        self._at(f"epoch {number}", "epoch_timeout", config.epoch_timeout_ms, restartable=True)

    def task(self, progress: Hashable, config: JobConfig) -> None:
        """Note that a batch is under way, and its ``progress``. Another value of that gives the batch its whole time again."""
        self._at("the next task of the batch", "epoch_timeout", config.epoch_timeout_ms, restartable=True, progress=progress)

    def nothing(self) -> None:
        """Note that the run waits for data, or has come to its end."""
        with self._lock:
            self._doing = None

    @property
    def seconds(self) -> float:
        """The seconds that the present step of the run has taken; 0 if the run waits for data."""
        with self._lock:
            return self._monotonic() - self._since if self._doing is not None else 0.0

    def overdue(self) -> EngineError | None:
        """Return the error to fail with once a deadline has passed; None before."""
        with self._lock:
            if self._doing is None or self._monotonic() - self._since <= self._limit_ms / 1000:
                return None
            what = f"{self._doing} did not end within {durations.words(self._limit_ms)}"
            return _hangs(what, self._option, self._restartable)

    def _at(self, doing: str, option: str, limit_ms: int, restartable: bool = False, progress: Hashable = None) -> None:
        with self._lock:
            if (doing, progress) != (self._doing, self._progress):
                self._doing, self._progress, self._since = doing, progress, self._monotonic()
            self._option, self._limit_ms, self._restartable = option, limit_ms, restartable


class Answers:
    """Watches that a query answers its run. The query's JVM may stand still alone, and a caller would wait for ever.

    It is for two threads: one asks, and the other one looks whether that takes too long. ``monotonic`` gives seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._asked: tuple[float, int] | None = None
        """The time since which an answer is awaited, and the milliseconds that it may take."""

    @contextmanager
    def awaited(self, config: JobConfig, seconds: float = 0.0) -> Iterator[None]:
        """Return a context in which the query is asked. ``seconds``: the time by which good reasons may delay an answer."""
        self._asked = (self._monotonic(), config.epoch_timeout_ms + int(seconds * 1000))
        try:
            yield
        finally:
            self._asked = None

    def overdue(self) -> EngineError | None:
        """Return the error to fail with once an answer is too late; None before. Another run may do better."""
        question = self._asked
        if question is None or self._monotonic() - question[0] <= question[1] / 1000:
            return None
        return _hangs(f"its query has not answered for {durations.words(question[1])}", "epoch_timeout", restartable=True)


def took_too_long(what: str, option: str, limit_ms: int) -> EngineError:
    """Return the error of a run that hangs. Another run may do better."""
    return _hangs(f"{what} for {durations.words(limit_ms)}", option, restartable=True)


def _hangs(what: str, option: str, restartable: bool) -> EngineError:
    return EngineError(f"The run hangs: {what}. Raise the option {option} if that is too short.", restartable=restartable)
