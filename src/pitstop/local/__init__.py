"""A job in this process: for notebooks and tests, on a SparkSession of one's own, with the same engine."""

from pitstop.local.run import LocalJob, run

__all__ = ["LocalJob", "run"]
