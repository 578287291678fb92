"""The ports on which a JVM takes calls from Python (py4j's gateways): other users' connections end at once.

py4j asks for its secret, but it waits without a limit for whoever does not give it, with a thread for each.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from pitstop.spark.internals.java_code import driver_class, new
from pitstop.spark.internals.jvm import gateway

_SERVER = "GATEWAY_SERVER"
"""The name that py4j gives to the server of a gateway, among the objects of that gateway."""


def end_strangers(spark: SparkSession) -> None:
    """End other users' connections to the port by which this process calls the JVM that it has started."""
    connection = gateway(spark)
    if connection.proc is not None:
        GatewayGuard(spark).guard(JavaObject(_SERVER, connection._gateway_client))


class GatewayGuard:
    """An object of the JVM that ends other users' connections to gateways."""

    def __init__(self, spark: SparkSession) -> None:
        self._java = new(spark, driver_class(spark, "OwnPeers"))

    def guard(self, server: Any) -> None:
        """Guard a py4j server; nobody is served before that if it has not started yet."""
        self._java.guard(server)
