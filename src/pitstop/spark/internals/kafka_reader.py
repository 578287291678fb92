"""Spark's reader of Kafka, which Spark promises for another release than ours, and the shell of ours around it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.machine.maven import fetch_jars
from pitstop.pipeline.needs import OF_SOURCES
from pitstop.spark.internals.java_code import call, compiled_class, provider
from pitstop.spark.internals.jvm import session_of

_FEED, _LOOK = "kafka/KafkaFeed", "kafka/KafkaLook"
LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
"""Mechanism of SASL -> the class by which Java's client signs in."""
KEPT = "kept"
"""The option of the feed that names what ``keep_options`` has kept for it."""


def kafka_feed(spark: SparkSession) -> str:
    """Return the format by which a session reads topics as a stream, and let it read ``kafka`` as a batch.

    The jars are fetched if they are not there. PitstopError if they cannot be had.
    """
    return provider(spark, _FEED, fetch_jars(OF_SOURCES["kafka"].jars))


def keep_options(spark: SparkSession, key: str, options: dict[str, str]) -> str:
    """Keep options for the feed in the memory of the session's Java, where no plan and no log shows them; return their name.

    The feed must be known to the session (:func:`kafka_feed`).
    """
    feed = session_of(spark).sharedState().jarClassLoader().loadClass(_FEED.rpartition("/")[2])
    call(spark, feed, "keep", key, options)
    return key


def kafka_places(
    spark: SparkSession, settings: dict[str, str], topics: str, pattern: str, isolation: str, moment: str, seconds: float
) -> str:
    """Return the cluster, and the offsets that topics have now, as JSON (java/kafka/KafkaLook.java); ``moment``: ms or empty."""
    kafka_feed(spark)
    milliseconds = str(round(seconds * 1000))
    look = compiled_class(spark, _LOOK)
    return str(call(spark, look, "places", settings, topics, pattern, isolation, moment, milliseconds))


def kafka_look(spark: SparkSession, settings: dict[str, str], topics: str, pattern: str, seconds: float) -> str:
    """Return what is in topics now, as JSON (java/kafka/KafkaLook.java). The jars are fetched if they are not there."""
    kafka_feed(spark)
    return str(call(spark, compiled_class(spark, _LOOK), "look", settings, topics, pattern, str(round(seconds * 1000))))
