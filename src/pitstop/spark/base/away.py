"""What a source says that cannot be read for now."""

from __future__ import annotations


class SourceAwayError(Exception):
    """A source is away, in one sentence: its epoch is read once it is back.

    It comes out of a process of Spark's as text alone, where :func:`pitstop.spark.base.failures.explain` knows it by its name.
    """
