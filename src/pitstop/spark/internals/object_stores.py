"""Hadoop's file system for S3 in a session, with settings of the session's own for each bucket."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from pitstop.machine.maven import fetch_jars
from pitstop.pipeline.needs import OF_SCHEMES
from pitstop.spark.internals.java_code import add_jars, provider
from pitstop.spark.internals.jvm import classes, hadoop_settings, session_of

BY_KEY = "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
BY_TOKEN = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
OF_MACHINE = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
"""Classes that give credentials: those of the settings, without and with a token, and those of environment and machine."""
_FILES = "s3a/StoreFiles"
_CLASS = _FILES.rpartition("/")[2]


def provide_s3(spark: SparkSession, bucket: str, settings: Mapping[str, str]) -> None:
    """Let a session read and write a bucket by these settings of Hadoop's, and by none that it had for the bucket before.

    The jars are fetched if they are not there. PitstopError if they cannot be had.
    """
    if f"/{_CLASS}.jar" in str(spark.sparkContext._jsc.sc().listJars()):
        add_jars(spark, ())
    else:
        provider(spark, _FILES, fetch_jars(OF_SCHEMES["s3a"].jars))
    # Hadoop's settings look for classes themselves, and those that Spark makes for a query are copies of these.
    spark.sparkContext._jsc.hadoopConfiguration().setClassLoader(session_of(spark).sharedState().jarClassLoader())
    begins = f"fs.s3a.bucket.{bucket}."
    own = {f"{begins}{name}": value for name, value in settings.items()}
    own |= {"fs.s3a.impl": _CLASS, "fs.s3a.impl.disable.cache": "true"}
    for name in spark.conf.getAll.keys() - own.keys():
        if name.startswith(begins):
            spark.conf.unset(name)
    for name, value in own.items():
        spark.conf.set(name, value)


def has_setting(spark: SparkSession, name: str) -> bool:
    """Return True if whoever runs this Spark has given it a setting of Hadoop's."""
    return bool(spark.sparkContext._jsc.sc().conf().contains(f"spark.hadoop.{name}"))


def first_objects(spark: SparkSession, address: str, most: int) -> int | None:
    """Return the number of files and folders in a folder, ``most`` at most; None if there is no such folder."""
    path = classes(spark).org.apache.hadoop.fs.Path(address)
    files = path.getFileSystem(hadoop_settings(spark))
    statuses = files.globStatus(path)
    if statuses is None or not len(statuses):
        return None
    if not all(status.isDirectory() for status in statuses):
        return min(len(statuses), most)
    number = 0
    for status in statuses:
        listed = files.listStatusIterator(status.getPath())
        while number < most and listed.hasNext():
            listed.next()
            number += 1
    return number
