"""Spark's reader of Kafka, which Spark promises for another release than ours, and the shell of ours around it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.kit.maven import fetch_jars
from pitstop.pipeline.needs import OF_SOURCES
from pitstop.spark.internals.java_code import provider

_FEED = "kafka/KafkaFeed"


def kafka_feed(spark: SparkSession) -> str:
    """Return the format by which a session reads topics as a stream, and let it read ``kafka`` as a batch.

    The jars are fetched if they are not there. PitstopError if they cannot be had.
    """
    return provider(spark, _FEED, fetch_jars(OF_SOURCES["kafka"].jars))
