"""Spark's reader of Kafka, which Spark promises for another release than ours, and the shell of ours around it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pitstop.kit.maven import Jar, fetch_jars
from pitstop.spark.internals.java_code import provider

JARS = (
    Jar(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Jar(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.2.0",
        "641c7947afc8aa1189e433b7c2d305293993c8691bc1c2062d6d4f513b12518c",
    ),
    Jar("org.apache.kafka", "kafka-clients", "3.9.2", "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"),
    Jar("org.apache.commons", "commons-pool2", "2.13.1", "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f"),
)
"""Spark's reader and the libraries that it needs. There is none for Spark 4.3: that of 4.2 was tried with it."""
_FEED = "kafka/KafkaFeed"


def kafka_feed(spark: SparkSession) -> str:
    """Return the format by which a session reads topics as a stream, and let it read ``kafka`` as a batch.

    The jars are fetched if they are not there. PitstopError if they cannot be had.
    """
    return provider(spark, _FEED, fetch_jars(JARS))
