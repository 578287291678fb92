"""The threads in which calls of the service run: each kind has its own, so that none keeps another waiting.

A call that finds all threads of its kind busy waits without one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class ForSql:
    """The threads of statements of SQL, of one role: viewers who fill theirs keep no operator waiting."""

    parsing: _Kind
    """For texts of statements: long ones take seconds of the processor, and each as it is read tens of mebibytes."""
    stating: _Kind
    """For queries: one that has not begun to give rows may wait for as long as a query may take. They are some more than
    queries may be open, so that who comes then is told so."""
    following: _Kind
    """For calls that wait for the next rows of a query; whoever goes away leaves them, and closes the query."""

    @classmethod
    def of(cls, role: str, parsing: int) -> ForSql:
        kinds = _Kind(f"pitstop_{role}_parsing", parsing), _Kind(f"pitstop_{role}_stating", 40)
        return cls(*kinds, _Kind(f"pitstop_{role}_following", 32, abandon=True))


class _Kind:
    def __init__(self, name: str, threads: int, abandon: bool = False) -> None:
        self._threads, self._abandon = threads, abandon
        self._limiter: RunVar[CapacityLimiter] = RunVar(name)

    async def __call__(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of the call, run in a thread of this kind."""
        try:
            limiter = self._limiter.get()
        except LookupError:
            limiter = CapacityLimiter(self._threads)
            self._limiter.set(limiter)
        return await run_sync(lambda: call(*args, **kwargs), limiter=limiter, abandon_on_cancel=self._abandon)


reading = _Kind("pitstop_reading", 8)
"""For calls that read the store and small files: they take milliseconds, and wait for nobody."""
probing = _Kind("pitstop_probing", 1)
"""For the probe of readiness, which is to answer however busy all others are."""
writing = _Kind("pitstop_writing", 4)
"""For calls that write the store: they wait for all writers before them, which SQLite lets in one by one."""
parsing = _Kind("pitstop_parsing", 2)
"""For bodies of requests that are large: long ones take seconds of the processor, and each as it is read tens of mebibytes."""
bringing = _Kind("pitstop_bringing", 12)
"""For calls that bring code, whose packages may have to be installed first: they take up to some minutes."""
working = _Kind("pitstop_working", 4)
"""For calls that start a process or move large files: they take seconds to minutes."""
looking_in = _Kind("pitstop_looking_in", 8)
"""For calls that ask the run of a job how it does: they wait until it answers."""
peeking = _Kind("pitstop_peeking", 8)
"""For calls that wait for rows of a run's next epoch. Only operators make them, and viewers who look in keep none waiting."""
exporting_for_viewers = _Kind("pitstop_exporting_for_viewers", 1)
"""For viewers' calls that start a process. They never take all the processes that there may be at once (launchers.worker)."""
operators_sql, viewers_sql = ForSql.of("operators", parsing=2), ForSql.of("viewers", parsing=1)
