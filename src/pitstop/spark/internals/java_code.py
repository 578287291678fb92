"""Java classes of our own, from the jar that is made of them (machine.class_jar), or else compiled when they are needed."""

from __future__ import annotations

import secrets
import threading
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pitstop.machine.class_jar import source_of
from pitstop.spark.internals.jvm import classes, gateway, session_of

_INJECTING = threading.Lock()


def driver_class(spark: SparkSession, name: str) -> Any:
    """Return a class of ours, for use in the driver alone."""
    try:
        return _loader(spark).loadClass(name)
    except Py4JJavaError:  # no jar of them has been made here
        return _compiled(spark, name).getClassLoader().loadClass(name)


def shared_class(spark: SparkSession, name: str) -> Any:
    """Return a class of ours whose objects may go to executors."""
    loader = session_of(spark).sharedState().jarClassLoader()
    if not _has(spark, loader, name):
        spark.sql(f"ADD JAR '{_jar(spark, name)}'")
    return loader.loadClass(name)


def compiled_class(spark: SparkSession, name: str) -> Any:
    """Return a class of ours that is compiled against jars which the session has got, for use in the driver alone."""
    loader = _compiled(spark, name, session_of(spark).sharedState().jarClassLoader()).getClassLoader()
    return loader.loadClass(name.rpartition("/")[2])


def provider(spark: SparkSession, name: str, jars: list[Path]) -> str:
    """Return the name of a class of ours for use as a format, compiled against jars that are not Spark's own.

    The session and its executors get the jars and the class when they are first asked for.
    """
    add_jars(spark, jars)
    simple = name.rpartition("/")[2]
    if not _has_jar(spark, simple):
        spark.sql(f"ADD JAR '{_jar(spark, name, session_of(spark).sharedState().jarClassLoader())}'")
    _let_thread_see_jars(spark)
    return simple


def add_jars(spark: SparkSession, jars: Iterable[Path]) -> None:
    """Give jars to the session and its executors, unless they have jars of these names."""
    for jar in jars:
        if f"/{jar.name}" not in str(spark.sparkContext._jsc.sc().listJars()):
            spark.sql(f"ADD JAR '{jar}'")
    _let_thread_see_jars(spark)


def _let_thread_see_jars(spark: SparkSession) -> None:
    """Let the Java thread that works for this one find classes in added jars, as the thread that adds them does.

    In an engine another job may have added them.
    """
    classes(spark).java.lang.Thread.currentThread().setContextClassLoader(session_of(spark).sharedState().jarClassLoader())


def inject_columnar(spark: SparkSession, mark: str, injector: Callable[[], Any]) -> None:
    """Give columnar rules to the queries that start from now on, in all sessions of the context; once for each ``mark``.

    Sessions share their extensions, so the mark stands in the settings of the context.
    """
    settings = spark.sparkContext._jsc.sc().conf()
    with _INJECTING:
        if not settings.contains(mark):
            session_of(spark).extensions().injectColumnar(injector())
            settings.set(mark, "true")


def new(spark: SparkSession, java_class: Any, *arguments: Any) -> Any:
    """Return a new object of such a class, made by its only constructor."""
    array = gateway(spark).new_array(classes(spark).java.lang.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return java_class.getConstructors()[0].newInstance(array)


def call(spark: SparkSession, java_class: Any, name: str, *arguments: Any) -> Any:
    """Return what the only static method of this name returns; texts and mappings of texts may be its arguments."""
    array = gateway(spark).new_array(classes(spark).java.lang.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = _mapping(spark, argument) if isinstance(argument, dict) else argument
    methods = [method for method in java_class.getMethods() if method.getName() == name]
    return methods[0].invoke(None, array)


def _mapping(spark: SparkSession, pairs: dict[str, str]) -> Any:
    mapping = classes(spark).java.util.HashMap()
    for key, value in pairs.items():
        mapping.put(key, value)
    return mapping


def _has(spark: SparkSession, loader: Any, name: str) -> bool:
    """Return True if executors find the class, too: those on other machines may have another class path than the driver."""
    if not str(spark.sparkContext.master).startswith("local"):
        return _has_jar(spark, name)
    try:
        loader.loadClass(name)
    except Py4JJavaError:
        return False
    return True


def _has_jar(spark: SparkSession, name: str) -> bool:
    """Return True if the context has a jar of that class."""
    return f"/{name}-" in str(spark.sparkContext._jsc.sc().listJars())


def _loader(spark: SparkSession) -> Any:
    return session_of(spark).getClass().getClassLoader()


def _compiled(spark: SparkSession, name: str, loader: Any = None) -> Any:
    compiler = classes(spark).org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(_loader(spark) if loader is None else loader)
    compiler.cook(source_of(name).read_text())
    return compiler


def _jar(spark: SparkSession, name: str, loader: Any = None) -> Path:
    bytecodes = _compiled(spark, name, loader).getBytecodes()
    # Spark deletes this folder when the session's context ends; until then executors may come that need the jar.
    # Two processes of an engine may make it at the same moment, and Spark takes no second file of a name from another place.
    jar = Path(str(spark.sparkContext._temp_dir)) / f"{name.rpartition('/')[2]}-{secrets.token_hex(4)}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for part in bytecodes.keySet():
            archive.writestr(f"{part.replace('.', '/')}.class", bytes(bytecodes.get(part)))
    return jar
