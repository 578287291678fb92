"""One error tree. Every error is one sentence for a person, with a stable code for programs.

PitstopError                 something went wrong; the message says what, where and what to do
+-- UsageError               the input cannot be right (HTTP 400)
|   +-- PipelineError        the pipeline itself is wrong; names the stage
|   +-- ArtifactError        the file of a job cannot be read or holds no such entry
+-- NotFoundError            no job, snapshot or map of that name (HTTP 404)
+-- ConflictError            the thing exists, but not in a state that allows this (HTTP 409)
|   +-- IncompatibleError    a new version cannot take over the saved state; carries the report
|   |   +-- DropError        it would drop some of it without permission; carries the report
|   +-- FencedError          another run of the job owns it now
|   +-- OtherEpochError      a sink already has an epoch of that number, with other rows
+-- DeniedError              no or wrong token (HTTP 401)
|   +-- ForbiddenError       the token does not allow this (HTTP 403)
|   +-- ForeignError         a request by another site's page, or under a foreign host name (HTTP 403)
+-- TooLargeError            the request is larger than the server takes (HTTP 413)
+-- BusyError                the server already does as much of this as it may at once (HTTP 429)
+-- UnreachableError         the server does not answer (HTTP 503)
+-- WaitTimeoutError         it did not happen within the time given (HTTP 504)
+-- SnapshotError            a snapshot is missing or damaged (HTTP 422)
+-- EngineError              Spark or the machine failed (HTTP 500)
    +-- StoreError           the store is busy, away or full for now (HTTP 503)
    +-- VersionError         the new version of an update failed, or was rolled back (HTTP 422)
"""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Problem:
    """An error as a value, in the form that the store keeps and that processes exchange."""

    code: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)

    def error(self) -> PitstopError:
        """Return the error to raise for this problem; one of the root class if this release does not know the code."""
        return all_errors().get(self.code, PitstopError)(self.message, **self.details)


class PitstopError(Exception):
    """The root of all errors that a user may see. ``str(error)`` is the sentence to show."""

    code: ClassVar[str] = "ERROR"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details

    @property
    def problem(self) -> Problem:
        """The error as a value."""
        return Problem(self.code, self.message, self.details)

    def to_dict(self) -> dict[str, Any]:
        """Return the form in which REST answers: {code, message, details}."""
        return {"code": self.code, "message": self.message, "details": self.details}


class UsageError(PitstopError):
    """The input cannot be right."""

    code = "USAGE"
    http_status = 400


class PipelineError(UsageError):
    """The pipeline is wrong: a stage without sink, a doubled name, an unknown column."""

    code = "PIPELINE"


class ArtifactError(UsageError):
    """The file of a job cannot be read, or holds no such entry."""

    code = "ARTIFACT"


class NotFoundError(PitstopError):
    """There is nothing of that name."""

    code = "NOT_FOUND"
    http_status = 404


class ConflictError(PitstopError):
    """The thing exists, but its state does not allow this."""

    code = "CONFLICT"
    http_status = 409


class IncompatibleError(ConflictError):
    """A new version cannot take over the saved state."""

    code = "INCOMPATIBLE"


class DropError(IncompatibleError):
    """A new version would drop saved state, or the place of a source, without permission to do so."""

    code = "DROPS_STATE"


class FencedError(ConflictError):
    """Another run of the job has taken over. This one must stop writing."""

    code = "FENCED"


class OtherEpochError(ConflictError):
    """A sink holds an epoch of that lineage and number, or a later one, that this checkpoint did not write."""

    code = "OTHER_EPOCH"


class DeniedError(PitstopError):
    """No token, or a wrong one."""

    code = "DENIED"
    http_status = 401


class ForbiddenError(DeniedError):
    """The token does not allow this."""

    code = "FORBIDDEN"
    http_status = 403


class ForeignError(DeniedError):
    """The request comes from a web page of another site, or calls the server by a name that is not its own."""

    code = "FOREIGN"
    http_status = 403


class TooLargeError(PitstopError):
    """A request, or what it names, is larger than the server takes."""

    code = "TOO_LARGE"
    http_status = 413


class BusyError(PitstopError):
    """The server already does as much of this as it may at once: ask again later."""

    code = "BUSY"
    http_status = 429


class UnreachableError(PitstopError):
    """The server does not answer. ``absent`` in its details is true if nobody listens at that address."""

    code = "UNREACHABLE"
    http_status = 503


class WaitTimeoutError(PitstopError):
    """It did not happen within the time given."""

    code = "TIMEOUT"
    http_status = 504


class SnapshotError(PitstopError):
    """A snapshot is missing or damaged."""

    code = "SNAPSHOT"
    http_status = 422


class EngineError(PitstopError):
    """Spark or the machine failed."""

    code = "ENGINE"
    http_status = 500


class VersionError(EngineError):
    """The new version of an update failed or was rolled back. The version before continues. Nothing is wrong with the server."""

    code = "VERSION"
    http_status = 422


class StoreError(EngineError):
    """The store cannot be read or written for now. Pending work is done when the store is back."""

    code = "STORE"
    http_status = 503


def is_of_the_machine(error: BaseException) -> bool:
    """True if an error says that the store or a disk is away or full, or that the machine has no memory or no more processes.

    Such an error goes away with time: the caller can wait and try again.
    """
    if isinstance(error, PitstopError) and error.details.get("away"):
        return True
    if isinstance(error, RuntimeError) and NO_THREADS in str(error):
        return True
    return isinstance(error, StoreError | MemoryError) or (isinstance(error, OSError) and error.errno in _MACHINE_ERRORS)


NO_THREADS = "can't start new thread"
"""The message of Python's error when the machine has no more threads."""

_MACHINE_ERRORS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
)


def all_errors() -> dict[str, type[PitstopError]]:
    """Return every error class by its code, so that an error can travel over HTTP and be raised again."""
    classes: dict[str, type[PitstopError]] = {}
    pending: list[type[PitstopError]] = [PitstopError]
    while pending:
        cls = pending.pop()
        classes[cls.code] = cls
        pending.extend(cls.__subclasses__())
    return classes


def from_dict(data: dict[str, Any]) -> PitstopError:
    """Rebuild an error from the form in which REST answers; an unknown code becomes the root class."""
    return Problem(data.get("code", ""), data.get("message", "unknown error"), data.get("details", {})).error()
