"""What a decision is, and the answers that decisions have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pitstop.control.actions import Action, Finish
from pitstop.errors import ConflictError
from pitstop.model.job import Job
from pitstop.model.operation import Operation, OperationState


@dataclass(frozen=True)
class Decision:
    """The job as it is to be recorded, and what is to be done."""

    job: Job
    actions: tuple[Action, ...] = ()


def answered(operation: int | None, error: dict[str, Any] | None = None, result: dict[str, Any] | None = None) -> list[Action]:
    """End an operation, if there is one: with an error if given, else well."""
    if operation is None:
        return []
    return [Finish(operation, OperationState.FAILED if error else OperationState.DONE, error, result)]


def refuse(job: Job, operation: Operation, message: str) -> Decision:
    """Nothing changes, and the operation fails with a sentence."""
    return Decision(job, (Finish(operation.id, OperationState.FAILED, error=ConflictError(message).to_dict()),))
