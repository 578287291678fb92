"""Calls that wait for a job have threads of their own, so that many of them never keep a quick read waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync

MOST_WAITING = 256
_waiting: RunVar[CapacityLimiter] = RunVar("pitstop_waiting")

P = ParamSpec("P")
R = TypeVar("R")


async def patiently(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a call that may take long in a thread."""
    try:
        limiter = _waiting.get()
    except LookupError:
        limiter = CapacityLimiter(MOST_WAITING)
        _waiting.set(limiter)
    return await run_sync(lambda: call(*args, **kwargs), limiter=limiter)
