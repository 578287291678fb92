"""Needs of kinds of sources and sinks on the machine where jobs run, beside Pitstop itself: a package, or jars."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from pitstop.errors import UsageError
from pitstop.machine.maven import Jar, has_jar, jar_folder
from pitstop.pipeline.s3_jars import S3A_JARS

SOURCE_GROUP, SINK_GROUP = "pitstop.sources", "pitstop.sinks"
"""The entry points by which a package declares its kinds of sources, and of sinks."""


@dataclass(frozen=True)
class Needs:
    """The needs of a kind."""

    package: str | None = None
    """The package of Python."""
    module: str | None = None
    """The module by which that is imported."""
    extra: str | None = None
    """The extra of Pitstop that brings it."""
    jars: tuple[Jar, ...] = ()
    """The jars of Spark's session, which are fetched when a job first needs them."""

    @property
    def install_line(self) -> str | None:
        """The command that installs the package; None if there is none to install."""
        return f"pip install 'pitstop[{self.extra}]'" if self.extra is not None else None

    def has_package(self) -> bool:
        """Return True unless the package is missing here."""
        return self.module is None or find_spec(self.module) is not None

    def missing_package(self) -> str | None:
        """Return the clause that says which package a kind needs; None if it is here."""
        return None if self.has_package() else f"it needs the package {self.package} where jobs run: {self.install_line}."

    def missing_jars(self) -> list[Jar]:
        """Return the jars that are not in the user's cache folder, or not as they were tried."""
        try:
            folder = jar_folder() if self.jars else None
        except UsageError:
            return list(self.jars)
        return [jar for jar in self.jars if folder is not None and not has_jar(jar, folder)]


NOTHING = Needs()
OF_SOURCES = {
    "delta": Needs("deltalake", "deltalake", "delta"),
    "iceberg": Needs("pyiceberg", "pyiceberg", "iceberg"),
    "kafka": Needs(
        # There is no reader for Spark 4.3: that of 4.2 was tried with it.
        jars=(
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
            Jar(
                "org.apache.commons",
                "commons-pool2",
                "2.13.1",
                "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f",
            ),
        )
    ),
    "postgres": Needs("psycopg", "psycopg", "postgres"),
}
"""Kind of source -> its needs; all others need nothing."""
OF_SINKS = {
    "delta": Needs("deltalake", "deltalake", "delta"),
    "iceberg": Needs("pyiceberg", "pyiceberg", "iceberg"),
    "kafka": Needs("confluent-kafka", "confluent_kafka", "kafka"),
    "postgres": Needs("psycopg", "psycopg", "postgres"),
}
"""Kind of sink -> its needs; all others need nothing."""
OF_SCHEMES = {"s3a": Needs(jars=S3A_JARS)}
"""Scheme of addresses -> the needs of every source and sink of Spark's that reads or writes there."""
