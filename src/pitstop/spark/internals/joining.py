"""One JVM for the sessions of several processes: doors by which a process joins, and the end of what it leaves behind.

PySpark's own server of a JVM, ``Py4JServer``, can be made many times in it, each with a port, a secret and a way back to the
functions of its process. Whoever comes through a door gets a session of its own in the SparkContext that is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.sql import SparkSession

from pitstop.errors import PipelineError
from pitstop.spark.internals.gateways import GatewayGuard
from pitstop.spark.internals.java_code import driver_class, new
from pitstop.spark.internals.jvm import classes, session_of

_SESSION = "pitstop-session"
"""The name under which a door's gateway has the session of the process that comes through it."""
CLIENT_VARIABLE = "PITSTOP_ENGINE_CLIENT"
"""The variable of Python workers that names the process for which they work. It keeps workers of one from working for another."""
LINE_FACT = "engine_client"
"""The fact in log lines of Java that names the process for which a thread works."""
TASK_FACT = "task_client"
"""The fact in log lines of a task that names the process for which it runs."""
_connect: Callable[[], Any] = java_gateway.launch_gateway
_CLIENT_SETTING = "spark.pitstop.client"
"""The setting of a session, and of all copies of it, that names the process that it is for (EngineClients.java)."""
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


@dataclass(frozen=True)
class Door:
    """A port of a JVM's gateway with its secret, for one process."""

    port: int
    secret: str = field(repr=False)


def has_joined() -> bool:
    """True if the session of this process, if there is one, is in the JVM of another process."""
    context = SparkContext._active_spark_context
    return context is not None and CLIENT_VARIABLE in context.environment


class Clients:
    """The maker of sessions for other processes in the JVM of a session of this one."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java = new(spark, driver_class(spark, "EngineClients"))
        self._guard = GatewayGuard(spark)
        self._order = new(spark, driver_class(spark, "OldestFirst"))
        self._order.order(spark.sparkContext._jsc.sc())

    def add(self, client: str) -> ClientSession:
        """Make a session for the process of that name, and a door to it."""
        session = session_of(self._spark).newSession()
        session.conf().set(_CLIENT_SETTING, client)
        context, threads = self._spark.sparkContext._jsc.sc(), classes(self._spark).org.apache.logging.log4j.ThreadContext
        # Every thread of Java that comes of the door inherits them.
        properties = ("spark.scheduler.pool", f"mdc.{LINE_FACT}")
        threads.put(LINE_FACT, client)
        for name in properties:
            context.setLocalProperty(name, client)
        try:
            server = classes(self._spark).org.apache.spark.api.python.Py4JServer(context.conf())
            self._guard.guard(server.server().getJavaServer())
            server.start()
        finally:
            threads.remove(LINE_FACT)
            for name in properties:
                context.setLocalProperty(name, None)
        self._java.put(server, _SESSION, session)
        return ClientSession(self._java, self._order, client, session, server, context)


class ClientSession:
    """A session that an engine has made for another process, as the engine sees it."""

    def __init__(self, java: Any, order: Any, client: str, session: Any, server: Any, context: Any) -> None:
        self._java, self._order, self._client = java, order, client
        self._session, self._server, self._context = session, server, context

    @property
    def door(self) -> Door:
        return Door(int(self._server.getListeningPort()), str(self._server.secret()))

    @property
    def queries(self) -> int:
        """The number of streaming queries that run in the session."""
        return len(self._session.streams().active())

    @property
    def tasks(self) -> int:
        """The number of tasks that run for the process, with those that go on for a moment after they were cancelled."""
        pool = self._context.getPoolForName(self._client)
        return int(pool.get().runningTasks()) if pool.isDefined() else 0

    def weigh(self, weight: int) -> None:
        """Let the process have so many times the threads of one whose weight is 1, when there are too few for all."""
        self._order.weigh(self._client, weight)

    def forget(self) -> None:
        """Take the process off the list of those among which Spark shares its threads out, once it has no tasks any more."""
        self._order.forget(self._client)
        pool = self._context.getPoolForName(self._client)
        if pool.isDefined():
            self._context.taskScheduler().rootPool().removeSchedulable(pool.get())

    def end(self) -> list[str]:
        """End all that the session runs and keeps; return what could not be ended, in words.

        A task that is just ending may still start a Python worker. Call this again until none is there.
        """
        return [str(line) for line in self._java.end(self._session, self._server, CLIENT_VARIABLE, self._client)]


def join(door: Door, client: str, workers: dict[str, str], python: str) -> SparkSession:
    """Return the session behind a door: a PySpark session of this process in a JVM that another process has started.

    It must not be stopped: its context is that of all. This process can have no other session. ``workers``: variables of the
    Python workers that work for it; ``python``: their program.
    """
    os.environ[_PORT], os.environ[_SECRET] = str(door.port), door.secret
    try:
        gateway = _connect()
    finally:
        del os.environ[_PORT], os.environ[_SECRET]
    jvm = gateway.jvm
    java_context = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jconf=java_context.getConf())
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    context = SparkContext(gateway=gateway, jsc=java_context, conf=conf, environment=workers | {CLIENT_VARIABLE: client})
    context.pythonExec = python
    spark = SparkSession(context, JavaObject(_SESSION, gateway._gateway_client))
    # A job's code may mean well and end "its" session.
    for owner in (context, spark):
        owner.stop = _refuse_to_stop  # type: ignore[method-assign]
    return spark


def _refuse_to_stop() -> None:
    raise PipelineError("The Spark session of a job cannot be stopped: other jobs share its engine. Leave out stop().")
