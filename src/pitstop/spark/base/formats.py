"""Formats of Spark that users name: their jars and options, and a sentence where Spark does not have one."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from pitstop.errors import PipelineError
from pitstop.machine.local_paths import local_path
from pitstop.machine.named_secrets import revealed
from pitstop.spark.internals.formats import has_driver, has_format
from pitstop.spark.internals.java_code import add_jars

_OWN = ("delta", "kafka")
"""Formats that Pitstop reads and writes itself."""
_JDBC, _DRIVER = "jdbc", "driver"
_DRIVERS = "META-INF/services/java.sql.Driver"
"""The file of a jar that names its drivers. Java looks for it in the jars that it starts with alone."""
_GIVE = (
    "name its jars (jars=[...]), or give them to Spark (spark.jars or spark.jars.packages in spark-defaults.conf of "
    "$SPARK_CONF_DIR)."
)


def provide_format(spark: SparkSession, name: str, jars: Iterable[str], options: Mapping[str, str]) -> dict[str, str]:
    """Give the session the jars of a format, and return its options with the values of their secrets.

    PipelineError if a jar is not there, or Spark has no format of that name, or no driver for a database.
    """
    files = [Path(local_path(jar, "A jar")) for jar in jars]
    for file in files:
        if not file.is_file():
            raise PipelineError(f"The format '{name}' needs the jar {file}, which does not exist.")
    add_jars(spark, files)
    if not has_format(spark, name):
        own = f"use ps.sources.{name} and ps.sinks.{name}, or " if name in _OWN else ""
        raise PipelineError(f"Spark has no format '{name}' here: {own}{_GIVE}")
    values = {option: revealed(value) for option, value in options.items()}
    if name.lower() == _JDBC and "url" in values:
        driver = values.get(_DRIVER) or _driver_in(files)
        if not has_driver(spark, values["url"], driver):
            raise PipelineError(f"Java has no driver for the database {_scheme(values['url'])}: {_GIVE}")
        values |= {_DRIVER: driver} if driver is not None else {}
    return values


def _driver_in(jars: Iterable[Path]) -> str | None:
    """Return the class of the first driver that one of the jars names; None if there is none."""
    for jar in jars:
        try:
            with zipfile.ZipFile(jar) as archive:
                if _DRIVERS in archive.namelist():
                    lines = (line.partition("#")[0].strip() for line in archive.read(_DRIVERS).decode().splitlines())
                    return next(filter(None, lines), None)
        except zipfile.BadZipFile as error:
            raise PipelineError(f"The jar {jar} is not a zip file: fetch it again.") from error
    return None


def _scheme(url: str) -> str:
    """Return the beginning of a URL of JDBC: what follows may hold secrets."""
    return ":".join(url.split(":")[:2]) + ":..."
