"""The failure of a run as its control plane and its user get it: without secrets, and with what another run can expect."""

from __future__ import annotations

import dataclasses
import sys
import threading
import traceback

from pitstop.errors import EngineError, PitstopError, Problem, is_of_the_machine
from pitstop.machine.named_secrets import hidden, hidden_in
from pitstop.model.run import EngineLoss, Failed

_JUDGED = ("restartable", "unclear", "passing")
"""Details of an error that tell what another run can expect."""


def failed(error: Exception, loss: EngineLoss | None) -> Failed:
    """Return the fact that a run has failed. ``loss`` is that of the engine, if it has gone: nothing else then counts."""
    problem, judged = problem_of(error), dict.fromkeys(_JUDGED, False)
    details = "".join(traceback.format_exception(error)) if error.__traceback__ is not None else _stacks()
    if isinstance(error, PitstopError):
        facts = dict(problem.details)
        details = str(facts.pop("trace", details))
        judged = {name: bool(facts.pop(name, False)) for name in _JUDGED}
        problem = dataclasses.replace(problem, details=facts)
    if loss is not None:
        problem = EngineError("The engine that this job shares with others has ended: the next run has another one.").problem
    return Failed(problem, hidden(details), **judged, away=is_of_the_machine(error), engine_loss=loss)


def problem_of(error: BaseException) -> Problem:
    """Return an error as a user reads it."""
    problem = error.problem if isinstance(error, PitstopError) else EngineError(f"{type(error).__name__}: {error}").problem
    return dataclasses.replace(problem, message=hidden(problem.message), details=hidden_in(problem.details))


def _stacks() -> str:
    """Return the stack of every Python thread of this process."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sys._current_frames().items()
    return "\n".join(f"Thread {names.get(ident)}:\n{''.join(traceback.format_stack(frame))}" for ident, frame in frames)
