"""What all processes of a test get: settings of Java and Spark for sessions that live for seconds."""

import os
from pathlib import Path

JAVA = (
    # To compile thoroughly would take longer than the tests.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # Hadoop runs a program for each permission that it sets, and Java's own way starts a helper for each program.
    "-Djdk.lang.Process.launchMechanism=VFORK",
)


def set_environment() -> None:
    """Put them into this process' environment, which sessions here and all processes below it inherit."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", " ".join(JAVA))
    os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark_conf"))
