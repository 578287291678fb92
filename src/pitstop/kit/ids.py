"""Identifiers: job ids of four groups of four hex digits, names, lineages."""

from __future__ import annotations

import re
import secrets

from pitstop.errors import UsageError

_JOB_ID = re.compile(r"[0-9a-f]{4}(-[0-9a-f]{4}){3}")
_NAME = re.compile(r"[^\W_][\w.\- ]{0,199}", re.UNICODE)


def new_job_id() -> str:
    """Return a new job id as Jet shows it: ``0401-9f77-b9c0-0001`` (63 random bits, so it fits an int64)."""
    digits = f"{secrets.randbits(63):016x}"
    return "-".join(digits[i : i + 4] for i in range(0, 16, 4))


def check_job_id(identity: str) -> str:
    """Return ``identity`` if :func:`new_job_id` might have made it; else raise UsageError."""
    if not _JOB_ID.fullmatch(identity) or identity[0] > "7":
        raise UsageError(f"'{identity}' is no id of a job: give 16 hex digits in four groups, such as 0401-9f77-b9c0-0001.")
    return identity


def new_lineage() -> str:
    """Return a name for one unbroken chain of epochs: a checkpoint and everything its epochs wrote."""
    return secrets.token_hex(8)


def check_name(what: str, name: str) -> str:
    """Return ``name`` if it may name a job, stage, snapshot or map; else raise UsageError.

    A name starts with a letter or digit and goes on with letters, digits, ``_ . -`` and blanks,
    200 characters at most: it becomes part of paths and of log lines.
    """
    if not _NAME.fullmatch(name) or name.endswith((" ", ".")):
        raise UsageError(
            f"'{name}' cannot name a {what}: use letters, digits, '_', '.', '-' and blanks, "
            "starting with a letter or digit, 200 characters at most."
        )
    if what == "job" and _JOB_ID.fullmatch(name):
        raise UsageError(f"'{name}' cannot name a job: it is the id of one, or may become it.")
    return name
