"""Java classes of our own, compiled when they are needed with the compiler that Spark brings along for its own code."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pitstop.spark.internals.jvm import classes, gateway, session_of


def driver_class(spark: SparkSession, source: str, name: str) -> Any:
    """The class ``name`` of a Java source, for use in the driver alone."""
    return _compiled(spark, source).getClassLoader().loadClass(name)


def shared_class(spark: SparkSession, file: Path) -> Any:
    """The class of a Java file that is called like it. Its objects may go to executors, which get it as a jar."""
    loader = session_of(spark).sharedState().jarClassLoader()
    try:
        return loader.loadClass(file.stem)
    except Py4JJavaError:
        spark.sql(f"ADD JAR '{_jar(spark, file)}'")
        return loader.loadClass(file.stem)


def new(spark: SparkSession, java_class: Any, *arguments: Any) -> Any:
    """A new object of such a class by its only constructor."""
    given = gateway(spark).new_array(classes(spark).java.lang.Object, len(arguments))
    for place, argument in enumerate(arguments):
        given[place] = argument
    return java_class.getConstructors()[0].newInstance(given)


def _compiled(spark: SparkSession, source: str) -> Any:
    compiler = classes(spark).org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(session_of(spark).getClass().getClassLoader())
    compiler.cook(source)
    return compiler


def _jar(spark: SparkSession, file: Path) -> Path:
    made = _compiled(spark, file.read_text()).getBytecodes()
    # Spark deletes this folder when the session's context ends; until then executors may come that need the jar.
    jar = Path(str(spark.sparkContext._temp_dir)) / f"{file.stem}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name in made.keySet():
            archive.writestr(f"{name.replace('.', '/')}.class", bytes(made.get(name)))
    return jar
