"""The death of a job under test, in the middle of an epoch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

PY4J = "py4j.clientserver"
"""The logger that tells of each exception in a callback of Spark's."""


def die() -> None:
    """Let the epoch that calls this fail, and its query with it."""
    raise RuntimeError("the test lets the job die here")


@contextmanager
def dying_quietly() -> Iterator[None]:
    """Let nothing be logged of the exception with which a job dies."""
    logger = logging.getLogger(PY4J)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
