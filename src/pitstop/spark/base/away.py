"""Errors of a source that cannot be read for now, or that brings what cannot be taken."""

from __future__ import annotations


class SourceAwayError(Exception):
    """A source is away, in one sentence: its epoch is read once it is back.

    It comes out of a process of Spark's as text alone, where :func:`pitstop.spark.base.failures.explain` knows it by its name.
    """


class SourceFaultError(Exception):
    """A source brings what cannot be taken, in one sentence: that costs an attempt.

    It comes out of a process of Spark's like :class:`SourceAwayError`.
    """
