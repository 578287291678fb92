"""Exit codes: one for each kind of outcome, so that a script can tell them apart."""

from __future__ import annotations

from enum import IntEnum

from pitstop.errors import (
    BusyError,
    ConflictError,
    DeniedError,
    NotFoundError,
    StoreError,
    TooLargeError,
    UnreachableError,
    UsageError,
    WaitTimeoutError,
)


class Exit(IntEnum):
    """The exit code of a call, with the sentence that docs/cli.md prints."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    DONE = 0, "Done."
    FAILED = 1, "It failed: the job, Spark or the machine. `check`, `doctor` and `--dry-run` end so if they find what is wrong."
    USAGE = 2, "The call or its input cannot be right: an option, a file, a name, a statement."
    NOT_FOUND = 3, "There is no job, snapshot, map or stage of that name."
    REFUSED = 4, "The state of the job forbids it, or the new version cannot take over the saved state. Nothing has changed."
    DENIED = 5, "The token is missing or wrong, or does not allow this."
    AWAY = 6, "The server does not answer, is busy, or its store is away. Ask again later."
    TIMEOUT = 7, "It did not happen within `--timeout`, or within the longest wait. What you asked for goes on by itself."
    INTERRUPTED = 130, "Ctrl-C."


_OF_KIND: tuple[tuple[tuple[type[Exception], ...], Exit], ...] = (
    ((UsageError, TooLargeError), Exit.USAGE),
    ((NotFoundError,), Exit.NOT_FOUND),
    ((ConflictError,), Exit.REFUSED),
    ((DeniedError,), Exit.DENIED),
    ((UnreachableError, BusyError, StoreError), Exit.AWAY),
    ((WaitTimeoutError,), Exit.TIMEOUT),
)


def exit_of(error: BaseException) -> Exit:
    """Return the exit code of a call that an error has ended."""
    return next((code for kinds, code in _OF_KIND if isinstance(error, kinds)), Exit.FAILED)
